"""Precision and recall of detection, by kind and by place, and the share of decoys that are touched."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bench.privacy.cases import Case
from satchel.privacy.detection import Detection
from satchel.privacy.vault import Vault

KEY = b"a key for measuring"


@dataclass
class Score:
    found: Counter[str] = field(default_factory=Counter[str])
    missed: Counter[str] = field(default_factory=Counter[str])
    wrong: Counter[str] = field(default_factory=Counter[str])
    other_kind: Counter[str] = field(default_factory=Counter[str])
    decoys: int = 0
    touched: int = 0
    notes: list[str] = field(default_factory=list[str])

    def precision(self, kind: str) -> float:
        return self.found[kind] / max(1, self.found[kind] + self.wrong[kind])

    def recall(self, kind: str) -> float:
        return self.found[kind] / max(1, self.found[kind] + self.missed[kind])


def measure(cases: Iterable[Case], detection: Detection | None = None) -> Score:
    """A value counts as found where it doesn't stand in what the model would read, and its kind is told."""
    score = Score()
    for case in cases:
        vault = Vault(KEY)
        hidden = vault.hide(case.value, "crm", detection or Detection())
        after = _all_text(hidden)
        kinds = {str(entry.value).strip(): entry.kind for entry in vault.entries}
        for value, kind in case.marks.items():
            told = kinds.get(value)
            score.found[f"any in {case.place}"] += value not in after
            score.missed[f"any in {case.place}"] += value in after
            if value in after:
                score.missed[kind] += 1
                score.notes.append(f"missed {kind} {value!r} in {_all_text(case.value)[:600]}")
            elif told in (kind, None) or _is_part(value, kind, kinds):
                score.found[kind] += 1
            else:
                score.found[kind] += 1
                score.other_kind[f"{kind} as {told}"] += 1
        for value, kind in kinds.items():
            if not any(value in mark or mark in value for mark in case.marks):
                score.wrong[kind] += 1
                score.notes.append(f"wrong {kind} {value!r} in {_all_text(case.value)[:600]}")
        for decoy in case.decoys:
            score.decoys += 1
            score.touched += isinstance(decoy, str) and any(value and value in decoy for value in kinds)
    return score


def _is_part(value: str, kind: str, kinds: dict[str, str]) -> bool:
    return any(kind == other and (value in text or text in value) for text, other in kinds.items())


def _all_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)

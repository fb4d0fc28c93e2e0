"""What detection finds and costs: precision, recall, speed and memory."""

import json
import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from bench.privacy.cases import Case, cases
from bench.privacy.detecting import KEY, Score, measure
from bench.rows import Row
from satchel.privacy.detection import Detection
from satchel.privacy.vault import Vault

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "privacy" / "synth_dataset_v2.json"
_NONE = float("inf")
_KINDS = {
    "EMAIL_ADDRESS": "EMAIL",
    "PHONE_NUMBER": "PHONE",
    "CREDIT_CARD": "CREDIT_CARD",
    "IBAN_CODE": "IBAN",
    "US_SSN": "US_SSN",
    "IP_ADDRESS": "IP_ADDRESS",
    "PERSON": "PERSON",
    "STREET_ADDRESS": "ADDRESS",
}
_AIMS = {  # kind → at most so many per cent wrong, and missed
    "EMAIL": (1.0, 1.0),
    "IBAN": (1.0, 1.0),
    "CREDIT_CARD": (5.0, 3.0),
    "PHONE": (5.0, 3.0),
    "IP_ADDRESS": (5.0, _NONE),
    "any in telling": (_NONE, 1.0),
}
_TOKENS = 100_000


def measure_privacy() -> list[Row]:
    """On cases with names of fields and sentences that development did not look at, and on prose."""
    rows = [*_rows("JSON", measure(cases(4000, 11, held_out=True)), _AIMS)]
    if DATA.exists():
        rows += _rows("prose", measure(_prose()), {})
    return [*rows, *_costs()]


def _rows(where: str, score: Score, aims: dict[str, tuple[float, float]]) -> Iterator[Row]:
    for kind in sorted({*score.found, *score.missed}):
        wrong, missed = aims.get(kind, (_NONE, _NONE))
        if not kind.startswith("any"):
            share = 100 * (1 - score.precision(kind))
            yield Row(
                name="privacy", compared=f"{kind} in {where}: wrong", value=share, limit=wrong, unit="%"
            )
        share = 100 * (1 - score.recall(kind))
        yield Row(name="privacy", compared=f"{kind} in {where}: missed", value=share, limit=missed, unit="%")
    if score.decoys:
        share = 100 * score.touched / score.decoys
        yield Row(name="privacy", compared=f"decoys in {where}: touched", value=share, limit=2.0, unit="%")


def _prose() -> Iterator[Case]:
    for row in json.loads(DATA.read_text(encoding="utf-8")):
        marks = {
            span["entity_value"]: _KINDS[span["entity_type"]]
            for span in row["spans"]
            if span["entity_type"] in _KINDS
        }
        yield Case(value=row["full_text"], marks=marks, place="prose")


def _costs() -> Iterator[Row]:
    some = [case.value for case in cases(1500, 5)]
    size = sum(len(json.dumps(value, ensure_ascii=False)) for value in some)
    vault, detection = Vault(KEY), Detection()
    began = time.perf_counter()
    for value in some:
        vault.hide(value, "crm", detection)
    taken = time.perf_counter() - began
    milliseconds = 1e6 * taken / size
    yield Row(name="privacy", compared="1,000 characters of JSON", value=milliseconds, limit=20.0, unit="ms")
    source = random.Random(1)
    tracemalloc.start()
    vault = Vault(KEY)
    for number in range(_TOKENS):
        vault.token_for(f"user{number}.{source.getrandbits(40):x}@example.org", "EMAIL", "crm")
    held = tracemalloc.get_traced_memory()[0] / 1024 / 1024
    tracemalloc.stop()
    yield Row(name="privacy", compared="memory of 100,000 tokens", value=held, limit=150.0, unit="MiB")

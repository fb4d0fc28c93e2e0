"""What of a text is personal, part by part, before anything is replaced.

Two passes are needed: a value that stands at the end under a telling name may recur before it.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from satchel.privacy.detection import Detection
from satchel.privacy.fields import Rewriting
from satchel.privacy.json_text import PlacedNumber, PlacedText, documents
from satchel.privacy.key_names import NO_HINT, Hint
from satchel.privacy.kinds import Span

_DEEPEST = 3  # texts of JSON within texts of JSON
_PIECE = 64 * 1024  # characters in which patterns look at once


@dataclass(slots=True)
class Part:
    """A part of a text from `start` to `end`: plain, or the literal of a text or number in JSON."""

    start: int
    end: int
    text: str
    hint: Hint = NO_HINT
    schema: object = None
    spans: list[Span] = field(default_factory=list[Span])
    inner: "Plan | None" = None  # what a literal of JSON says
    number: int | None = None


@dataclass(slots=True)
class Plan:
    """A text and its parts, in their order. One part that is the whole text is the most usual."""

    text: str
    parts: list[Part]

    def everything(self) -> Iterator[Part]:
        """The parts that are looked at, those of JSON within included."""
        for part in self.parts:
            if part.inner is not None:
                yield from part.inner.everything()
            else:
                yield part


def plan_text(
    text: str, detection: Detection | None, hint: Hint = NO_HINT, key: str = "", schema: object = None
) -> Plan:
    """Where personal data stands in a text; without a detection, only what parts it has."""
    return _plan(text, detection, hint, key, schema, 0)


def _plan(text: str, detection: Detection | None, hint: Hint, key: str, schema: object, depth: int) -> Plan:
    parts: list[Part] = []
    at = 0
    for document in documents(text) if depth < _DEEPEST else ():
        if document.start > at:
            parts += _pieces(text, at, document.start, detection, NO_HINT, "", None)
        literals: list[Part] = []

        def take(value: Any, name: str, told: Hint, part_schema: object, into: list[Part] = literals) -> Any:
            if isinstance(value, PlacedText):
                inner = _plan(str(value), detection, told, name, part_schema, depth + 1)
                into.append(Part(value.start, value.end, str(value), inner=inner))
            elif isinstance(value, PlacedNumber):
                into.append(Part(value.start, value.end, str(value), told, part_schema, number=int(value)))
            return value

        def name_of(name: str, into: list[Part] = literals) -> str:
            if isinstance(name, PlacedText):
                plain = name.rstrip("\0")
                inner = _plan(plain, detection, NO_HINT, "", None, _DEEPEST)
                into.append(Part(name.start, name.end, plain, inner=inner))
            return name

        Rewriting(take, name_of).value(document.value)
        parts += sorted(literals, key=lambda part: part.start)
        at = document.end
    if at == 0:
        parts += _pieces(text, 0, len(text), detection, hint, key, schema)
    elif at < len(text):
        parts += _pieces(text, at, len(text), detection, NO_HINT, "", None)
    return Plan(text, parts)


def _pieces(
    text: str, start: int, end: int, detection: Detection | None, hint: Hint, key: str, schema: object
) -> Iterator[Part]:
    """Plain text, in pieces that end where a line does or a word."""
    while start < end:
        stop = end if end - start <= _PIECE else _break(text, start, start + _PIECE)
        piece = text if (start, stop) == (0, len(text)) else text[start:stop]
        spans = detection.spans(piece, hint, key=key, schema=schema) if detection else []
        yield Part(start, stop, piece, hint, schema, spans)
        start = stop


def _break(text: str, start: int, end: int) -> int:
    for sign in ("\n", " "):
        at = text.rfind(sign, start + _PIECE // 2, end)
        if at > 0:
            return at + 1
    return end


def rewritten(plan: Plan, new: Callable[[Part], str]) -> str:
    """The text with its parts replaced; the same object if none differs."""
    taken: list[str] = []
    at = 0
    for part in plan.parts:
        if part.inner is not None:
            text = rewritten(part.inner, new)
            if text is part.inner.text:
                continue
            raw = plan.text[part.start : part.end]
            text = json.dumps(text, ensure_ascii=raw.isascii())
        else:
            text = new(part)
            if text is part.text:
                continue
        taken += (plan.text[at : part.start], text)
        at = part.end
    if not taken:
        return plan.text
    return "".join((*taken, plan.text[at:]))

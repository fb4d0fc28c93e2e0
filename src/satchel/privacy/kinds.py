"""The kinds of personal data, where one stands in a text, and the interface of a detector.

Not how any of them is found: `detection.py` puts the ways together.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

EMAIL = "EMAIL"
PHONE = "PHONE"
CREDIT_CARD = "CREDIT_CARD"
IBAN = "IBAN"
US_SSN = "US_SSN"
NATIONAL_ID = "NATIONAL_ID"
IP_ADDRESS = "IP_ADDRESS"
PERSON = "PERSON"
ADDRESS = "ADDRESS"
DATE_OF_BIRTH = "DATE_OF_BIRTH"

KINDS = (
    CREDIT_CARD,
    IBAN,
    EMAIL,
    US_SSN,
    NATIONAL_ID,
    IP_ADDRESS,
    PHONE,
    DATE_OF_BIRTH,
    ADDRESS,
    PERSON,
)
"""What is checked most strictly comes first: where two kinds fit one place, the first of them has it."""

LITERAL = "LITERAL"
"""Text that only looks like a token: hidden as well, so that nobody can write tokens into a result."""

_RANKS = {kind: rank for rank, kind in enumerate(KINDS)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A place in a text: from `start` up to and without `end`."""

    start: int
    end: int
    kind: str
    is_sure: bool = False  # the place of a whole value in a telling field, or of a value known already


Detector = Callable[[str, str, object], Iterable[Span]]
"""One that a user brings: a text, the key it stands under or "", its JSON Schema or None → spans."""


def without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """The spans to replace, in their order: sure ones first, then by kind, then the longer one."""

    def rank(span: Span) -> tuple[bool, int, int, int]:
        own = _RANKS.get(span.kind, -1)
        return (not span.is_sure, own if not span.is_sure else 0, span.start - span.end, span.start)

    ordered = sorted(spans, key=rank)
    if len(ordered) < 2:
        return ordered
    taken: list[Span] = []
    ends: dict[int, int] = {}
    starts: list[int] = []
    from bisect import bisect_right, insort  # only texts with several places need it

    for span in ordered:
        at = bisect_right(starts, span.start)
        before = starts[at - 1] if at else None
        if before is not None and ends[before] > span.start:
            continue
        if at < len(starts) and starts[at] < span.end:
            continue
        insort(starts, span.start)
        ends[span.start] = span.end
        taken.append(span)
    return sorted(taken, key=lambda span: span.start)

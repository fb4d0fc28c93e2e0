"""Detection: the layers put together, for one text with what is told about it.

Layers: names of fields (`key_names.py`, `fields.py`, `written.py`), patterns (`patterns.py`, `numbers.py`,
`texts.py`), and detectors that users bring. Values that recur are `known.py`'s.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from satchel.privacy import kinds
from satchel.privacy.key_names import NO_HINT, Hint
from satchel.privacy.kinds import KINDS, Detector, Span
from satchel.privacy.numbers import national_ids, phones
from satchel.privacy.patterns import cards, emails, ibans, ip_addresses, ssns
from satchel.privacy.texts import addresses, births, looks_like_name, persons
from satchel.privacy.tokens import without_escapes
from satchel.privacy.values import is_number_of, role_value, whole_value
from satchel.privacy.written import Region, regions

_LEAST_LETTERS = 5  # of a text in which a name or an address is looked for
_LONG = 256  # characters of data that is encoded
_DATA = re.compile(r"[A-Za-z0-9+/_-]++={0,2}")
_NEAR = 4  # fields that may be written one within another
_DIGITS = re.compile(r"\d")

_ANYWHERE: Mapping[str, Callable[[str], Iterable[Span]]] = {kinds.EMAIL: emails, kinds.IBAN: ibans}
_NUMERIC: Mapping[str, Callable[[str], Iterable[Span]]] = {
    kinds.CREDIT_CARD: cards,
    kinds.NATIONAL_ID: national_ids,
    kinds.IP_ADDRESS: ip_addresses,
    kinds.PHONE: phones,
    kinds.DATE_OF_BIRTH: births,
    kinds.ADDRESS: addresses,
}


@dataclass(frozen=True, kw_only=True)
class Detection:
    """What is looked for: kinds, own kinds by pattern, and detectors that a user brings."""

    kinds: frozenset[str] = frozenset(KINDS)
    patterns: Mapping[str, re.Pattern[str]] = field(default_factory=dict[str, re.Pattern[str]])
    detectors: Sequence[Detector] = ()

    @property
    def all_kinds(self) -> frozenset[str]:
        return self.kinds | self.patterns.keys()

    def spans(self, text: str, hint: Hint = NO_HINT, *, key: str = "", schema: object = None) -> list[Span]:
        """The places of personal data in a text; they may overlap."""
        if len(text) > _LONG and _DATA.fullmatch(text):
            return []
        seen = without_escapes(text)
        found = list(self._whole(text, hint))
        if not found:
            found = self._within(seen, hint)
        for kind, pattern in self.patterns.items():
            found += (
                Span(start=match.start(), end=match.end(), kind=kind, is_sure=True)
                for match in pattern.finditer(text)
                if match.end() > match.start()
            )
        for detector in self.detectors:
            found += (span for span in detector(text, key, schema) if 0 <= span.start < span.end <= len(text))
        return found

    def kind_of_number(self, value: int, hint: Hint) -> str:
        """The kind of a whole number; "" for one that isn't personal."""
        return hint.kind if hint.kind in self.kinds and is_number_of(hint.kind, value) else ""

    def _whole(self, text: str, hint: Hint) -> Iterator[Span]:
        span = None
        if hint.kind:
            span = whole_value(text, hint.kind, self.kinds)
        elif hint.is_role:
            span = role_value(text, self.kinds)
        if span is not None:
            yield span

    def _within(self, text: str, hint: Hint) -> list[Span]:
        found: list[Span] = []
        written = regions(text) if len(text) > 4 else []
        adverse = [region for region in written if region.hint.is_adverse]
        for region in written:
            value = text[region.start : region.end]
            if region.hint.kind == kinds.PERSON and not looks_like_name(value):
                continue  # code has lines such as `person = await find()`
            for span in self._whole(value, region.hint):
                found.append(_moved(span, region.start))
        for span in self._by_pattern(text, hint):
            if not _is_refused(span, adverse):
                found.append(span)
        return found

    def _by_pattern(self, text: str, hint: Hint) -> Iterator[Span]:
        for kind, find in _ANYWHERE.items():
            if kind in self.kinds:
                yield from find(text)
        has_digits = _DIGITS.search(text) is not None
        if has_digits and kinds.US_SSN in self.kinds and not hint.is_strongly_adverse:
            yield from ssns(text)
        if hint.is_adverse and len(text) <= 64:
            return
        if has_digits:
            for kind, find in _NUMERIC.items():
                if kind in self.kinds:
                    yield from find(text)
        elif kinds.IP_ADDRESS in self.kinds and "::" in text:
            yield from ip_addresses(text)
        if kinds.PERSON in self.kinds and len(text) >= _LEAST_LETTERS and not hint.is_adverse:
            yield from persons(text)


def _moved(span: Span, by: int) -> Span:
    return Span(start=span.start + by, end=span.end + by, kind=span.kind, is_sure=span.is_sure)


def _is_refused(span: Span, adverse: Sequence[Region]) -> bool:
    """Whether a place is in the value of a field whose name speaks against its kind."""
    if span.kind in _ANYWHERE or not adverse:
        return False
    last = bisect_right(adverse, span.start, key=lambda region: region.start)
    return any(
        span.end <= region.end and (span.kind != kinds.US_SSN or region.hint.is_strongly_adverse)
        for region in adverse[max(0, last - _NEAR) : last]
    )

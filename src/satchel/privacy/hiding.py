"""Hiding: personal data in any JSON becomes tokens of a table."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from satchel.model import is_object
from satchel.privacy.detection import Detection
from satchel.privacy.fields import Rewriting
from satchel.privacy.key_names import NO_HINT, Hint
from satchel.privacy.kinds import (
    ADDRESS,
    DATE_OF_BIRTH,
    EMAIL,
    IP_ADDRESS,
    LITERAL,
    NATIONAL_ID,
    PERSON,
    PHONE,
    US_SSN,
    Span,
    without_overlaps,
)
from satchel.privacy.known import Known
from satchel.privacy.planning import Part, Plan, plan_text, rewritten
from satchel.privacy.restoring import Reading
from satchel.privacy.table import Table
from satchel.privacy.tokens import Form, is_number, is_strict_shape, may_be_token, without_escapes

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://\S+")
_FORMATS: Mapping[str, Form] = {
    "email": "email",
    "idn-email": "email",
    "ipv4": "ipv4",
    "ipv6": "ipv6",
    "uri": "uri",
    "iri": "uri",
    "url": "uri",
    "date": "date",
    "date-time": "date-time",
}
_RECURRING = frozenset((EMAIL, PHONE, NATIONAL_ID, ADDRESS, PERSON, US_SSN, IP_ADDRESS))
_SHORT_NUMBER = 9  # digits of a number that recurs by chance in fields of numbers
_LONGEST_WORD = 64  # characters by which a place is extended


class Hiding:
    """Puts tokens into values that come from one origin."""

    def __init__(
        self,
        table: Table,
        reading: Reading,
        detection: Detection,
        origin: str,
        beside: Sequence[Known] = (),
    ) -> None:
        self._table = table
        self._reading = reading
        self._detection = detection
        self._origin = origin
        self._known = (table.known, *beside)  # values that are known elsewhere are hidden here as well

    def text(self, text: str, hint: Hint = NO_HINT, key: str = "", schema: object = None) -> str:
        plan = plan_text(text, self._detection, hint, key, schema)
        self._learn(plan)
        return self._replaced(plan)

    def value(self, value: Any, schema: object = None, key: str = "") -> Any:
        """Twice through the value: what is told at its end may recur at its beginning."""
        plans: list[Plan | str] = []

        def plan(leaf: Any, name: str, hint: Hint, part: object) -> Any:
            if isinstance(leaf, str):
                plans.append(plan_text(leaf, self._detection, hint, name, part))
            else:
                plans.append(self._detection.kind_of_number(leaf, hint))
            return leaf

        def plan_name(name: str) -> str:
            plans.append(plan_text(name, self._detection))
            return name

        Rewriting(plan, plan_name).value(value, schema, key)
        for one in plans:
            if isinstance(one, Plan):
                self._learn(one)
        planned = iter(plans)

        def replace(leaf: Any, name: str, hint: Hint, part: object) -> Any:
            one = next(planned)
            return self._replaced(one) if isinstance(one, Plan) else self._number(leaf, one)

        def rename(name: str) -> str:
            one = next(planned)
            return self._replaced(one) if isinstance(one, Plan) else name

        return Rewriting(replace, rename).value(value, schema, key)

    def _learn(self, plan: Plan) -> None:
        for part in plan.everything():
            for span in part.spans:
                text = part.text[span.start : span.end]
                if span.is_sure or (span.kind in _RECURRING and (span.kind != PERSON or " " in text)):
                    self._table.learn(span.kind, text)

    def _replaced(self, plan: Plan) -> str:
        return rewritten(plan, self._new_part)

    def _number(self, value: int, kind: str) -> int:
        """A number that only looks like a token is hidden too."""
        if not kind and is_number(value) and self._table.by_form(str(value)) is None:
            kind = LITERAL
        return int(self._table.token(kind, value, "integer", self._origin)) if kind else value

    def _new_part(self, part: Part) -> str:
        if part.number is not None:
            kind = self._detection.kind_of_number(part.number, part.hint)
            new = self._number(part.number, kind)
            return part.text if new == part.number else str(new)
        text = part.text
        spans = [*part.spans, *self._recurring(part)]
        if may_be_token(text):
            spans = [span for span in spans if self._reading.find(text[span.start : span.end]) is None]
            spans += self._literals(text)
        if not spans:
            return text
        is_url = URL.fullmatch(text) is not None
        taken: list[str] = []
        at = 0
        for span in without_overlaps(_in_words(text, span) for span in spans):
            original = text[span.start : span.end]
            is_whole = len(original) == len(text)
            form = _form(span.kind, original, part.schema) if is_whole else "word"
            is_raw = is_url and not is_whole and quote(original, safe="") != original
            token = self._table.token(span.kind, original, form, self._origin, is_raw=is_raw)
            taken += (text[at : span.start], token)
            at = span.end
        return "".join((*taken, text[at:]))

    def _recurring(self, part: Part) -> Iterator[Span]:
        seen = without_escapes(part.text)
        for span in (span for known in self._known for span in known.find(seen)):
            text = part.text[span.start : span.end]
            is_number_only = text.isdigit() and len(text) < _SHORT_NUMBER
            if not (part.hint.is_adverse and (span.kind == DATE_OF_BIRTH or is_number_only)):
                yield span

    def _literals(self, text: str) -> Iterator[Span]:
        """What looks like a token and is none of this scope."""
        for match in self._reading.matches(text):
            letters = self._reading.letters(match)
            if self._reading.entry(match) is None and (not letters or is_strict_shape(letters)):
                yield Span(start=match.start(), end=match.end(), kind=LITERAL, is_sure=True)


def _form(kind: str, original: str, schema: object) -> Form:
    declared = schema.get("format") if is_object(schema) else None
    form = _FORMATS.get(declared) if isinstance(declared, str) else None
    return form or ("email" if kind == EMAIL and "@" in original else "word")


def _in_words(text: str, span: Span) -> Span:
    """The span, extended to where words of letters and digits end, so that its token stands for itself."""
    start, end = span.start, span.end
    while start > 0 and span.start - start < _LONGEST_WORD and _is_part(text[start - 1]):
        start -= 1
    while end < len(text) and end - span.end < _LONGEST_WORD and _is_part(text[end]):
        end += 1
    if (start, end) == (span.start, span.end):
        return span
    return Span(start=start, end=end, kind=span.kind, is_sure=span.is_sure)


def _is_part(sign: str) -> bool:
    return sign.isascii() and (sign.isalnum() or sign == "_")

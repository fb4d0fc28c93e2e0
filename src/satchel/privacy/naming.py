"""Naming: values of a table that a program writes into its calls become their tokens again.

So whatever looks at a call sees tokens, whether a model or a program makes it. Only values that are known
are named; restoring gives exactly what the program wrote.
"""

from typing import Any

from satchel.privacy.detection import Detection
from satchel.privacy.fields import Rewriting
from satchel.privacy.key_names import Hint
from satchel.privacy.kinds import Span, without_overlaps
from satchel.privacy.planning import Part, plan_text, rewritten
from satchel.privacy.restoring import Reading
from satchel.privacy.table import Entry, Table
from satchel.privacy.tokens import without_escapes


class Naming:
    def __init__(self, table: Table, reading: Reading, detection: Detection) -> None:
        self._table = table
        self._reading = reading
        self._detection = detection

    def value(self, value: Any) -> Any:
        """The same object if no known value is in it."""
        if not len(self._table):
            return value

        def leaf(each: Any, name: str, hint: Hint, part: object) -> Any:
            if isinstance(each, str):
                return self.text(each)
            entry = self._entry(str(each), None)
            is_known = entry is not None and isinstance(entry.value, int)
            return int(self._named(entry, each, "integer")) if entry is not None and is_known else each

        return Rewriting(leaf, self.text).value(value)

    def text(self, text: str) -> str:
        entry = self._entry(text, None)
        if entry is not None:
            return self._named(entry, text, "word")
        return rewritten(plan_text(text, self._detection), self._part)

    def _part(self, part: Part) -> str:
        if part.number is not None:
            return part.text
        text = part.text
        entry = self._entry(text, None)
        if entry is not None:
            return self._named(entry, text, "word")
        found = [*part.spans, *self._table.known.find(without_escapes(text))]
        known: dict[tuple[int, int], Entry] = {}
        for span in found:
            entry = self._entry(text[span.start : span.end], span.kind)
            if entry is not None and self._reading.find(text[span.start : span.end]) is None:
                known[span.start, span.end] = entry
        taken: list[str] = []
        at = 0
        spans = [Span(start=start, end=end, kind=entry.kind) for (start, end), entry in known.items()]
        for span in without_overlaps(spans):
            original = text[span.start : span.end]
            taken += (text[at : span.start], self._named(known[span.start, span.end], original, "word"))
            at = span.end
        return "".join((*taken, text[at:])) if taken else text

    def _entry(self, text: str, kind: str | None) -> Entry | None:
        """The entry of a value, or of one that means the same."""
        for entry in self._table.of_value(text):
            return entry
        return self._table.of_meaning(kind, text) if kind is not None else None

    def _named(self, entry: Entry, value: str | int, form: Any) -> str:
        token = ""
        for origin in sorted(entry.origins):
            token = self._table.token(entry.kind, value, form, origin)
        return token or entry.token

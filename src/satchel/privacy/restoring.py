"""Restoring: tokens in any JSON become the values of a table again; a token that is none is an error."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from satchel.errors import ArgumentError
from satchel.model import is_object
from satchel.privacy.fields import Rewriting
from satchel.privacy.key_names import Hint
from satchel.privacy.kinds import LITERAL
from satchel.privacy.planning import Part, plan_text, rewritten
from satchel.privacy.table import Entry, Table
from satchel.privacy.tokens import is_number, is_strict_shape, may_be_token, near, shapes

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://\S+")
_MOST_NEAR = 3

MayReceive = Callable[[Entry], None]
"""Raises an error if the place where a value goes may not have it."""


class Reading:
    """Finds the tokens in texts."""

    def __init__(self, table: Table, own_kinds: frozenset[str] = frozenset()) -> None:
        self._table = table
        self.own_kinds = own_kinds

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """What looks like a token."""
        return shapes(self.own_kinds).finditer(text) if may_be_token(text) else iter(())

    def letters(self, match: re.Match[str]) -> str:
        return (match["word"] or match["email"] or match["uri"] or "").lower()

    def entry(self, match: re.Match[str]) -> Entry | None:
        """The entry of what looks like a token, if it is one of this scope."""
        letters = self.letters(match)
        if not letters:
            text = match[0]  # in lower case, but for what stands between a date and its time
            return self._table.by_form(text.upper() if match["date"] else text.lower())
        entry = self._table.by_letters(letters)
        if entry is None or match["kind"] is None:
            return entry
        return entry if match["kind"].upper() == entry.kind else None

    def find(self, token: str) -> Entry | None:
        """The entry of a token that stands alone."""
        match = shapes(self.own_kinds).fullmatch(token.strip())
        return self.entry(match) if match else None

    def known_entry(self, match: re.Match[str]) -> Entry | None:
        """The entry; None for ordinary text. Raises ArgumentError for a token that is none here."""
        entry = self.entry(match)
        if entry is not None:
            return entry
        letters = self.letters(match)
        nearest = self._nearest(letters) if letters else []
        if nearest or not letters or is_strict_shape(letters):
            raise unknown_token(match[0], nearest)
        return None

    def _nearest(self, letters: str) -> list[str]:
        found: dict[str, None] = {}
        for each in (letters, *near(letters)):
            entry = self._table.by_letters(each)
            if entry is not None:
                found[entry.token] = None
        return list(found)[:_MOST_NEAR]


def unknown_token(token: str, nearest: list[str]) -> ArgumentError:
    """The error about a token that stands for nothing here."""
    hint = "write tokens exactly as you were given them in this session; those of others don't work"
    if nearest:
        hint = f"did you mean {' or '.join(nearest)}?"
    return ArgumentError(f"'{token}' is a privacy token that is not known here; nothing was sent", hint=hint)


class Restoring:
    """Puts values in place of tokens, for one receiver."""

    def __init__(self, table: Table, reading: Reading, may_receive: MayReceive | None = None) -> None:
        self._table = table
        self._reading = reading
        self._may_receive = may_receive

    def value(self, value: Any, schema: object = None) -> Any:
        """The same object if it has no tokens."""

        def leaf(each: Any, name: str, hint: Hint, part: object) -> Any:
            return self._text(each, part) if isinstance(each, str) else self._number(each)

        return Rewriting(leaf, lambda name: str(self._text(name, None))).value(value, schema)

    def _number(self, value: int) -> Any:
        if not is_number(value):
            return value
        entry = self._table.by_form(str(value))
        if entry is None:
            raise unknown_token(str(value), [])
        self._use(entry)
        return entry.value

    def _text(self, text: str, schema: object) -> Any:
        if not may_be_token(text):
            return text
        entry = self._reading.find(text) if text == text.strip() else None
        if entry is not None:
            self._use(entry)
            return entry.value if isinstance(entry.value, int) and _takes_number(schema) else str(entry.value)
        return rewritten(plan_text(text, None), self._part)

    def _part(self, part: Part) -> str:
        if part.number is not None:
            new = self._number(part.number)
            return part.text if new == part.number else json.dumps(new)
        text = part.text
        is_url = _URL.fullmatch(text) is not None
        taken: list[str] = []
        at = 0
        for match in self._reading.matches(text):
            entry = self._reading.known_entry(match)
            if entry is None:
                continue
            self._use(entry)
            value = str(entry.value)
            taken += (text[at : match.start()], quote(value, safe="") if is_url and not entry.raw else value)
            at = match.end()
        return "".join((*taken, text[at:])) if taken else text

    def _use(self, entry: Entry) -> None:
        if self._may_receive is not None and entry.kind != LITERAL:
            self._may_receive(entry)
        self._table.note_use(entry)


def _takes_number(schema: object) -> bool:
    return is_object(schema) and schema.get("type") in ("integer", "number")

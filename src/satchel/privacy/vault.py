"""The tokens of one scope, and what can be done with them: hide, restore, reveal.

A scope is an agent's client session, or a conversation. Pure: whoever has a vault keeps it, and writes down
what `table.take_changes` says.
"""

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from satchel.privacy.detection import Detection
from satchel.privacy.fields import Rewriting
from satchel.privacy.hiding import Hiding
from satchel.privacy.key_names import Hint
from satchel.privacy.naming import Naming
from satchel.privacy.restoring import MayReceive, Reading, Restoring
from satchel.privacy.table import Entry, Table
from satchel.privacy.tokens import may_be_token, shapes


class Vault:
    """What is hidden in a scope. `own_kinds` are those that the user defined."""

    def __init__(
        self, key: bytes, own_kinds: frozenset[str] = frozenset(), now: Callable[[], float] = time.time
    ) -> None:
        self.table = Table(key, now)
        self.reading = Reading(self.table, own_kinds)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.table.entries

    def hide(
        self,
        value: Any,
        origin: str,
        detection: Detection,
        schema: object = None,
        key: str = "",
        beside: "Sequence[Vault]" = (),
    ) -> Any:
        """The value with tokens in place of personal data; the same object if there is none.

        Values that are known to the vaults `beside` are looked for, too.
        """
        self.reading.own_kinds = self.reading.own_kinds.union(detection.patterns)
        hiding = Hiding(self.table, self.reading, detection, origin, [vault.table.known for vault in beside])
        if isinstance(value, str):
            return hiding.text(value, key=key, schema=schema)
        return hiding.value(value, schema, key)

    def restore(self, value: Any, may_receive: MayReceive | None = None, schema: object = None) -> Any:
        """The value with what its tokens stand for; the same object if it has none.

        Raises ArgumentError for a token that is not of this scope, and what `may_receive` raises.
        """
        return Restoring(self.table, self.reading, may_receive).value(value, schema)

    def name_known(self, value: Any, detection: Detection) -> Any:
        """What a program sends, with tokens in place of the values that are known."""
        return Naming(self.table, self.reading, detection).value(value)

    def reveal(self, text: str) -> str:
        """A text for people, with what its tokens stand for; anything else stays."""
        if not may_be_token(text):
            return text

        def value_of(match: re.Match[str]) -> str:
            entry = self.reading.entry(match)
            return match[0] if entry is None else str(entry.value)

        return shapes(self.reading.own_kinds).sub(value_of, text)

    def token_for(self, value: str, kind: str, origin: str) -> str:
        """The token of a value that somebody says is personal."""
        return self.table.token(kind, value, "word", origin)

    def find(self, token: str) -> Entry | None:
        """The entry of a token."""
        return self.reading.find(token)

    def entries_in(self, value: Any) -> set[Entry]:
        """The entries whose tokens stand in a value."""
        found: set[Entry] = set()

        def leaf(each: Any, name: str, hint: Hint, part: object) -> Any:
            entries = (self.reading.entry(match) for match in self.reading.matches(str(each)))
            found.update(entry for entry in entries if entry is not None)
            return each

        Rewriting(leaf, lambda name: leaf(name, "", Hint(), None)).value(value)
        return found

"""Privacy tokens for those who must not wait. Each is committed, sealed, before a model gets it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from satchel.errors import SatchelError
from satchel.model import Json, is_object
from satchel.store.row_changes import Change, ChangedRow, NewRow, time_as_text
from satchel.store.writer import Writer
from satchel.support.sealing import Sealer

if TYPE_CHECKING:
    pass

_TABLE = "privacy_tokens"
_FEW = 50  # rows that are written without a thread


@dataclass(frozen=True, kw_only=True)
class StoredToken:
    """A row: what a token stands for is in `content`, which is sealed in the database."""

    letters: str
    kind: str
    content: Json
    is_new: bool = True


@dataclass(frozen=True, kw_only=True)
class TokenSummary:
    """How many tokens a conversation has."""

    agent: str
    conversation: str
    kinds: Mapping[str, int]
    used_at: str


class TokenStore:
    """The table of tokens. Those of a conversation end `idle` seconds after their last use."""

    def __init__(self, writer: Writer, sealer: Sealer, idle: float) -> None:
        self._writer = writer
        self._sealer = sealer
        self._idle = idle
        writer.when_opened(lambda store: _queries().expire(store, self._since()))

    async def load(self, agent: str, conversation: str) -> list[StoredToken]:
        """The tokens of a conversation. One that can't be opened any more is left out: it is unknown then."""
        return await self._writer.read(
            lambda connection: self._opened(_queries().load(connection, agent, conversation, self._since()))
        )

    async def load_all(self) -> list[tuple[str, str, StoredToken]]:
        """All tokens, with their agents and conversations."""

        def work(connection: Any) -> list[tuple[str, str, StoredToken]]:
            rows = _queries().load_all(connection, self._since())
            return [
                (row["agent"], row["conversation"], token) for row in rows for token in self._opened([row])
            ]

        return await self._writer.read(work)

    async def save(self, agent: str, conversation: str, tokens: Sequence[StoredToken]) -> None:
        """Commit new and changed tokens, and that the conversation is in use."""
        now = _now()
        changes: list[Change] = [self._change(agent, conversation, token, now) for token in tokens]
        whole = {"agent": agent, "conversation": conversation}
        changes.append(ChangedRow(table=_TABLE, where=whole, values={"used_at": now}))
        await self._writer.begin(*changes, quick=len(changes) <= _FEW)

    async def expire(self) -> int:
        return await self._writer.change(lambda store: _queries().expire(store, self._since()))

    async def summaries(self) -> list[TokenSummary]:
        rows = await self._writer.read(lambda connection: _queries().summaries(connection, self._since()))
        found: dict[tuple[str, str], dict[str, int]] = {}
        used: dict[tuple[str, str], str] = {}
        for row in rows:
            key = row["agent"], row["conversation"]
            found.setdefault(key, {})[row["kind"]] = row["count"]
            used[key] = max(used.get(key, ""), row["used_at"])
        return [
            TokenSummary(agent=agent, conversation=talk, kinds=kinds, used_at=used[agent, talk])
            for (agent, talk), kinds in found.items()
        ]

    async def forget(self, conversation: str | None, *, undecided: bool = True) -> int:
        """Remove the tokens of a conversation, or all; tells how many.

        Those of a conversation in which a call waits for a person are needed to send it: they go only if
        `undecided`.
        """
        return await self._writer.change(
            lambda store: _queries().forget(store, conversation, undecided=undecided)
        )

    def _change(self, agent: str, conversation: str, token: StoredToken, now: str) -> Change:
        row = {"agent": agent, "conversation": conversation, "letters": token.letters}
        content = json.dumps(token.content)
        values = {
            "sealed": self._sealer.seal(content, _about(agent, conversation, token.letters, token.kind))
        }
        if not token.is_new:
            return ChangedRow(table=_TABLE, where=row, values=values)
        return NewRow(
            table=_TABLE, values=row | values | {"kind": token.kind, "created_at": now, "used_at": now}
        )

    def _opened(self, rows: Iterable[Mapping[Any, Any]]) -> list[StoredToken]:
        found: list[StoredToken] = []
        for row in rows:
            about = _about(row["agent"], row["conversation"], row["letters"], row["kind"])
            try:
                content: object = json.loads(self._sealer.unseal(row["sealed"], about))
            except SatchelError:
                continue
            if is_object(content):
                found.append(
                    StoredToken(letters=row["letters"], kind=row["kind"], content=content, is_new=False)
                )
        return found

    def _since(self) -> str:
        return time_as_text(datetime.now(UTC) - timedelta(seconds=self._idle))


def _about(*parts: str) -> str:
    """What a sealed value belongs to, in a form that no other parts have."""
    return f"privacy token {json.dumps(parts)}"


def _now() -> str:
    return time_as_text(datetime.now(UTC))


def _queries():  # its type is the module's
    from satchel.store.privacy import queries  # SQLAlchemy takes a third of a second to import

    return queries

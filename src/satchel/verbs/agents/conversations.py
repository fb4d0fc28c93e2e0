"""Conversations of agents: listed, shown, exported, deleted; and written by the loop, message by message."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict

from satchel.model import ConversationRecord, Json
from satchel.store.conversations.interface import ConversationStore


class Conversations:
    """The conversations of one project. Those of MCP clients are not among them: their client keeps them.

    `forget` ends the privacy tokens of one that is deleted.
    """

    def __init__(self, store: ConversationStore, forget: Callable[[str], Awaitable[None]]) -> None:
        self.begin = store.begin
        self.claim = store.claim
        self.add = store.add
        self.note_reads = store.note_reads
        self.release = store.release
        self._store = store
        self._forget = forget

    async def list(self, *, agent: str | None = None, limit: int = 50) -> list[ConversationRecord]:
        """Those that were changed last first, without their messages."""
        return await self._store.list(agent=agent, limit=limit)

    async def get(self, id: str) -> ConversationRecord:
        """One with all of its messages; the beginning of its id is enough."""
        return await self._store.get(id)

    async def last(self, agent: str | None = None) -> ConversationRecord | None:
        """The one that was changed last."""
        found = await self._store.list(agent=agent, limit=1)
        return found[0] if found else None

    async def export(self, id: str) -> Json:
        """A conversation as a file has it, in the form of its version."""
        record = await self._store.get(id)
        return {"satchel_conversation": record.version, **asdict(record)}

    async def delete(self, id: str) -> None:
        """Remove one with all of its messages. The journal of its calls stays."""
        record = await self._store.get(id)
        await self._store.delete(record.id)
        await self._forget(record.id)

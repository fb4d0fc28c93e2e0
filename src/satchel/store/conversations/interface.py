"""Conversations for those who must not wait. Each message is committed before anything follows from it.

One process at a time works on a conversation; what a process that is gone had begun is `interrupted`.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from satchel.errors import ConflictError, NotFoundError
from satchel.model import ConversationRecord, Json, Message, Usage
from satchel.store.owners import current_owner
from satchel.store.row_changes import ChangedRow, NewRow, Unmatched, time_as_text
from satchel.store.writer import Writer

if TYPE_CHECKING:
    from satchel.store.store import Store

_LONGEST_TITLE = 200  # characters


class ConversationStore:
    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        writer.when_opened(_mark_interrupted)

    async def begin(self, record: ConversationRecord) -> ConversationRecord:
        """Commit a new conversation, which this process works on."""
        at = _now()
        values = {
            "id": record.id,
            "agent": record.agent,
            "title": record.title[:_LONGEST_TITLE],
            "state": "running",
            "version": record.version,
            "started_at": at,
            "changed_at": at,
            "memory": record.memory,
            "usage": json.dumps(asdict(record.usage)),
            "reads": json.dumps(list(record.reads)),
            "owner": current_owner().text,
        }
        await self._writer.begin(NewRow(table="conversations", values=values))
        return await self.get(record.id)

    async def claim(self, id: str) -> ConversationRecord:
        """Go on with a conversation. ConflictError while another process works on it."""
        record = await self.get(id)
        if record.state == "running":
            raise ConflictError(
                f"the conversation {record.id} is being worked on",
                name=record.id,
                hint="wait for its end, or begin a new one",
            )
        values = {"state": "running", "owner": current_owner().text, "changed_at": _now()}
        claim = ChangedRow(
            table="conversations",
            where={"id": record.id, "state": record.state},
            values=values,
            required=True,
        )
        try:
            await self._writer.begin(claim)
        except Unmatched:
            raise ConflictError(
                f"the conversation {record.id} was taken up by another process", name=record.id
            ) from None
        return record

    async def add(self, id: str, number: int, message: Message) -> Message:
        """Commit the next message."""
        at = _now()
        content = json.dumps(message.content, ensure_ascii=False)
        row = {"conversation": id, "number": number, "role": message.role, "content": content, "at": at}
        await self._writer.begin(NewRow(table="messages", values=row), quick=len(content) < 64 * 1024)
        return Message(role=message.role, content=message.content, at=at)

    async def note_reads(self, id: str, reads: Sequence[Json]) -> None:
        """Commit what was read, before its results: a process that is killed has read it all the same."""
        values = {"reads": json.dumps(list(reads))}
        await self._writer.begin(ChangedRow(table="conversations", where={"id": id}, values=values))

    async def release(self, id: str, *, usage: Usage, reads: Sequence[Json]) -> None:
        """Note the end of a turn; also while everything is cancelled."""
        values = {
            "state": "open",
            "changed_at": _now(),
            "usage": json.dumps(asdict(usage)),
            "reads": json.dumps(list(reads)),
        }
        await self._writer.finish(ChangedRow(table="conversations", where={"id": id}, values=values))

    async def list(self, *, agent: str | None = None, limit: int = 50) -> list[ConversationRecord]:
        """Those that were changed last first, without their messages."""
        return await self._writer.read(
            lambda connection: _queries().find_conversations(connection, agent=agent, limit=limit)
        )

    async def get(self, id: str) -> ConversationRecord:
        """One with all of its messages; the beginning of an id is enough."""
        found = await self._writer.read(lambda connection: _queries().find_conversation(connection, id))
        if found is None:
            hint = "satchel conversations list shows all"
            raise NotFoundError("conversation", id[:100], hint=hint)
        return found

    async def delete(self, id: str) -> None:
        """Remove a conversation with all of its messages."""
        record = await self.get(id)
        if record.state == "running":
            raise ConflictError(
                f"the conversation {record.id} is being worked on", name=record.id, hint="wait for its end"
            )
        await self._writer.change(lambda store: _queries().delete_conversation(store, record.id))


def _now() -> str:
    return time_as_text(datetime.now(UTC))


def _mark_interrupted(store: "Store") -> None:
    _queries().mark_interrupted(store)


def _queries():  # its type is the module's
    from satchel.store.conversations import queries  # SQLAlchemy takes a third of a second to import

    return queries

"""The journal for those who must not wait: what happened in calls and executions.

A call's beginning is committed before `begin` returns, and its end is written soon after; see `writer.py`.
"""

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from satchel.model import (
    Call,
    CallRecord,
    CallResult,
    CallStatus,
    ExecutionRecord,
    Json,
    ToldMemory,
    ToldMemoryRecord,
)
from satchel.store import journal_rows as rows
from satchel.store.writer import Writer

if TYPE_CHECKING:
    from satchel.store.store import Store

_SHORT = 64 * 1024  # characters of a program that are written without a thread


class Journal:
    """A `satchel.calls.journal.Journal`, and what is recorded of executions."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        writer.when_opened(_mark_interrupted)

    async def begin(self, call: Call) -> int:
        """Commit that a call is about to be sent."""
        return await self._writer.begin(rows.sent_call(call), undo=self._cancel)

    def complete(
        self,
        number: int,
        status: CallStatus,
        *,
        ms: float,
        result: CallResult | None = None,
        error: str | None = None,
    ) -> None:
        self._writer.write_soon(partial(rows.ended_call, number, status, ms=ms, result=result, error=error))

    def denied(self, call: Call) -> None:
        row = rows.denied_call(call)
        self._writer.write_soon(lambda: row)

    async def begin_execution(
        self,
        *,
        id: str,
        agent: str,
        language: str,
        program: str,
        description: str = "",
        conversation: str | None = None,
    ) -> None:
        """Commit that a program is about to run."""
        row = rows.new_execution(
            id=id,
            agent=agent,
            language=language,
            program=program,
            description=description,
            conversation=conversation,
        )
        await self._writer.begin(row, quick=len(program) < _SHORT)

    async def finish_execution(self, id: str, outcome: Json) -> None:
        """Record how an execution ended, after how its calls did; also while everything is cancelled."""
        await self._writer.finish(rows.ended_execution(id, outcome))

    def told_memory(self, told: ToldMemory, *, agent: str, conversation: str | None = None) -> None:
        """Record what a model is told of a memory, soon after."""
        row = rows.told_memory(told, agent=agent, conversation=conversation)
        self._writer.write_soon(lambda: row)

    async def executions(
        self, *, agent: str | None = None, since: datetime | None = None, limit: int = 50
    ) -> list[ExecutionRecord]:
        """The newest first, without their calls."""
        return await self._writer.read(
            lambda connection: _queries().find_executions(connection, agent=agent, since=since, limit=limit)
        )

    async def execution(self, id: str) -> ExecutionRecord | None:
        """The execution of that id, or the only one whose id begins like that; with its calls in order."""
        return await self._writer.read(lambda connection: _queries().find_execution(connection, id))

    async def calls(
        self,
        *,
        server: str | None = None,
        tool: str | None = None,
        agent: str | None = None,
        since: datetime | None = None,
        execution: str | None = None,
        limit: int = 100,
    ) -> list[CallRecord]:
        """The newest first."""
        wanted = {"server": server, "tool": tool, "agent": agent, "execution": execution}
        return await self._writer.read(
            lambda connection: _queries().find_calls(connection, since=since, limit=limit, **wanted)
        )

    async def told_memories(
        self, *, agent: str | None = None, conversation: str | None = None, limit: int = 100
    ) -> list[ToldMemoryRecord]:
        """The newest first."""
        return await self._writer.read(
            lambda connection: _queries().find_told_memories(
                connection, agent=agent, conversation=conversation, limit=limit
            )
        )

    async def flush(self) -> None:
        await self._writer.flush()

    async def aclose(self) -> None:
        """Close the writer, for every table behind it."""
        await self._writer.aclose()

    def _cancel(self, number: int) -> None:
        self.complete(number, "cancelled", ms=0)


def _mark_interrupted(store: "Store") -> None:
    _queries().mark_interrupted(store)


def _queries():  # its type is the module's
    from satchel.store import journal_queries  # SQLAlchemy takes a third of a second to import

    return journal_queries

"""The journal for those who must not wait: the store behind an async face.

A call's beginning is committed before `begin` returns. Its end is written soon after, many ends at a time, by
a thread; what can't be written is kept, and nothing begins while it can't. Before the first use nothing is
opened, created or imported.
"""

import asyncio
import hashlib
import json
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from anyio import CancelScope, to_thread

from satchel.errors import ClosedError, JournalError
from satchel.model import Call, CallRecord, CallResult, CallStatus, ExecutionRecord, Json
from satchel.store.rows import FinishedCall, NewCall
from satchel.support.waiting import until_done

if TYPE_CHECKING:
    from satchel.store.store import Store

Result = TypeVar("Result")

_SHORT = 64 * 1024  # characters of a program that are written without a thread
_MOMENT = 0.05  # seconds in which ends are gathered: a write takes the interpreter from the calls that run


@dataclass(frozen=True, kw_only=True)
class _End:
    number: int
    status: CallStatus
    ms: float
    result: CallResult | None
    error: str | None


class Journal:
    """A `satchel.calls.journal.Journal`, and what is recorded of executions."""

    def __init__(self, location: Path | str | Callable[[], Path | str]) -> None:
        self._location = location
        self._store: Store | None = None
        self._opening = threading.Lock()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="satchel-journal")
        self._waiting: list[_End | NewCall] = []  # a new call that waits is one that was denied
        self._scheduled = False
        self._changing = threading.Lock()  # the two above
        self._writing = threading.Lock()
        self._behind = False  # something could not be written when it was its turn
        self._is_closed = False
        self._users = 0  # threads that use the store

    async def begin(self, call: Call) -> int:
        """Commit that a call is about to be sent. Without a wait where that is quick, else in a thread."""
        if self._behind:
            await self.flush()
        self._refuse_if_closed()
        new = _new_call(call)
        number = self._store.try_begin_call(new) if self._store is not None else None
        if number is not None:
            return number

        def work() -> int:
            with self._opened(to_begin=True) as store:
                return store.begin_call(new)

        def give_up(number: int) -> None:
            self.complete(number, "cancelled", ms=0)

        return await _write_in_thread(work, give_up)

    def complete(
        self,
        number: int,
        status: CallStatus,
        *,
        ms: float,
        result: CallResult | None = None,
        error: str | None = None,
    ) -> None:
        self._write_soon(_End(number=number, status=status, ms=ms, result=result, error=error))

    def denied(self, call: Call) -> None:
        self._write_soon(_new_call(call, refused=True))

    async def begin_execution(
        self, *, id: str, agent: str, language: str, program: str, description: str = ""
    ) -> None:
        """Commit that a program is about to run. Without a wait where that is quick, as for a call."""
        self._refuse_if_closed()
        new = {"id": id, "agent": agent, "language": language, "program": program, "description": description}
        store = self._store
        if store is not None and len(program) < _SHORT and store.try_begin_execution(**new):
            return

        def work() -> None:
            with self._opened(to_begin=True) as store:
                store.begin_execution(**new)

        await _write_in_thread(work)

    async def finish_execution(self, id: str, outcome: Json) -> None:
        """Record how an execution ended, after how its calls did; also while everything is cancelled."""
        store = self._store if not self._is_closed else None  # or it may be closed in the middle of it
        nothing_else = not self._waiting and not self._writing.locked()
        if store is not None and nothing_else and store.try_finish_execution(id, outcome):
            return

        def work() -> None:
            self._write_waiting()
            with self._opened() as store:
                store.finish_execution(id, outcome)

        with CancelScope(shield=True):
            await _write_in_thread(work)

    async def executions(
        self, *, agent: str | None = None, since: datetime | None = None, limit: int = 50
    ) -> list[ExecutionRecord]:
        """The newest first, without their calls."""
        return await self._read(lambda store: store.executions(agent=agent, since=since, limit=limit))

    async def execution(self, id: str) -> ExecutionRecord | None:
        """The execution of that id, or the only one whose id begins like that; with its calls in order."""
        return await self._read(lambda store: store.execution(id))

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
        return await self._read(
            lambda store: store.calls(
                server=server, tool=tool, agent=agent, since=since, execution=execution, limit=limit
            )
        )

    async def flush(self) -> None:
        """Have everything written that ended until now. The store bounds how long that takes."""
        with CancelScope(shield=True):
            await to_thread.run_sync(self._write_waiting)

    async def aclose(self) -> None:
        """Write what is left, and close the store. Nothing can begin any more; what is there can be read."""
        self._is_closed = True
        with CancelScope(shield=True):
            await to_thread.run_sync(self._end)

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise ClosedError

    async def _read(self, read: Callable[["Store"], Result]) -> Result:
        def work() -> Result:
            with suppress(JournalError):  # what was recorded can be read even if no more can be
                self._write_waiting()
            with self._opened() as store:
                return read(store)

        return await to_thread.run_sync(work)

    def _end(self) -> None:
        with self._opening:
            self._users += 1
        try:
            self._write_waiting()
        finally:
            self._let_go()

    @contextmanager
    def _opened(self, *, to_begin: bool = False) -> "Generator[Store]":
        """The store, opened by whoever is the first. What still comes after the end closes it again."""
        with self._opening:
            if to_begin:
                self._refuse_if_closed()
            if self._store is None:
                self._store = self._open()
            store = self._store
            self._users += 1
        try:
            yield store
        finally:
            self._let_go()

    def _let_go(self) -> None:
        with self._opening:
            self._users -= 1
            if self._is_closed and not self._users and self._store is not None:
                store, self._store = self._store, None
                store.close()

    def _open(self) -> "Store":
        """Marks what the dead left, too."""
        from satchel.store.store import open_store  # SQLAlchemy takes long to import

        location = self._location
        store = open_store(location() if callable(location) else location)
        try:
            store.mark_interrupted()
        except BaseException:
            store.close()
            raise
        return store

    def _write_soon(self, item: _End | NewCall) -> None:
        with self._changing:
            self._waiting.append(item)
            if not self._scheduled:
                self._scheduled = True
                self._thread.submit(self._write_after_a_moment)

    def _write_after_a_moment(self) -> None:
        time.sleep(_MOMENT)
        with suppress(JournalError):  # the next beginning meets it
            self._write_waiting()

    def _write_waiting(self) -> None:
        with self._writing:
            with self._changing:
                items, self._waiting, self._scheduled = self._waiting, [], False
            if not items:
                return
            try:
                self._write(items)
            except BaseException:
                with self._changing:
                    self._waiting = items + self._waiting
                self._behind = True
                raise
            self._behind = False

    def _write(self, items: list[_End | NewCall]) -> None:
        with self._opened() as store:
            store.finish_calls([_finished_call(item) for item in items if isinstance(item, _End)])
            # Last: the ends may be written twice if this fails, a refusal would then be there twice.
            store.record_denied([item for item in items if isinstance(item, NewCall)])


async def _write_in_thread(
    work: Callable[[], Result], give_up: Callable[[Result], None] = lambda _: None
) -> Result:
    """Record a beginning or an end. The thread can't be stopped: who is cancelled waits, then gives it up.

    anyio alone does not wait where a task is cancelled by asyncio. The store bounds how long this takes.
    """
    task = asyncio.ensure_future(to_thread.run_sync(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await until_done(task)
        if not task.cancelled() and task.exception() is None:
            give_up(task.result())
        raise


def _new_call(call: Call, *, refused: bool = False) -> NewCall:
    """Of a call that is refused anyway, the arguments may be anything."""
    try:
        digest, size = _digest(dict(call.arguments))
    except (TypeError, ValueError, RecursionError) as error:
        if not refused:
            raise JournalError(
                f"the arguments of {call.what.qualified_name} can't be recorded: {error}",
                hint="pass plain JSON values, not nested too deep",
            ) from error
        digest, size = "", 0
    return NewCall(
        execution=call.caller.execution,
        agent=call.caller.agent,
        server=call.what.server,
        tool=call.label,
        arguments_digest=digest,
        arguments_size=size,
    )


def _finished_call(end: _End) -> FinishedCall:
    finished = partial(FinishedCall, id=end.number, status=end.status, duration_ms=end.ms, error=end.error)
    if end.result is None:
        return finished()
    value: Json = {"content": end.result.content}
    if end.result.has_structured:
        value["structuredContent"] = end.result.structured
    try:
        digest, size = _digest(value)
    except (
        TypeError,
        ValueError,
        RecursionError,
    ):  # it has come; how it ended is to be recorded all the same
        return finished()
    return finished(result_digest=digest, result_size=size)


def _digest(value: Json) -> tuple[str, int]:
    """The SHA-256 of a value's canonical JSON, and how many bytes that is."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest(), len(data)

"""All connections: opened by the first call, shared, restarted after a crash, stopped when idle.

Each server has a slot and each open connection a task of its own, so that one server that hangs, floods or
dies touches no other. A call that was sent is never sent again from here.
"""

import logging
import os
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass

import anyio
import anyio.abc
import httpx2
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED

from satchel.config import ServerEntry, Target, resolve
from satchel.config.settings import ServersSettings
from satchel.errors import (
    NeedsAuthorizationError,
    NeedsSetupError,
    SatchelError,
    ServerError,
    ServerFailedError,
    ToolError,
)
from satchel.model import Call, CallResult, Json, Listing, State, is_list, is_object
from satchel.upstream.connection import Connection, open_connection
from satchel.upstream.failures import classify, describe, first_leaf, redact, tail
from satchel.upstream.http import Exchange
from satchel.upstream.processes import Children
from satchel.upstream.stdio import Child

logger = logging.getLogger(__name__)

_PROBE_TIMEOUT = 10.0
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_SETTLED = 30.0  # seconds a connection must have lasted for its crash to count as the first
_LISTING_GRACE = 1.0  # seconds that closing waits for a listing under way, so that changes are seen

_STATES: dict[type[ServerError], State] = {
    NeedsSetupError: "needs setup",
    NeedsAuthorizationError: "needs authorization",
}

OnListing = Callable[[ServerEntry, Listing], None]
IsLegacy = Callable[[ServerEntry], bool]
Authorize = Callable[[Target], httpx2.Auth | None]


class _Run:
    """One connection's life, from start to stop. Only its own task changes it."""

    def __init__(self) -> None:
        self.ready = anyio.Event()  # negotiated, or failed to
        self.finished = anyio.Event()
        self.stop = anyio.Event()
        self.connection: Connection | None = None
        self.failure: ServerError | None = None

    @property
    def usable(self) -> bool:
        """Whether a caller can wait for it or use it."""
        if self.finished.is_set() or self.stop.is_set():
            return False
        return self.connection is None or not self.connection.ended.is_set()


@dataclass(kw_only=True)
class _Slot:
    """One server's place in the pool."""

    entry: ServerEntry
    legacy: bool = False
    run: _Run | None = None
    failures: int = 0
    retry_at: float = 0.0
    in_flight: int = 0
    last_used: float = 0.0
    listing: int = 0


class Pool:
    """Use through `open_pool`."""

    def __init__(
        self,
        tasks: anyio.abc.TaskGroup,
        children: Children,
        settings: ServersSettings,
        on_listing: OnListing,
        is_legacy: IsLegacy,
        authorize: Authorize,
        environment: Mapping[str, str],
    ) -> None:
        self._tasks = tasks
        self._children = children
        self.settings = settings
        self._on_listing = on_listing
        self._is_legacy = is_legacy
        self._authorize = authorize
        self._environment = environment
        self._slots: dict[str, _Slot] = {}

    def state(self, server: str) -> tuple[State | None, str | None]:
        """What is known of a server right now: (state, error), both None when nothing is."""
        run = self._slots[server].run if server in self._slots else None
        if run is None:
            return None, None
        if run.failure is not None:
            return _STATES.get(type(run.failure), "failed"), run.failure.message
        return ("running", None) if run.usable else (None, None)

    async def list_server(self, entry: ServerEntry) -> Listing:
        """Ask a server for everything it offers."""
        timeout = entry.timeout or self.settings.timeout
        async with self._using(entry, relist=False) as (run, connection):
            try:
                with anyio.fail_after(timeout):
                    listing = await connection.list_all()
            except (MCPError, TimeoutError) as error:
                cause = await self._explain(run, connection, error, f"no list within {timeout:g} s")
                if isinstance(cause, ServerError):
                    raise cause from error
                raise ServerFailedError(entry.name, cause.message.removeprefix(f"{entry.name}: ")) from error
        self._on_listing(entry, listing)
        return listing

    async def connect(self, entry: ServerEntry) -> None:
        """Have a connection ready, starting the server if need be."""
        async with self._using(entry):
            pass

    async def call(self, entry: ServerEntry, call: Call) -> CallResult:
        """Send one call. Raises ToolError, or ServerError when the server can't be had."""
        tool = call.tool
        async with self._using(entry) as (run, connection):
            try:
                raw = await connection.call(tool.name, tool.input_schema, call.arguments, call.on_progress)
            except MCPError as error:
                if error.code == CONNECTION_CLOSED:
                    lost = await self._explain(run, connection, error)
                    reason = lost.reason if isinstance(lost, ServerError) else lost.message
                    raise ToolError(
                        tool.server,
                        tool.name,
                        f"the server went away during the call: {reason}",
                        kind="connection",
                        stderr=tail(connection.child, connection.target),
                        hint="it may have had its effect: look before you call it again",
                    ) from error
                refusal = connection.refusal(error)
                if refusal is not None:
                    raise refusal from error
                message = redact(error.message, connection.target.secrets)
                raise ToolError(
                    tool.server, tool.name, f"{message} (code {error.code})", kind="protocol"
                ) from error
        if raw.get("resultType") == "input_required":
            message = "the tool asks for input, which can't be given here"
            raise ToolError(tool.server, tool.name, message, kind="input")
        return read_result(raw)

    async def read_resource(self, entry: ServerEntry, uri: str) -> Json:
        return await self._ask(entry, lambda connection: connection.read_resource(uri))

    async def get_prompt(self, entry: ServerEntry, name: str, arguments: Mapping[str, str]) -> Json:
        return await self._ask(entry, lambda connection: connection.get_prompt(name, arguments))

    async def _ask(self, entry: ServerEntry, ask: Callable[[Connection], Awaitable[Json]]) -> Json:
        timeout = entry.timeout or self.settings.timeout
        async with self._using(entry) as (run, connection):
            try:
                with anyio.fail_after(timeout):
                    return await ask(connection)
            except (MCPError, TimeoutError) as error:
                raise await self._explain(
                    run, connection, error, f"no answer within {timeout:g} s"
                ) from error

    def forget(self, server: str) -> None:
        """Stop a server whose entry is gone or has changed. What is in flight on it fails."""
        slot = self._slots.pop(server, None)
        if slot is not None and slot.run is not None:
            slot.run.stop.set()

    async def settle(self) -> None:
        """Wait, briefly, for listings that are under way."""
        with anyio.move_on_after(_LISTING_GRACE):
            while any(slot.listing for slot in self._slots.values()):  # noqa: ASYNC110  over many slots
                await anyio.sleep(0.01)

    @asynccontextmanager
    async def _using(
        self, entry: ServerEntry, *, relist: bool = True
    ) -> AsyncGenerator[tuple[_Run, Connection]]:
        slot = self._slots.get(entry.name)
        if slot is None or slot.entry.written != entry.written:
            self.forget(entry.name)
            slot = self._slots[entry.name] = _Slot(entry=entry, legacy=self._is_legacy(entry))
        slot.in_flight += 1
        try:
            yield await self._connected(slot, relist)
        finally:
            slot.in_flight -= 1
            slot.last_used = anyio.current_time()

    async def _connected(self, slot: _Slot, relist: bool) -> tuple[_Run, Connection]:
        while True:
            run = slot.run
            if run is None or not run.usable:
                pause = slot.retry_at - anyio.current_time()
                if run is not None and run.failure is not None and pause > 0:
                    raise _again_later(run.failure, pause)
                run = slot.run = _Run()
                self._tasks.start_soon(self._serve, slot, run, relist)
            await run.ready.wait()
            if run.connection is not None and run.usable:
                return run, run.connection
            if run.failure is not None:
                raise run.failure.copy()

    async def _serve(self, slot: _Slot, run: _Run, relist: bool) -> None:
        """The task of one connection, from start to stop."""
        began = anyio.current_time()
        try:
            await self._connect(slot, run, relist)
        except ServerError as error:
            run.failure = error
        except Exception as error:  # one server's failure, whatever it is, must not reach another
            logger.exception("server %s: unexpected failure", slot.entry.name)
            run.failure = ServerFailedError(slot.entry.name, f"failed: {describe(first_leaf(error))}")
        finally:
            if run.failure is not None:
                settled = anyio.current_time() - began > _SETTLED
                slot.failures = 1 if settled else slot.failures + 1
                slot.retry_at = anyio.current_time() + _pause(slot.failures)
            run.finished.set()
            run.ready.set()

    async def _connect(self, slot: _Slot, run: _Run, relist: bool) -> None:
        target = resolve(slot.entry, self._environment)
        timeout = slot.entry.startup_timeout or self.settings.startup_timeout
        try:
            await self._attempt(slot, run, target, relist, legacy=slot.legacy, timeout=timeout)
        except ServerFailedError as error:
            if run.ready.is_set() or target.transport != "stdio":
                raise  # it had started, or there is nothing to be gained from starting it anew
            # Some older servers break on a question of the newer era, and one that is remembered as old may
            # be new by now. Start it once more, the other way; briefly if it may just be hanging.
            if isinstance(first_leaf(error.__cause__ or error), TimeoutError):
                timeout = min(timeout, _PROBE_TIMEOUT)
            try:
                await self._attempt(slot, run, target, relist, legacy=not slot.legacy, timeout=timeout)
            except ServerFailedError:
                if run.ready.is_set():
                    raise
                raise error from None  # neither way works: the first failure is the telling one

    async def _attempt(
        self, slot: _Slot, run: _Run, target: Target, relist: bool, *, legacy: bool, timeout: float
    ) -> None:
        exchange = Exchange()
        found: list[Child] = []
        try:
            auth = self._authorize(target) if target.transport != "stdio" else None
            with anyio.CancelScope(deadline=anyio.current_time() + timeout) as scope:
                async with open_connection(
                    target, children=self._children, auth=auth, exchange=exchange, found=found
                ) as connection:
                    await connection.negotiate(legacy=legacy, probe_timeout=min(_PROBE_TIMEOUT, timeout / 2))
                    scope.deadline = float("inf")
                    slot.legacy = not connection.modern
                    slot.last_used = anyio.current_time()
                    run.connection = connection
                    run.ready.set()
                    await self._attend(slot, run, connection, relist)
                    if connection.ended.is_set() and not run.stop.is_set():
                        raise MCPError(code=CONNECTION_CLOSED, message="Connection closed")
            if scope.cancelled_caught:
                raise TimeoutError
        except Exception as error:  # of any kind: foreign failures are classified here and nowhere else
            child = found[0] if found else None
            status = None if run.ready.is_set() else exchange.refused
            raise classify(error, target, child=child, status=status, startup_timeout=timeout) from error

    async def _attend(self, slot: _Slot, run: _Run, connection: Connection, relist: bool) -> None:
        """Stay until the connection ends, is stopped, or has been idle for long enough."""

        async def list_again() -> None:
            await self._relist(slot, connection)

        async with anyio.create_task_group() as tasks:
            if relist:
                tasks.start_soon(list_again)
            tasks.start_soon(connection.watch_changes, list_again)
            tasks.start_soon(_set_when, run.stop, connection.ended)
            while not connection.ended.is_set():
                with anyio.move_on_after(self._idle_remaining(slot)):
                    await connection.ended.wait()
                if not slot.in_flight and self._idle_remaining(slot) <= 0:
                    run.stop.set()
            tasks.cancel_scope.cancel()

    def _idle_remaining(self, slot: _Slot) -> float:
        if slot.entry.transport != "stdio":
            return float("inf")
        limit = slot.entry.idle_timeout
        limit = self.settings.idle_timeout if limit is None else limit
        if slot.in_flight:
            return max(limit, 1.0)
        return slot.last_used + limit - anyio.current_time()

    async def _relist(self, slot: _Slot, connection: Connection) -> None:
        slot.listing += 1
        try:
            with anyio.move_on_after(slot.entry.timeout or self.settings.timeout):
                self._on_listing(slot.entry, await connection.list_all())
        except Exception as error:  # noqa: BLE001  the catalog keeps what it had; the next listing tells
            logger.warning("server %s: listing failed: %s", slot.entry.name, describe(first_leaf(error)))
        finally:
            slot.listing -= 1

    async def _explain(
        self, run: _Run, connection: Connection, error: Exception, silence: str = "did not answer"
    ) -> SatchelError:
        """Why a request failed; when the connection was lost, as its own task has found out."""
        name = connection.target.name
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            with anyio.move_on_after(5):
                await run.finished.wait()
            return run.failure or ServerFailedError(name, "closed the connection")
        stderr = tail(connection.child, connection.target)
        if isinstance(error, MCPError):
            refusal = connection.refusal(error)
            return refusal or SatchelError(f"{name}: {redact(describe(error), connection.target.secrets)}")
        return ServerFailedError(name, silence, stderr=stderr)


@asynccontextmanager
async def open_pool(
    settings: ServersSettings,
    *,
    on_listing: OnListing = lambda entry, listing: None,
    is_legacy: IsLegacy = lambda entry: False,
    authorize: Authorize = lambda target: None,
    environment: Mapping[str, str] = os.environ,
) -> AsyncGenerator[Pool]:
    """A pool whose connections end with the block, and whose processes end however the block ends."""
    children = Children()
    failure: Exception | None = None
    with closing(children):
        async with anyio.create_task_group() as tasks:
            pool = Pool(tasks, children, settings, on_listing, is_legacy, authorize, environment)
            try:
                yield pool
                await pool.settle()
            except Exception as error:  # noqa: BLE001  raised below, as it is and not inside a group
                failure = error
            finally:
                tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


def read_result(raw: Json) -> CallResult:
    """A call's result from what the server sent, whatever of it is missing or odd."""
    content = raw.get("content")
    blocks = tuple(block for block in content if is_object(block)) if is_list(content) else ()
    return CallResult(
        content=blocks,
        structured=raw.get("structuredContent"),
        has_structured="structuredContent" in raw,
        is_error=raw.get("isError") is True,
    )


async def _set_when(first: anyio.Event, second: anyio.Event) -> None:
    await first.wait()
    second.set()


def _pause(failures: int) -> float:
    """None after the first failure, then growing, with some jitter so that servers don't start in step."""
    if failures <= 1:
        return 0.0
    return min(_FIRST_PAUSE * 2 ** (failures - 2), _LONGEST_PAUSE) * random.uniform(0.8, 1.2)


def _again_later(failure: ServerError, pause: float) -> ServerError:
    return failure.copy(hint=f"it is started again in {pause:.0f} s. {failure.hint or ''}".strip())

"""One server's place in the pool: its connection started, attended to, and started again after a failure."""

import logging
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from traceback import format_exception

import anyio
import anyio.abc
import httpx2
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED

from satchel.config import ServerEntry, Target, resolve
from satchel.config.settings import ServersSettings
from satchel.errors import ServerError, ServerFailedError
from satchel.model import Listing
from satchel.upstream.connection import Connection, open_connection
from satchel.upstream.failures import classify, describe, first_leaf
from satchel.upstream.http import Exchange
from satchel.upstream.logs import ServerLog
from satchel.upstream.processes import Children
from satchel.upstream.redacting import hide_from_logs, redact
from satchel.upstream.stdio import Child

logger = logging.getLogger(__name__)

_PROBE_TIMEOUT = 10.0
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_SETTLED = 30.0  # seconds a connection must have lasted for its crash to count as the first

OnListing = Callable[[ServerEntry, Listing], None]
Authorize = Callable[[Target], httpx2.Auth | None]


@dataclass(kw_only=True)
class Surroundings:
    """What all slots of a pool share."""

    tasks: anyio.abc.TaskGroup
    children: Children
    settings: ServersSettings
    on_listing: OnListing
    authorize: Authorize
    environment: Mapping[str, str]


class Run:
    """One connection's life, from start to stop. Only its own task changes it."""

    def __init__(self) -> None:
        self.ready = anyio.Event()  # negotiated, or failed to
        self.starting = anyio.CancelScope()  # until then
        self.listed = anyio.Event()  # once what it offers now is recorded, or could not be had
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


class Slot:
    """Outlives its connections: remembers the era, the failures and the last use."""

    def __init__(
        self,
        entry: ServerEntry,
        around: Surroundings,
        *,
        legacy: bool,
        can: Set[str] = frozenset(),
        handshake: bool = False,
    ) -> None:
        self.entry = entry
        self._can = can
        self._handshake = handshake
        self.legacy = legacy or handshake
        self.run: Run | None = None
        self._is_stopped = False
        self.listing = 0  # listings under way in the background
        self._around = around
        self._failures = 0
        self._retry_at = 0.0
        self._target: Target | None = None
        self._in_flight = 0
        self.last_used = 0.0

    @asynccontextmanager
    async def using(self, *, relist: bool = True) -> AsyncGenerator[tuple[Run, Connection]]:
        """A connection for the length of the block, in which the server does not count as idle."""
        self._in_flight += 1
        try:
            yield await self._connected(relist)
        finally:
            self._in_flight -= 1
            self.last_used = anyio.current_time()

    def stop(self) -> None:
        """End its connection for good. Calls in flight fail, and so do callers that wait for its start."""
        self._is_stopped = True
        if self.run is not None:
            self.run.stop.set()
            if not self.run.ready.is_set():
                self.run.starting.cancel()

    async def _connected(self, relist: bool) -> tuple[Run, Connection]:
        """A connection that can be used, started if there is none. Raises ServerError."""
        while True:
            run = self.run
            if run is None or not run.usable:
                pause = self._retry_at - anyio.current_time()
                if run is not None and run.failure is not None and pause > 0:
                    raise _again_later(run.failure, pause)
                self._refuse_if_stopped()
                run = self.run = Run()
                self._around.tasks.start_soon(self._serve, run, relist)
            if not run.ready.is_set():  # waiting for what has happened costs a turn of the event loop
                await run.ready.wait()
            if run.connection is not None and run.usable:
                return run, run.connection
            if run.failure is not None:
                raise run.failure.copy()

    def _refuse_if_stopped(self) -> None:
        """Or a caller that waited for a start would begin another one, which nobody ends."""
        if self._is_stopped:
            reason, hint = "was stopped: its entry has changed or gone", "call it again"
            raise ServerFailedError(self.entry.name, reason, hint=hint)
        if self._around.tasks.cancel_scope.cancel_called:
            raise ServerFailedError(self.entry.name, "was stopped: Satchel is being closed")

    async def _serve(self, run: Run, relist: bool) -> None:
        """The task of one connection, from start to stop."""
        began = anyio.current_time()
        try:
            with run.starting:
                await self._connect(run, relist)
        except ServerError as error:
            run.failure = error
        except Exception as error:  # noqa: BLE001  one server's failure must not reach another
            secrets = self._target.secrets if self._target is not None else ()
            trace = redact("".join(format_exception(error)), secrets)
            logger.error("server %s: unexpected failure\n%s", self.entry.name, trace)
            said = redact(describe(first_leaf(error)), secrets)
            run.failure = ServerFailedError(self.entry.name, f"failed: {said}")
        finally:
            if run.failure is not None:
                settled = anyio.current_time() - began > _SETTLED
                self._failures = 1 if settled else self._failures + 1
                self._retry_at = anyio.current_time() + _pause(self._failures)
            run.finished.set()
            run.listed.set()
            run.ready.set()

    async def _connect(self, run: Run, relist: bool) -> None:
        target = self._target = resolve(self.entry, self._around.environment)
        hide_from_logs(target.secrets)
        timeout = self.entry.startup_timeout or self._around.settings.startup_timeout
        try:
            await self._attempt(run, target, relist, legacy=self.legacy, timeout=timeout)
        except ServerFailedError as error:
            if run.ready.is_set() or target.transport != "stdio":
                raise  # it had started, or starting it again would not help
            # Some older servers break on a question of the newer era, and one that is remembered as old may
            # be new by now. Start it once more, the other way; briefly if it may just be hanging.
            if isinstance(first_leaf(error.__cause__ or error), TimeoutError):
                timeout = second_time(timeout)
            try:
                await self._attempt(run, target, relist, legacy=not self.legacy, timeout=timeout)
            except ServerFailedError:
                if run.ready.is_set():
                    raise
                raise error from None  # neither way works: the first failure is the telling one

    async def _attempt(self, run: Run, target: Target, relist: bool, *, legacy: bool, timeout: float) -> None:
        exchange = Exchange()
        found: list[Child] = []
        began = anyio.current_time()

        def log(child: Child | None) -> ServerLog:
            return child.log if child is not None else self._around.children.logs.open(target)

        try:
            auth = self._around.authorize(target) if target.transport != "stdio" else None
            with anyio.CancelScope(deadline=anyio.current_time() + timeout) as scope:
                async with open_connection(
                    target,
                    children=self._around.children,
                    auth=auth,
                    exchange=exchange,
                    found=found,
                    can=self._can,
                ) as connection:
                    await connection.negotiate(legacy=legacy, probe_timeout=min(_PROBE_TIMEOUT, timeout / 2))
                    scope.deadline = float("inf")
                    self.legacy = not connection.modern
                    taken = anyio.current_time() - began
                    version = connection.protocol_version
                    log(connection.child).note(f"connected in {taken:.1f} s, protocol {version}")
                    self.last_used = anyio.current_time()
                    run.connection = connection
                    run.ready.set()
                    await self._attend(run, connection, relist)
                    if connection.ended.is_set() and not run.stop.is_set():
                        raise MCPError(code=CONNECTION_CLOSED, message="Connection closed")
            if scope.cancelled_caught:
                raise TimeoutError
        except Exception as error:  # of any kind: foreign failures are classified here and nowhere else
            child = found[0] if found else None
            status = None if run.ready.is_set() else exchange.refused
            failure = classify(error, target, child=child, status=status, startup_timeout=timeout)
            log(child).note(f"failed after {anyio.current_time() - began:.1f} s: {failure.reason}")
            raise failure from error

    async def _attend(self, run: Run, connection: Connection, relist: bool) -> None:
        """Stay until the connection ends, is stopped, or has been idle for long enough."""

        async def list_again() -> None:
            await self._relist(connection)

        async def list_first() -> None:
            await list_again()
            run.listed.set()

        async with anyio.create_task_group() as tasks:
            if relist:
                tasks.start_soon(list_first)
            tasks.start_soon(connection.watch_changes, list_again)
            tasks.start_soon(_set_when, run.stop, connection.ended)
            while not connection.ended.is_set():
                with anyio.move_on_after(self._idle_remaining()):
                    await connection.ended.wait()
                if not self._in_flight and self._idle_remaining() <= 0:
                    run.stop.set()
            tasks.cancel_scope.cancel()

    def _idle_remaining(self) -> float:
        if self.entry.transport != "stdio":
            return float("inf")
        limit = self.entry.idle_timeout
        limit = self._around.settings.idle_timeout if limit is None else limit
        if self._in_flight:
            return max(limit, 1.0)
        return self.last_used + limit - anyio.current_time()

    async def list_all(self, connection: Connection) -> Listing:
        """All that the server offers; where the client decided on the era, that is not the server's."""
        listing = await connection.list_all()
        is_chosen = self._handshake and not connection.modern
        return replace(listing, protocol_version="") if is_chosen else listing

    async def _relist(self, connection: Connection) -> None:
        self.listing += 1
        try:
            with anyio.move_on_after(self.entry.timeout or self._around.settings.timeout):
                self._around.on_listing(self.entry, await self.list_all(connection))
        except Exception as error:  # noqa: BLE001  the catalog keeps what it had; the next listing tells
            said = redact(describe(first_leaf(error)), connection.target.secrets)
            logger.warning("server %s: listing failed: %s", self.entry.name, said)
        finally:
            self.listing -= 1


def second_time(timeout: float) -> float:
    """Seconds for the second start of a server that hung at the first: its whole time is over already."""
    return min(timeout / 3, _PROBE_TIMEOUT)


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

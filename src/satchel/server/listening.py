"""Connections over HTTP: as many as the machine has room for, those first that somebody was let in on.

Whoever connects takes a descriptor before they have said who they are. Those who were not let in yet are
bounded, and the one that has waited longest makes room for the next; so whoever does ask is heard, and those
inside have what is left. What is costly to read is read slowly, as a body in chunks of a byte: each agent
delays itself, and strangers delay strangers. Only the beginning of a connection, which says whose it is, is
read at once.
"""

import asyncio
import logging
import resource
import signal
import socket
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import anyio
import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from satchel.support.charging import measured

logger = logging.getLogger(__name__)

PATIENCE = 20.0
"""Seconds that a connection has to ask for something."""
_SHUTDOWN = 3  # seconds that requests under way have
_DESCRIPTORS = 65_536  # that are asked for; those who start us may have a soft limit of 1,024
_MOST_WAITING = 1_000
_BATCHES = 8  # of new connections that may wait; a request is read two or three after its own was accepted
_MOST_ACCEPTED = 32  # new connections in each turn of the event loop: it takes a millisecond to begin one
_BACKLOG = 2_048  # connections that the system keeps until they are accepted
_PIECE = 16 * 1024  # bytes that are read from a connection at once; in chunks of a byte they take 15 ms
_BEGINNING = 4 * 1024  # bytes of a connection that are read at once, if so many come before any body
_END_OF_HEAD = b"\r\n\r\n"
_CHEAP = 0.0005  # seconds of processor time that reading an ordinary request takes at most
_DEAR = 4  # times what takes longer counts beyond that
_BURST = 0.02  # seconds that reading may count before it has to wait
_READING = 0.5  # of the time, that it may take then
_LONGEST_REST = 1.0
_CONNECTION = "satchel.connection"


class Reader:
    """The cost of reading, for all connections of one agent, or of all strangers.

    After one long step the others wait, and so they do after many short ones. Of those that wait, one goes on
    in each turn of the event loop.
    """

    def __init__(self) -> None:
        self._level = 0.0  # seconds not paid off yet
        self._noted = time.monotonic()
        self._waiting: dict[Connection, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_busy(self) -> bool:
        """Whether connections have to wait until they are read."""
        return bool(self._waiting) or self._rest > 0

    def note_step(self, used: float, taken: float) -> None:
        self._level = self._paid_off() + used + _DEAR * max(0.0, used - _CHEAP)
        self._noted = time.monotonic()

    def wait(self, connection: "Connection") -> None:
        """Have the connection go on in its turn."""
        self._waiting[connection] = None
        self._set_timer()

    def forget(self, connection: "Connection") -> None:
        self._waiting.pop(connection, None)

    @property
    def _rest(self) -> float:
        return min(max(0.0, (self._paid_off() - _BURST) / _READING), _LONGEST_REST)

    def _paid_off(self) -> float:
        return max(0.0, self._level - _READING * (time.monotonic() - self._noted))

    def _set_timer(self) -> None:
        if self._waiting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._rest, self._go_on)

    def _go_on(self) -> None:
        self._timer = None
        if self._waiting:
            connection = next(iter(self._waiting))
            del self._waiting[connection]
            connection.go_on()
        self._set_timer()


class Waiting:
    """The connections on which no request of an agent is under way: strangers, and clients between two."""

    def __init__(self, most: int) -> None:
        self.strangers = Reader()
        self._readers: dict[str, Reader] = {}  # there are only as many agents as are configured
        self._most = most
        self._strangers: dict[Connection, None] = {}
        self._clients: dict[Connection, None] = {}

    def reader_of(self, agent: str) -> Reader:
        return self._readers.setdefault(agent, Reader())

    def add(self, connection: "Connection", *, is_client: bool = False) -> None:
        self.remove(connection)
        (self._clients if is_client else self._strangers)[connection] = None
        while len(self._strangers) + len(self._clients) > self._most:
            oldest = next(iter(self._strangers or self._clients))
            self.remove(oldest)
            oldest.transport.abort()

    def remove(self, connection: "Connection") -> None:
        self._strangers.pop(connection, None)
        self._clients.pop(connection, None)


class Connection(H11Protocol):
    """One that is closed if no request is begun on it, or none is told to its end."""

    def __init__(self, waiting: Waiting, patience: float, **options: Any) -> None:
        super().__init__(**options)
        self.app_state = {**self.app_state, _CONNECTION: self}
        self._waiting = waiting
        self._patience = patience
        self._is_known = False
        self._silence: asyncio.TimerHandle | None = None
        self._reader = waiting.strangers
        self._is_begun = False
        self._kept = b""  # what has come and is not read yet
        self._is_resting = False
        self.is_gone = False

    def let_in(self, agent: str) -> None:
        """A request on it is an agent's."""
        self._is_known = True
        self._reader = self._waiting.reader_of(agent)
        self._waiting.remove(self)

    async def taken(self, patience: float) -> None:
        """Wait until nearly all that was written is taken. Who takes nothing for so long is given up."""
        while self.flow.write_paused:
            left = self.transport.get_write_buffer_size()
            with anyio.move_on_after(patience):
                await self.flow.drain()
            if self.flow.write_paused and self.transport.get_write_buffer_size() >= left:
                logger.info("closed a connection: nothing was read from it for %g seconds", patience)
                self.transport.abort()  # which lets waiting callers go on
                await self.flow.drain()

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  as there
        super().connection_made(transport)
        # An answer in two parts would wait for the other side's acknowledgement of the first. asyncio sets
        # this itself, but only for sockets that name their protocol, which accepted ones don't.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        setattr(transport, "max_size", _PIECE)  # noqa: B010  asyncio's own, which its types leave out
        self._waiting.add(self)
        self._watch()

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()  # that it waits to be read is not its client's fault
        self._kept += data
        if not self._is_begun:
            self._is_begun = True
            # Whose it is will be known when the rest is read.
            end = self._kept.find(_END_OF_HEAD, 0, _BEGINNING) + len(_END_OF_HEAD)
            beginning = end if end >= len(_END_OF_HEAD) else _BEGINNING
            data, self._kept = self._kept[:beginning], self._kept[beginning:]
            self._read(data)
            if self._kept:
                self._rest()
        elif self._is_resting or self._reader.is_busy:
            self._rest()
        else:
            data, self._kept = self._kept, b""
            self._read(data)

    def _read(self, data: bytes) -> None:
        with measured(self._reader.note_step):
            super().data_received(data)
        self._watch()

    def _rest(self) -> None:
        self.transport.pause_reading()
        if not self._is_resting:
            self._is_resting = True
            # By then, whoever is let in on what was read before is known.
            self.loop.call_soon(lambda: self._reader.wait(self))

    def go_on(self) -> None:
        """Read what has come."""
        self._is_resting = False
        if self.transport.is_closing():
            return
        if not self.flow.read_paused:
            self.transport.resume_reading()
        data, self._kept = self._kept, b""
        self._read(data)

    def on_response_complete(self) -> None:
        with measured(self._reader.note_step):  # it begins the next request, if that has come
            super().on_response_complete()
        if self._is_resting:
            self._unset_keepalive_if_required()
        self._waiting.add(self, is_client=self._is_known)
        if self.transport.is_closing():  # only when the last of the answer is taken, which may be never
            self._watch(is_open=False)
            self._silence = self.loop.call_later(self._patience, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_gone = True
        self._waiting.remove(self)
        self._watch(is_open=False)
        self._reader.forget(self)
        super().connection_lost(exc)

    def _watch(self, *, is_open: bool = True) -> None:
        is_silent = is_open and (not self.cycle or self.cycle.response_complete)
        if is_silent and self._silence is None:
            self._silence = self.loop.call_later(self._patience, self.transport.close)
        elif not is_silent and self._silence is not None:
            self._silence.cancel()
            self._silence = None


def connection_of(scope: Scope) -> Connection | None:
    """The connection of a request, if it is ours."""
    connection = scope.get("state", {}).get(_CONNECTION)
    return connection if isinstance(connection, Connection) else None


def is_gone(scope: Scope) -> bool:
    """Whether nobody is left to be answered."""
    connection = connection_of(scope)
    return connection is not None and connection.is_gone


def let_in(scope: Scope, agent: str) -> None:
    """Note that a request is an agent's: its connection is not closed to make room for others."""
    connection = connection_of(scope)
    if connection is not None:
        connection.let_in(agent)


class _Server(uvicorn.Server):
    """One that leaves signals to us: it would end the process before what is open is closed."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for bound in sockets or ():
            bound.listen(_BACKLOG)  # asyncio accepts no more at once than it has asked the system to keep

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def serve(app: ASGIApp, bound: socket.socket, started: Callable[[], None], patience: float) -> None:
    """Until the process is told to end."""
    most = max(4 * _BATCHES, min(_MOST_WAITING, _raise_limit() // 4))
    protocol: Any = partial(Connection, Waiting(most), patience)
    server = _Server(
        uvicorn.Config(
            app,
            http=protocol,  # not any installed one, which may have no limit for headers
            ws="none",  # which would go past the door
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            backlog=min(_MOST_ACCEPTED, most // _BATCHES),
            timeout_graceful_shutdown=_SHUTDOWN,
        )
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_on_signal, server, tasks.cancel_scope)
        started()
        try:
            await server.serve(sockets=[bound])
        finally:  # it does not stop listening when it is cancelled
            for listening in getattr(server, "servers", ()):
                listening.close()
        tasks.cancel_scope.cancel()


def _raise_limit() -> int:
    """How many descriptors there are, after as many as may be had were asked for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_DESCRIPTORS, hard)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return _DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


async def _end_on_signal(server: uvicorn.Server, scope: anyio.CancelScope) -> None:
    """In order the first time, at once the second."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            if server.should_exit:
                scope.cancel()
            server.should_exit = True

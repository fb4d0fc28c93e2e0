"""Connections: those of strangers are bounded, and those of clients are answered meanwhile."""

import asyncio
import os
import socket
import threading
from collections import Counter
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import Self

import anyio
import anyio.to_thread
import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from satchel.config.settings import HttpSettings
from satchel.server.listening import let_in, serve
from satchel.server.mcp_http import Door, Route
from tests.server.helpers import (
    ERAS,
    JSON,
    ask,
    bearer,
    connected,
    initialize,
    listing,
    run,
    serving,
    wait_until,
)
from tests.server.test_http_door import serving_here, surface_on
from tests.servers import raw
from tests.test_costs import HELD_UP, ticking

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.e2e]

WAIT = 60  # seconds; only a hang reaches it
DESCRIPTORS = 256
BEGINNINGS = (b"", b"P", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bear")


class Flood:
    """Strangers who connect, say little, and come again and again; so many are there at once."""

    def __init__(self, port: int, strangers: int) -> None:
        self.made = 0
        self._port = port
        self._strangers = strangers
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._done.set()
        self._thread.join(WAIT)

    def _run(self) -> None:
        opened: list[socket.socket] = []
        while not self._done.is_set():
            try:
                connection = socket.create_connection(("127.0.0.1", self._port), timeout=5)
            except OSError:
                continue
            opened.append(connection)
            with suppress(OSError):  # it was dropped meanwhile
                connection.sendall(BEGINNINGS[self.made % len(BEGINNINGS)])
            self.made += 1
            if len(opened) > self._strangers:
                opened.pop(0).close()
        for connection in opened:
            connection.close()


async def test_clients_are_answered_while_strangers_take_more_connections_than_there_are(
    tmp_path: Path,
) -> None:
    settings = {"mode": "code"}
    with serving(tmp_path, {"work": raw("good")}, settings, limit=f"-n {DESCRIPTORS}") as served:
        token = served.token()
        headers = [*JSON, *(f"{name}: {value}" for name, value in bearer(token).items())]
        session = ask(served.port, headers=headers, body=initialize()).header("mcp-session-id")
        inside = [*headers, f"Mcp-Session-Id: {session}", "MCP-Protocol-Version: 2025-11-25"]
        with Flood(served.port, 3 * DESCRIPTORS) as flood:
            await wait_until(lambda: flood.made > 2 * DESCRIPTORS)
            for _ in range(5):
                reply = await anyio.to_thread.run_sync(
                    lambda: ask(served.port, headers=inside, body=listing())
                )
                assert reply.status == 200
                health = await anyio.to_thread.run_sync(lambda: ask(served.port, "/health", method="GET"))
                assert health.status == 200
            for era in ERAS:
                async with connected(served.url, token, era) as client:
                    slow = "import time\ntime.sleep(1)\nprint('slept')"
                    assert await run(client, slow) == "slept\n"
            assert flood.made > 3 * DESCRIPTORS
        opened = len(os.listdir(f"/proc/{served.process.pid}/fd"))
        assert opened < DESCRIPTORS, opened
        assert "Too many open files" not in served.said


def test_as_many_descriptors_are_asked_for_as_may_be_had(tmp_path: Path) -> None:
    with serving(tmp_path, {}, {"mode": "code"}, limit="-S -n 300") as served:
        rows = Path(f"/proc/{served.process.pid}/limits").read_text().splitlines()
        soft, hard = next(row for row in rows if row.startswith("Max open files")).split()[3:5]
        assert int(soft) == min(int(hard), 65_536) if hard.isdecimal() else int(soft) == 65_536


async def test_parts_of_an_answer_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async with surface_on(tmp_path) as (surface, tokens), serving_here(surface, tokens) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as connection:
            with anyio.fail_after(WAIT):
                while (accepted := _accepted(connection)) is None:  # noqa: ASYNC110  nobody tells
                    await anyio.sleep(0.02)
            with accepted, anyio.fail_after(WAIT):
                while not is_set(accepted):  # noqa: ASYNC110  it is set a moment after it was accepted
                    await anyio.sleep(0.02)


async def test_bodies_in_chunks_of_a_byte_hold_nobody_up(tmp_path: Path) -> None:
    head = b"POST /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"1\r\nx\r\n" * 100_000
    async with surface_on(tmp_path) as (surface, tokens), serving_here(surface, tokens, patience=5) as port:
        strangers = [socket.create_connection(("127.0.0.1", port), timeout=2) for _ in range(20)]

        def send(stranger: socket.socket) -> None:
            with suppress(OSError):  # it is read slowly, and dropped in the end
                stranger.sendall(head + chunks)

        async with ticking() as ticker:
            async with anyio.create_task_group() as tasks:
                for stranger in strangers:
                    tasks.start_soon(anyio.to_thread.run_sync, send, stranger)
            health = await anyio.to_thread.run_sync(lambda: ask(port, "/health", method="GET"))
        for stranger in strangers:
            await anyio.to_thread.run_sync(read_to_the_end, stranger)
    assert health.status == 200
    assert ticker.worst < HELD_UP


async def test_large_requests_of_agents_are_read_while_strangers_send_chunks_of_a_byte(
    tmp_path: Path,
) -> None:
    """Strangers have to wait for each other only: in turns with all of them it would take minutes."""
    head = b"POST /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks, over = memoryview(b"1\r\nx\r\n" * 10_000), threading.Event()

    def send(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=0.1) as stranger, suppress(OSError):
            stranger.sendall(head)
            left = chunks
            while not over.is_set():
                with suppress(TimeoutError):
                    left = left[stranger.send(left) :] or chunks

    async with (
        surface_on(tmp_path) as (surface, tokens),
        serving_here(surface, tokens, patience=4 * WAIT) as port,
        anyio.create_task_group() as tasks,
    ):
        for _ in range(30):
            tasks.start_soon(anyio.to_thread.run_sync, send, port)
        body = initialize()[:-1] + b" " * 1_000_000 + b"}"
        headers = [*JSON, *(f"{name}: {value}" for name, value in bearer(tokens.of("default")).items())]
        try:
            reply = await anyio.to_thread.run_sync(lambda: ask(port, headers=headers, body=body))
        finally:
            over.set()
        assert reply.status == 200


async def test_requests_of_strangers_are_begun_a_few_at_a_time(tmp_path: Path) -> None:
    """A hundred of them that come at once leave turns of the event loop to others."""
    requests = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50
    begun, turns = Counter[int](), 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun[turns] += 1
        await Response(b"")(scope, receive, send)

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    door = Door([Route(path="/health", rule="open", handle=app)], str, bool, HttpSettings, "localhost")
    with closing(socket.create_server(("127.0.0.1", 0))) as bound, ExitStack() as clients:
        ready = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve, door, bound, ready.set, 5.0)
            await ready.wait()
            tasks.start_soon(count)
            for _ in range(40):
                connect = partial(socket.create_connection, bound.getsockname(), timeout=WAIT)
                client = clients.enter_context(await anyio.to_thread.run_sync(connect))
                client.sendall(requests)
            await wait_until(lambda: begun.total() == 40 * 50)
            tasks.cancel_scope.cancel()
    assert max(begun.values()) <= 8, begun.most_common(3)


def read_to_the_end(connection: socket.socket) -> None:
    connection.settimeout(WAIT)
    with connection, suppress(ConnectionError):
        while connection.recv(65_536):
            pass


def is_set(accepted: socket.socket) -> bool:
    return bool(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))


def _accepted(connection: socket.socket) -> socket.socket | None:
    """The other end of a connection, which is in this process too."""
    for number in map(int, os.listdir("/proc/self/fd")):
        try:
            found = socket.socket(fileno=os.dup(number))
        except OSError:
            continue
        try:
            if found.getpeername() == connection.getsockname():
                return found
        except OSError:
            pass
        found.close()
    return None


async def test_a_connection_that_is_to_be_closed_does_not_wait_for_ever_until_its_answer_is_taken() -> None:
    """What is left of it may be so little that nobody waits before it is closed."""
    bound, ready = socket.create_server(("127.0.0.1", 0)), anyio.Event()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    port: int = bound.getsockname()[1]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        let_in(scope, "default")
        await Response(b"x" * 60_000)(scope, receive, send)

    def open_ones() -> int:
        rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
        mine = [row.split() for row in rows if row.split()[1].endswith(f":{port:04X}")]
        return sum(row[9] != "0" and row[3] != "0A" for row in mine)  # those with a descriptor, but listening

    with closing(bound), ExitStack() as clients:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve, app, bound, ready.set, 1.0)
            await ready.wait()
            for _ in range(8):
                client = clients.enter_context(socket.socket())
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                await anyio.to_thread.run_sync(client.connect, ("127.0.0.1", port))
                client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            await wait_until(lambda: open_ones() == 8)
            await wait_until(lambda: open_ones() == 0)
            tasks.cancel_scope.cancel()

"""Answers that nobody reads: each costs the client that asked, and no other."""

import json
import logging
import socket
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

import anyio.to_thread
import pytest

from satchel import open_satchel
from satchel.model import Json
from satchel.server.surface import Surface
from satchel.server.tokens import Tokens
from tests.projects import Project
from tests.server.helpers import JSON, Served, ask, initialize, listing, serving, wait_for
from tests.server.test_bodies import peak_memory
from tests.server.test_http_door import serving_here
from tests.servers import raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.e2e]

WAIT = 60  # seconds; only a hang reaches it
SIZE = 10_000_000  # characters of an answer, which comes as text and as a value

NUMBERS = count(1)  # of requests


def large_answer(port: int, token: str, session: str, size: int = SIZE) -> socket.socket:
    """A connection over which a large answer was asked for."""
    call = {"name": "big__big", "arguments": {"bytes": size}}
    body = json.dumps(
        {"jsonrpc": "2.0", "id": next(NUMBERS), "method": "tools/call", "params": call}
    ).encode()
    rows = [
        "POST /mcp HTTP/1.1",
        "Host: localhost",
        *JSON,
        *inside(token, session),
        "Connection: close",
        f"Content-Length: {len(body)}",
    ]
    connection = socket.create_connection(("127.0.0.1", port), timeout=WAIT)
    connection.sendall("\r\n".join(rows).encode() + b"\r\n\r\n" + body)
    return connection


def begun(connection: socket.socket) -> socket.socket:
    """The same, once the answer is there, and nobody reads more of it."""
    read = b""
    while b"jsonrpc" not in read:
        read += connection.recv(100)
    return connection


def inside(token: str, session: str) -> list[str]:
    return [
        f"Authorization: Bearer {token}",
        f"Mcp-Session-Id: {session}",
        "MCP-Protocol-Version: 2025-11-25",
    ]


def begin(port: int, token: str) -> str:
    reply = ask(port, headers=[*JSON, f"Authorization: Bearer {token}"], body=initialize())
    return reply.header("mcp-session-id") or ""


@contextmanager
def unread(port: int, token: str, many: int) -> Generator[list[socket.socket]]:
    session = begin(port, token)
    with ExitStack() as stack:
        yield [begun(stack.enter_context(large_answer(port, token, session))) for _ in range(many)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    settings: Json = {"mode": "direct", "agents": {"default": {}, "other": {}}}
    with serving(tmp_path_factory.mktemp("answers"), {"big": raw("big")}, settings) as started:
        yield started


def test_what_nobody_reads_is_bounded_for_each_agent(served: Served) -> None:
    token, other = served.token(), served.token("other")
    session, of_other = begin(served.port, token), begin(served.port, other)
    headers = [*JSON, *inside(token, session)]
    with large_answer(served.port, token, session) as first:
        begun(first)  # what the first one takes is counted before
    before = peak_memory(served)
    with unread(served.port, token, 12):
        for each, known in ((token, session), (other, of_other)):
            reply = ask(served.port, headers=[*JSON, *inside(each, known)], body=listing())
            assert reply.status == 200, reply
        assert peak_memory(served) - before < 300 * 1024, "kilobytes; all of them are 600,000"
    assert ask(served.port, headers=headers, body=listing()).status == 200


async def test_a_client_that_reads_nothing_loses_its_connection_and_one_that_reads_slowly_does_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    project = Project(tmp_path / "project", {"big": raw("big")})
    (project.directory / "satchel.yaml").write_text(json.dumps({"mode": "direct"}))
    caplog.set_level(logging.INFO, "satchel.server")
    tokens = Tokens(tmp_path / "tokens" / "tokens.json")
    token = tokens.of("default")

    def read_some_and_others_not(port: int) -> None:
        with unread(port, token, 3) as connections:
            session = begin(port, token)
            with large_answer(port, token, session) as connection:
                assert size_of(connection, pause=0.05) > 2 * SIZE
            reply = ask(port, headers=[*JSON, *inside(token, session)], body=listing())
            assert reply.status == 200 and "big__big" in reply.body
            wait_for(lambda: caplog.text.count("nothing was read from it for 1 seconds") == 3)
            assert all(size_of(connection) < 2 * SIZE for connection in connections)

    async with (
        open_satchel(project.directory) as satchel,
        serving_here(Surface(satchel), tokens, answer_patience=1) as port,
    ):
        await anyio.to_thread.run_sync(read_some_and_others_not, port)


def size_of(connection: socket.socket, *, pause: float = 0) -> int:
    """How much there still is to read of an answer, the last of its connection."""
    size = 0
    with suppress(ConnectionError):
        while read := connection.recv(1 << 20):
            size += len(read)
            time.sleep(pause)  # between two pieces: nothing is waited for
    return size

"""Bodies that are large, many or slow: each is bounded, and costs nobody but who sent it."""

import asyncio
import json
import socket
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from starlette.authentication import SimpleUser
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from satchel.model import Json
from satchel.server.bodies import LARGEST, Bodies
from tests.server.helpers import JSON, Served, ask, initialize, listing, parse_reply, serving
from tests.server.test_http_door import serving_here, surface_on
from tests.servers import raw

pytestmark = pytest.mark.anyio

WAIT = 60  # seconds; only a hang reaches it


class _User:
    def __init__(self, username: str) -> None:
        self.username = username


class Sender:
    """Sends pieces to an application, and keeps the status that it answers with; without an end, it waits."""

    def __init__(self, *pieces: bytes, agent: str = "default", ends: bool = True, **headers: str) -> None:
        rows = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        self.scope: Scope = {"type": "http", "method": "POST", "headers": rows, "user": _User(agent)}
        self._pieces = list(pieces)
        self._ends = ends
        self.taken = 0
        self.status = 0
        self.said = b""

    async def receive(self) -> Message:
        if not self._pieces:
            await anyio.sleep_forever()
        self.taken += 1
        piece = self._pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(self._pieces) or not self._ends}

    async def send(self, message: Message) -> None:
        self.status = message.get("status", self.status)
        self.said += message.get("body", b"")

    async def to(self, app: Bodies) -> int:
        with anyio.fail_after(WAIT):
            await app(self.scope, self.receive, self.send)
        return self.status


class Reader:
    """An application that notes what it was given, and answers when it may."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.may_answer = anyio.Event()
        self.may_answer.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.bodies.append(await Request(scope, receive).body())
        await self.may_answer.wait()
        await PlainTextResponse("read")(scope, receive, send)


async def test_a_body_arrives_whole_and_with_whole_characters() -> None:
    reader = Reader()
    assert await Sender(b'{"a": "\\ud', b"83d\\ude00 \\ud800", b'"}').to(Bodies(reader)) == 200
    assert reader.bodies == [b'{"a": "\\ud83d\\ude00 \\ufffd"}']


@pytest.mark.parametrize(
    ("piece", "reason"),
    [
        (b"{}," * 20_000, (413, "300,000 values")),
        (b"[" * 60_000, (413, "300,000 values")),
        (b'{"k":1},' * 7_000, (413, "300,000 values")),
        (b" " * 65_536, (413, "16,777,216 bytes")),
        (b'"\0' * 30_000, (400, "UTF-8")),
        ('{"x": "\u0122"}'.encode("utf-16-le"), (400, "UTF-8")),
        (b"[\0\0\0", (400, "UTF-8")),
        (b"8" * 4_300 + b",", (413, "100,000 digits")),
    ],
)
async def test_a_body_that_is_too_much_is_refused_and_not_read(piece: bytes, reason: tuple[int, str]) -> None:
    reader = Reader()
    sender = Sender(*[piece] * 270)
    status, text = reason
    assert await sender.to(Bodies(reader)) == status
    assert text.encode() in sender.said
    assert reader.bodies == []


async def test_halves_of_characters_are_mended_as_bytes_too() -> None:
    reader = Reader()
    text = '["\ud55c", "\U0001f600", "'.encode()
    assert await Sender(text + b"\xed\xa0\x80 \xed\xb0", b'\x80"]').to(Bodies(reader)) == 200
    assert reader.bodies == [text + '\ufffd \ufffd"]'.encode()]


async def test_commas_in_a_text_are_no_values() -> None:
    reader = Reader()
    text = json.dumps({"code": 'a,b,c\n"{[' * 100_000}).encode()
    assert await Sender(text).to(Bodies(reader)) == 200
    assert reader.bodies == [text]


async def test_a_body_that_says_that_it_is_too_large_is_not_read() -> None:
    sender = Sender(b"x", content_length=str(LARGEST + 1))
    assert await sender.to(Bodies(Reader())) == 413
    assert sender.taken == 0


async def test_a_slow_body_is_given_up() -> None:
    reader = Reader()
    assert await Sender(b"{", ends=False).to(Bodies(reader, patience=0.1)) == 408
    assert reader.bodies == []


@pytest.mark.slow
async def test_what_one_agent_has_sent_is_bounded_and_is_no_other_agents_affair() -> None:
    reader = Reader()
    app = Bodies(reader)
    reader.may_answer = anyio.Event()
    full = b" " * LARGEST
    senders = [Sender(full, agent="greedy") for _ in range(8)]
    async with anyio.create_task_group() as tasks:
        for sender in senders:
            tasks.start_soon(sender.to, app)
        with anyio.fail_after(WAIT):
            while len(reader.bodies) < 8:  # noqa: ASYNC110  over several
                await anyio.sleep(0.02)
        assert await Sender(b"{}", agent="greedy").to(app) == 429
        tasks.start_soon(Sender(b"{}", agent="modest").to, app)
        with anyio.fail_after(WAIT):
            while len(reader.bodies) < 9:  # noqa: ASYNC110  as above
                await anyio.sleep(0.02)
        reader.may_answer.set()
    assert [sender.status for sender in senders] == [200] * 8
    assert await Sender(b"{}", agent="greedy").to(app) == 200


async def test_large_bodies_take_turns_and_small_ones_take_none() -> None:
    """Of a row of large ones, a second agent's is not the last; a small one is there before any of them."""
    order: list[str] = []

    async def note(scope: Scope, receive: Receive, send: Send) -> None:
        order.append(scope["user"].username)
        await PlainTextResponse("read")(scope, receive, send)

    app = Bodies(note)
    large = b" " * (4 * 1024 * 1024)
    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(Sender(large, agent="greedy").to, app)
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(Sender(large, agent="patient").to, app)
        tasks.start_soon(Sender(b"{}", agent="small").to, app)
    assert order[0] == "small"
    assert order.index("patient") <= 2


# Through `satchel serve --http`


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    settings: Json = {"mode": "code", "agents": {"default": {}, "other": {}}}
    with serving(tmp_path_factory.mktemp("bodies"), {"work": raw("good")}, settings, anew=True) as started:
        yield started


@pytest.mark.slow
@pytest.mark.e2e
def test_large_bodies_take_little_memory_and_no_time_of_others(served: Served) -> None:
    headers = [*JSON, f"Authorization: Bearer {served.token()}"]
    others = [*JSON, f"Authorization: Bearer {served.token('other')}"]
    session = ask(served.port, headers=others, body=initialize()).header("mcp-session-id")
    others += [f"Mcp-Session-Id: {session}", "MCP-Protocol-Version: 2025-11-25"]
    before = peak_memory(served)
    for filler in (b"{},", b'{"k":1},', b"1,"):
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":[' + filler * 300_001 + b"1]}}"
        for version in ("2025-11-25", "2026-07-28"):
            reply = ask(served.port, headers=[*headers, f"MCP-Protocol-Version: {version}"], body=body)
            assert reply.status == 413 and "values" in reply.body
    encoded = '{"x":"\u0122","a":[' + "{}," * 1_000_000 + '1],"y":"\u0122"}'
    reply = ask(
        served.port,
        headers=[*headers, "MCP-Protocol-Version: 2026-07-28"],
        body=encoded.encode("utf-16-le"),
    )
    assert reply.status == 400
    assert ask(served.port, headers=others, body=listing()).status == 200
    # 470 MB more were taken by one body of 16 MB that was read.
    assert peak_memory(served) - before < 100 * 1024, "kilobytes"


def peak_memory(served: Served) -> int:
    """The most kilobytes that Satchel itself has ever had."""
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    return int(next(row.split()[1] for row in status.splitlines() if row.startswith("VmHWM")))


@pytest.mark.slow
@pytest.mark.e2e
async def test_connections_with_slow_bodies_are_closed(tmp_path: Path) -> None:
    async with (
        surface_on(tmp_path) as (surface, tokens),
        serving_here(surface, tokens, body_patience=1) as port,
    ):
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {tokens.of('default')}\r\n"

        def statuses() -> list[int]:
            with ExitStack() as stack:
                opened = [
                    stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WAIT))
                    for _ in range(20)
                ]
                for connection in opened:
                    connection.sendall(f"{head}Content-Length: 1000\r\n\r\n{{".encode())
                return [parse_reply(_all_of(connection)).status for connection in opened]

        assert await anyio.to_thread.run_sync(statuses) == [408] * 20


def _all_of(connection: socket.socket) -> bytes:
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    return received


async def test_an_agent_s_small_requests_that_come_at_once_are_begun_one_by_one() -> None:
    turn = 0
    begun: dict[str, list[int]] = {"hostile": [], "other": []}

    async def count_turns() -> None:
        nonlocal turn
        while True:
            await asyncio.sleep(0)
            turn += 1

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun[scope["user"].username].append(turn)

    async def body() -> Message:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def ignore(message: Message) -> None:
        pass

    bodies = Bodies(app)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count_turns)
        async with anyio.create_task_group() as requests:
            for agent in ["hostile"] * 50 + ["other"]:
                scope: Scope = {"type": "http", "headers": [], "user": SimpleUser(agent)}
                requests.start_soon(bodies, scope, body, ignore)
        tasks.cancel_scope.cancel()
    assert len(set(begun["hostile"])) == 50, "each in a turn of its own"
    assert begun["other"][0] <= begun["hostile"][3], "and nobody waits for them"

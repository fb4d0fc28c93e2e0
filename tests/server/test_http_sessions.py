"""Sessions over HTTP: each agent has its own, and one agent's are never another's trouble."""

import json
import re
import socket
from collections.abc import Generator
from pathlib import Path

import pytest
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from satchel.model import Json
from satchel.server.http_sessions import Sessions
from tests.server.helpers import JSON, Reply, Served, ask, initialize, listing, serving, wait_for
from tests.servers import raw

pytestmark = pytest.mark.anyio

MOST = 5
AGENTS: Json = {"default": {}, "alice": {}, "bob": {}}
SETTINGS: Json = {"mode": "code", "agents": AGENTS, "http": {"max_sessions": MOST}}
HANDSHAKE = "MCP-Protocol-Version: 2025-11-25"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with serving(tmp_path_factory.mktemp("sessions"), {"work": raw("good")}, SETTINGS) as started:
        yield started


@pytest.fixture(scope="module")
def alice(served: Served) -> list[str]:
    return [*JSON, f"Authorization: Bearer {served.token('alice')}"]


@pytest.fixture(scope="module")
def bob(served: Served) -> list[str]:
    return [*JSON, f"Authorization: Bearer {served.token('bob')}"]


def begin(served: Served, headers: list[str]) -> str:
    reply = ask(served.port, headers=headers, body=initialize())
    session = reply.header("mcp-session-id")
    assert reply.status == 200 and session is not None, reply
    return session


def use(served: Served, headers: list[str], session: str) -> Reply:
    rows = [*headers, f"Mcp-Session-Id: {session}", HANDSHAKE]
    return ask(served.port, headers=rows, body=listing())


def end(served: Served, headers: list[str], session: str) -> None:
    rows = [*headers, f"Mcp-Session-Id: {session}", HANDSHAKE]
    assert ask(served.port, headers=rows, method="DELETE").status == 200


def open_request(served: Served, headers: list[str], session: str, method: str, body: bytes) -> socket.socket:
    """A request whose answer has begun, and stays open."""
    connection = socket.create_connection(("127.0.0.1", served.port), timeout=60)
    rows = [*headers, f"Mcp-Session-Id: {session}", HANDSHAKE, f"Content-Length: {len(body)}"]
    head = "\r\n".join([f"{method} /mcp HTTP/1.1", "Host: localhost", *rows])
    connection.sendall(head.encode() + b"\r\n\r\n" + body)
    assert b" 200 " in connection.recv(1000)
    return connection


def running(seconds: float) -> bytes:
    call = {"name": "execute_code", "arguments": {"code": f"import time\ntime.sleep({seconds})"}}
    return json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call}).encode()


@pytest.mark.slow
@pytest.mark.e2e
def test_a_session_too_many_ends_the_agents_own_that_has_rested_longest(
    served: Served, alice: list[str], bob: list[str]
) -> None:
    of_bob = begin(served, bob)
    first, second, *rest = [begin(served, alice) for _ in range(MOST)]
    assert use(served, alice, first).status == 200  # now the second has rested longest
    last = begin(served, alice)
    assert use(served, alice, second).status == 404
    for session in (first, *rest, last):
        assert use(served, alice, session).status == 200
    for _ in range(40):
        last = begin(served, alice)
    assert use(served, alice, last).status == 200
    assert use(served, alice, first).status == 404
    assert use(served, bob, of_bob).status == 200
    assert begin(served, bob)


@pytest.mark.slow
@pytest.mark.e2e
def test_sessions_at_work_are_not_ended_and_those_that_listen_only_after_those_that_rest(
    served: Served, alice: list[str]
) -> None:
    sessions = [begin(served, alice) for _ in range(MOST)]
    listening, *working, resting = sessions
    streams = [open_request(served, alice, listening, "GET", b"")]
    streams += [open_request(served, alice, session, "POST", running(20)) for session in working]
    new = begin(served, alice)
    assert use(served, alice, resting).status == 404
    streams.append(open_request(served, alice, new, "POST", running(20)))
    other = begin(served, alice)
    assert use(served, alice, listening).status == 404
    streams.append(open_request(served, alice, other, "POST", running(20)))
    refused = ask(served.port, headers=alice, body=initialize())
    assert (refused.status, "at work" in refused.body) == (429, True)
    for stream in streams:
        stream.close()
    for session in (*working, new, other):  # closing ends the work, and with it what is in the way
        wait_for(lambda session=session: use(served, alice, session).status == 200)
        end(served, alice, session)
    assert begin(served, alice)


@pytest.mark.slow
@pytest.mark.e2e
def test_a_session_that_its_client_ends_makes_room(served: Served, bob: list[str]) -> None:
    kept = begin(served, bob)
    for _ in range(3 * MOST):
        end(served, bob, begin(served, bob))
    assert use(served, bob, kept).status == 200


@pytest.mark.slow
@pytest.mark.e2e
def test_requests_that_begin_no_session_cost_none(served: Served, bob: list[str]) -> None:
    kept = [begin(served, bob) for _ in range(MOST)]
    for body in (listing(), b"{", b"[]", initialize().replace(b"initialize", b"initialise")):
        for _ in range(MOST):
            assert ask(served.port, headers=bob, body=body).status == 400
    assert [use(served, bob, session).status for session in kept] == [200] * MOST


# Without a server, for what takes many


class _User:
    def __init__(self, username: str) -> None:
        self.username = username


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _status(app: Sessions, agent: str) -> int:
    found: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    scope: Scope = {"type": "http", "method": "POST", "headers": [], "user": _User(agent)}
    await app(scope, _nothing, send)
    (status,) = found
    return status


async def test_requests_of_an_agent_under_way_are_bounded_and_others_are_answered() -> None:
    statuses: list[int] = []

    async def ask_on(scope: Scope, receive: Receive, send: Send) -> None:
        """Each request asks the next one before it is answered."""
        if len(statuses) == 0 and scope["user"].username == "alice":
            status = await _status(app, "alice")
            if status != 200:
                statuses.append(status)
                statuses.append(await _status(app, "bob"))
        await Response("ok")(scope, receive, send)

    app = Sessions(ask_on, lambda: 3)
    assert await _status(app, "alice") == 200
    assert statuses == [429, 200]
    statuses.clear()
    assert await _status(app, "alice") == 200  # what was under way is forgotten


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.parametrize("is_answer", [False, True], ids=["requests", "answers"])
def test_sessions_keep_no_large_requests_and_answers(tmp_path: Path, is_answer: bool) -> None:
    size = 12_000_000
    arguments = {"bytes": size if is_answer else 1}
    meta = {"text": "" if is_answer else "x" * size}
    params = {"name": "big__big", "arguments": arguments, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}).encode()
    with serving(tmp_path, {"big": raw("big")}, {"mode": "direct"}, anew=True) as served:
        headers = [*JSON, f"Authorization: Bearer {served.token()}"]

        def ask_in_a_new_session() -> int:
            rows = [*headers, f"Mcp-Session-Id: {begin(served, headers)}", HANDSHAKE]
            reply = ask(served.port, headers=rows, body=body)
            assert reply.status == 200
            assert len(reply.body) > size or not is_answer
            return resident(served)

        before = max(ask_in_a_new_session() for _ in range(2))
        assert [ask_in_a_new_session() for _ in range(10)][-1] < before + 10 * size


def resident(served: Served) -> int:
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) * 1024


async def test_an_agent_may_begin_any_number_one_after_the_other() -> None:
    begun: list[str] = []
    ended: list[str] = []

    async def manage(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "DELETE":
            ended.append(dict(scope["headers"])[b"mcp-session-id"].decode())
        else:
            begun.append(f"session-{len(begun)}")
            await Response("ok", headers={"mcp-session-id": begun[-1]})(scope, receive, send)

    app = Sessions(manage, lambda: 100)
    for _ in range(3_000):
        assert await _status(app, "alice") == 200
    assert await _status(app, "bob") == 200
    assert ended == begun[:2_900]

"""Who gets in over HTTP: what stands at the door, and what is tried to get past it."""

import json
import os
import socket
import stat
import uuid
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

import anyio
import httpx2
import pytest

from satchel.app import open_satchel
from satchel.config.settings import HttpSettings
from satchel.errors import ArgumentError, NotFoundError
from satchel.server.mcp_http import open_door, read_address, serve_http
from satchel.server.surface import Surface
from satchel.server.tokens import Tokens
from tests.projects import Project
from tests.server.helpers import (
    ERAS,
    JSON,
    Era,
    Reply,
    Served,
    ask,
    bearer,
    connected,
    exchange,
    initialize,
    listing,
    parse_reply,
    read_reply,
    run,
    serving,
    wait_for,
)
from tests.servers import raw

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW")
PATHS = ("/mcp", "/health", "/", "/elsewhere")
AGENTS = {"default": {}, "alice": {}, "bob": {"allow": ["other.*"]}, "carol": {}}
SETTINGS = {
    "mode": "code",
    "agents": AGENTS,
    "http": {
        "allowed_hosts": ["Satchel.example.com", "proxy.example.com:8443"],
        "allowed_origins": ["https://app.example.com/"],
    },
}
EVIL = (
    "evil.example.com",
    "localhost.evil.example.com",
    "localhost.",
    "127.0.0.1.",
    "127.0.0.1.evil.example.com",
    "127.0.0.2",
    "127.1",
    "0.0.0.0",
    "2130706433",
    "0x7f000001",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::1].evil.example.com",
    "[::1]evil.example.com",
    "::1",
    "user@localhost",
    "localhost@evil.example.com",
    "localhost:80@evil.example.com",
    "localhost:evil",
    "localhost:80:80",
    "localhost:-1",
    "localhost/evil",
    "localhost#evil",
    "localhost,evil.example.com",
    "localhost evil.example.com",
    "http://localhost",
    "evil.satchel.example.com",
    "satchel.example.com.evil.example.com",
    "proxy.example.com",
    "proxy.example.com:8444",
    "",
)


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    directory = tmp_path_factory.mktemp("door")
    with serving(directory, {"work": raw("good")}, SETTINGS, before=["--verbose"]) as served:
        yield served


@pytest.fixture(scope="module")
def alice(door: Served) -> str:
    return door.token("alice")


@pytest.fixture(scope="module")
def bob(door: Served) -> str:
    return door.token("bob")


def authorized(token: str, *more: str) -> list[str]:
    return [f"Authorization: Bearer {token}", *JSON, *more]


def open_session(door: Served, token: str) -> str:
    reply = ask(door.port, headers=authorized(token), body=initialize())
    assert reply.status == 200, reply
    session = reply.header("mcp-session-id")
    assert session
    return session


def in_session(door: Served, token: str, session: str) -> Reply:
    headers = authorized(token, f"Mcp-Session-Id: {session}", "MCP-Protocol-Version: 2025-11-25")
    return ask(door.port, headers=headers, body=listing())


# Host


@pytest.mark.parametrize("host", EVIL)
def test_a_request_for_another_host_is_refused_on_every_path_and_whatever_its_token(
    door: Served, alice: str, host: str
) -> None:
    for path in PATHS:
        reply = ask(door.port, path, authorized(alice), host=host)
        assert reply.status == 421, (path, reply)
        assert "satchel" not in reply.body.lower()


@pytest.mark.parametrize("method", METHODS)
def test_a_request_for_another_host_is_refused_with_every_method(
    door: Served, alice: str, method: str
) -> None:
    for path in PATHS:
        assert ask(door.port, path, authorized(alice), host="evil.example.com", method=method).status == 421


def test_bytes_that_are_no_name_are_no_host(door: Served, alice: str) -> None:
    for host in (b"Host: loc\xc3\xa4lhost", b"Host: \xe2\x80\xaelocalhost", b"Host: \xff"):
        reply = ask(door.port, headers=authorized(alice), raw_host=host)
        assert reply.status in (400, 421), (host, reply)


def test_a_request_without_a_host_or_with_two_is_refused(door: Served, alice: str) -> None:
    assert ask(door.port, headers=authorized(alice), host=None).status in (400, 421)
    for second in ("localhost", "evil.example.com"):
        for first in ("localhost", "evil.example.com"):
            reply = ask(door.port, headers=authorized(alice, f"Host: {second}"), host=first)
            assert reply.status in (400, 421), (first, second, reply)
    old = f"POST /mcp HTTP/1.0\r\nAuthorization: Bearer {alice}\r\nContent-Length: 0\r\n\r\n"
    assert exchange(door.port, old.encode()).status in (400, 421)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost:1",
        "127.0.0.1",
        "127.0.0.1:65535",
        "[::1]",
        "[::1]:80",
        "satchel.example.com",
        "SATCHEL.example.com:444",
        "proxy.example.com:8443",
    ],
)
def test_a_host_that_is_ours_is_ours_with_capitals_and_with_a_port(
    door: Served, alice: str, host: str
) -> None:
    assert ask(door.port, headers=authorized(alice), host=host, body=initialize()).status == 200


def test_the_authority_of_an_absolute_target_does_not_replace_the_host(door: Served, alice: str) -> None:
    for target in ("http://localhost/mcp", "http://evil.example.com/mcp"):
        assert ask(door.port, target, authorized(alice), host="evil.example.com").status == 421
    assert ask(door.port, "http://evil.example.com/mcp", authorized(alice), body=initialize()).status != 200


# Origin


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "https://evil.example.com",
        "http://localhost.evil.example.com",
        "http://evil.localhost",
        "http://[::1].evil.example.com",
        "http://localhost@evil.example.com",
        "http://localhost:80@evil.example.com",
        "http://localhost:evil",
        "ftp://localhost",
        "file://",
        "localhost",
        "//localhost",
        "https://app.example.com.evil.example.com",
        "http://app.example.com",
        "https://app.example.com:444",
        "https://app.example.com https://evil.example.com",
        "http://localhost, https://evil.example.com",
    ],
)
def test_a_page_of_another_origin_is_refused_whatever_it_asks_for(
    door: Served, alice: str, origin: str
) -> None:
    for path in PATHS:
        for method in ("GET", "POST", "OPTIONS"):
            reply = ask(door.port, path, authorized(alice, f"Origin: {origin}"), method=method)
            assert reply.status == 403, (path, method, reply)
            assert not [name for name, _ in reply.headers if name.startswith("access-control")]


def test_of_two_origins_none_counts(door: Served, alice: str) -> None:
    for second in ("https://evil.example.com", "http://localhost"):
        headers = authorized(alice, "Origin: http://localhost", f"Origin: {second}")
        assert ask(door.port, headers=headers, body=initialize()).status == 403


@pytest.mark.parametrize("method", METHODS)
def test_a_foreign_page_is_refused_with_every_method(door: Served, alice: str, method: str) -> None:
    for path in PATHS:
        headers = authorized(alice, "Origin: https://evil.example.com")
        assert ask(door.port, path, headers, method=method).status == 403


@pytest.mark.parametrize(
    "origin", ["https://app.example.com", "http://localhost:5173", "http://127.0.0.1", "https://[::1]:1"]
)
def test_a_page_that_may_is_told_so_and_needs_its_token_all_the_same(
    door: Served, alice: str, origin: str
) -> None:
    asked = "Access-Control-Request-Method: POST"
    preflight = ask(door.port, "/mcp", [f"Origin: {origin}", asked], method="OPTIONS")
    assert (preflight.status, preflight.body) == (204, "")
    assert preflight.header("access-control-allow-origin") == origin
    assert preflight.header("access-control-allow-credentials") is None
    assert "authorization" in str(preflight.header("access-control-allow-headers"))
    refused = ask(door.port, headers=[*JSON, f"Origin: {origin}"], body=initialize())
    assert (refused.status, refused.header("access-control-allow-origin")) == (401, origin)
    answered = ask(door.port, headers=authorized(alice, f"Origin: {origin}"), body=initialize())
    assert (answered.status, answered.header("access-control-allow-origin")) == (200, origin)


def test_a_preflight_says_nothing_of_routes_that_are_not_there(door: Served) -> None:
    headers = ["Origin: http://localhost", "Access-Control-Request-Method: POST"]
    assert ask(door.port, "/elsewhere", headers, method="OPTIONS").status == 404


def test_nobody_is_told_of_origins_who_does_not_come_from_one(door: Served, alice: str) -> None:
    reply = ask(door.port, headers=authorized(alice), body=initialize())
    assert not [name for name, _ in reply.headers if name.startswith("access-control")]


def test_a_name_that_was_made_to_point_here_gets_nothing(door: Served, alice: str) -> None:
    """DNS rebinding: to the browser the page is of the same origin, so it asks without a preflight."""
    headers = authorized(alice, f"Origin: http://evil.example.com:{door.port}")
    assert ask(door.port, headers=headers, host=f"evil.example.com:{door.port}").status == 421
    assert ask(door.port, "/health", host=f"evil.example.com:{door.port}", method="GET").status == 421


# Routes


@pytest.mark.parametrize("method", METHODS)
def test_a_route_that_is_not_there_is_not_found_with_and_without_a_token(
    door: Served, alice: str, method: str
) -> None:
    for path in ("/", "/elsewhere", "/mcp/more", "/.well-known/oauth-authorization-server", "/metrics"):
        for headers in (authorized(alice), list(JSON)):
            assert ask(door.port, path, headers, method=method).status == 404


@pytest.mark.parametrize(
    "target",
    [
        "//mcp",
        "/mcp/../mcp",
        "/health/../mcp",
        "/./mcp",
        "/%2e/mcp",
        "/mcp/%2e%2e/mcp",
        "/health/%2e%2e/mcp",
        "/MCP",
        "/Mcp",
        "/mcp;a=b",
        "/mcp%00",
        "/mcp%20",
        "/mcp\\",
        "/%ef%bc%8fmcp",
        "mcp",
        "*",
        "/health;/mcp",
    ],
)
def test_other_spellings_of_a_path_lead_nowhere(door: Served, alice: str, target: str) -> None:
    assert ask(door.port, target, list(JSON), body=initialize()).status in (400, 404)
    assert ask(door.port, target, authorized(alice), body=initialize()).status in (400, 404)


@pytest.mark.parametrize(
    "target", ["/mcp", "/mcp/", "/mcp//", "/%6dcp", "/mcp%2f", "/mcp?a=b", "/mcp?/health"]
)
def test_whatever_spelling_leads_to_the_server_asks_for_the_token(door: Served, target: str) -> None:
    assert ask(door.port, target, list(JSON), body=initialize()).status == 401


@asynccontextmanager
async def surface_on(directory: Path) -> AsyncGenerator[tuple[Surface, Tokens]]:
    project = Project(directory / "canary-project", {"canary-server": raw("good")})
    (project.directory / "satchel.yaml").write_text(json.dumps({"mode": "code"}))
    async with open_satchel(project.directory) as satchel:
        yield Surface(satchel), Tokens(directory / "tokens" / "tokens.json")


async def test_every_route_has_a_rule_and_keeps_it(tmp_path: Path) -> None:
    async with (
        surface_on(tmp_path) as (surface, tokens),
        open_door(
            surface, agent_of=tokens.agent_of, is_agent=lambda name: True, settings=HttpSettings
        ) as door,
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=door), base_url="http://localhost") as http,
    ):
        token = tokens.of("default")
        assert {route.rule for route in door.routes} == {"token", "open"}
        for route in door.routes:
            for method in METHODS:
                for path in (route.path, route.path + "/", route.path + "?a=b"):
                    without = await http.request(method, path)
                    wrong = await http.request(method, path, headers=bearer(token[:-1] + "!"))
                    if route.rule == "token":
                        assert (without.status_code, wrong.status_code) == (401, 401)
                        assert without.headers["www-authenticate"].startswith("Bearer")
                    else:
                        assert without.status_code == wrong.status_code == 200
                    for answer in (without, wrong):
                        reveals_nothing(answer, token, tmp_path)


def reveals_nothing(answer: httpx2.Response, token: str, directory: Path) -> None:
    told = answer.text + str(answer.headers)
    for secret in (token, "canary", str(directory), "satchel.yaml", "uvicorn", "python", "0.1."):
        assert secret not in told
    assert len(answer.content) < 200


async def test_only_what_is_a_request_passes(tmp_path: Path) -> None:
    """A WebSocket would go past the door: none is made."""
    async with surface_on(tmp_path) as (surface, tokens), serving_here(surface, tokens) as port:
        upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        reply = await anyio.to_thread.run_sync(
            lambda: ask(port, "/mcp", [*upgrade, key], method="GET", host="evil.example.com")
        )
        assert reply.status == 421


# Tokens


def test_a_token_lets_in_and_its_scheme_can_be_in_any_case(door: Served, alice: str) -> None:
    for scheme in ("Bearer", "bearer", "BEARER", "Bearer "):
        headers = [*JSON, f"Authorization: {scheme} {alice}"]
        assert ask(door.port, headers=headers, body=initialize()).status == 200


@pytest.mark.parametrize(
    "spelling",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Bearer None",
        "Bearer null",
        "Bearer undefined",
        "Bearer *",
        "{0}",
        "Basic {0}",
        "Token {0}",
        "Bearer{0}",
        "Bearer:{0}",
        "Bearer: {0}",
        "Bearer={0}",
        "Bearer\t{0}",
        'Bearer "{0}"',
        "Bearer {0},",
        "Bearer {0}, Bearer {0}",
        "Bearer {0} {0}",
        "Bearer {0}=",
        "Bearer {0}\xa0",
        "Bearer {0}\xe4",
        "Bearer Bearer {0}",
        "bear {0}",
        "Bearer {0:.42}",
        "Bearer x{0}",
    ],
)
def test_a_token_that_is_spelled_oddly_is_none(door: Served, alice: str, spelling: str) -> None:
    headers = [*JSON, f"Authorization: {spelling.format(alice)}"]
    reply = ask(door.port, headers=headers, body=initialize())
    assert reply.status == 401
    assert str(reply.header("www-authenticate")).startswith("Bearer")


def test_a_token_in_capitals_or_reversed_is_none(door: Served, alice: str) -> None:
    for other in (alice.swapcase(), alice[::-1]):
        assert ask(door.port, headers=authorized(other), body=initialize()).status == 401


def test_of_two_tokens_none_counts(door: Served, alice: str, bob: str) -> None:
    for second in (alice, bob, "x"):
        headers = [*authorized(alice), f"Authorization: Bearer {second}"]
        assert ask(door.port, headers=headers, body=initialize()).status == 401


def test_a_token_counts_in_its_own_header_only(door: Served, alice: str) -> None:
    places = [
        f"X-Authorization: Bearer {alice}",
        f"Proxy-Authorization: Bearer {alice}",
        f"Cookie: Authorization=Bearer {alice}",
        f"X-Satchel-Token: {alice}",
    ]
    for place in places:
        assert ask(door.port, headers=[*JSON, place], body=initialize()).status == 401
    for query in (f"?token={alice}", f"?access_token={alice}", f"?authorization=Bearer%20{alice}"):
        assert ask(door.port, f"/mcp{query}", list(JSON), body=initialize()).status == 401


@pytest.mark.parametrize("method", METHODS)
def test_no_method_works_without_a_token(door: Served, method: str) -> None:
    assert ask(door.port, "/mcp", list(JSON), method=method).status == 401
    modern = [*JSON, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"]
    assert ask(door.port, "/mcp", modern, method=method, body=listing()).status == 401


def test_a_token_that_was_removed_counts_no_more_also_for_a_session_that_is_open(door: Served) -> None:
    first = door.token("carol")
    session = open_session(door, first)
    assert in_session(door, first, session).status == 200
    assert door.run("token", "carol", "--remove").code == 0
    assert in_session(door, first, session).status == 401
    second = door.token("carol")
    assert second != first
    assert in_session(door, first, session).status == 401
    assert in_session(door, second, session).status == 200  # it is the same agent's
    third = door.run("token", "carol", "--new").out.strip()
    assert in_session(door, second, session).status == 401
    assert in_session(door, third, session).status == 200


def test_to_another_agent_a_session_is_as_if_it_did_not_exist(door: Served, alice: str, bob: str) -> None:
    session = open_session(door, alice)
    foreign, unknown = in_session(door, bob, session), in_session(door, bob, uuid.uuid4().hex)
    assert foreign.status == unknown.status == 404
    assert foreign.body == unknown.body
    for method in ("GET", "DELETE"):
        headers = authorized(bob, f"Mcp-Session-Id: {session}")
        assert ask(door.port, "/mcp", headers, method=method).status == 404
    assert in_session(door, alice, session).status == 200  # and it still is there


def test_each_agent_is_the_one_of_its_token(door: Served, alice: str, bob: str) -> None:
    """Not the one that a client names."""
    for token, is_allowed in ((alice, True), (bob, False)):
        session = open_session(door, token)
        params = {"name": "search_tools", "arguments": {"query": "select:work.echo"}}
        body = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params, "agent": "alice"}
        headers = authorized(token, f"Mcp-Session-Id: {session}", "X-Agent: alice", "X-Satchel-Agent: alice")
        reply = ask(door.port, "/mcp?agent=alice", headers, body=json.dumps(body).encode())
        assert reply.status == 200
        assert (
            "may not call" in reply.body or '"allowed":false' in reply.body.replace(" ", "")
        ) != is_allowed


def test_an_agent_that_is_no_more_in_the_settings_is_nobody(tmp_path: Path) -> None:
    with serving(tmp_path, {"work": raw("good")}, SETTINGS) as served:
        token = served.token("alice")
        session = open_session(served, token)
        assert in_session(served, token, session).status == 200
        rest = {name: agent for name, agent in AGENTS.items() if name != "alice"}
        served.settings({**SETTINGS, "agents": rest})
        assert in_session(served, token, session).status == 401
        assert ask(served.port, headers=authorized(token), body=initialize()).status == 401
        assert (
            in_session(served, served.token("carol"), open_session(served, served.token("carol"))).status
            == 200
        )
        refused = served.run("token", "alice")
        assert refused.code != 0 and token not in refused.out + refused.err
        assert served.run("token", "alice", "--remove").code == 0
        served.settings(SETTINGS)
        assert in_session(served, token, session).status == 401  # it was removed meanwhile


def test_tokens_are_in_a_file_that_only_their_owner_reads(door: Served, alice: str) -> None:
    files = [path for path in door.home.rglob("*") if path.is_file() and alice.encode() in path.read_bytes()]
    assert len(files) == 1
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(files[0].parent.stat().st_mode) == 0o700
    assert not files[0].is_relative_to(door.project.directory)
    inside = [path for path in door.project.directory.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [path for path in inside if alice.encode() in path.read_bytes()]


def test_a_file_of_tokens_that_others_could_read_is_theirs_no_more(tmp_path: Path) -> None:
    file = tmp_path / "tokens" / "project.json"
    tokens = Tokens(file)
    tokens.of("default")
    file.chmod(0o644)
    tokens.of("default", new=True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"tokens": []}', '{"tokens": {"default": null}}', '{"tokens": {"default": ""}}'],
)
def test_a_broken_file_of_tokens_lets_nobody_in(tmp_path: Path, content: str) -> None:
    file = tmp_path / "tokens" / "project.json"
    tokens = Tokens(file)
    token = tokens.of("default")
    assert tokens.agent_of(token) == "default"
    file.write_text(content)
    assert [tokens.agent_of(given) for given in (token, "None", "", "null")] == [None] * 4
    file.unlink()
    assert tokens.agent_of(token) is None
    assert tokens.agent_of(Tokens(file).of("default")) == "default"


def test_no_token_is_in_what_is_logged_answered_or_listed_by_the_system(
    door: Served, alice: str, bob: str
) -> None:
    session = open_session(door, alice)
    replies = [
        in_session(door, alice, session),
        in_session(door, bob, session),
        ask(door.port, headers=authorized(alice), body=b"{"),
        ask(door.port, headers=authorized(alice), body=b"\xff"),
        ask(door.port, f"/mcp?token={alice}", list(JSON)),
        ask(door.port, f"/{alice}", list(JSON)),
        ask(door.port, headers=authorized(alice), host="evil.example.com"),
        ask(door.port, headers=authorized(alice, "MCP-Protocol-Version: 2026-07-28"), body=listing()),
        exchange(door.port, f"GET /mcp\r\nAuthorization: Bearer {alice}\r\n\r\n".encode()),
    ]
    secrets = (alice, bob, door.token())
    for secret in secrets:
        assert not [reply for reply in replies if secret in str(reply)]
        assert secret not in door.said
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and process.name != str(os.getpid()):
                for name in ("cmdline", "environ"):
                    try:
                        assert secret.encode() not in (process / name).read_bytes()
                    except OSError:
                        continue


# Too much, too slow, and nonsense

GARBAGE = (
    b"",
    b"{",
    b"null",
    b"[]",
    b"[[]]",
    b'"text"',
    b"\xff\xfe\x00",
    b"\x00" * 100,
    b"{}",
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": null, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": 7}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": []}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": 3}}',
    b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
    b'{"jsonrpc": "2.0", "id": 1e400, "method": "tools/list"}',
    b"[" * 100_000,
    b'{"a":' * 20_000,
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\xed\xa0\x80"}}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\\ud800", "arguments": {}}}',
    b'{"jsonrpc": "2.0", "id": ' + b"9" * 5000 + b', "method": "tools/list"}',
    initialize() * 2,
    initialize("1999-01-01"),
    initialize().replace(b'"capabilities"', b'"capabilitiez"'),
)


@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28", "2099-01-01", "\xe4", ""])
def test_bodies_that_make_no_sense_are_refused_and_harm_nobody(
    door: Served, alice: str, version: str | None
) -> None:
    named = [] if version is None else [f"MCP-Protocol-Version: {version}"]
    session = open_session(door, alice)
    for body in GARBAGE:
        for more in ([], [f"Mcp-Session-Id: {session}"]):
            reply = ask(door.port, headers=authorized(alice, *named, *more), body=body)
            assert reply.status in range(200, 500), (body[:80], reply)
            assert "Traceback" not in reply.body
    assert in_session(door, alice, session).status == 200


def test_a_body_that_says_that_it_is_too_large_is_refused_before_it_is_sent(door: Served, alice: str) -> None:
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {alice}\r\n"
    with socket.create_connection(("127.0.0.1", door.port), timeout=60) as connection:
        connection.sendall(f"{head}Connection: close\r\nContent-Length: {17 * 1024**2}\r\n\r\n".encode())
        assert parse_reply(connection.recv(65536)).status == 413


def test_a_body_without_an_end_is_refused_at_a_size(door: Served, alice: str) -> None:
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {alice}\r\n"
    with socket.create_connection(("127.0.0.1", door.port), timeout=60) as connection:
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n".encode())
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        sent = 0
        try:
            while sent < 64:
                connection.sendall(chunk)
                sent += 1
            received = b""
        except OSError:  # it was closed while there was more to send
            received = b"HTTP/1.1 413"
        else:
            received = connection.recv(65536)
        assert received.startswith(b"HTTP/1.1 413")
    assert ask(door.port, headers=authorized(alice), body=initialize()).status == 200


def test_of_a_body_without_a_token_nothing_is_awaited(door: Served) -> None:
    with socket.create_connection(("127.0.0.1", door.port), timeout=60) as connection:
        connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        assert read_reply(connection).status == 401  # and it was closed: nobody can hold it open


def test_headers_without_an_end_are_refused(door: Served, alice: str) -> None:
    for many in (f"X-Long: {'x' * 200_000}\r\n", "X-Many: x\r\n" * 20_000):
        with socket.create_connection(("127.0.0.1", door.port), timeout=60) as connection:
            try:
                connection.sendall(f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{many}\r\n".encode())
                status = read_reply(connection).status
            except OSError:  # closed before all of it was sent
                status = 400
        assert status in (400, 431)
    assert ask(door.port, headers=authorized(alice), body=initialize()).status == 200


def test_what_is_no_http_is_refused(door: Served, alice: str) -> None:
    for data in (
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", door.port), timeout=60) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            received = connection.recv(1000)
        assert b" 200 " not in received
    smuggled = (
        f"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        f"0\r\n\r\nGET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {alice}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", door.port), timeout=60) as connection:
        connection.sendall(smuggled.encode())
        received = b""
        while more := connection.recv(1000):  # until it is closed
            received += more
    assert received.startswith(b"HTTP/1.1 400 ") and received.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("era", ERAS)
async def test_clients_are_served_while_hundreds_say_nothing_or_only_half(
    door: Served, alice: str, era: Era
) -> None:
    beginnings = (b"", b"P", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bear")
    unfinished = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {alice}\r\n"
    with ExitStack() as stack:
        for number in range(200):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", door.port), timeout=60))
            connection.sendall(
                f"{unfinished}Content-Length: 1000\r\n\r\n{{".encode()
                if number % 4 == 3
                else beginnings[number % 4]
            )
        with anyio.fail_after(60):
            async with connected(door.url, alice, era) as client:
                assert await run(client, "print(6 * 7)") == "42\n"


@asynccontextmanager
async def serving_here(
    surface: Surface,
    tokens: Tokens,
    *,
    patience: float = 20,
    body_patience: float = 60,
    answer_patience: float = 30,
) -> AsyncGenerator[int]:
    """The server in this process, so that its patience can be made short."""
    found: list[str] = []
    ready = anyio.Event()

    def started(url: str) -> None:
        found.append(url)
        ready.set()

    def is_agent(name: str) -> bool:
        return name == "default"

    async def serve() -> None:
        await serve_http(
            surface,
            "127.0.0.1:0",
            agent_of=tokens.agent_of,
            is_agent=is_agent,
            settings=HttpSettings,
            started=started,
            patience=patience,
            body_patience=body_patience,
            answer_patience=answer_patience,
        )

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        with anyio.fail_after(60):
            await ready.wait()
        yield httpx2.URL(found[0]).port or 0
        tasks.cancel_scope.cancel()


async def test_a_connection_on_which_nobody_asks_is_closed(tmp_path: Path) -> None:
    async with (
        surface_on(tmp_path) as (surface, tokens),
        serving_here(surface, tokens, patience=1.5) as port,
    ):

        def is_closed_after(beginning: bytes, *, asked: bool = False) -> bool:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                if asked:
                    connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    assert connection.recv(1000).startswith(b"HTTP/1.1 200")
                with suppress(ConnectionError):  # it may be closed by now
                    connection.sendall(beginning)
                    while connection.recv(1000):
                        pass
            return True

        def all_are_closed() -> bool:
            return all(
                (is_closed_after(b""), is_closed_after(b"GET /hea"), is_closed_after(b"GET /hea", asked=True))
            )

        assert await anyio.to_thread.run_sync(all_are_closed)


async def test_a_connection_on_which_an_answer_is_awaited_stays(tmp_path: Path) -> None:
    async with (
        surface_on(tmp_path) as (surface, tokens),
        serving_here(surface, tokens, patience=1.5, body_patience=1.5) as port,
    ):
        for era in ERAS:
            async with connected(f"http://127.0.0.1:{port}/mcp", tokens.of("default"), era) as client:
                assert await run(client, "import time\ntime.sleep(2.5)\nprint('slept')") == "slept\n"


def test_a_client_that_does_not_read_its_answer_delays_nobody(door: Served, alice: str) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": 9,
        "method": "tools/call",
        "params": {"name": "execute_code", "arguments": {"code": "print('x' * 9000)"}},
    }
    text = json.dumps(body).encode()
    session = open_session(door, alice)
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {session}\r\n"
    rows = "\r\n".join(authorized(alice, f"Content-Length: {len(text)}"))
    with ExitStack() as stack:
        for _ in range(8):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            connection.connect(("127.0.0.1", door.port))
            connection.sendall(f"{head}{rows}\r\n\r\n".encode() + text)
        assert in_session(door, alice, session).status == 200
    wait_for(lambda: in_session(door, alice, session).status == 200)


def test_only_agents_that_there_are_have_tokens(door: Served) -> None:
    for name in ("dave", "../default", "", "Alice"):
        done = door.run("token", name)
        assert done.code != 0 and not done.out.strip()


async def test_an_unknown_agent_is_refused_also_where_it_has_a_token(tmp_path: Path) -> None:
    async with surface_on(tmp_path) as (surface, tokens), serving_here(surface, tokens) as port:
        token = tokens.of("stranger")
        reply = await anyio.to_thread.run_sync(
            lambda: ask(port, headers=authorized(token), body=initialize())
        )
        assert reply.status == 401
        with pytest.raises(NotFoundError):
            Surface(surface._satchel, agent="stranger")  # pyright: ignore[reportPrivateUsage]


# What the person who runs it sees


def test_a_refusal_names_the_setting_and_is_logged_with_what_was_sent(door: Served, alice: str) -> None:
    sent = len(door.lines)
    host = ask(door.port, headers=authorized(alice), host="elsewhere.example.com:81")
    page = ask(door.port, headers=authorized(alice, "Origin: https://page.example.com"))
    assert "http.allowed_hosts" in host.body
    assert "http.allowed_origins" in page.body
    ask(door.port, headers=[*JSON, "Authorization: Bearer wrong-token"])
    wait_for(lambda: "refused a request: 401" in "".join(door.lines[sent:]))
    said = "".join(door.lines[sent:])
    assert "421" in said and "(sent: elsewhere.example.com:81)" in said
    assert "403" in said and "(sent: https://page.example.com)" in said
    assert alice not in said and "wrong-token" not in said


def test_what_is_logged_of_a_refusal_is_one_short_line_without_secrets(door: Served, alice: str) -> None:
    sent = len(door.lines)
    ask(door.port, headers=authorized(alice), host=f"me:{alice}@evil.example.com")
    ask(door.port, headers=authorized(alice, "Origin: https://" + "x" * 5_000))
    ask(door.port, headers=authorized(alice, "Origin: https://\x1b[31m\u00ff\tred"))
    wait_for(lambda: "".join(door.lines[sent:]).count("refused a request") >= 2)
    said = "".join(door.lines[sent:])
    assert "(sent: evil.example.com)" in said
    assert alice not in said and "\x1b" not in said
    assert all(len(line) < 400 for line in door.lines[sent:])


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8765", ("127.0.0.1", 8765)),
        (":8765", ("127.0.0.1", 8765)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        ("[::1]:80", ("::1", 80)),
    ],
)
def test_a_port_alone_is_on_this_machine_with_or_without_a_colon(text: str, address: tuple[str, int]) -> None:
    assert read_address(text) == address


@pytest.mark.parametrize("text", ["", ":", "::", "host", "host:", ":99999", "host:port", "::8765"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="HOST:PORT"):
        read_address(text)

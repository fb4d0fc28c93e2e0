"""The servers that other tests rely on do what they say, also in the eyes of the SDK's own client."""

import base64
import hashlib
import json
import os
import re
import runpy
import signal
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.context import ClientRequestContext
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ToolsListChanged
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp.types import (
    CallToolResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    TextContent,
    TextResourceContents,
)

from . import HERE, http_server, oauth_server, raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 60  # seconds; only a hang reaches it
OLD = "2025-11-25"
MODERN = "2026-07-28"
REDIRECT = "http://127.0.0.1:4321/callback"
RAW = runpy.run_path(str(HERE / "raw.py"))

TWO_ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def connected(
    behaviour: str, *, mode: Any = "auto", client: dict[str, Any] | None = None, **options: object
) -> AsyncGenerator[Client]:
    """The SDK's client of a raw server; its stderr is thrown away."""
    with open(os.devnull, "w") as nothing:
        transport = stdio_client(StdioServerParameters(**raw(behaviour, **options)), errlog=nothing)
        async with Client(transport, mode=mode, read_timeout_seconds=WAIT, **(client or {})) as connection:
            yield connection


async def exchange(behaviour: str, *methods: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Send requests without an SDK, numbered from 1, then EOF; return all that came back."""
    lines: list[str] = []
    for number, method in enumerate(methods, 1):
        method, _, name = method.partition(" ")
        params = {"name": name} if name else {"protocolVersion": OLD} if method == "initialize" else {}
        lines.append(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
    server = raw(behaviour, **options)
    with anyio.fail_after(WAIT):
        data = "".join(f"{line}\n" for line in lines).encode()
        return await anyio.run_process([server["command"], *server["args"]], input=data, check=False)


def answers(completed: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in completed.stdout.splitlines()]


def text_of(result: CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, TextContent)
    return block.text


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


# The good server


@pytest.mark.parametrize(
    ("era", "mode", "version"),
    [
        ("legacy", "auto", OLD),
        ("legacy", "legacy", OLD),
        ("modern", "auto", MODERN),
        ("modern", MODERN, MODERN),
        ("both", "auto", MODERN),
        ("both", "legacy", OLD),
    ],
)
async def test_the_good_server_works_in_each_era(era: str, mode: str, version: str) -> None:
    async with connected("good", era=era, mode=mode) as client:
        assert client.protocol_version == version
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["echo", "add", "sleep", "progress", "environment", "fail", "count", "stderr"]
        echoed = await client.call_tool("echo", {"text": "täxt"})
        assert (text_of(echoed), echoed.structured_content) == ("täxt", {"text": "täxt"})
        assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"sum": 3}
        failed = await client.call_tool("fail", {"message": "no"})
        assert failed.is_error and text_of(failed) == "no"
        for count in (1, 2):
            assert (await client.call_tool("count")).structured_content == {"count": count}
        with pytest.raises(MCPError, match="Unknown tool: nothing"):
            await client.call_tool("nothing")


async def test_a_server_says_what_it_was_told_to_say_of_itself() -> None:
    async with connected(
        "named", name="Bing CN (mcp)", server_version="9.9", instructions="Read this.", version="2024-11-05"
    ) as client:
        assert client.protocol_version == "2024-11-05"
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("Bing CN (mcp)", "9.9")
        assert client.instructions == "Read this."


async def test_a_server_tells_of_its_process() -> None:
    async with connected("good") as client:
        said = (await client.call_tool("environment")).structured_content
    assert said is not None
    assert said["ppid"] == os.getpid() and said["cwd"] == os.getcwd()
    assert said["pid"] == said["pgid"] == said["sid"]  # the SDK starts each server in a session of its own
    assert said["environ"]["PATH"] == os.environ["PATH"]


async def test_the_log_has_what_reached_the_server(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with connected("good", mode="legacy", log=log) as client:
        await client.list_tools()
        await client.call_tool("count")
    handshake = ["start", "initialize", "notifications/initialized"]
    assert lines_of(log) == [*handshake, "tools/list", "tools/call count 3", "eof"]


@TWO_ERAS
async def test_a_cancelled_call_is_logged_and_holds_up_nobody(era: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with connected("good", era=era, log=log) as client:
        await client.list_tools()
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "sleep", {"seconds": 60})
            await anyio.wait_all_tasks_blocked()
            assert text_of(await client.call_tool("echo", {"text": "meanwhile"})) == "meanwhile"
            group.cancel_scope.cancel()
        await client.call_tool("count")
    sleep, echo, cancelled, count, _ = lines_of(log)[-5:]
    assert sleep.startswith("tools/call sleep ") and echo.startswith("tools/call echo ")
    assert cancelled == f"cancelled {sleep.split()[-1]}" and count.startswith("tools/call count ")


@TWO_ERAS
async def test_progress_reaches_the_caller(era: str) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with connected("good", era=era) as client:
        done = await client.call_tool("progress", {"steps": 2}, progress_callback=on_progress)
    assert (text_of(done), seen) == ("2 steps", [(1, 2, "step 1"), (2, 2, "step 2")])


def test_every_behaviour_is_in_the_table() -> None:
    documented = re.findall(r"^\| ([a-z_]+) +\|", RAW["__doc__"], re.MULTILINE)
    assert sorted(documented) == sorted(RAW["BEHAVIOURS"])


@pytest.mark.parametrize("behaviour", ["good", "hang", "many_tools", "resources"])
async def test_a_server_leaves_quietly_at_the_end_of_its_input(behaviour: str) -> None:
    completed = await exchange(behaviour)
    assert (completed.returncode, completed.stdout, completed.stderr) == (0, b"", b"")


# Silence, crashes, floods


async def test_a_hanging_server_answers_nothing() -> None:
    assert (await exchange("hang", "initialize", "tools/list")).stdout == b""


async def test_a_server_that_discovery_silences_works_without_it() -> None:
    assert (await exchange("silent_discover", "server/discover", "initialize")).stdout == b""
    async with connected("silent_discover", mode="legacy") as client:
        assert text_of(await client.call_tool("echo", {"text": "x"})) == "x"


async def test_a_server_that_hangs_in_calls_still_lists(tmp_path: Path) -> None:
    completed = await exchange("hang_call", "tools/call echo", "tools/list", log=tmp_path / "log")
    assert [answer["id"] for answer in answers(completed)] == [2]
    assert "tools/call echo 1" in lines_of(tmp_path / "log")


async def test_a_slow_server_answers_in_the_end() -> None:
    assert len(answers(await exchange("slow_start", "initialize", seconds=0.05))) == 1


@pytest.mark.parametrize(
    ("behaviour", "options", "code", "last"),
    [
        ("crash_start", {}, 3, "RuntimeError: DATABASE_URL is not set"),
        ("mcp_version_crash", {}, 1, "AttributeError: 'Server' object has no attribute 'list_resources'"),
        (
            "mcp_version_crash",
            {"variant": "module"},
            1,
            "ModuleNotFoundError: No module named 'mcp.server.fastmcp'",
        ),
        ("mcp_version_crash", {"variant": "renamed"}, 1, "ModuleNotFoundError: No module named 'mcp.server."),
    ],
)
async def test_a_crash_leaves_its_reason_on_stderr(
    behaviour: str, options: dict[str, str], code: int, last: str
) -> None:
    completed = await exchange(behaviour, "initialize", **options)
    lines = completed.stderr.decode().splitlines()
    assert (completed.returncode, completed.stdout) == (code, b"")
    assert lines[-1].startswith(last)
    assert behaviour != "crash_start" or len(lines) == 30


async def test_a_server_crashes_once(tmp_path: Path) -> None:
    codes = [(await exchange("crash_once", marker=tmp_path / "marker")).returncode for _ in range(3)]
    assert codes == [3, 0, 0]


async def test_a_server_crashes_in_a_call_that_has_reached_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    completed = await exchange("crash_call", "initialize", "tools/call echo", "tools/list", log=log)
    assert (completed.returncode, len(answers(completed))) == (9, 1)
    assert lines_of(log) == ["start", "initialize", "tools/call echo 2"]


async def test_floods_have_the_size_that_was_asked_for() -> None:
    flooded = await exchange("flood_stderr", "initialize", megabytes=2)
    assert (len(flooded.stderr), len(answers(flooded))) == (2 << 20, 1)
    first, second, third = (
        await exchange("flood_stdout", "initialize", "ping", megabytes=2)
    ).stdout.splitlines()
    assert (json.loads(first)["id"], len(second), json.loads(third)["id"]) == (1, 2 << 20, 2)


async def test_a_chatty_server_hides_its_answers_among_noise() -> None:
    noisy = (await exchange("chatty_stdout", "initialize", "ping")).stdout
    assert b"\xff\xfe" in noisy and b"\n\n" in noisy
    found = [line for line in noisy.splitlines() if line.startswith(b'{"jsonrpc": "2.0", "id"')]
    assert [json.loads(line)["id"] for line in found] == [1, 2]


# Lists


async def test_odd_tools_come_as_they_are() -> None:
    listed = answers(await exchange("odd_tools", "tools/list"))[0]["result"]["tools"]
    assert listed == list(RAW["ODD_TOOLS"]) and len(listed) == 15


async def test_many_tools_come_in_pages() -> None:
    async with connected("many_tools", tools=25, page=10) as client:
        sizes: list[int] = []
        cursor = None
        while cursor is not None or not sizes:
            page = await client.list_tools(cursor=cursor)
            sizes.append(len(page.tools))
            cursor = page.next_cursor
        assert sizes == [10, 10, 5]
        assert text_of(await client.call_tool("tool_00024", {"text": ""})) == "tool_00024 was called"


async def test_there_is_always_another_page() -> None:
    async with connected("endless_pages") as client:
        page = await client.list_tools(cursor="1000")
        assert ([tool.name for tool in page.tools], page.next_cursor) == (["tool_1000"], "1001")
    async with connected("looping_cursor") as client:
        for cursor, name in ((None, "first"), ("again", "second"), ("again", "second")):
            page = await client.list_tools(cursor=cursor)
            assert ([tool.name for tool in page.tools], page.next_cursor) == ([name], "again")


async def test_growth_is_announced_before_it_is_answered() -> None:
    seen: list[str] = []

    async def on_message(message: Any) -> None:
        seen.append(message.method)

    async with connected("list_changed", client={"message_handler": on_message}) as client:
        assert text_of(await client.call_tool("grow")) == "grown_1"
        assert seen == ["notifications/tools/list_changed"]
        assert "grown_1" in [tool.name for tool in (await client.list_tools()).tools]


async def test_growth_is_announced_to_those_who_listen_in_the_modern_era() -> None:
    async with connected("list_changed", era="modern") as client:
        async with client.listen(tools_list_changed=True) as subscription:
            name = text_of(await client.call_tool("grow"))
            with anyio.fail_after(WAIT):
                assert isinstance(await anext(subscription), ToolsListChanged)
        assert text_of(await client.call_tool(name)) == "grown"


async def test_a_description_changes_under_the_client(tmp_path: Path) -> None:
    text = tmp_path / "text"
    async with connected("rug_pull", text=text) as client:
        for description in ("Kind.", "Evil."):
            text.write_text(description)
            assert (await client.list_tools()).tools[0].description == description


# Processes


async def test_a_stubborn_server_has_to_be_killed() -> None:
    server = raw("stubborn")
    process = await anyio.open_process([server["command"], *server["args"]], stdin=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    output = BufferedByteReceiveStream(process.stdout)
    try:
        for name in (None, signal.SIGTERM, signal.SIGINT):
            if name is not None:
                process.send_signal(name)
            await process.stdin.send(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
            with anyio.fail_after(WAIT):
                assert b'"result"' in await output.receive_until(b"\n", 1000)
        await process.stdin.aclose()
        with anyio.move_on_after(0.2):
            await process.wait()
        assert process.returncode is None
    finally:
        process.kill()
        await process.aclose()


async def test_grandchildren_outlive_their_server(tmp_path: Path) -> None:
    server = raw("grandchildren", pids=tmp_path / "pids")
    with anyio.fail_after(WAIT):
        completed = await anyio.to_thread.run_sync(
            lambda: subprocess.run(
                [server["command"], *server["args"]], stdin=subprocess.DEVNULL, timeout=WAIT
            )
        )
    first, second = (int(pid) for pid in lines_of(tmp_path / "pids"))
    try:
        assert completed.returncode == 0
        for pid in (first, second):
            os.kill(pid, signal.SIGTERM)
        assert (os.getsid(first), os.getsid(second)) == (first, os.getsid(0))
    finally:
        for pid in (first, second):
            os.kill(pid, signal.SIGKILL)


# Results


async def test_some_results_break_their_own_schema() -> None:
    async with connected("wrong_output") as client:
        for name in ("wrong", "missing"):
            with pytest.raises(RuntimeError):
                await client.call_tool(name)


async def test_a_big_result_has_the_size_that_was_asked_for() -> None:
    async with connected("big") as client:
        result = await client.call_tool("big", {"bytes": 3_000_000})
        assert result.structured_content == {"text": "x" * 3_000_000} == {"text": text_of(result)}


@TWO_ERAS
async def test_content_comes_in_all_known_kinds_and_one_unknown(era: str) -> None:
    async with connected("media", era=era) as client:
        mixed = (await client.call_tool("mixed")).content
        assert [block.type for block in mixed] == [
            "text",
            "image",
            "audio",
            "resource",
            "resource",
            "resource_link",
        ]
        with pytest.raises(ValueError, match="x-future"):
            await client.call_tool("future")


@TWO_ERAS
async def test_resources_and_prompts_can_be_read(era: str) -> None:
    async with connected("resources", era=era) as client:
        assert client.instructions == "Read memo://text first."
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        assert [r.uri for r in (*first.resources, *second.resources)] == ["memo://text", "memo://blob"]
        assert second.next_cursor is None
        assert (await client.list_resource_templates()).resource_templates[
            0
        ].uri_template == "memo://note/{id}"
        note = (await client.read_resource("memo://note/7")).contents[0]
        assert isinstance(note, TextResourceContents) and note.text == "note 7"
        with pytest.raises(MCPError, match="Resource not found"):
            await client.read_resource("memo://nothing")
        assert [a.name for a in (await client.list_prompts()).prompts[0].arguments or ()] == ["who", "tone"]
        prompt = (await client.get_prompt("greet", {"who": "Ada"})).messages[0].content
        assert isinstance(prompt, TextContent) and prompt.text == "Greet Ada in a friendly tone."


async def test_a_server_without_tools_refuses_to_list_them() -> None:
    async with connected("no_capabilities") as client:
        assert client.server_capabilities.tools is None
        with pytest.raises(MCPError) as caught:
            await client.list_tools()
        assert caught.value.code == -32601


async def test_errors_have_the_code_that_was_asked_for() -> None:
    async with connected("error_codes") as client:
        with pytest.raises(MCPError, match="too hot") as caught:
            await client.call_tool("refuse", {"code": -32042, "message": "too hot"})
        assert caught.value.code == -32042


async def test_answers_come_twice_and_unasked() -> None:
    twice = answers(await exchange("duplicate_answers", "initialize", "tools/call count"))
    assert [answer["id"] for answer in twice] == [1, 2, 2, 987654321, "never-asked"]


async def test_a_version_may_be_wrong() -> None:
    answer = answers(await exchange("wrong_version", "initialize"))[0]
    assert answer["result"]["protocolVersion"] == "1999-01-01"


@TWO_ERAS
async def test_a_tool_may_ask_the_user(era: str) -> None:
    async def on_elicitation(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams) and params.message == "Who?"
        return ElicitResult(action="accept", content={"answer": "Ada"})

    async with connected("elicits", era=era, client={"elicitation_callback": on_elicitation}) as client:
        answer = await client.call_tool("ask", {"question": "Who?"})
        assert answer.structured_content == {"action": "accept", "content": {"answer": "Ada"}}


async def test_a_client_that_can_not_be_asked_says_so() -> None:
    async with connected("elicits") as client:
        assert text_of(await client.call_tool("ask", {"question": "Who?"})) == "Elicitation not supported"
    async with connected("elicits", era="modern") as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("ask", {"question": "Who?"})
        assert caught.value.code == -32021


# HTTP


@pytest.mark.slow
@pytest.mark.parametrize(
    ("transport", "options", "mode", "version"),
    [
        ("http", {}, "auto", MODERN),
        ("http", {}, "legacy", OLD),
        ("http", {"era": "legacy"}, "auto", OLD),
        ("http", {"era": "modern", "json": 1}, "auto", MODERN),
        ("http", {"stateless": 1}, "legacy", OLD),
        ("sse", {}, "auto", MODERN),
        ("sse", {}, "legacy", OLD),
    ],
)
async def test_a_server_on_the_network_works_in_each_era(
    transport: str, options: dict[str, object], mode: Any, version: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    async with http_server(transport, log=log, token="secret", **options) as url:
        headers = {"Authorization": "Bearer secret", "X-Mine": "yes"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(
                sse_client(url, headers=headers)
                if transport == "sse"
                else streamable_http_client(url, http_client=http),
                mode=mode,
                read_timeout_seconds=WAIT,
            ) as client,
        ):
            assert client.protocol_version == version
            assert len((await client.list_tools()).tools) == 8
            assert (await client.call_tool("echo", {"text": "x"})).structured_content == {"result": "x"}
            failed = await client.call_tool("fail", {"message": "no"})
            assert failed.is_error and "no" in text_of(failed)
            region = await client.call_tool("region", {"region": "eu"})
            is_mirrored = transport == "http" and version == MODERN
            assert region.structured_content == {"argument": "eu", "header": "eu" if is_mirrored else None}
            if transport == "http":
                received = (await client.call_tool("headers")).structured_content
                assert received is not None and received["x-mine"] == "yes"
            assert [str(r.uri) for r in (await client.list_resources()).resources] == ["memo://text"]
    assert sum(line.startswith("tools/call echo ") for line in lines_of(log)) == 1


@pytest.mark.slow
async def test_requests_are_refused_as_asked_for() -> None:
    async with httpx2.AsyncClient(timeout=WAIT) as http:
        async with http_server(status=503) as url:
            assert (await http.post(url)).status_code == 503
        async with http_server(token="secret") as url:
            refused = await http.post(url)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")


# OAuth


class Browser:
    """Follows the redirect, and stores what a client has to remember."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None
        self.landed: dict[str, str] = {}

    async def open(self, url: str) -> None:
        answer = await self.http.get(url, follow_redirects=False)
        assert answer.status_code == 302
        query = parse_qs(urlsplit(answer.headers["location"]).query)
        self.landed = {key: values[0] for key, values in query.items()}

    async def callback(self) -> AuthorizationCodeResult:
        landed = self.landed
        return AuthorizationCodeResult(code=landed["code"], state=landed["state"], iss=landed["iss"])

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Flow:
    """The steps of the flow by hand, so that each can be done wrong."""

    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self.http = http
        self.resource = url
        self.verifier = "v" * 43
        self.client_id = ""
        self.metadata: dict[str, Any] = {}

    async def discover(self) -> None:
        challenge = (await self.http.post(self.resource)).headers["www-authenticate"]
        found = re.search(r'resource_metadata="([^"]+)"', challenge)
        assert found and 'scope="mcp:use"' in challenge
        resource = (await self.http.get(found[1])).json()
        assert resource["resource"] == self.resource
        issuer = str(resource["authorization_servers"][0])
        assert urlsplit(issuer).port != urlsplit(self.resource).port
        self.metadata = (await self.http.get(f"{issuer}/.well-known/oauth-authorization-server")).json()
        assert self.metadata["issuer"] == issuer

    async def register(self) -> None:
        body = {"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}
        answer = await self.http.post(self.metadata["registration_endpoint"], json=body)
        assert answer.status_code == 201
        self.client_id = answer.json()["client_id"]

    async def authorize(self, **changed: str) -> httpx2.Response:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        params = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": REDIRECT,
            "state": "state",
            "scope": "mcp:use",
            "resource": self.resource,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        endpoint = self.metadata["authorization_endpoint"]
        return await self.http.get(endpoint, params=params | changed, follow_redirects=False)

    async def landed(self, **changed: str) -> dict[str, str]:
        location = (await self.authorize(**changed)).headers["location"]
        assert location.startswith(REDIRECT)
        return {key: values[0] for key, values in parse_qs(urlsplit(location).query).items()}

    async def token(self, grant_type: str, **form: str) -> tuple[int, dict[str, Any]]:
        data = {"grant_type": grant_type, "client_id": self.client_id, "resource": self.resource} | form
        answer = await self.http.post(self.metadata["token_endpoint"], data=data)
        assert answer.headers["cache-control"] == "no-store"
        return answer.status_code, answer.json()

    async def redeem(self, code: str, **changed: str) -> tuple[int, dict[str, Any]]:
        form = {"code": code, "redirect_uri": REDIRECT, "code_verifier": self.verifier}
        return await self.token("authorization_code", **(form | changed))

    async def status_with(self, token: str) -> int:
        """400 is the MCP server's own answer: the token was good."""
        return (await self.http.get(self.resource, headers={"Authorization": f"Bearer {token}"})).status_code


@asynccontextmanager
async def flow(**options: object) -> AsyncGenerator[Flow]:
    async with oauth_server(**options) as url, httpx2.AsyncClient(timeout=WAIT) as http:
        steps = Flow(http, url)
        await steps.discover()
        if "client_id" in options:
            steps.client_id = str(options["client_id"])
        else:
            await steps.register()
        yield steps


@pytest.mark.slow
async def test_a_code_buys_tokens_once_and_refresh_tokens_rotate(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with flow(log=log) as steps:
        landed = await steps.landed()
        assert (landed["state"], landed["iss"]) == ("state", steps.metadata["issuer"])
        status, first = await steps.redeem(landed["code"])
        assert (status, first["expires_in"], first["scope"]) == (200, 3600, "mcp:use")
        assert await steps.status_with(first["access_token"]) == 400
        status, second = await steps.token("refresh_token", refresh_token=first["refresh_token"])
        assert status == 200 and second["refresh_token"] != first["refresh_token"]
        status, refused = await steps.token("refresh_token", refresh_token=first["refresh_token"])
        assert (status, refused["error"]) == (400, "invalid_grant")
        assert await steps.status_with(second["access_token"]) == 401
    tokens = ["token authorization_code", "token refresh_token", "token refresh_token"]
    assert lines_of(log) == ["register", "authorize", *tokens, "reuse"]


@pytest.mark.slow
async def test_what_is_wrong_is_refused() -> None:
    async with flow() as steps:
        assert (await steps.authorize(client_id="stranger")).status_code == 400
        assert (await steps.authorize(redirect_uri="http://127.0.0.1:1/elsewhere")).status_code == 400
        for changed, error in (
            ({"response_type": "token"}, "unsupported_response_type"),
            ({"code_challenge_method": "plain"}, "invalid_request"),
            ({"resource": "http://127.0.0.1/other"}, "invalid_target"),
            ({"scope": "admin"}, "invalid_scope"),
        ):
            assert (await steps.landed(**changed))["error"] == error
        for changed in ({"code_verifier": "w" * 43}, {"redirect_uri": REDIRECT + "/x"}):
            status, answer = await steps.redeem((await steps.landed())["code"], **changed)
            assert (status, answer["error"]) == (400, "invalid_grant")
        status, answer = await steps.redeem("x", client_id="stranger")
        assert (status, answer["error"]) == (401, "invalid_client")
        _, weak = await steps.redeem((await steps.landed(scope="profile"))["code"])
        assert await steps.status_with(weak["access_token"]) == 403


@pytest.mark.slow
async def test_the_user_may_deny_and_tokens_may_expire() -> None:
    async with flow(deny=1) as steps:
        assert (await steps.landed())["error"] == "access_denied"
    async with flow(ttl=0, refresh=0, iss="http://evil.example") as steps:
        landed = await steps.landed()
        assert landed["iss"] == "http://evil.example"
        _, tokens = await steps.redeem(landed["code"])
        assert "refresh_token" not in tokens and await steps.status_with(tokens["access_token"]) == 401


@pytest.mark.slow
async def test_a_client_registered_by_hand_is_the_only_one() -> None:
    async with flow(client_id="mine", client_secret="hush") as steps:
        assert "registration_endpoint" not in steps.metadata
        refused = await steps.http.post(f"{steps.metadata['issuer']}/register", json={})
        assert refused.status_code == 403
        code = (await steps.landed())["code"]
        assert (await steps.redeem(code))[0] == 401
        assert (await steps.redeem(code, client_secret="hush"))[0] == 200


@pytest.mark.slow
async def test_the_client_of_the_sdk_gets_through(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with oauth_server(log=log) as url, httpx2.AsyncClient(timeout=WAIT) as http:
        browser = Browser(http)
        asked = OAuthClientMetadata.model_validate({"redirect_uris": [REDIRECT]})
        auth = OAuthClientProvider(url, asked, browser, browser.open, browser.callback)
        async with (
            httpx2.AsyncClient(auth=auth, timeout=WAIT) as authorized,
            Client(streamable_http_client(url, http_client=authorized), read_timeout_seconds=WAIT) as client,
        ):
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
    assert lines_of(log) == ["register", "authorize", "token authorization_code"]

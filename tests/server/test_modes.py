"""What a client is shown and told in each mode, and how `satchel serve` begins and ends as a process."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.subscriptions import listen

from satchel.config.agents import Mode
from satchel.server.surface import Surface
from tests.projects import Project
from tests.server.clients_helpers import (
    CLIENT_ERAS,
    LEGACY,
    MODERN,
    WAIT,
    Process,
    Served,
    asking,
    call,
    client_of,
    execute,
    outcomes,
    own_project,
    process_of,
    served,
    text_from,
    text_of,
    write_servers,
    write_settings,
)
from tests.servers import raw
from tests.upstream.helpers import alive, lines, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CODE = ["list_servers", "search_tools", "execute_code"]
SEARCH = ["search_tools", "call_tool", "memory"]
SETTINGS: dict[str, Any] = {
    "mode": "code",
    "in_context_tools": ["good.echo", "media.image"],
    "read_only_tools": ["good.environment"],
    "agents": {
        "default": {},
        "searcher": {"mode": "search"},
        "narrow": {"mode": "auto", "allow": ["good.add", "good.count"]},
    },
    "clients": {"searching-*": {"mode": "search"}, "Direct Client": {"mode": "direct"}},
    "code_execution": {"read_only_tool": True, "timeout": 20, "max_timeout": 40},
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """For the whole module, so that one Satchel can serve its tests."""
    return "asyncio"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logs") / "good"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, log: Path) -> Project:
    servers = {"good": raw("good", log=log), "media": raw("media")}
    return own_project(tmp_path_factory.mktemp("modes"), servers, SETTINGS)


@pytest.fixture(scope="module")
async def here(project: Project) -> AsyncGenerator[Served]:
    async with served(project) as opened:
        yield opened


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


# What is shown


@CLIENT_ERAS
async def test_each_mode_shows_its_tools(here: Served, client_era: str) -> None:
    shown: dict[Mode, list[str]] = {}
    modes: tuple[Mode, ...] = ("code", "search", "direct")
    for mode in modes:
        async with client_of(Surface(here.satchel, mode=mode), client_era) as client:
            shown[mode] = await names(client)
            assert bool((await client.list_resources()).resources) is False
    in_context = ["good__echo", "media__image"]
    assert shown["code"] == [*CODE, "execute_code_readonly", *in_context]
    assert shown["search"] == [*SEARCH, *in_context]
    assert shown["direct"][0] == "memory"
    assert len(shown["direct"]) == 1 + sum(server.tool_count for server in here.satchel.catalog.servers)


@CLIENT_ERAS
async def test_the_surface_the_client_the_agent_and_the_settings_decide_in_this_order(
    here: Served, client_era: str
) -> None:
    async def mode_of(name: str, **options: Any) -> str:
        async with client_of(Surface(here.satchel, **options), client_era, name=name) as client:
            found = await names(client)
        return "code" if "execute_code" in found else "search" if "call_tool" in found else "direct"

    assert await mode_of("any") == "code"
    assert await mode_of("any", agent="searcher") == "search"
    assert await mode_of("Searching-Things 2") == "search"
    assert await mode_of("direct client", agent="searcher") == "direct"
    assert await mode_of("direct client", agent="searcher", mode="code") == "code"


@CLIENT_ERAS
async def test_auto_is_direct_while_there_are_few_tools(tmp_path: Path, client_era: str) -> None:
    project = own_project(tmp_path, {"good": raw("good")}, {"mode": "auto", "auto_threshold": 8})
    async with served(project) as opened, client_of(opened.surface, client_era) as client:
        assert "good__echo" in await names(client)
        write_settings(project, {"mode": "auto", "auto_threshold": 7})
        assert await names(client) == CODE
        allow = {"default": {"allow": ["good.echo"]}}
        write_settings(project, {"mode": "auto", "auto_threshold": 7, "agents": allow})
        assert await names(client) == ["memory", "good__echo"]


@CLIENT_ERAS
async def test_a_server_that_nothing_is_known_of_yet_is_waited_for(tmp_path: Path, client_era: str) -> None:
    """Clients list once, and not all of them heed that a list has changed."""
    project = own_project(tmp_path, {"good": raw("good")}, {"mode": "direct"})
    async with served(project, listed=False) as opened, client_of(opened.surface, client_era) as client:
        assert "good__echo" in await names(client)


@CLIENT_ERAS
async def test_a_tool_of_a_server_that_nothing_is_known_of_yet_can_be_called(
    tmp_path: Path, client_era: str
) -> None:
    """By a client that knows it from another time."""
    project = own_project(tmp_path, {"good": raw("good")}, {"mode": "direct"})
    async with served(project, listed=False) as opened, client_of(opened.surface, client_era) as client:
        assert await text_from(client, "good__echo", text="hello") == "hello"


@CLIENT_ERAS
async def test_a_tool_in_context_is_called_as_it_is_and_others_are_told_how(
    here: Served, client_era: str
) -> None:
    async with client_of(Surface(here.satchel, mode="code"), client_era) as client:
        assert await text_from(client, "good__echo", text="hello") == "hello"
        answer = await call(client, "good__add", a=1, b=2)
        assert answer.is_error
        assert "from servers.good import add" in text_of(answer)
        answer = await call(client, "call_tool", name="good.add", arguments={})
        assert answer.is_error
        assert "execute_code" in text_of(answer)
    async with client_of(Surface(here.satchel, mode="search"), client_era) as client:
        answer = await call(client, "good__add", a=1, b=2)
        assert "call_tool" in text_of(answer)
        answer = await call(client, "execute_code", code="print(1)")
        assert answer.is_error


@CLIENT_ERAS
async def test_search_leads_to_a_call(here: Served, client_era: str) -> None:
    async with client_of(Surface(here.satchel, mode="search"), client_era) as client:
        found = await call(client, "search_tools", query="add two numbers", limit=1)
        assert found.structured_content is not None
        name = found.structured_content["tools"][0]["name"]
        answer = await call(client, "call_tool", name=name, arguments={"a": 1, "b": 2})
        assert answer.structured_content == {"sum": 3}


async def test_what_a_model_makes_up_for_an_argument_gives_it_no_rights(here: Served) -> None:
    async with client_of(Surface(here.satchel, agent="narrow", mode="code"), MODERN) as client:
        made_up: list[dict[str, Any]] = [{"agent": "default"}, {"read_only": False}, {"report": "x"}]
        for more in made_up:
            answer = await call(client, "execute_code", code="print('ran')", **more)
            assert answer.is_error
            assert "unknown argument" in text_of(answer)
        answer = await call(client, "search_tools", query="echo", agent="default")
        assert "unknown argument" in text_of(answer)


# Programs that only read


@CLIENT_ERAS
async def test_a_program_that_only_reads_can_do_nothing_else(
    here: Served, client_era: str, log: Path
) -> None:
    code = (
        "from satchel_runtime import ToolError, call_tool\n"
        "print(await call_tool('good', 'add', {'a': 1, 'b': 2}))\n"
        "await call_tool('good', 'environment', {})\n"
        "try:\n"
        "    await call_tool('good', 'count', {})\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    before = len(lines(log))
    async with client_of(Surface(here.satchel, mode="code"), client_era) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        annotations = tools["execute_code_readonly"].annotations
        assert annotations is not None and annotations.read_only_hint is True
        changing = tools["execute_code"].annotations
        assert changing is None or not changing.read_only_hint
        answer = await call(client, "execute_code_readonly", code=code)
    assert answer.structured_content is not None
    first, second = answer.structured_content["stdout"].splitlines()
    assert "3" in first
    assert "only call tools that read" in second
    assert [use["status"] for use in answer.structured_content["tools_called"]] == ["ok", "ok", "denied"]
    assert not any(line.startswith("tools/call count") for line in lines(log)[before:])


async def test_a_session_of_a_program_that_only_reads_is_no_other_programs(here: Served) -> None:
    async with client_of(Surface(here.satchel, mode="code"), MODERN) as client:
        first = await call(client, "execute_code_readonly", code="x = 1", session="new")
        assert first.structured_content is not None
        session = first.structured_content["session"]
        again = await call(client, "execute_code_readonly", code="print(x)", session=session)
        assert again.structured_content is not None and again.structured_content["stdout"] == "1\n"
        other = await call(client, "execute_code", code="print(x)", session=session)
        assert other.is_error


# Long programs


@CLIENT_ERAS
async def test_progress_tells_how_many_calls_a_program_has_made(here: Served, client_era: str) -> None:
    told: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    code = (
        "import asyncio\nfrom servers.good import add\n"
        "for number in range(6):\n    await add(a=1, b=number)\n    await asyncio.sleep(0.12)\n"
    )
    async with client_of(Surface(here.satchel, mode="code"), client_era) as client:
        answer = await client.call_tool("execute_code", {"code": code}, progress_callback=note)
    assert isinstance(answer, types.CallToolResult) and not answer.is_error, answer
    assert len(told) >= 2
    counts = [count for count, _ in told]
    assert counts == sorted(set(counts))
    assert all(" made; last" in (message or "") and "good__add" in (message or "") for _, message in told)


@CLIENT_ERAS
async def test_a_program_whose_client_gives_up_is_ended_and_recorded(
    here: Served, client_era: str, log: Path, project: Project
) -> None:
    before = len(lines(log))
    async with client_of(Surface(here.satchel, mode="code"), client_era) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(execute, client, "from servers.good import sleep\nawait sleep(seconds=100)")
            await until(lambda: any("tools/call sleep" in line for line in lines(log)[before:]), WAIT)
            tasks.cancel_scope.cancel()
        await until(lambda: any(line.startswith("cancelled") for line in lines(log)[before:]))

        async def newest() -> dict[str, Any] | None:
            return (await outcomes(project))[0]

        with anyio.fail_after(WAIT):
            while (outcome := await newest()) is None:  # noqa: ASYNC110  it is written in the background
                await anyio.sleep(0.02)
    assert outcome["ended"] == "cancelled"


# Changes


class Changes:
    """What a client is told of changes, in whichever way its era has."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def heed(self, message: object) -> None:
        match message:
            case types.ToolListChangedNotification():
                self.told.append("tools")
            case types.ResourceListChangedNotification():
                self.told.append("resources")
            case types.PromptListChangedNotification():
                self.told.append("prompts")
            case _:
                pass

    async def listen(self, client: Client, ready: anyio.Event) -> None:
        async with listen(
            client.session, tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
        ) as events:
            ready.set()
            async for event in events:
                kind = type(event).__name__
                self.told.append(kind.removesuffix("ListChanged").lower())


async def told_after(
    opened: Served, changes: Changes, edit: Callable[[], Awaitable[None]] | None
) -> list[str]:
    """What a client is told of after a change; Satchel is made to look now."""
    changes.told.clear()
    if edit is not None:
        await edit()
    await opened.surface._views.look()
    await anyio.wait_all_tasks_blocked()
    return sorted(changes.told)


@CLIENT_ERAS
async def test_clients_are_told_when_what_they_see_changes_and_only_then(
    tmp_path: Path, client_era: str
) -> None:
    servers = {"growing": raw("list_changed"), "memos": raw("resources")}
    project = own_project(tmp_path, servers, {"mode": "direct"})
    changes = Changes()

    def edited(settings: dict[str, Any]) -> Any:
        async def edit() -> None:
            write_settings(project, settings)

        return edit

    async with (
        served(project) as opened,
        client_of(
            opened.surface, client_era, message_handler=changes.heed if client_era == LEGACY else None
        ) as client,
        anyio.create_task_group() as tasks,
    ):
        if client_era == MODERN:
            ready = anyio.Event()
            tasks.start_soon(changes.listen, client, ready)
            with anyio.fail_after(WAIT):
                await ready.wait()
        await names(client)
        await opened.surface._views.look()

        assert await told_after(opened, changes, None) == []
        unrelated = {"mode": "direct", "code_execution": {"timeout": 11}}
        assert await told_after(opened, changes, edited(unrelated)) == []

        async def grow() -> None:
            count = len(opened.satchel.catalog.server("growing").tools)
            await text_from(client, "growing__grow")
            await until(lambda: len(opened.satchel.catalog.server("growing").tools) > count)

        assert await told_after(opened, changes, grow) == ["tools"]
        deny = {"default": {"deny": ["growing.grown_*"]}}
        assert await told_after(opened, changes, edited({"mode": "direct", "agents": deny})) == ["tools"]
        deny = {"default": {"deny": ["growing.grown_*", "memos.resource:memo://text"]}}
        denied = {"mode": "direct", "agents": deny}
        assert await told_after(opened, changes, edited(denied)) == ["resources"]

        async def add_server() -> None:
            write_servers(project, {**servers, "good": raw("good")})
            await opened.satchel.servers.list_new(WAIT)

        assert await told_after(opened, changes, add_server) == ["tools"]
        assert await told_after(opened, changes, edited({"mode": "code"})) == [
            "prompts",
            "resources",
            "tools",
        ]

        async def remove_server() -> None:
            write_servers(project, servers)

        assert await told_after(opened, changes, remove_server) == []
        tasks.cancel_scope.cancel()


async def test_a_change_of_a_file_is_noticed_without_being_asked(tmp_path: Path) -> None:
    project = own_project(tmp_path, {"good": raw("good")}, {"mode": "direct"})
    changes = Changes()
    async with (
        served(project) as opened,
        client_of(opened.surface, LEGACY, message_handler=changes.heed) as client,
    ):
        await names(client)
        write_settings(project, {"mode": "search"})
        await until(lambda: "tools" in changes.told)
        assert await names(client) == SEARCH


# Instructions


@CLIENT_ERAS
@pytest.mark.parametrize("mode", ["code", "search", "direct"])
async def test_instructions_are_what_satchel_prompt_prints(
    here: Served, project: Project, client_era: str, mode: Mode
) -> None:
    era = "auto" if client_era == MODERN else client_era  # what a server says of itself is asked for
    async with client_of(Surface(here.satchel, mode=mode), era) as client:
        told = client.session.instructions
    home = {"HOME": str(project.directory.parent / "home")}
    printed = await anyio.to_thread.run_sync(lambda: project.run("prompt", "--mode", mode, environment=home))
    assert printed.code == 0, printed.err
    assert told == printed.out.strip()
    assert bool(told) == (printed.err == "")
    if not told:
        assert printed.err.startswith(
            f"nothing: in mode {mode} a model is shown the tools themselves\nhint: "
        )


def test_an_empty_template_is_said_to_be_one(tmp_path: Path) -> None:
    project = own_project(tmp_path, {"good": raw("good")})
    (project.directory / "templates").mkdir()
    (project.directory / "templates" / "code_execution_system.jinja").touch()
    printed = project.run("prompt", "--mode", "code", environment={"HOME": str(tmp_path)})
    assert (printed.code, printed.out) == (0, "")
    assert printed.err.startswith("nothing: this project's template for mode code is empty\nhint: --plain")


# The process


async def tools_of(process: Process) -> list[str]:
    answer = await process.request("tools/list")
    return [tool["name"] for tool in answer["result"]["tools"]]


async def listed(project: Project) -> None:
    """Have the servers of a project in its cache."""
    home = project.directory.parent / "home"
    home.mkdir(exist_ok=True)
    done = await anyio.to_thread.run_sync(lambda: project.run("refresh", environment={"HOME": str(home)}))
    assert done.code == 0, done.err


@pytest.fixture
def small(tmp_path: Path) -> Project:
    return own_project(tmp_path, {"good": raw("good", log=tmp_path / "log")}, {"mode": "code"})


async def test_the_end_of_input_ends_the_process(small: Project) -> None:
    async with process_of(small) as process:
        await process.initialize()
        assert await tools_of(process) == CODE
        await process.stdin.aclose()
        assert await process.ended() == 0


async def test_input_that_ends_before_anything_was_said_ends_the_process(small: Project) -> None:
    async with process_of(small) as process:
        await process.stdin.aclose()
        assert await process.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_process_and_what_it_runs(
    small: Project, tmp_path: Path, number: signal.Signals
) -> None:
    async with process_of(small) as process:
        await process.initialize()
        code = "from servers.good import sleep\nawait sleep(seconds=100)"
        await process.send("tools/call", {"name": "execute_code", "arguments": {"code": code}})
        await until(lambda: any("tools/call sleep" in line for line in lines(tmp_path / "log")), WAIT)
        process.process.send_signal(number)
        await process.ended()
    assert [outcome and outcome["ended"] for outcome in await outcomes(small)] == ["cancelled"]


@pytest.mark.parametrize("how", ["signal", "end of input"])
async def test_a_client_that_does_not_read_keeps_nobody(small: Project, how: str) -> None:
    async with process_of(small) as process:
        await process.initialize()
        for _ in range(200):  # more answers than a pipe holds
            await process.send("tools/list", {})
        await anyio.sleep(1)  # until the pipe is full, which nothing says
        if how == "signal":
            process.process.send_signal(signal.SIGTERM)
        else:
            await process.stdin.aclose()
        await process.ended()


async def test_the_end_of_input_ends_programs_and_records_it(small: Project, tmp_path: Path) -> None:
    async with process_of(small) as process:
        await process.initialize()
        code = "from servers.good import sleep\nawait sleep(seconds=100)"
        await process.send("tools/call", {"name": "execute_code", "arguments": {"code": code}})
        await until(lambda: any("tools/call sleep" in line for line in lines(tmp_path / "log")), WAIT)
        await process.stdin.aclose()
        assert await process.ended() == 0
    assert [outcome and outcome["ended"] for outcome in await outcomes(small)] == ["cancelled"]


async def test_garbage_on_standard_input_does_no_harm(small: Project) -> None:
    garbage = [
        b"not json\n",
        b"\n",
        b"\xff\xfe\x00\n",
        b"{}\n",
        b"[]\n",
        b"null\n",
        b'{"jsonrpc": "2.0"}\n',
        b'{"jsonrpc": "2.0", "id": 99, "result": {}}\n',
        b'{"jsonrpc": "2.0", "id": null, "method": "tools/list"}\n',
        b'{"jsonrpc": "1.0", "id": 7, "method": "tools/list"}\n',
        b'{"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": []}\n',
        b'{"jsonrpc": "2.0", "id": 9, "method": 5}\n',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12345}}\n',
        b'{"jsonrpc": "2.0", "method": "notifications/nobody/knows"}\n',
        b"[" * 100_000 + b"\n",
        b'{"a":' * 50_000 + b"\n",
        b"x" * 3_000_000 + b"\n",
    ]
    async with process_of(small) as process:
        await process.initialize()
        for line in garbage:
            await process.write(line)
        answer = await process.request("nobody/knows")
        assert answer["error"]["code"] == -32601
        assert await tools_of(process) == CODE
        assert process.noise == []


async def test_a_line_longer_than_any_message_does_no_harm(small: Project) -> None:
    async with process_of(small) as process:
        await process.initialize()
        for _ in range(65):
            await process.write(b"x" * (1 << 20))
        await process.write(b"\n")
        assert await tools_of(process) == CODE


async def test_a_request_before_the_handshake_does_no_harm(small: Project) -> None:
    async with process_of(small) as process:
        answer = await process.request("tools/call", {"name": "list_servers", "arguments": {}})
        assert "error" in answer
        await process.initialize()
        assert await tools_of(process) == CODE


STRAY = """
import os, subprocess, sys, threading, time
if "serve" in sys.argv:
    def stray():
        for _ in range(3000):
            if os.path.exists({go!r}):
                break
            time.sleep(0.01)
        print("stray print", flush=True)
        os.write(1, b"stray write\\n")
        subprocess.run(["echo", "stray child"])
        open({done!r}, "w").close()
    threading.Thread(target=stray, daemon=True).start()
"""


async def test_what_else_prints_does_not_disturb_the_protocol(tmp_path: Path) -> None:
    site, go, done = tmp_path / "site", tmp_path / "go", tmp_path / "done"
    site.mkdir()
    (site / "sitecustomize.py").write_text(STRAY.format(go=str(go), done=str(done)))
    project = own_project(tmp_path, {"chatty": raw("chatty_stdout")}, {"mode": "direct"})
    await listed(project)
    async with process_of(project, environment={"PYTHONPATH": str(site)}) as process:
        await process.initialize()
        go.touch()
        await until(done.exists)
        arguments = {"name": "chatty__echo", "arguments": {"text": "hello"}}
        answer = await process.request("tools/call", arguments)
        assert answer["result"]["content"] == [{"type": "text", "text": "hello"}]
        await until(lambda: b"stray child" in process.errors)
        assert process.noise == []
    assert b"stray print" in process.errors
    assert b"stray write" in process.errors


async def test_one_socket_for_both_directions_takes_large_answers(tmp_path: Path) -> None:
    project = own_project(tmp_path, {"big": raw("big")}, {"mode": "direct"})
    await listed(project)
    ours, theirs = socket.socketpair()
    process = await anyio.open_process(
        project.command("serve"),
        cwd=project.directory,
        env={**os.environ, "HOME": str(tmp_path / "home")},
        stdin=theirs.fileno(),
        stdout=theirs.fileno(),
        stderr=subprocess.DEVNULL,
    )
    theirs.close()
    ours.settimeout(WAIT)

    def story() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        with ours, ours.makefile("rwb") as stream:
            params = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "x", "version": "1"},
            }
            messages: list[dict[str, Any]] = [
                {"id": 1, "method": "initialize", "params": params},
                {"method": "notifications/initialized"},
                {
                    "id": 2,
                    "method": "tools/call",
                    "params": {"name": "big__big", "arguments": {"bytes": 2_000_000}},
                },
                {"id": 3, "method": "ping"},
            ]
            for message in messages:
                stream.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
                stream.flush()
                while "id" in message and message["id"] not in [answer.get("id") for answer in found]:
                    line = stream.readline()
                    assert line, "it ended"
                    found.append(json.loads(line))
        return found

    try:
        with anyio.fail_after(WAIT):
            answers = await anyio.to_thread.run_sync(story, abandon_on_cancel=True)
            large = next(answer for answer in answers if answer.get("id") == 2)
            assert len(large["result"]["content"][0]["text"]) == 2_000_000
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.aclose()


async def test_a_client_that_takes_only_forms_is_not_sent_to_a_page(tmp_path: Path) -> None:
    project = own_project(tmp_path, {"asking": asking("modern")}, {"mode": "direct"})
    await listed(project)
    async with process_of(project) as process:
        await process.initialize({"elicitation": {}})
        arguments = {"question": "Log in?", "url": "https://example.com/?token=secret"}
        number = await process.send("tools/call", {"name": "asking__visit", "arguments": arguments})
        message = await process.receive()
        while message.get("id") != number:
            assert message.get("method") != "elicitation/create"
            message = await process.receive()
        text = message["result"]["content"][0]["text"]
        assert message["result"]["isError"]
        assert "Log in?" in text and "can't be asked" in text
        assert "secret" not in text


# Satchel as a server of Satchel


def satchel_entry(project: Project, home: Path) -> dict[str, Any]:
    command, *rest = project.command("--config", str(project.directory), "serve")
    return {"command": command, "args": rest, "env": {"HOME": str(home)}}


async def test_a_satchel_that_is_its_own_server_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log"
    project = own_project(tmp_path, {"good": raw("good", log=log)}, {"mode": "code"})
    entry = satchel_entry(project, tmp_path / "home")
    write_servers(project, {"good": raw("good", log=log), "itself": entry})
    async with process_of(project) as process:
        await process.initialize()
        servers: dict[str, Any] = {}
        with anyio.fail_after(WAIT):
            while servers.get("itself", {}).get("state") not in ("failed", "needs setup"):
                answer = await process.request("tools/call", {"name": "list_servers", "arguments": {}})
                servers = {found["name"]: found for found in answer["result"]["structuredContent"]["servers"]}
        assert lines(log).count("start") == 1
        mark = str(project.directory).encode()
        running = [
            found
            for found in Path("/proc").iterdir()
            if found.name.isdigit() and mark in _command_line(found) and alive(int(found.name))
        ]
        assert len(running) <= 1, running
    home = {"HOME": str(tmp_path / "home")}
    told = await anyio.to_thread.run_sync(lambda: project.run("refresh", "itself", environment=home))
    assert told.code == 4
    assert "Satchel itself" in told.err
    assert "remove that entry" in told.err


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


async def test_a_satchel_of_another_project_works_and_a_circle_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    inner = own_project(tmp_path / "inner", {"good": raw("good")}, {"mode": "direct"})
    outer = own_project(tmp_path / "outer", {"inner": satchel_entry(inner, home)}, {"mode": "direct"})
    write_servers(inner, {"good": raw("good"), "outer": satchel_entry(outer, home)})
    listed = await anyio.to_thread.run_sync(
        lambda: inner.run("refresh", "good", environment={"HOME": str(home)})
    )
    assert listed.code == 0, listed.err
    async with process_of(outer) as process:
        await process.initialize()
        with anyio.fail_after(WAIT):
            while "inner__good__echo" not in await tools_of(process):  # noqa: ASYNC110  it lists in its time
                await anyio.sleep(0.1)
        answer = await process.request(
            "tools/call", {"name": "inner__good__echo", "arguments": {"text": "hello"}}
        )
        assert answer["result"]["content"] == [{"type": "text", "text": "hello"}]
    listed = await anyio.to_thread.run_sync(lambda: inner.run("list", environment={"HOME": str(home)}))
    assert "outer" in listed.out


async def test_a_server_that_runs_programs_itself_is_reported(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    inner = own_project(tmp_path / "inner", {"good": raw("good")}, {"mode": "code"})
    outer = own_project(tmp_path / "outer", {"inner": satchel_entry(inner, home)})
    done = await anyio.to_thread.run_sync(lambda: outer.run("doctor", environment={"HOME": str(home)}))
    said = (done.out + done.err).lower()
    assert "runs programs" in said or "code mode" in said or "execute_code" in said, said

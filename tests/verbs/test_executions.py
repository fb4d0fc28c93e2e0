"""Programs through the verb `execute`: what they can call, what their callers are told, what is recorded."""

import base64
import hashlib
import json
import os
import runpy
from collections.abc import AsyncGenerator
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.errors import ArgumentError, ConfigError, NotAllowedError, NotFoundError
from satchel.model import CallEnded, Caller, Event, Execution
from satchel.sandbox.backends import USER
from tests.projects import Project
from tests.sandbox.elsewhere import Elsewhere
from tests.servers import HERE, raw
from tests.upstream.helpers import lines, until

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("place_of_programs")]

WAIT = 60  # seconds; only a hang reaches it
RAW = runpy.run_path(str(HERE / "raw.py"))
PIXEL, BLOB = base64.b64decode(RAW["PIXEL"]), base64.b64decode(RAW["BLOB"])
SETTINGS = """
code_execution:
  timeout: 20
  max_timeout: 40
agents:
  default: {}
  reader: { allow: ["good", "memos.resource:memo://text"], deny: ["*.add"] }
  other: {}
"""
CAUGHT = """
from satchel_runtime import ToolError, call_tool

async def attempt(server, tool, **arguments):
    try:
        return await call_tool(server, tool, arguments)
    except ToolError as error:
        return [error.kind, error.server, error.tool, error.message]
"""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """For the whole module, so that one Satchel can serve its tests."""
    return "asyncio"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory, place_of_programs: str) -> Path:
    """What the server `good` was sent."""
    return tmp_path_factory.mktemp("logs") / "log"


@pytest.fixture(scope="module")
async def satchel(
    tmp_path_factory: pytest.TempPathFactory, log: Path, place_of_programs: str
) -> AsyncGenerator[Satchel]:
    """One on a project with servers of several kinds. Most tests need no more than a program of their own."""
    servers = {
        "good": raw("good", log=log),
        "media": raw("media"),
        "memos": raw("resources"),
        "silent": raw("hang_call") | {"timeout": 0.3},
        "dying": raw("crash_call"),
        "broken": raw("crash_start"),
    }
    async with opened(tmp_path_factory.mktemp("project"), servers, SETTINGS) as satchel:
        yield satchel


def opened(directory: Path, servers: dict[str, Any], settings: str = "") -> Any:
    project = Project(directory / "project", servers)
    (project.directory / "satchel.yaml").write_text(settings)
    return open_satchel(project.directory, environment={**os.environ, "HOME": str(directory)})


def agents_of(satchel: Satchel) -> Path:
    """Where the files of agents lie."""
    (sandbox,) = satchel.executions._runner()._sandboxes.values()
    return sandbox.agents if isinstance(sandbox, Elsewhere) else satchel.configuration.paths.state / "agents"


async def run(satchel: Satchel, code: str, **more: Any) -> Execution:
    with anyio.fail_after(WAIT):
        return await satchel.execute(dedent(code), **more)


async def result_of(satchel: Satchel, code: str, **more: Any) -> Any:
    """The `result` of a program that is expected to succeed."""
    execution = await run(satchel, code, **more)
    assert execution.exit_code == 0, execution.stderr
    return execution.result


def digest_of(arguments: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(arguments, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


# Calls


async def test_a_program_calls_tools_by_wrapper_and_by_name(satchel: Satchel) -> None:
    execution = await run(
        satchel,
        """
        from servers.good import add, echo
        from satchel_runtime import call_tool
        wrapped = await echo(text="by wrapper")
        print(wrapped.text, wrapped["text"], (await add(a=1, b=2)).sum)
        print(await call_tool("good", "echo", {"text": "by two names"}))
        print(await call_mcp_tool("good__echo", {"text": "by one name"}))
        print((await call_mcp_tool("good.echo", {"text": "by another"}))["text"])
        """,
    )
    assert (execution.exit_code, execution.stderr) == (0, "")
    assert execution.stdout.splitlines() == [
        "by wrapper by wrapper 3",
        "{'text': 'by two names'}",
        "{'text': 'by one name'}",
        "by another",
    ]
    assert [(use.tool, use.status) for use in execution.tools_called] == [
        ("good__echo", "ok"),
        ("good__add", "ok"),
        *[("good__echo", "ok")] * 3,
    ]


async def test_a_failed_call_is_a_tool_error_whose_kind_says_why(satchel: Satchel) -> None:
    result = await result_of(
        satchel,
        CAUGHT
        + dedent("""
        result = [
            await attempt("good", "fail", message="no paper"),
            await attempt("good", "echo", txet="x"),
            await attempt("good", "ehco", text="x"),
            await attempt("goood", "echo", text="x"),
            await attempt("broken", "echo", text="x"),
            await attempt("silent", "echo", text="x"),
            await attempt("dying", "echo", text="x"),
        ]
        """),
    )
    assert [row[0] for row in result] == [
        "tool",
        "arguments",
        "not_found",
        "not_found",
        "server",
        "timeout",
        "connection",
    ]
    assert result[0] == ["tool", "good", "fail", "no paper"]
    assert result[1][1:3] == ["good", "echo"]
    assert "unknown argument 'txet'" in result[1][3]
    assert "did you mean good.echo" in result[2][3]
    assert "exited with code 3" in result[4][3]
    assert result[5][1:3] == ["silent", "echo"]
    assert "no answer within 0.3 s" in result[5][3]


@pytest.mark.slow
async def test_a_call_with_arguments_that_do_not_fit_is_not_sent(satchel: Satchel, log: Path) -> None:
    await satchel.call("good.echo", {"text": "x"})
    before = lines(log)
    result = await result_of(satchel, CAUGHT + 'result = (await attempt("good", "echo", text=5))[0]')
    assert result == "arguments"
    assert lines(log) == before


async def test_a_failed_program_lists_the_calls_that_it_made(satchel: Satchel) -> None:
    execution = await run(
        satchel,
        """
        await call_mcp_tool("good.echo", {"text": "x"})
        await call_mcp_tool("good.fail", {"message": "no paper"})
        """,
    )
    assert execution.exit_code == 1
    assert "satchel_runtime.ToolError: good.fail: no paper" in execution.stderr
    assert [(use.tool, use.status, use.error) for use in execution.tools_called] == [
        ("good__echo", "ok", None),
        ("good__fail", "error", "no paper"),
    ]
    told = execution.as_json()["tools_called"]
    assert [row["tool"] for row in told] == ["good__echo", "good__fail"]
    assert told[1]["error"] == "no paper"
    assert execution.has_result is False


@pytest.mark.slow
async def test_a_call_under_way_when_the_time_is_over_is_cancelled_and_recorded_so(
    satchel: Satchel, log: Path
) -> None:
    execution = await run(satchel, 'await call_mcp_tool("good.sleep", {"seconds": 60})', timeout=1)
    assert (execution.ended, execution.exit_code) == ("timeout", 137)
    assert "longer than 1 s" in (execution.reason or "")
    assert [(use.tool, use.status) for use in execution.tools_called] == [("good__sleep", "cancelled")]
    await until(lambda: any(line.startswith("cancelled") for line in lines(log)))
    (call,) = await satchel.journal.calls(execution=execution.id)
    assert (call.status, call.tool) == ("cancelled", "sleep")


@pytest.mark.slow
async def test_a_program_searches_describes_and_lists(satchel: Satchel) -> None:
    servers, found, described, none = await result_of(
        satchel,
        """
        from satchel_runtime import ToolError, describe_tool, list_servers, search_tools
        try:
            none = await search_tools("echo", detail="everything")
        except ToolError as error:
            none = [error.kind, error.message]
        result = [
            [row["name"] for row in (await list_servers())["servers"]],
            await search_tools("add numbers", server="good", detail="name", limit=1),
            await describe_tool("good.add"),
            none,
        ]
        """,
    )
    assert {"good", "media", "broken"} <= set(servers)
    assert [row["short_name"] for row in found["tools"]] == ["add"]
    assert described["parameters"]["required"] == ["a", "b"]
    assert none[0] == "request"
    assert "it can be name, desc or full" in none[1]


@pytest.mark.slow
async def test_what_a_program_asks_that_satchel_does_not_have_is_an_error_it_can_catch(
    satchel: Satchel,
) -> None:
    result = await result_of(
        satchel,
        """
        from satchel_runtime import ToolError, connection
        result = []
        for method, params in [
            ("launch", {}), ("call_tool", {"server": 5}), ("call_tool", {"name": "x", "arguments": 5}),
            ("search_tools", {"query": "x", "limit": -1}), ("read_resource", {"server": "nobody", "uri": ""}),
            ("search_tools", {"query": "x", "server": ["good"]}),
        ]:
            try:
                await connection().request(method, params)
            except ToolError as error:
                result.append([error.kind, error.message])
        """,
    )
    assert [row[0] for row in result] == ["request"] * 6
    assert "no 'launch'" in result[0][1]
    assert "'server' must be a text" in result[1][1]
    assert "'arguments' must be an object" in result[2][1]
    assert "'limit' must be a whole number" in result[3][1]
    assert "unknown server 'nobody'" in result[4][1]
    assert "'server' must be a text" in result[5][1]


# Permissions


async def test_a_tool_that_the_agent_may_not_call_raises_and_is_never_sent(
    satchel: Satchel, log: Path
) -> None:
    execution = await run(
        satchel,
        """
        from servers.good import add
        try:
            await add(a=1, b=2)
        except PermissionError as error:
            result = [type(error).__name__, str(error)]
        """,
        agent="reader",
    )
    assert execution.result == ["PermissionError", "agent 'reader' may not call 'good.add'"]
    (use,) = execution.tools_called
    assert (use.tool, use.status) == ("good__add", "denied")
    (call,) = await satchel.journal.calls(execution=execution.id)
    assert (call.agent, call.server, call.tool, call.status) == ("reader", "good", "add", "denied")
    assert call.arguments_digest == digest_of({"a": 1, "b": 2})
    assert not any(line.startswith("tools/call add") for line in lines(log)[-3:])


@pytest.mark.slow
async def test_a_refusal_that_nobody_catches_ends_the_program(satchel: Satchel) -> None:
    execution = await run(satchel, 'await call_mcp_tool("media.image")', agent="reader")
    assert execution.exit_code == 1
    assert execution.stderr.endswith("PermissionError: agent 'reader' may not call 'media.image'\n")


async def test_what_an_agent_may_not_call_is_found_and_marked(satchel: Satchel) -> None:
    await satchel.servers.refresh(["good", "media"])
    names = "select:good.echo,good.add,media.image"
    for agent, allowed in (("reader", [True, False, False]), ("default", [True, True, True])):
        found = satchel.search_tools(names, agent=agent)
        assert [row["allowed"] for row in found["tools"]] == allowed


async def test_resources_and_prompts_are_permitted_and_recorded_like_tools(satchel: Satchel) -> None:
    code = """
        from satchel_runtime import get_prompt, read_resource
        result = []
        async def attempt(request):
            try:
                result.append((await request).text)
            except PermissionError as error:
                result.append(str(error))
        await attempt(read_resource("memos", "memo://text"))
        await attempt(read_resource("memos", "memo://blob"))
        await attempt(get_prompt("memos", "greet", {"who": "Ada"}))
        """
    execution = await run(satchel, code, agent="reader")
    assert execution.result == [
        "a text",
        "agent 'reader' may not call 'memos.resource:memo://blob'",
        "agent 'reader' may not call 'memos.prompt:greet'",
    ], execution.stderr
    recorded = await satchel.journal.calls(execution=execution.id)
    assert sorted((call.server, call.tool, call.status) for call in recorded) == [
        ("memos", "prompt:greet", "denied"),
        ("memos", "resource:memo://blob", "denied"),
        ("memos", "resource:memo://text", "ok"),
    ]
    allowed = await run(satchel, code)
    assert "Ada" in allowed.result[2]
    recorded = await satchel.journal.calls(execution=allowed.id)
    assert {call.status for call in recorded} == {"ok"}
    assert digest_of({"who": "Ada"}) in {call.arguments_digest for call in recorded}


async def test_a_prompt_and_a_completion_take_no_more_arguments_than_any_can_have(satchel: Satchel) -> None:
    code = """
        from satchel_runtime import get_prompt
        try:
            await get_prompt("memos", "greet", {str(number): "x" for number in range(100_000)})
        except Exception as error:
            print(error)
        """
    execution = await run(satchel, code)
    assert "100,000 arguments; at most 1,000 can be given" in execution.stdout
    assert await satchel.journal.calls(execution=execution.id) == []
    many = {str(number): "x" for number in range(1_001)}
    with pytest.raises(ArgumentError, match="1,001 arguments; at most 1,000"):
        await satchel.resources.prompt("memos", "greet", many)
    asked = {
        "ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "who", "value": "A"},
        "context": {"arguments": many},
    }
    with pytest.raises(ArgumentError, match="1,001 arguments; at most 1,000"):
        await satchel.resources.complete("memos", asked)


async def test_the_verbs_outside_of_programs_refuse_the_same(satchel: Satchel) -> None:
    with pytest.raises(NotAllowedError, match=r"agent 'reader' may not call 'good\.add'"):
        await satchel.call("good.add", {"a": 1, "b": 2}, agent="reader")
    with pytest.raises(NotAllowedError, match="memo://blob"):
        await satchel.resources.read("memos", "memo://blob", caller=Caller(agent="reader"))
    with pytest.raises(NotAllowedError, match="prompt:greet"):
        await satchel.resources.prompt("memos", "greet", {"who": "Ada"}, caller=Caller(agent="reader"))


@pytest.mark.slow
async def test_permissions_that_change_count_for_a_running_satchel(tmp_path: Path) -> None:
    async with opened(tmp_path, {"good": raw("good")}, "agents: { default: {} }\n") as satchel:
        code = 'result = await call_mcp_tool("good.echo", {"text": "x"})'
        assert await result_of(satchel, code) == {"text": "x"}
        (tmp_path / "project" / "satchel.yaml").write_text("agents: { default: { deny: [good] } }\n")
        assert "may not call 'good.echo'" in (await run(satchel, code)).stderr


# Results


async def test_binary_results_are_files_that_the_program_can_read(satchel: Satchel) -> None:
    execution = await run(
        satchel,
        """
        from pathlib import Path
        image = await call_mcp_tool("media.image")
        parts = await call_mcp_tool("media.mixed")
        result = [image, Path(image["path"]).read_bytes().hex(), parts]
        Path(image["path"]).unlink()
        """,
    )
    assert execution.exit_code == 0, execution.stderr
    image, content, parts = execution.result
    mark = image["path"].removeprefix("/workspace/.results/").removesuffix("-1.png")
    assert image == {"path": f"/workspace/.results/{mark}-1.png", "type": "image/png", "size": len(PIXEL)}
    assert content == PIXEL.hex()
    assert [part["type"] if "path" in part else part for part in parts] == [
        "mixed",
        "image/png",
        "audio/wav",
        "embedded text",
        "application/octet-stream",
        {"type": "resource_link", "uri": "memo://link", "name": "link", "mimeType": "text/plain"},
    ]
    blob = parts[4]["path"]
    assert blob == f"/workspace/.results/{mark}-4.bin"
    kept = agents_of(satchel) / "default/workspace/.results" / Path(blob).name
    assert kept.read_bytes() == BLOB
    if os.geteuid() == 0:
        assert kept.stat().st_uid == USER
    assert [file["path"] for file in execution.files] == [part["path"] for part in parts if "path" in part]


@pytest.mark.slow
async def test_a_result_that_can_not_be_kept_fails_that_call_only(satchel: Satchel) -> None:
    result = await result_of(
        satchel,
        CAUGHT
        + dedent("""
        import os, shutil
        shutil.rmtree("/workspace/.results", ignore_errors=True)
        os.symlink("/tmp", "/workspace/.results")
        result = [await attempt("media", "image"), (await attempt("good", "echo", text="x"))]
        os.unlink("/workspace/.results")
        """),
        agent="other",
    )
    assert result[0][:3] == ["request", "media", "image"]
    assert "could not be kept in the workspace" in result[0][3]
    assert result[1] == {"text": "x"}


async def test_a_result_that_is_too_large_is_left_out_and_its_size_told(satchel: Satchel) -> None:
    execution = await run(satchel, 'print("y" * 30_000, end="")\nresult = "x" * 20_000')
    assert (execution.exit_code, execution.has_result, execution.result) == (0, False, None)
    assert execution.truncated == {"stdout": 20_000, "result": 20_002}
    told = execution.as_json()
    assert "result" not in told
    assert told["truncated"]["result"] == 20_002
    assert len(told["stdout"]) < 10_100


# Agents and what is refused before anything runs


async def test_every_agent_has_a_workspace_of_its_own(satchel: Satchel) -> None:
    write = 'from pathlib import Path; Path("note").write_text("of default"); Path("/mnt/memory/m").touch()'
    await result_of(satchel, write)
    look = 'import os; result = [os.path.exists("note"), os.path.exists("/mnt/memory/m")]'
    assert await result_of(satchel, look, agent="other") == [False, False]
    assert await result_of(satchel, look) == [True, True]


async def test_what_can_not_be_run_is_refused_before_it_is_recorded(satchel: Satchel) -> None:
    before = await satchel.journal.executions()
    with pytest.raises(NotFoundError, match="unknown agent 'raeder'") as unknown:
        await run(satchel, "", agent="raeder")
    assert unknown.value.closest == ("reader",)
    with pytest.raises(ArgumentError, match="timeout is 0; it can be up to 40 s"):
        await run(satchel, "", timeout=0)
    with pytest.raises(ArgumentError, match="programs can't be in 'ruby'"):
        await run(satchel, "", language="ruby")
    with pytest.raises(ArgumentError, match="at most 1,048,576"):
        await run(satchel, "#" * (1024 * 1024 + 1))
    assert await satchel.journal.executions() == before


@pytest.mark.parametrize("name", ["../default", "a/b", ".hidden", "x" * 65])
@pytest.mark.slow
async def test_an_agent_whose_name_is_no_name_of_a_directory_runs_nothing(tmp_path: Path, name: str) -> None:
    settings = json.dumps({"agents": {name: {}}})
    with pytest.raises(ConfigError, match="name of the agent"):
        async with opened(tmp_path, {}, settings) as satchel:
            await run(satchel, "", agent=name)
    assert not (tmp_path / "project/.satchel/agents").exists()


# The journal


async def test_an_execution_and_its_calls_are_in_the_journal(satchel: Satchel) -> None:
    code = 'print(await call_mcp_tool("good.add", {"b": 2, "a": 1}))\nresult = {"ok": True}'
    execution = await run(satchel, code, description="adds", agent="other")
    record = await satchel.journal.execution(execution.id)
    assert record is not None
    assert (record.agent, record.language, record.program, record.description, record.state) == (
        "other",
        "python",
        code,
        "adds",
        "done",
    )
    told = execution.as_json()
    del told["tools_called"]
    outcome = dict(record.outcome or {})
    assert ("good.add", ["untrusted"]) in [(each["name"], each["labels"]) for each in outcome.pop("reads")]
    assert outcome == told
    (call,) = record.calls
    assert (call.server, call.tool, call.status, call.agent) == ("good", "add", "ok", "other")
    assert call.arguments_digest == digest_of({"a": 1, "b": 2})
    assert call.duration_ms is not None
    assert [one.id for one in await satchel.journal.executions(agent="other", limit=1)] == [execution.id]


@pytest.mark.slow
async def test_a_program_that_crashes_is_recorded_as_done_with_its_exit_code(satchel: Satchel) -> None:
    execution = await run(satchel, "import os; os._exit(7)")
    assert execution.exit_code == 7
    record = await satchel.journal.execution(execution.id)
    assert record is not None and record.outcome is not None
    assert (record.state, record.outcome["exit_code"]) == ("done", 7)


@pytest.mark.slow
async def test_an_execution_that_its_caller_gave_up_is_recorded_as_cancelled(satchel: Satchel) -> None:
    code = "import time; time.sleep(60)  # given up"

    async def is_running() -> bool:
        newest = await satchel.journal.executions(limit=1)
        return [(record.program, record.state) for record in newest] == [(code, "running")]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(satchel.execute, code)
        with anyio.fail_after(30):
            while not await is_running():  # noqa: ASYNC110  what is written sets no events
                await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()
    (record,) = await satchel.journal.executions(limit=1)
    assert record.outcome is not None
    assert (record.state, record.outcome["ended"], record.outcome["exit_code"]) == ("done", "cancelled", 130)


@pytest.mark.slow
@pytest.mark.parametrize("session", [None, "new"], ids=["alone", "in a session"])
async def test_what_a_program_printed_before_its_caller_gave_up_is_recorded(
    satchel: Satchel, session: str | None
) -> None:
    code = """
        for i in range(5): print("line", i)
        await call_mcp_tool("good.echo", {"text": "printed"})
        while True: pass
        """
    has_printed = anyio.Event()

    def hear(event: Event) -> None:
        if isinstance(event, CallEnded):
            has_printed.set()

    async def run_it() -> None:
        await run(satchel, code, session=session, tell=hear)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_it)
        with anyio.fail_after(WAIT):
            await has_printed.wait()
        tasks.cancel_scope.cancel()
    (record,) = await satchel.journal.executions(limit=1)
    assert record.outcome is not None
    assert (record.outcome["ended"], record.outcome["stdout"]) == (
        "cancelled",
        "".join(f"line {i}\n" for i in range(5)),
    )


@pytest.mark.slow
async def test_what_can_not_be_recorded_is_not_run(tmp_path: Path) -> None:
    settings = f"database: {tmp_path / 'missing' / 'satchel.db'}\n"
    async with opened(tmp_path, {}, settings) as satchel:
        with pytest.raises(Exception, match="journal"):
            await run(satchel, "open('/workspace/ran', 'w')")
    assert not (tmp_path / "project/.satchel/agents/default/workspace/ran").exists()


# Wrappers that follow the servers


@pytest.mark.slow
async def test_a_tool_that_a_server_announces_has_a_wrapper_in_the_next_program(tmp_path: Path) -> None:
    async with opened(tmp_path, {"growing": raw("list_changed")}) as satchel:
        await result_of(satchel, "from servers.growing import grow\nawait grow()")
        await until(lambda: len(satchel.catalog.tools) == 10)
        assert await result_of(satchel, "from servers.growing import grown_1\nresult = await grown_1()") == (
            "grown"
        )


@pytest.mark.slow
async def test_the_wrappers_are_written_anew_after_a_refresh(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("Echoes softly.")
    async with opened(tmp_path, {"pulled": raw("rug_pull", text=text)}) as satchel:
        code = "import servers.pulled\nresult = servers.pulled.echo.__doc__"
        assert "Echoes softly." in await result_of(satchel, code)
        text.write_text("Echoes loudly.")
        await satchel.servers.refresh()
        assert "Echoes loudly." in await result_of(satchel, code)


@pytest.mark.slow
async def test_a_server_that_is_added_has_wrappers_in_the_next_program(tmp_path: Path) -> None:
    async with opened(tmp_path, {"first": raw("good")}) as satchel:
        assert (await run(satchel, "import servers.second")).exit_code == 1
        Project(tmp_path / "project").write({"first": raw("good"), "second": raw("good")})
        assert (
            await result_of(satchel, "from servers.second import count\nresult = (await count()).count") == 1
        )


@pytest.mark.slow
async def test_an_agent_that_may_use_a_server_may_not_use_another_whose_name_begins_like_it(
    tmp_path: Path,
) -> None:
    servers = {"drive": raw("good"), "drive.admin": raw("good")}
    async with opened(tmp_path, servers, "agents: { reader: { allow: [drive] } }\n") as satchel:
        await satchel.servers.refresh()
        rows = satchel.search_tools("echo", agent="reader")["tools"]
        assert {row["server"]: row["allowed"] for row in rows} == {"drive": True, "drive.admin": False}


@pytest.mark.slow
async def test_without_isolation_a_program_finds_its_binary_results_as_well(tmp_path: Path) -> None:
    settings = "code_execution: { sandbox: { backend: process } }\n"
    async with opened(tmp_path, {"media": raw("media")}, settings) as satchel:
        code = 'image = await call_mcp_tool("media.image")\nresult = len(open(image["path"], "rb").read())'
        assert await result_of(satchel, code) == len(PIXEL)


@pytest.mark.slow
async def test_what_a_program_says_is_bounded_before_it_is_looked_up_told_or_recorded(
    satchel: Satchel,
) -> None:
    execution = await run(
        satchel,
        CAUGHT
        + """
from satchel_runtime import read_resource, search_tools
print(await attempt("good", "e" * 2_000))
for ask in (
    lambda: call_mcp_tool("x" * 5_000_000, {}),
    lambda: read_resource("memos", "memo://" + "x" * 5_000_000),
    lambda: search_tools("x" * 5_000_000),
    lambda: search_tools("x", server="y" * 5_000_000),
    lambda: call_tool("good", "echo", {"text": "\\ud800"}),
):
    try:
        await ask()
    except ToolError as error:
        print(error.kind, len(error.message) < 500)
""",
    )
    assert execution.exit_code == 0, execution.stderr
    assert execution.stdout.splitlines()[1:] == [*["request True"] * 4, "arguments True"]
    told = json.dumps(execution.as_json())
    assert len(told) < 20_000
    assert all(len(use.tool) <= 200 for use in execution.tools_called)


@pytest.mark.slow
async def test_whatever_reaches_a_server_counts_as_a_call(tmp_path: Path) -> None:
    settings = "code_execution: { sandbox: { max_calls: 3 } }\n"
    async with opened(tmp_path, {"memos": raw("resources")}, settings) as satchel:
        execution = await run(
            satchel,
            """
            from satchel_runtime import read_resource
            for number in range(10):
                await read_resource("memos", "memo://text")
            """,
        )
    assert execution.ended == "calls"
    assert [(use.tool, use.status) for use in execution.tools_called] == [
        ("memos.resource:memo://text", "ok")
    ] * 3


# Scripts outside of the sandbox


@pytest.mark.slow
async def test_a_script_at_the_bridge_calls_tools_as_the_agent_of_the_bridge(
    satchel: Satchel, tmp_path: Path
) -> None:
    code = """
        import asyncio
        from satchel_runtime import call_mcp_tool
        async def main():
            print((await call_mcp_tool("good.echo", {"text": "outside"}))["text"])
            try:
                await call_mcp_tool("good.add", {"a": 1, "b": 2})
            except PermissionError as error:
                print(error)
        asyncio.run(main())
        """
    tree = Path(__file__).parents[2] / "src/satchel/sandbox/guest/python"
    async with satchel.executions.bridge(tmp_path / "socket", agent="reader") as address:
        environment = {**os.environ, "SATCHEL_BRIDGE": address, "PYTHONPATH": str(tree)}
        with anyio.fail_after(WAIT):
            done = await anyio.run_process(["python3", "-c", dedent(code)], env=environment)
    assert done.stdout.decode().splitlines() == ["outside", "agent 'reader' may not call 'good.add'"]
    assert not (tmp_path / "socket").exists()

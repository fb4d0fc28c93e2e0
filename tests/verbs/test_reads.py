"""What executions, sessions and conversations have read, with servers that are trusted and others."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.library.memory.marks import TASKS, WORKSPACE, is_marked
from satchel.model import UNTRUSTED, Caller, Conversation, Execution, ExecutionRequest
from satchel.toolset import Toolset
from tests.projects import Project
from tests.servers import raw
from tests.upstream.helpers import until

# Slow: a server is started for each worker that runs some.
pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 60  # seconds; only a hang reaches it
SETTINGS = """
trusted: [known, memos]
code_execution: { timeout: 30 }
agents:
  default: {}
  shut: { deny: ["web"] }
"""
KNOWN = 'await call_mcp_tool("known.echo", {"text": "a fact"})\n'
WEB = 'await call_mcp_tool("web.echo", {"text": "obey me"})\n'
FAILS = 'try: await call_mcp_tool("web.fail", {"message": "obey me"})\nexcept Exception: pass\n'


@pytest.fixture
async def satchel(tmp_path: Path) -> AsyncGenerator[Satchel]:
    servers = {"known": raw("good"), "web": raw("good"), "memos": raw("resources"), "pages": raw("resources")}
    project = Project(tmp_path / "project", servers)
    (project.directory / "satchel.yaml").write_text(SETTINGS)
    environment = {**os.environ, "HOME": str(tmp_path / "home")}
    async with open_satchel(project.directory, environment=environment) as satchel:
        yield satchel


async def run(satchel: Satchel, code: str, talk: Conversation | None = None, **more: Any) -> Execution:
    caller = Caller() if talk is None else Caller(conversation=talk.id, reads=talk.reads)
    if "agent" in more or "read_only" in more:
        values = {name: more.pop(name) for name in ("agent", "read_only") if name in more}
        caller = Caller(conversation=caller.conversation, reads=caller.reads, **values)
    with anyio.fail_after(WAIT):
        execution = await satchel.executions.run(ExecutionRequest(code=dedent(code), **more), caller)
    assert execution.exit_code == 0, execution
    return execution


def read(execution: Execution) -> dict[str, bool]:
    """The names of what it read, each with whether that is untrusted."""
    return {source.name: UNTRUSTED in source.labels for source in execution.reads}


def before(execution: Execution) -> dict[str, bool]:
    return {source.name: UNTRUSTED in source.labels for source in execution.read_before}


def marked(satchel: Satchel, place: str = WORKSPACE, agent: str = "default") -> bool:
    return is_marked(satchel.configuration.paths.state / "agents" / agent, place)


async def test_an_execution_has_read_what_its_program_asked_for_and_the_journal_has_it(
    satchel: Satchel,
) -> None:
    code = """
    from satchel_runtime import get_prompt, read_resource
    await call_mcp_tool("known.add", {"a": 1, "b": 2})
    await read_resource("memos", "memo://text")
    await get_prompt("memos", "greet", {"who": "Ada"})
    """
    execution = await run(satchel, code)
    assert read(execution) == {
        "known.add": False,
        "memos.resource:memo://text": False,
        "memos.prompt:greet": False,
    }
    assert not marked(satchel)
    record = await satchel.journal.execution(execution.id)
    assert record.outcome is not None
    first = record.outcome["reads"][0]
    assert [first[key] for key in ("name", "server", "what", "labels")] == ["known.add", "known", "add", []]
    assert "read_before" not in record.outcome


@pytest.mark.parametrize("code", [WEB, FAILS], ids=["result", "error"])
async def test_what_an_untrusted_server_answers_is_labelled_and_so_is_the_workspace(
    satchel: Satchel, code: str
) -> None:
    name = "web.echo" if code == WEB else "web.fail"
    assert read(await run(satchel, code)) == {name: True}
    assert marked(satchel) and marked(satchel, TASKS)
    later = await run(satchel, "print(1)")
    assert read(later) == {"workspace": True}
    assert read(await run(satchel, "print(1)", agent="shut")) == {}


async def test_a_call_that_is_refused_has_read_nothing(satchel: Satchel) -> None:
    code = """
    for name, arguments in (("web.echo", {"text": "x"}), ("web.add", {"a": "no number"}), ("web.none", {})):
        try: await call_mcp_tool(name, arguments)
        except Exception: pass
    """
    assert read(await run(satchel, code, agent="shut")) == {}
    assert not marked(satchel, agent="shut")


async def test_a_program_that_only_reads_leaves_no_mark_for_what_others_had_read(satchel: Satchel) -> None:
    talk = Conversation()
    result = await Toolset(satchel, mode="direct", conversation=talk).call("web__echo", {"text": "x"})
    assert not result.is_error
    assert before(await run(satchel, "print(1)", talk, read_only=True)) == {"web.echo": True}
    assert not marked(satchel)


async def test_sessions_hand_on_what_they_have_read_and_others_know_nothing_of_it(satchel: Satchel) -> None:
    first = await run(satchel, f"kept = {KNOWN}", session="new")
    other = await run(satchel, "x = 1", session="new")
    second = await run(satchel, f"kept = {WEB}", session=first.session)
    assert (read(first), before(first)) == ({"known.echo": False}, {})
    assert (read(second), before(second)) == ({"web.echo": True}, {"known.echo": False})
    await satchel.executions.end_session(other.session or "")
    third = await run(satchel, "print(kept)", session=first.session)
    assert before(third) == {"known.echo": False, "web.echo": True}


async def test_a_program_that_waits_for_its_turn_in_a_session_begins_with_what_the_one_before_it_read(
    satchel: Satchel,
) -> None:
    session = (await run(satchel, "x = 1", session="new")).session
    workspace = satchel.configuration.paths.state / "agents/default/workspace"
    waits = """
    import asyncio, os
    open("begun", "w").close()
    while not os.path.exists("go"): await asyncio.sleep(0.02)
    """
    found: list[Execution] = []

    async def later() -> None:
        found.append(await run(satchel, "print(1)", session=session))

    async with anyio.create_task_group() as tasks:
        request = ExecutionRequest(code=dedent(waits) + WEB, session=session)
        tasks.start_soon(satchel.executions.run, request)
        await until((workspace / "begun").exists)
        tasks.start_soon(later)
        await anyio.sleep(0.1)
        (workspace / "go").touch()
    assert before(found[0]) == {"web.echo": True}


async def test_a_conversation_has_read_what_was_called_directly_and_what_its_programs_read(
    satchel: Satchel,
) -> None:
    toolset, other = Toolset(satchel, mode="search"), Toolset(satchel, mode="search")
    talk = toolset.conversation
    answer = await toolset.call("call_tool", {"name": "known.echo", "arguments": {"text": "x"}})
    assert not answer.is_error, answer.text
    execution = await run(satchel, KNOWN, talk)
    assert (read(execution), before(execution)) == ({"known.echo": False}, {"known.echo": False})
    await toolset.call("call_tool", {"name": "web.echo", "arguments": {"text": "x"}})
    assert before(await run(satchel, "print(1)", talk, agent="shut")) == {
        "known.echo": False,
        "web.echo": True,
    }
    assert not other.conversation.reads.sources
    await run(satchel, 'await call_mcp_tool("web.add", {"a": 1, "b": 1})', other.conversation)
    assert other.conversation.reads.is_untrusted
    calls = await satchel.journal.calls(server="web", tool="web.echo")
    assert {call.conversation for call in calls} == {talk.id}


async def test_two_programs_at_once_each_have_their_own_reads(satchel: Satchel) -> None:
    found: dict[str, Execution] = {}

    async def do(name: str, code: str, agent: str) -> None:
        found[name] = await run(satchel, f"import asyncio\nawait asyncio.sleep(0.2)\n{code}", agent=agent)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(do, "known", KNOWN, "shut")
        tasks.start_soon(do, "web", WEB, "default")
    assert (read(found["known"]), read(found["web"])) == ({"known.echo": False}, {"web.echo": True})


async def test_a_program_sees_what_an_untrusted_one_of_its_agent_writes_meanwhile(satchel: Satchel) -> None:
    code = """
    import asyncio, os
    open("begun", "w").close()
    while not os.path.exists("rules"): await asyncio.sleep(0.02)
    print(open("rules").read())
    """
    found: list[Execution] = []

    async def clean() -> None:
        found.append(await run(satchel, code))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clean)
        workspace = satchel.configuration.paths.state / "agents/default/workspace"
        await until((workspace / "begun").exists)
        await run(satchel, WEB + 'open("rules", "w").write("obey")')
    assert read(found[0]) == {"workspace": True, "memory": True}


async def test_clearing_the_workspace_makes_it_clean_and_leaves_the_tasks(satchel: Satchel) -> None:
    await run(satchel, WEB)
    await satchel.executions.clear_workspace()
    assert not marked(satchel) and marked(satchel, TASKS)
    assert read(await run(satchel, "print(1)")) == {}


async def test_tasks_that_an_untrusted_program_could_write_to_are_read_by_the_next(satchel: Satchel) -> None:
    await run(satchel, WEB)
    await satchel.executions.clear_workspace()
    tasks = satchel.configuration.paths.state / "agents/default/tasks"
    tasks.mkdir(exist_ok=True)
    (tasks / "current_task.yaml").write_text("description: obey me\n")
    assert read(await run(satchel, "print(1)")) == {"tasks": True}


async def test_a_server_is_trusted_from_the_moment_that_the_settings_say_so(satchel: Satchel) -> None:
    assert read(await run(satchel, WEB)) == {"web.echo": True}
    await satchel.executions.clear_workspace()
    file = satchel.configuration.paths.settings_file
    assert file is not None
    file.write_text(SETTINGS.replace("[known, memos]", "[known, memos, web]"))
    assert read(await run(satchel, WEB)) == {"web.echo": False}


async def test_a_mark_is_there_before_the_server_has_answered(satchel: Satchel) -> None:
    code = 'await call_mcp_tool("web.sleep", {"seconds": 60})'
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(satchel.execute, code)
        await until(lambda: marked(satchel))
        tasks.cancel_scope.cancel()
    newest = (await satchel.journal.executions())[0]
    assert newest.outcome is not None
    assert newest.outcome["ended"] == "cancelled"
    assert [(each["name"], each["labels"]) for each in newest.outcome["reads"]] == [
        ("web.sleep", ["untrusted"])
    ]

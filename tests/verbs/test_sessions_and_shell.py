"""Through the verbs: programs in both languages, sessions, the shell, and programs that are checked first."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.errors import ArgumentError, NotFoundError
from satchel.model import Execution
from satchel.sandbox.running.processes import descendants
from tests.projects import Project
from tests.servers import raw
from tests.upstream.helpers import lines, until

# Slow: a server is started for each worker that runs some.
pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.usefixtures("place_of_programs")]

WAIT = 60  # seconds; only a hang reaches it
SETTINGS = """
code_execution:
  timeout: 20
  max_timeout: 40
agents:
  default: {}
  reader: { allow: ["good"], deny: ["*.add"] }
  other: {}
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
    async with opened(tmp_path_factory.mktemp("project"), SETTINGS, log=log) as satchel:
        yield satchel


def opened(directory: Path, settings: str = "", **options: Any) -> Any:
    project = Project(directory / "project", {"good": raw("good", **options)})
    (project.directory / "satchel.yaml").write_text(settings)
    return open_satchel(project.directory, environment={**os.environ, "HOME": str(directory)})


async def run(satchel: Satchel, code: str, **more: Any) -> Execution:
    with anyio.fail_after(WAIT):
        return await satchel.execute(dedent(code), **more)


async def sh(satchel: Satchel, command: str, **more: Any) -> Execution:
    with anyio.fail_after(WAIT):
        return await satchel.executions.shell(command, **more)


def calls_in(log: Path) -> list[str]:
    return [line for line in lines(log) if line.startswith("tools/call")]


# Languages


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("python", "python"),
        ("py", "python"),
        *((name, "typescript") for name in ("typescript", "ts", "javascript", "js")),
        ("bash", "bash"),
        ("sh", "bash"),
    ],
)
async def test_a_language_has_several_names_and_one_in_the_journal(
    satchel: Satchel, name: str, language: str
) -> None:
    code = {"python": "print(6 * 7)", "typescript": "console.log(6 * 7)", "bash": "echo $((6 * 7))"}[language]
    execution = await run(satchel, code, language=name)
    assert (execution.exit_code, execution.stdout) == (0, "42\n"), execution
    record = await satchel.journal.execution(execution.id)
    assert record is not None
    assert (record.language, record.program) == (language, code)


async def test_the_language_that_is_meant_without_one_is_a_setting(tmp_path: Path) -> None:
    async with opened(tmp_path, "code_execution: { language: typescript }\n") as satchel:
        execution = await run(
            satchel,
            """
            import { add } from "./servers/good/index.ts";
            export const result: number = (await add({ a: 1, b: 2 })).sum;
            """,
        )
        assert (execution.exit_code, execution.result) == (0, 3), execution
        assert (await run(satchel, "print(1)", language="python")).stdout == "1\n"
        # The shell shows the wrappers of the language that programs are written in.
        assert "index.ts" in (await sh(satchel, "ls servers/good")).stdout


@pytest.mark.parametrize("name", ["ruby", "Python", "typescript ", "x" * 1000])
async def test_a_language_that_there_is_not_is_refused_before_anything_is_recorded(
    satchel: Satchel, name: str
) -> None:
    before = await satchel.journal.executions()
    with pytest.raises(ArgumentError, match="programs can't be in") as caught:
        await run(satchel, "", language=name)
    assert len(caught.value.message) < 100
    assert caught.value.hint == "use python or typescript"
    assert await satchel.journal.executions() == before


# Sessions


async def test_a_new_session_has_a_handle_with_which_the_next_program_finds_its_variables(
    satchel: Satchel,
) -> None:
    first = await run(satchel, "from servers.good import add\nx = (await add(a=1, b=2)).sum", session="new")
    assert (first.exit_code, first.stderr) == (0, "")
    assert first.session and first.as_json()["session"] == first.session
    second = await run(satchel, "result = (await add(a=x, b=x)).sum", session=first.session)
    assert (second.result, second.session) == (6, first.session)
    assert first.id != second.id
    for execution in (first, second):
        (call,) = await satchel.journal.calls(execution=execution.id)
        assert (call.tool, call.status) == ("add", "ok")
        assert [use.tool for use in execution.tools_called] == ["good__add"]
    alone = await run(satchel, "print(x)")
    assert (alone.exit_code, alone.session, "session" in alone.as_json()) == (1, None, False)
    await satchel.executions.end_session(first.session)
    with pytest.raises(NotFoundError) as caught:
        await run(satchel, "print(x)", session=first.session)
    assert "it has ended: it was ended by its caller" in str(caught.value.hint)


async def test_a_session_is_its_agents_and_has_its_permissions(satchel: Satchel) -> None:
    handle = (await run(satchel, "x = 1", session="new", agent="reader")).session
    assert handle
    for agent in ("default", "other"):
        with pytest.raises(NotFoundError, match="unknown session") as caught:
            await run(satchel, "print(x)", session=handle, agent=agent)
        assert "ended" not in str(caught.value.hint)
        with pytest.raises(NotFoundError):
            await satchel.executions.end_session(handle, agent=agent)
    execution = await run(
        satchel, 'await call_mcp_tool("good.add", {"a": x, "b": 2})', session=handle, agent="reader"
    )
    assert "may not call 'good.add'" in execution.stderr
    assert execution.session == handle
    await satchel.executions.end_session(handle, agent="reader")


async def test_a_session_in_typescript_keeps_what_programs_declare(satchel: Satchel) -> None:
    code = (
        'import { add } from "./servers/good/index.ts";\nconst x: number = (await add({ a: 1, b: 2 })).sum;'
    )
    first = await run(satchel, code, language="ts", session="new")
    assert (first.exit_code, first.stderr) == (0, "")
    second = await run(
        satchel, "const result = (await add({ a: x, b: x })).sum;", language="ts", session=first.session
    )
    assert (second.result, second.session) == (6, first.session), second
    with pytest.raises(ArgumentError, match="runs typescript, and not python"):
        await run(satchel, "print(x)", session=first.session)
    assert first.session
    await satchel.executions.end_session(first.session)


@pytest.mark.parametrize(
    ("code", "ended"), [("import os\nos._exit(3)", None), ("import time\ntime.sleep(60)", "timeout")]
)
async def test_a_program_that_ends_its_session_is_said_to(
    satchel: Satchel, code: str, ended: str | None
) -> None:
    handle = (await run(satchel, "x = 1", session="new")).session
    execution = await run(satchel, code, session=handle, timeout=1 if ended == "timeout" else 20)
    assert (execution.ended, execution.session) == (ended, None)
    assert "the session ended with it" in str(execution.reason)
    with pytest.raises(NotFoundError) as caught:
        await run(satchel, "print(x)", session=handle)
    assert "it has ended" in str(caught.value.hint)


async def test_an_unknown_session_is_refused_before_anything_is_recorded(satchel: Satchel) -> None:
    before = await satchel.journal.executions()
    for handle in ("session-0123456789abcdef", "", "New", "x" * 10_000):
        with pytest.raises(NotFoundError, match="unknown session"):
            await run(satchel, "print(1)", session=handle)
    assert await satchel.journal.executions() == before


async def test_a_program_that_is_refused_leaves_no_session_behind(satchel: Satchel) -> None:
    await run(satchel, "pass")
    open_before = len(satchel.executions._runner()._sessions._open)
    with pytest.raises(ArgumentError, match="at most 1,048,576"):
        await run(satchel, "#" * (1024 * 1024 + 1), session="new")
    with pytest.raises(ArgumentError):
        await run(satchel, "x = 1", session="new", check=True)
    with pytest.raises(ArgumentError):
        await run(satchel, "echo 1", session="new", language="bash")
    assert len(satchel.executions._runner()._sessions._open) == open_before


async def test_a_session_that_nobody_uses_ends_after_the_time_that_is_set(tmp_path: Path) -> None:
    settings = "code_execution: { session_idle_timeout: 2, sandbox: { prepared: 0 } }\n"
    async with opened(tmp_path, settings) as satchel:
        await run(satchel, "await call_mcp_tool('good.count')")  # with which the server runs
        before = set(descendants(os.getpid()))
        handle = (await run(satchel, "x = 1", session="new")).session
        assert set(descendants(os.getpid())) - before
        await until(lambda: not set(descendants(os.getpid())) - before)
        with pytest.raises(NotFoundError) as caught:
            await run(satchel, "print(x)", session=handle)
        assert "nobody used it for 2 s" in str(caught.value.hint)


async def test_closing_satchel_ends_all_sessions_and_boxes(tmp_path: Path) -> None:
    before = set(descendants(os.getpid()))
    async with opened(tmp_path) as satchel:
        for number in range(3):
            assert (await run(satchel, f"x = {number}", session="new")).session
        await run(satchel, "pass")
        assert len(set(descendants(os.getpid())) - before) >= 6
    await until(lambda: not set(descendants(os.getpid())) - before)


async def test_programs_of_a_session_see_wrappers_of_servers_that_came_later(tmp_path: Path) -> None:
    async with opened(tmp_path) as satchel:
        handle = (await run(satchel, "x = 1", session="new")).session
        Project(tmp_path / "project").write({"good": raw("good"), "second": raw("good")})
        execution = await run(
            satchel, "from servers.second import count\nresult = (await count()).count", session=handle
        )
        assert (execution.exit_code, execution.result) == (0, 1), execution


# The shell


async def test_the_shell_looks_around_in_what_programs_see(satchel: Satchel) -> None:
    await run(satchel, 'open("note", "w").write("of a program")')
    execution = await sh(
        satchel, "ls servers; cat note; echo; rg --files-with-matches 'Return' servers/good | head -1"
    )
    *there, note, found = execution.stdout.splitlines()
    assert "good" in there
    assert note == "of a program"
    assert found.startswith("servers/good/")
    assert (execution.exit_code, execution.stderr) == (0, "")
    record = await satchel.journal.execution(execution.id)
    assert record is not None
    assert (record.language, record.state) == ("bash", "done")
    assert record.program.startswith("ls servers;")


@pytest.mark.parametrize(
    ("command", "exit_code", "stdout"),
    [
        ("exit 7", 7, ""),
        ("false", 1, ""),
        ("no-such-command", 127, ""),
        ("kill -TERM $$", 128 + 15, ""),
        ("echo a; echo b >&2; exit 3", 3, "a\n"),
        ("set -euo pipefail; false | true; echo never", 1, ""),
        ("echo $HOME $PWD $0", 0, "/workspace /workspace /program/main.sh\n"),
        ("ls /proc /etc/passwd", 2, ""),
    ],
)
async def test_a_command_has_the_exit_code_of_a_shell(
    satchel: Satchel, command: str, exit_code: int, stdout: str
) -> None:
    execution = await sh(satchel, command)
    assert (execution.exit_code, execution.ended) == (exit_code, None), execution
    assert stdout in execution.stdout
    assert not execution.has_result and not execution.tools_called


async def test_a_command_has_limits_and_an_agent_like_any_program(satchel: Satchel) -> None:
    execution = await sh(satchel, "sleep 60", timeout=0.5)
    assert (execution.ended, execution.exit_code) == ("timeout", 137)
    await sh(satchel, "echo mine > /workspace/of-other", agent="other")
    assert (await sh(satchel, "ls /workspace/of-other")).exit_code == 2
    assert (await sh(satchel, "cat /workspace/of-other", agent="other")).stdout == "mine\n"
    execution = await sh(satchel, "echo x > servers/x; echo x > /program/x; echo x > /usr/x")
    assert execution.stderr.count("Read-only file system") >= 2
    with pytest.raises(NotFoundError, match="unknown agent"):
        await sh(satchel, "true", agent="stranger")


# Checks

RIGHT = {
    "python": "from servers.good import add\nresult = (await add(a=1, b=2)).sum",
    "typescript": """
import { add } from "./servers/good/index.ts";
export const result = (await add({ a: 1, b: 2 })).sum;
""",
}
WRONG = {
    "python": ("from servers.good import add\nawait add(a=1, b=2)\nawait add(a='one', b=2)\n", "main.py:3:"),
    "typescript": (
        'import { add } from "./servers/good";\nawait add({ a: 1, b: 2 });\nawait add({ a: "one", b: 2 });\n',
        "main.ts:3:",
    ),
}


@pytest.mark.parametrize("language", RIGHT)
async def test_a_program_whose_types_fit_runs(satchel: Satchel, language: str) -> None:
    execution = await run(satchel, RIGHT[language], language=language, check=True)
    assert (execution.exit_code, execution.result, execution.stderr) == (0, 3, ""), execution


@pytest.mark.parametrize("language", WRONG)
async def test_a_program_whose_types_do_not_fit_is_not_run_and_calls_nothing(
    satchel: Satchel, log: Path, language: str
) -> None:
    code, place = WRONG[language]
    await satchel.call("good.count")
    before = calls_in(log)
    execution = await run(satchel, code, language=language, check=True)
    assert (execution.exit_code, execution.ended) == (1, "check")
    assert execution.reason == "its types don't fit; nothing was run"
    assert place in execution.stderr
    assert (execution.tools_called, execution.stdout, execution.has_result) == ((), "", False)
    assert calls_in(log) == before
    record = await satchel.journal.execution(execution.id)
    assert record is not None and record.outcome is not None
    assert (record.state, record.outcome["ended"], record.calls) == ("done", "check", ())
    unchecked = await run(satchel, code, language=language)
    assert [use.tool for use in unchecked.tools_called][:1] == ["good__add"]  # which is what a check prevents


@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_a_program_that_is_no_program_is_told_so_by_a_check(satchel: Satchel, language: str) -> None:
    execution = await run(satchel, "x = = 1", language=language, check=True)
    assert (execution.exit_code, execution.ended) == (1, "check"), execution
    assert ":1:" in execution.stderr


@pytest.mark.parametrize("more", [{"session": "new"}, {"session": "session-x"}, {"language": "bash"}])
async def test_what_does_not_stand_alone_is_not_checked(satchel: Satchel, more: dict[str, str]) -> None:
    with pytest.raises(ArgumentError, match="only a program that stands alone can be checked"):
        await run(satchel, "true", check=True, **more)

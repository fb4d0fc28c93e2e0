"""The seam of sandboxes: programs that run on another machine, of which Satchel knows no path."""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.model import Execution
from satchel.sandbox.backends import BACKENDS
from satchel.sandbox.limits import KILLED, Limits, reason_of
from satchel.sandbox.running.capture import Captured
from satchel.sandbox.sandbox import Door, Home, Outcome, Program
from tests.projects import Project
from tests.sandbox.elsewhere import BACKEND, Elsewhere
from tests.servers import raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 60  # seconds; only a hang reaches it


@pytest.fixture
async def satchel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Satchel]:
    monkeypatch.setitem(BACKENDS, "bubblewrap", BACKEND)
    project = Project(tmp_path / "project", {"good": raw("good")})
    skill = project.directory / "skills/public/pdf"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: pdf\ndescription: Reads.\n---\nHow to read.\n")
    async with open_satchel(project.directory, environment={**os.environ, "HOME": str(tmp_path)}) as satchel:
        yield satchel


async def run(satchel: Satchel, code: str, **more: Any) -> Execution:
    with anyio.fail_after(WAIT):
        execution = await satchel.execute(dedent(code), **more)
    assert execution.exit_code == 0, execution.stderr
    return execution


def workspaces_here(satchel: Satchel) -> list[Path]:
    """Where agents' files lie if their programs run here."""
    agents = satchel.configuration.paths.state / "agents"
    return [path for name in ("workspace", "memory") for path in agents.glob(f"*/{name}")]


async def test_files_and_memory_stay_on_the_machine_of_the_programs(satchel: Satchel) -> None:
    execution = await run(
        satchel,
        """
        open("/workspace/report.txt", "w").write("a report")
        open("/mnt/memory/notes.md", "w").write("to remember")
        """,
    )
    assert execution.files == ({"path": "/workspace/report.txt", "size": 8},)
    following = await run(
        satchel, "result = [open(p).read() for p in ('report.txt', 'memory/notes.md')]", agent="default"
    )
    assert following.result == ["a report", "to remember"]
    assert following.files == ()
    assert workspaces_here(satchel) == []
    (sandbox,) = satchel.executions._runner()._sandboxes.values()
    assert isinstance(sandbox, Elsewhere)
    assert (sandbox.agents / "default/workspace/report.txt").read_text() == "a report"


async def test_skills_are_seen_saved_and_imported_there(satchel: Satchel) -> None:
    await run(
        satchel,
        """
        from satchel_runtime import save_skill
        await save_skill("double-it", "def double_it(n: int) -> int:\\n    return 2 * n\\n", "Doubles.")
        """,
    )
    execution = await run(
        satchel,
        """
        from skills.double_it import double_it
        result = [double_it(21), "How to read." in open("/mnt/skills/public/pdf/SKILL.md").read()]
        """,
    )
    assert execution.result == [42, True]
    assert workspaces_here(satchel) == []


async def test_a_program_is_checked_there_before_it_runs(satchel: Satchel) -> None:
    await run(satchel, "open('mine.py', 'w').write('value = 7')")
    code = "import mine\nfrom servers.good import echo\n"
    assert (await run(satchel, code + "result = mine.value", check=True)).result == 7
    with anyio.fail_after(WAIT):
        refused = await satchel.execute(code + "await echo(txet='x')", check=True)
    assert (refused.ended, refused.exit_code) == ("check", 1)


async def test_a_program_whose_worker_is_lost_was_interrupted_and_its_calls_are_told(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: Callable[..., Awaitable[Outcome]] = Elsewhere.run

    async def lost(self: Elsewhere, program: Program, home: Home, door: Door, limits: Limits) -> Outcome:
        await whole(self, program, home, door, limits)
        return Outcome(
            exit_code=KILLED,
            stdout=Captured(),
            stderr=Captured(),
            seconds=1,
            ended="interrupted",
            detail=reason_of("interrupted", limits),
        )

    monkeypatch.setattr(Elsewhere, "run", lost)
    with anyio.fail_after(WAIT):
        execution = await satchel.execute('await call_mcp_tool("good.echo", {"text": "x"})')
    assert (execution.ended, execution.exit_code) == ("interrupted", 137)
    assert execution.reason == "the worker that ran it was lost; the journal has the calls that were made"
    assert [(use.tool, use.status) for use in execution.tools_called] == [("good__echo", "ok")]
    (record,) = await satchel.journal.executions(limit=1)
    assert record.outcome is not None
    assert (record.state, record.outcome["ended"]) == ("done", "interrupted")
    (call,) = await satchel.journal.calls(execution=execution.id)
    assert (call.tool, call.status) == ("echo", "ok")

"""Through the verbs: many programs at once keep to their places, and other agents get in between."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.errors import SandboxError
from satchel.model import Call, CallResult, CallTool, Event, Execution, ProgramWaits
from satchel.sandbox.running.processes import descendants
from tests.projects import Project
from tests.servers import raw
from tests.upstream.helpers import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 100  # seconds; only a hang reaches it
SETTINGS = """
code_execution:
  timeout: 30
  queue_timeout: {patience}
  total: {{ programs: {programs} }}
agents:
  default: {{}}
  other: {{}}
"""
AT_WORK = """
import time
began = time.time()
kept = b'x' * (40 << 20)
time.sleep(0.02)
result = [began, time.time()]
"""


@asynccontextmanager
async def opened(
    directory: Path, *, programs: int, patience: float = 90, **more: Any
) -> AsyncGenerator[Satchel]:
    project = Project(directory / "project", {"good": raw("good")})
    settings = SETTINGS.format(programs=programs, patience=patience)
    (project.directory / "satchel.yaml").write_text(settings)
    environment = {**os.environ, "HOME": str(directory)}
    async with open_satchel(project.directory, environment=environment, **more) as satchel:
        yield satchel


async def run(satchel: Satchel, code: str, **more: Any) -> Execution:
    with anyio.fail_after(WAIT):
        return await satchel.execute(code, **more)


def is_at_work(satchel: Satchel) -> bool:
    runner: Any = satchel.executions._made
    return runner is not None and runner._budget.running > 0


def most_at_once(times: list[tuple[float, float]]) -> int:
    return max(sum(began <= other < ended for began, ended in times) for other, _ in times)


async def test_a_flood_of_programs_keeps_to_its_places_and_another_agent_gets_in_between(
    tmp_path: Path,
) -> None:
    times: list[tuple[float, float]] = []
    async with opened(tmp_path, programs=3) as satchel:
        await run(satchel, "print(0)")

        async def flood() -> None:
            execution = await run(satchel, AT_WORK)
            assert execution.exit_code == 0, execution
            times.append(tuple(execution.result))

        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(flood)
            await until(lambda: bool(times))
            for _ in range(3):
                assert (await run(satchel, "print(1)", agent="other")).stdout == "1\n"
            assert len(times) < 40, "it waited for the others"
    assert len(times) == 50
    assert most_at_once(times) <= 2  # one place is kept for an agent that has none


async def test_waiting_is_told_and_is_not_a_programs_own_time(tmp_path: Path) -> None:
    told: list[Event] = []
    async with opened(tmp_path, programs=1) as satchel, anyio.create_task_group() as tasks:
        await run(satchel, "print(0)")

        async def hold() -> None:  # longer than the other one may run
            assert (await run(satchel, "import time\ntime.sleep(1.5)\nprint('held')")).exit_code == 0

        tasks.start_soon(hold)
        await until(lambda: is_at_work(satchel))
        execution = await run(satchel, "print(1)", timeout=1, tell=told.append)
        assert (execution.stdout, execution.ended) == ("1\n", None)
    assert ProgramWaits(running=1) in told


async def test_a_program_whose_wait_is_over_is_refused_recorded_and_costs_nobody_a_place(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, programs=1, patience=0.2) as satchel, anyio.create_task_group() as tasks:
        await run(satchel, "print(0)")
        tasks.start_soon(run, satchel, "import time\ntime.sleep(1)")
        await until(lambda: is_at_work(satchel))
        with pytest.raises(SandboxError, match=r"no place was free within 0\.2 s") as caught:
            await run(satchel, "print(1)", agent="other")
        assert "queue_timeout" in str(caught.value.hint)
        await until(lambda: not is_at_work(satchel))
        assert (await run(satchel, "print(1)", agent="other")).stdout == "1\n"
        outcomes = [record.outcome for record in await satchel.journal.executions(limit=10)]
        assert [(outcome or {}).get("ended") for outcome in outcomes].count("failed") == 1


async def test_a_program_whose_call_leads_to_another_program_does_not_wait_for_itself(tmp_path: Path) -> None:
    said: list[str] = []
    opened_: list[Satchel] = []

    def link(call_next: CallTool) -> CallTool:
        async def call(call: Call) -> CallResult:
            try:
                said.append((await run(opened_[0], "print('inner')")).stdout)
            except SandboxError as error:
                said.append(error.message)
            return await call_next(call)

        return call

    code = "from servers.good import echo\nprint((await echo(text='outer')))"
    async with opened(tmp_path, programs=1, patience=0.3, links=[link]) as satchel:
        opened_.append(satchel)
        execution = await run(satchel, code)
        assert execution.exit_code == 0, execution
        assert said == ["no place was free within 0.3 s: 1 of 1 places are taken"]
    said.clear()
    opened_.clear()
    async with opened(tmp_path / "more", programs=3, links=[link]) as satchel:
        opened_.append(satchel)
        assert (await run(satchel, code)).exit_code == 0
        assert said == ["inner\n"]


async def test_programs_that_wait_for_their_session_take_no_place(tmp_path: Path) -> None:
    async with opened(tmp_path, programs=2) as satchel:
        session = (await run(satchel, "import time\nseen = []", session="new")).session
        assert session is not None
        results: list[Any] = []

        async def work(number: int) -> None:
            code = f"time.sleep(0.05)\nseen.append({number})\nresult = len(seen)"
            results.append((await run(satchel, code, session=session)).result)

        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(work, number)
            await until(lambda: len(results) == 1)
            assert (await run(satchel, "print(1)")).stdout == "1\n"
            assert len(results) < 6
        assert results == [1, 2, 3, 4, 5, 6]


async def test_a_check_and_its_program_need_one_place(tmp_path: Path) -> None:
    pytest.importorskip("ty")
    async with opened(tmp_path, programs=1, patience=0.3) as satchel:
        assert (await run(satchel, "print(1)", check=True)).stdout == "1\n"


async def test_sessions_over_the_limit_of_the_settings_end_and_say_so(tmp_path: Path) -> None:
    async with opened(tmp_path, programs=2) as satchel:
        file = tmp_path / "project" / "satchel.yaml"
        file.write_text(file.read_text().replace("  timeout: 30\n", "  timeout: 30\n  max_sessions: 1\n"))
        first = (await run(satchel, "x = 1", session="new")).session
        second = (await run(satchel, "x = 2", session="new")).session
        with pytest.raises(Exception, match="unknown session") as caught:
            await run(satchel, "print(x)", session=first)
        assert "ended to make room" in str(getattr(caught.value, "hint", ""))
        assert (await run(satchel, "print(x)", session=second)).stdout == "2\n"


async def test_a_closed_satchel_leaves_no_processes_though_programs_wait(tmp_path: Path) -> None:
    before = set(descendants(os.getpid()))
    async with opened(tmp_path, programs=1) as satchel, anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(run, satchel, "import time\ntime.sleep(30)")
        await until(lambda: is_at_work(satchel))
        tasks.cancel_scope.cancel()
    await until(lambda: not set(descendants(os.getpid())) - before)

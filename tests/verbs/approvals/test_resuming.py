"""Programs that stopped for a person and are run again: once, with the answers that they had."""

import os
import sqlite3
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.errors import ArgumentError, ConflictError, NotFoundError, SatchelError, UndecidedError
from satchel.model import Caller, Conversation, Execution
from satchel.toolset import Toolset
from tests.verbs.approvals.test_asking import WAIT, decide, project_in, run, waiting

# Slow: programs run in boxes, and servers are processes.
pytestmark = [pytest.mark.anyio, pytest.mark.slow]

READS = "read_only_tools: [good.echo]\n"
TWO_STEPS = """
from satchel_runtime import search_tools
print(len(search_tools("note")["tools"]))
print(await call_mcp_tool("good.count", {}))
try:
    await call_mcp_tool("good.fail", {"message": "as before"})
except Exception as error:
    print(error)
await call_mcp_tool("noting.note", {"number": "1"})
print(await call_mcp_tool("good.count", {}))
"""


@pytest.fixture(name="notes")
def notes_fixture(tmp_path: Path) -> Callable[[], list[str]]:
    return lambda: (tmp_path / "calls").read_text().split() if (tmp_path / "calls").exists() else []


@pytest.fixture(name="hasty")
async def hasty_fixture(tmp_path: Path) -> AsyncGenerator[Satchel]:
    project = project_in(tmp_path, "0s", READS)
    async with open_satchel(project.directory, environment={**os.environ, "HOME": str(tmp_path)}) as satchel:
        yield satchel


async def resume(satchel: Satchel, execution: str, caller: Caller | None = None) -> Execution:
    return await run(satchel, "", caller, resume=execution)


async def test_a_program_is_run_again_with_the_answers_that_it_had(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    stopped = await run(hasty, TWO_STEPS)
    assert (stopped.ended, stopped.not_resumable) == ("approval", None), stopped
    with pytest.raises(UndecidedError):
        await resume(hasty, stopped.id)
    await decide(hasty)
    resumed = await resume(hasty, stopped.id)
    assert resumed.exit_code == 0, resumed
    assert resumed.stdout.startswith(stopped.stdout)
    assert "as before" in resumed.stdout
    first, second = stopped.stdout.split("\n")[1], resumed.stdout.split("\n")[-2]
    assert first != second  # a counter, which was asked once in each run
    assert notes() == ["1"]
    record = await hasty.journal.execution(resumed.id)
    assert [call.tool for call in record.calls] == ["note", "count"]
    assert f"resumed from {stopped.id}" in (resumed.reason or "")


async def test_it_is_run_again_once_and_the_outcome_is_kept_for_whoever_asks(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    stopped = await run(hasty, TWO_STEPS)
    await decide(hasty)
    ended: list[Execution | SatchelError] = []

    async def client() -> None:
        try:
            ended.append(await resume(hasty, stopped.id, Caller(conversation=Conversation().id)))
        except SatchelError as error:
            ended.append(error)

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(client)
    ran = [one for one in ended if isinstance(one, Execution)]
    assert len({one.id for one in ran}) == 1
    assert all(isinstance(one, Execution | ConflictError) for one in ended)
    again = await resume(hasty, stopped.id)
    assert (again.id, again.stdout, again.exit_code) == (ran[0].id, ran[0].stdout, 0)
    assert notes() == ["1"]


async def test_two_approvals_one_after_the_other(hasty: Satchel, notes: Callable[[], list[str]]) -> None:
    code = """
    for number in "12":
        await call_mcp_tool("noting.note", {"number": number})
    print("done")
    """
    first = await run(hasty, code)
    await decide(hasty)
    second = await resume(hasty, first.id)
    assert (second.ended, notes()) == ("approval", ["1"])
    await decide(hasty)
    third = await resume(hasty, first.id)  # by the id that was told first
    assert (third.stdout, notes()) == ("done\n", ["1", "2"])


async def test_what_a_person_refused_is_raised_in_the_program_that_is_run_again(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    code = """
    try:
        await call_mcp_tool("noting.note", {"number": "1"})
    except PermissionError as error:
        print(error)
    """
    stopped = await run(hasty, code)
    await decide(hasty, agrees=False)
    resumed = await resume(hasty, stopped.id)
    assert "a person said no" in resumed.stdout
    assert notes() == []


async def test_a_program_that_takes_a_different_way_is_stopped_before_it_changes_anything(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    code = """
    import os
    if os.path.exists("seen"):
        await call_mcp_tool("noting.note", {"number": "9"})
    open("seen", "w").close()
    await call_mcp_tool("noting.note", {"number": "1"})
    """
    stopped = await run(hasty, code)
    await decide(hasty)
    resumed = await resume(hasty, stopped.id)
    assert (resumed.ended, notes()) == ("diverged", []), resumed
    assert "noting.note" in (resumed.reason or "")


async def test_an_answer_that_is_too_large_keeps_a_program_from_being_resumed(hasty: Satchel) -> None:
    code = """
    await call_mcp_tool("good.echo", {"text": "x" * 1_100_000})
    await call_mcp_tool("noting.note", {"number": "1"})
    """
    stopped = await run(hasty, code)
    assert "too large" in (stopped.not_resumable or ""), stopped
    await decide(hasty)
    with pytest.raises(ArgumentError, match="too large"):
        await resume(hasty, stopped.id)


async def test_others_can_not_resume_it_and_what_only_reads_can_not_do_more(hasty: Satchel) -> None:
    stopped = await run(hasty, TWO_STEPS)
    await decide(hasty)
    with pytest.raises(NotFoundError):
        await resume(hasty, stopped.id, Caller(agent="careful"))
    with pytest.raises(ArgumentError, match="only reads"):
        await resume(hasty, stopped.id, Caller(read_only=True))
    with pytest.raises(NotFoundError):
        await resume(hasty, "nothing")


async def test_labels_of_what_was_read_before_it_stopped_are_there_again(hasty: Satchel) -> None:
    stopped = await run(hasty, TWO_STEPS)
    await decide(hasty)
    resumed = await resume(hasty, stopped.id)
    before = {source.name for source in resumed.read_before}
    assert "good.count" in before


async def test_a_model_is_told_how_to_resume_and_does_so(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    toolset = Toolset(hasty, mode="code")
    with anyio.fail_after(WAIT):
        told = await toolset.call("execute_code", {"code": TWO_STEPS})
    assert not told.is_error
    identity = told.structured["resume"]
    assert f"resume '{identity}'" in told.text
    assert "not done yet" in told.text
    await decide(hasty)
    with anyio.fail_after(WAIT):
        done = await Toolset(hasty, mode="code").call("execute_code", {"resume": identity})
    assert (done.is_error, notes()) == (False, ["1"])
    neither = await toolset.call("execute_code", {})
    assert "missing argument 'code'" in neither.text


async def test_in_a_session_it_is_told_and_the_same_call_goes_on_later(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    call = 'kept = 7\nawait call_mcp_tool("noting.note", {"number": "1"})'
    first = await run(hasty, call, session="new")
    assert first.exit_code == 1
    assert "waits for a person" in first.stderr
    await decide(hasty)
    second = await run(hasty, f"print(kept)\n{call}", session=first.session)
    assert (second.stdout, notes()) == ("7\n", ["1"]), second


async def test_what_was_kept_is_removed_when_nobody_decides_in_time(tmp_path: Path) -> None:
    project = project_in(tmp_path, "0s", READS)
    settings = project.directory / "satchel.yaml"
    settings.write_text(settings.read_text().replace("wait: 0s", "wait: 0s, expire: 3s"))
    async with open_satchel(project.directory, environment={**os.environ, "HOME": str(tmp_path)}) as satchel:
        stopped = await run(satchel, TWO_STEPS)
        with anyio.fail_after(WAIT):
            while await satchel.approvals.list_all():  # noqa: ASYNC110  the clock decides
                await anyio.sleep(0.2)
        await anyio.sleep(0.3)  # what is kept was committed a little after the row
        await satchel.approvals.list_all()
        with pytest.raises(ArgumentError, match="nobody decided in time"):
            await resume(satchel, stopped.id)
        with sqlite3.connect(satchel.configuration.paths.database) as database:
            (row,) = database.execute("SELECT request, answers FROM suspensions").fetchall()
        assert row == (None, None)


async def test_whoever_asks_for_the_outcome_has_read_what_the_program_had(hasty: Satchel) -> None:
    stopped = await run(hasty, TWO_STEPS)
    await decide(hasty)
    await resume(hasty, stopped.id)
    other = Conversation()
    told = await resume(hasty, stopped.id, Caller(conversation=other.id, reads=other.reads))
    assert "'count': 1" in told.stdout
    read = {(source.server, source.what): source.labels for source in other.reads.sources}
    assert read["good", "count"] == read["noting", "note"] == {"untrusted"}


async def test_what_was_refused_is_refused_again_and_is_no_other_way(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    code = """
    from satchel_runtime import WrongCallError
    try:
        await call_mcp_tool("noting.note", {"number": 1, "odd": []})
    except WrongCallError as error:
        print(error)
    await call_mcp_tool("noting.note", {"number": "1"})
    """
    stopped = await run(hasty, code)
    assert "odd" in stopped.stdout
    await decide(hasty)
    resumed = await resume(hasty, stopped.id)
    assert (resumed.stdout, resumed.exit_code, notes()) == (stopped.stdout, 0, ["1"]), resumed


async def test_a_call_that_was_refused_does_not_open_a_different_way(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    code = """
    import os
    try:
        await call_mcp_tool("noting.note", {"number": "1"})
    except PermissionError:
        pass
    if os.path.exists("seen"):
        await call_mcp_tool("good.count", {})
    open("seen", "w").close()
    await call_mcp_tool("noting.note", {"number": "2"})
    """
    first = await run(hasty, code)
    await decide(hasty, agrees=False)
    second = await resume(hasty, first.id)
    assert second.ended == "approval", second
    await decide(hasty)
    third = await resume(hasty, first.id)
    assert (third.ended, notes()) == ("diverged", []), third


async def test_one_decision_of_three_gathered_calls_that_are_alike(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    code = """
    import asyncio
    calls = [call_mcp_tool("noting.note", {"number": "1"}) for _ in range(3)]
    print(len([each for each in await asyncio.gather(*calls, return_exceptions=True) if each == "noted"]))
    """
    stopped = await run(hasty, code)
    await decide(hasty, number=3, agrees=False)
    assert (await resume(hasty, stopped.id)).stdout == "0\n"
    again = await run(hasty, code)
    first, second, third = await waiting(hasty, 3)
    await hasty.approvals.allow(first, by="ada")
    await hasty.approvals.deny(second, by="ada")
    with pytest.raises(UndecidedError):
        await resume(hasty, again.id)
    await hasty.approvals.allow(third, by="ada")
    assert (await resume(hasty, again.id)).stdout == "2\n"
    assert notes() == ["1", "1"]


async def test_the_beginning_of_an_id_resumes_nothing(hasty: Satchel) -> None:
    stopped = await run(hasty, TWO_STEPS)
    await decide(hasty)
    with pytest.raises(NotFoundError):
        await resume(hasty, stopped.id[:-1])

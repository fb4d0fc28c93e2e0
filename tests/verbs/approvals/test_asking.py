"""Calls that a person has to agree to, with real servers: what waits, what is sent, and when."""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.errors import ArgumentError, ConflictError, NotAllowedError, UndecidedError
from satchel.model import Approval, Caller, Execution, ExecutionRequest
from tests.projects import Project
from tests.servers import raw

# Slow: programs run in boxes, and servers are processes.
pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 60  # seconds; only a hang reaches it
SETTINGS = """
approvals: { wait: WAIT }
agents:
  default: { approve: ["noting.note", "good.add"] }
  careful: { approve: destructive }
  shut: { approve: ["noting"], deny: ["noting"] }
"""


@pytest.fixture
def notes(tmp_path: Path) -> Callable[[], list[str]]:
    """What the server was told, each call a line."""
    return lambda: (tmp_path / "calls").read_text().split() if (tmp_path / "calls").exists() else []


def project_in(directory: Path, wait: str = "60s", more: str = "") -> Project:
    servers = {"good": raw("good"), "noting": raw("notes", calls=directory / "calls")}
    project = Project(directory / "project", servers)
    (project.directory / "satchel.yaml").write_text(SETTINGS.replace("WAIT", wait) + more)
    return project


@pytest.fixture
async def satchel(tmp_path: Path) -> AsyncGenerator[Satchel]:
    project = project_in(tmp_path)
    async with open_satchel(project.directory, environment={**os.environ, "HOME": str(tmp_path)}) as satchel:
        yield satchel


@pytest.fixture
async def hasty(tmp_path: Path) -> AsyncGenerator[Satchel]:
    """One in which nobody waits for a person."""
    project = project_in(tmp_path, "0s")
    async with open_satchel(project.directory, environment={**os.environ, "HOME": str(tmp_path)}) as satchel:
        yield satchel


async def waiting(satchel: Satchel, number: int = 1) -> list[Approval]:
    """The calls that wait, once there are so many."""
    with anyio.fail_after(WAIT):
        found = await satchel.approvals.list_all()
        while len(found) < number:
            await anyio.sleep(0.05)
            found = await satchel.approvals.list_all()
    return [await satchel.approvals.find(one.id) for one in found]


async def decide(satchel: Satchel, *, agrees: bool = True, number: int = 1, **more: Any) -> list[Approval]:
    found = await waiting(satchel, number)
    for approval in found:
        if agrees:
            await satchel.approvals.allow(approval, by="ada", **more)
        else:
            await satchel.approvals.deny(approval, by="ada")
    return found


async def run(satchel: Satchel, code: str, caller: Caller | None = None, **more: Any) -> Execution:
    request = ExecutionRequest(code=dedent(code), **more)
    with anyio.fail_after(WAIT):
        return await satchel.executions.run(request, caller or Caller())


async def meanwhile(
    satchel: Satchel, code: str, person: Callable[[], Awaitable[Any]], **more: Any
) -> Execution:
    """An execution, while a person does something."""
    ended: list[Execution] = []

    async def program() -> None:
        ended.append(await run(satchel, code, **more))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(program)
        await person()
    return ended[0]


async def both(satchel: Satchel, code: str, **decision: Any) -> tuple[Execution, list[Approval]]:
    """An execution, and what a person decided on meanwhile."""
    decided: list[Approval] = []

    async def person() -> None:
        decided.extend(await decide(satchel, **decision))

    return await meanwhile(satchel, code, person), decided


NOTE = 'print(await call_mcp_tool("noting.note", {"number": "1"}))'


async def test_a_program_waits_for_a_person_and_then_goes_on(
    satchel: Satchel, notes: Callable[[], list[str]]
) -> None:
    execution, (approval,) = await both(satchel, NOTE)
    assert execution.exit_code == 0, execution
    assert notes() == ["1"]
    assert (approval.execution, approval.arguments, approval.occurrence) == (execution.id, {"number": "1"}, 1)
    assert approval.questions[0].rule == "agents.default.approve"
    used = await satchel.approvals.find(approval.id)
    (call,) = (await satchel.journal.execution(execution.id)).calls
    assert (used.state, used.decided_by, used.call, call.status) == ("used", "ada", call.id, "ok")
    assert used.arguments is None


async def test_what_a_person_refuses_is_not_sent_and_the_program_hears_of_it(
    satchel: Satchel, notes: Callable[[], list[str]]
) -> None:
    code = """
    for number in "12":
        try:
            await call_mcp_tool("noting.note", {"number": "1"})
        except PermissionError as error:
            print("refused:", error)
            break
    """
    execution, (approval,) = await both(satchel, code, agrees=False)
    assert "a person said no" in execution.stdout
    assert notes() == []
    assert (await satchel.approvals.find(approval.id)).state == "denied"


async def test_arguments_are_checked_before_a_person_is_asked(satchel: Satchel) -> None:
    with pytest.raises(ArgumentError, match="nunber"):
        await satchel.call("noting.note", {"nunber": "1"})
    assert await satchel.approvals.list_all(all_states=True) == []


async def test_what_is_denied_is_never_asked_about(satchel: Satchel) -> None:
    with pytest.raises(NotAllowedError):
        await satchel.call("noting.note", {"number": "1"}, agent="shut")
    assert await satchel.approvals.list_all(all_states=True) == []


async def test_destructive_is_whatever_does_not_only_read(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    (hasty.configuration.paths.project / "satchel.yaml").write_text(
        SETTINGS.replace("WAIT", "0s") + "read_only_tools: [good.add]\n"
    )
    hasty.project.follow()
    assert (await hasty.call("good.add", {"a": 1, "b": 2}, agent="careful")).structured == {"sum": 3}
    with pytest.raises(UndecidedError):
        await hasty.call("noting.note", {"number": "1"}, agent="careful")


async def test_a_program_that_nobody_decides_on_is_ended_and_its_other_calls_are_done(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    code = """
    import asyncio
    print("before")
    slow = call_mcp_tool("good.sleep", {"seconds": 0.5})
    await asyncio.gather(slow, call_mcp_tool("noting.note", {"number": "1"}), return_exceptions=True)
    print("after")
    """
    execution = await run(hasty, code)
    assert (execution.exit_code, execution.ended) == (6, "approval")
    assert execution.stdout == "before\n"
    (approval,) = await hasty.approvals.list_all()
    assert execution.waiting == ({"approval": approval.id, "tool": "noting.note"},)
    assert {use.tool: use.status for use in execution.tools_called} == {
        "good__sleep": "ok",
        "noting__note": "refused",
    }
    assert notes() == []


async def test_time_for_a_person_is_not_the_programs(
    satchel: Satchel, notes: Callable[[], list[str]]
) -> None:
    async def late() -> None:
        await waiting(satchel)
        await anyio.sleep(6)  # longer than the program may run
        await decide(satchel)

    execution = await meanwhile(satchel, NOTE, late, timeout=5)
    assert execution.exit_code == 0, execution
    assert notes() == ["1"]


async def test_a_direct_call_that_was_approved_later_goes_on_when_it_is_made_again(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    for _ in range(2):
        with pytest.raises(UndecidedError):
            await hasty.call("noting.note", {"number": "1"})
    await decide(hasty)  # on the one row that both found
    with pytest.raises(UndecidedError):
        await hasty.call("noting.note", {"number": "2"})
    with pytest.raises(UndecidedError):
        await hasty.tools.call("noting.note", {"number": "1"}, caller=Caller(conversation="other"))
    await hasty.call("noting.note", {"number": "1"})
    with pytest.raises(UndecidedError):
        await hasty.call("noting.note", {"number": "1"})
    assert notes() == ["1"]


async def test_fifty_gathered_calls_of_which_three_wait(
    satchel: Satchel, notes: Callable[[], list[str]]
) -> None:
    code = """
    import asyncio
    free = [call_mcp_tool("good.echo", {"text": str(n)}) for n in range(47)]
    asked = [call_mcp_tool("noting.note", {"number": str(n)}) for n in range(3)]
    print(len(await asyncio.gather(*free, *asked)))
    """
    execution, decided = await both(satchel, code, number=3)
    assert (execution.stdout, sorted(notes())) == ("50\n", ["0", "1", "2"])
    assert len(decided) == 3


async def test_the_same_call_again_is_asked_about_again(
    satchel: Satchel, notes: Callable[[], list[str]]
) -> None:
    code = """
    import asyncio
    same = [call_mcp_tool("noting.note", {"number": "1"}) for _ in range(2)]
    print(len(await asyncio.gather(*same)))
    """
    execution, decided = await both(satchel, code, number=2)
    assert execution.stdout == "2\n", execution
    assert sorted(approval.occurrence for approval in decided) == [1, 2]
    assert notes() == ["1", "1"]


async def test_agreeing_for_an_execution_covers_the_tool_there_and_nowhere_else(
    satchel: Satchel, notes: Callable[[], list[str]]
) -> None:
    code = 'for n in "123": await call_mcp_tool("noting.note", {"number": n})'
    execution, _ = await both(satchel, code, scope="execution")
    assert (execution.exit_code, notes()) == (0, ["1", "2", "3"])
    rows = await satchel.approvals.list_all(all_states=True)
    assert [row.state for row in rows] == ["used"] * 3
    await both(satchel, 'await call_mcp_tool("noting.note", {"number": "4"})')
    assert notes() == ["1", "2", "3", "4"]


async def test_edited_arguments_are_checked_and_sent_instead(
    satchel: Satchel, notes: Callable[[], list[str]]
) -> None:
    async def person() -> None:
        (approval,) = await waiting(satchel)
        with pytest.raises(ArgumentError, match="numb"):
            await satchel.approvals.allow(approval, by="ada", arguments={"numb": "7"})
        await satchel.approvals.allow(approval, by="ada", arguments={"number": "7"})

    execution = await meanwhile(satchel, NOTE, person)
    assert (execution.exit_code, notes()) == (0, ["7"])


async def test_of_two_deciders_one_decides(satchel: Satchel, notes: Callable[[], list[str]]) -> None:
    conflicts: list[str] = []

    async def decide_once(agrees: bool, approval: Approval) -> None:
        try:
            await (satchel.approvals.allow if agrees else satchel.approvals.deny)(approval, by=str(agrees))
        except ConflictError as error:
            conflicts.append(str(error))

    async def people() -> None:
        (approval,) = await waiting(satchel)
        async with anyio.create_task_group() as deciding:
            for agrees in (True, False):
                deciding.start_soon(decide_once, agrees, approval)

    execution = await meanwhile(satchel, NOTE, people)
    (row,) = await satchel.approvals.list_all(all_states=True)
    assert len(conflicts) == 1
    assert (row.state, execution.exit_code) in [("used", 0), ("denied", 1)]
    assert notes() == (["1"] if row.state == "used" else [])


async def test_a_server_that_does_not_start_burns_no_approval(
    hasty: Satchel, tmp_path: Path, notes: Callable[[], list[str]]
) -> None:
    with pytest.raises(UndecidedError):
        await hasty.call("noting.note", {"number": "1"})
    (approval,) = await decide(hasty)
    entries = hasty.configuration.paths.extensions_file
    text = entries.read_text()
    broken = text.replace('"notes"', '"crash_start"')
    assert broken != text
    await hasty.servers.refresh(["noting"])
    found = await hasty.servers.find_tool("noting.note")
    entries.write_text(broken)
    hasty.project.follow()
    with pytest.raises(Exception, match="noting"):
        await hasty.tools.call_tool(found, {"number": "1"})
    assert (await hasty.approvals.find(approval.id)).state == "approved"
    (call, *_) = await hasty.journal.calls()
    assert call.status == "error"
    entries.write_text(text)
    hasty.project.follow()
    await hasty.servers.refresh(["noting"])
    await hasty.call("noting.note", {"number": "1"})
    assert notes() == ["1"]
    assert (await hasty.approvals.find(approval.id)).state == "used"


async def test_what_is_altered_in_the_database_is_not_agreed_to(hasty: Satchel) -> None:
    with pytest.raises(UndecidedError):
        await hasty.call("noting.note", {"number": "1"})
    (approval,) = await waiting(hasty)
    with pytest.raises(ArgumentError, match="can't be read"):
        await hasty.approvals.allow(replace(approval, arguments={"number": "2"}), by="ada")

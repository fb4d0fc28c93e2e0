"""Where a call that a person has to agree to may come from, and what may change while it waits."""

import os
import signal
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.errors import ArgumentError, NotAllowedError, SatchelError, UndecidedError
from satchel.library.saved.saving import NewSkill
from satchel.model import Approval, Caller
from satchel.toolset import Toolset
from tests.projects import Project
from tests.servers import raw
from tests.upstream.helpers import until
from tests.verbs.approvals.test_asking import WAIT, decide, meanwhile, run, waiting

# Slow: programs run in boxes, and servers are processes.
pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SETTINGS = """
approvals: {{ wait: {wait} }}
agents: {{ default: {{ approve: [noting.note, pulled.echo, frail.echo, house.paint, good.add] }} }}
read_only_tools: [good.add, good.count]
code_execution: {{ read_only_tool: true }}
custom_tools: {{ house.paint: "house:paint" }}
"""
PAINT = """
def paint(color: str) -> str:
    with open("CALLS", "a") as file:
        file.write(color)
    return color
"""
NOTE = 'await call_mcp_tool("noting.note", {"number": "NUMBER"})\n'


@pytest.fixture
def notes(tmp_path: Path) -> Callable[[], list[str]]:
    """What the server was told, each call a line."""
    return lambda: (tmp_path / "calls").read_text().split() if (tmp_path / "calls").exists() else []


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """The description of the tool pulled.echo."""
    file = tmp_path / "text"
    file.write_text("Echoes.")
    return file


async def opened(directory: Path, wait: str) -> AsyncGenerator[Satchel]:
    servers = {
        "good": raw("good"),
        "noting": raw("notes", calls=directory / "calls"),
        "pulled": raw("rug_pull", text=directory / "text"),
        "frail": raw("crash_call", log=directory / "frail"),
    }
    project = Project(directory / "project", servers)
    (project.directory / "satchel.yaml").write_text(SETTINGS.format(wait=wait))
    (project.directory / "house.py").write_text(PAINT.replace("CALLS", str(directory / "calls")))
    async with open_satchel(project.directory, environment={**os.environ, "HOME": str(directory)}) as satchel:
        yield satchel


@pytest.fixture
async def satchel(tmp_path: Path, text: Path) -> AsyncGenerator[Satchel]:
    async for each in opened(tmp_path, "60s"):
        yield each


@pytest.fixture
async def hasty(tmp_path: Path, text: Path) -> AsyncGenerator[Satchel]:
    """One in which nobody waits for a person."""
    async for each in opened(tmp_path, "0s"):
        yield each


async def waiting_after(satchel: Satchel, decided: Approval) -> Approval:
    """The call that waits once a different one has been decided on."""
    with anyio.fail_after(WAIT):
        while True:
            for one in await satchel.approvals.list_all():
                if one.id != decided.id:
                    return await satchel.approvals.find(one.id)
            await anyio.sleep(0.05)


async def test_a_definition_that_changes_while_a_call_waits_voids_it_and_the_next_call_asks_anew(
    satchel: Satchel, text: Path
) -> None:
    code = """
    for attempt in range(2):
        try:
            print((await call_mcp_tool("pulled.echo", {"text": "x"})))
        except PermissionError as error:
            print("refused:", "its definition has changed" in str(error))
    """
    await satchel.servers.refresh(["pulled"])

    async def person() -> None:
        (first,) = await waiting(satchel)
        text.write_text("Echoes, and tells a stranger.")
        await satchel.servers.refresh(["pulled"])
        await satchel.approvals.allow(first, by="ada")
        second = await waiting_after(satchel, first)
        assert second.definition_digest != first.definition_digest
        await satchel.approvals.allow(second, by="ada")

    execution = await meanwhile(satchel, code, person)
    assert execution.stdout == "refused: True\n{'text': 'x'}\n", execution
    rows = await satchel.approvals.list_all(all_states=True)
    assert sorted(row.state for row in rows) == ["used", "void"]


async def test_a_definition_that_changed_before_anybody_went_on_voids_what_was_agreed_to(
    hasty: Satchel, text: Path
) -> None:
    await hasty.servers.refresh(["pulled"])
    with pytest.raises(UndecidedError):
        await hasty.call("pulled.echo", {"text": "x"})
    (approval,) = await decide(hasty)
    text.write_text("Echoes, and tells a stranger.")
    await hasty.servers.refresh(["pulled"])
    with pytest.raises(NotAllowedError, match="definition has changed"):
        await hasty.call("pulled.echo", {"text": "x"})
    assert (await hasty.approvals.find(approval.id)).state == "void"
    with pytest.raises(UndecidedError) as asked:
        await hasty.call("pulled.echo", {"text": "x"})
    assert asked.value.approval != approval.id


async def test_agreeing_for_a_session_covers_the_tool_there_and_nowhere_else(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    first = await run(hasty, NOTE.replace("NUMBER", "1"), session="new")
    await decide(hasty, scope="session")
    for number in "12":
        again = await run(hasty, NOTE.replace("NUMBER", number), session=first.session)
        assert again.exit_code == 0, again
    other = await run(hasty, NOTE.replace("NUMBER", "3"), session="new")
    assert "waits for a person" in other.stderr
    assert notes() == ["1", "2"]
    alone = await run(hasty, NOTE.replace("NUMBER", "4"))
    assert (alone.ended, notes()) == ("approval", ["1", "2"])
    (of_program,) = [each for each in await waiting(hasty) if each.execution == alone.id]
    with pytest.raises(ArgumentError, match="not made in a session"):
        await hasty.approvals.allow(of_program, by="ada", scope="session")


async def test_agreeing_for_a_conversation_covers_its_direct_calls_and_no_others(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    ours, other = Caller(conversation="ours"), Caller(conversation="other")

    async def note(number: str, caller: Caller) -> None:
        await hasty.tools.call("noting.note", {"number": number}, caller=caller)

    with pytest.raises(UndecidedError):
        await note("1", ours)
    await decide(hasty, scope="session")
    await note("1", ours)
    await note("2", ours)
    for caller in (other, Caller()):
        with pytest.raises(UndecidedError):
            await note("3", caller)
    assert notes() == ["1", "2"]


async def test_a_program_that_imports_a_saved_skill_waits_in_it_and_is_resumed(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    skill = (
        "from satchel_runtime import call_tool\n\n"
        "async def note_down(number: str):\n"
        '    return await call_tool("noting", "note", {"number": number})\n'
    )
    new = NewSkill(name="note_down", code=skill, description="Notes.", agent="default")
    await hasty.saved_skills.save(new)
    code = """
    from skills.note_down import note_down
    print(await call_mcp_tool("good.count", {}))
    print(bool(await note_down("1")))
    """
    stopped = await run(hasty, code)
    assert (stopped.ended, stopped.not_resumable, notes()) == ("approval", None, []), stopped
    await decide(hasty)
    resumed = await run(hasty, "", resume=stopped.id)
    assert (resumed.stdout, notes()) == (f"{stopped.stdout}True\n", ["1"]), resumed


async def test_a_program_that_saves_a_skill_is_not_run_again_and_says_why(hasty: Satchel) -> None:
    code = (
        "from satchel_runtime import save_skill\n"
        'save_skill("count_one", "def count_one(): return 1\\n", "Counts.")\n' + NOTE
    )
    stopped = await run(hasty, code)
    assert stopped.not_resumable == "the program has saved a skill", stopped
    assert "resume" not in stopped.as_json()
    await decide(hasty)
    with pytest.raises(ArgumentError, match="saved a skill"):
        await run(hasty, "", resume=stopped.id)


async def test_a_program_that_only_reads_waits_as_well_and_its_twin_resumes_it(hasty: Satchel) -> None:
    toolset = Toolset(hasty, mode="code")
    code = 'print(await call_mcp_tool("good.add", {"a": 1, "b": 2}))'
    with anyio.fail_after(WAIT):
        stopped = await toolset.call("execute_code_readonly", {"code": code})
    assert "not done yet" in stopped.text, stopped.text
    await decide(hasty)
    with anyio.fail_after(WAIT):
        done = await toolset.call("execute_code_readonly", {"resume": stopped.structured["resume"]})
    assert done.structured["exit_code"] == 0, done.text
    assert "3" in done.structured["stdout"]


async def test_a_custom_tool_waits_for_a_person_too(hasty: Satchel, notes: Callable[[], list[str]]) -> None:
    with pytest.raises(UndecidedError):
        await hasty.call("house.paint", {"color": "red"})
    assert notes() == []
    await decide(hasty)
    await hasty.call("house.paint", {"color": "red"})
    assert notes() == ["red"]


async def test_a_server_that_dies_between_the_approval_and_the_call_is_started_anew_and_told_once(
    hasty: Satchel, notes: Callable[[], list[str]]
) -> None:
    await hasty.call("noting.count", {})
    with pytest.raises(UndecidedError):
        await hasty.call("noting.note", {"number": "1"})
    (approval,) = await decide(hasty)
    (process,) = servers_of(os.getpid(), "notes")
    os.kill(process, signal.SIGKILL)
    await until(lambda: state_of(hasty, "noting") != "running", WAIT)
    await hasty.call("noting.note", {"number": "1"})
    assert notes() == ["1"]
    assert (await hasty.approvals.find(approval.id)).state == "used"


async def test_a_server_that_dies_of_the_call_has_used_the_approval_up(
    hasty: Satchel, tmp_path: Path
) -> None:
    with pytest.raises(UndecidedError):
        await hasty.call("frail.echo", {"text": "x"})
    (approval,) = await decide(hasty)
    with pytest.raises(SatchelError, match="frail"):
        await hasty.call("frail.echo", {"text": "x"})
    used = await hasty.approvals.find(approval.id)
    (call, *_) = await hasty.journal.calls(server="frail")
    assert (used.state, used.call, call.status) == ("used", call.id, "error")
    assert (tmp_path / "frail").read_text().count("tools/call echo") == 1
    with pytest.raises(UndecidedError):  # whoever tries again has a person asked again
        await hasty.call("frail.echo", {"text": "x"})


def state_of(satchel: Satchel, name: str) -> str:
    (server,) = [each for each in satchel.list_servers()["servers"] if each["name"] == name]
    return server["state"]


def servers_of(parent: int, behaviour: str) -> list[int]:
    """The processes below this one that are servers of that behaviour."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            place = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(place, []).append(int(folder.name))
    found: list[int] = []
    seen = [parent]
    while seen:
        below = children.get(seen.pop(), [])
        seen += below
        for each in below:
            try:
                words = (Path("/proc") / str(each) / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if behaviour.encode() in words:
                found.append(each)
    assert found
    return found

"""Handles of sessions: whose they are, how long they last, and what is said of those that are gone."""

import os
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from satchel.errors import ArgumentError, NotFoundError
from satchel.languages import ProgramLanguage
from satchel.model import Json
from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes
from satchel.sandbox.limits import Limits
from satchel.sandbox.running.processes import descendants
from satchel.sandbox.running.sessions import Sessions
from satchel.sandbox.sandbox import Answer, Door, Outcome, Program, Session
from tests.sandbox.helpers import ECHO, echo, make_home
from tests.upstream.helpers import until

pytestmark = pytest.mark.anyio

LIMITS = Limits(seconds=20)
WAIT = 50  # seconds; only a hang reaches it
MOST = 16


class Place:
    """Sessions of real boxes."""

    def __init__(self, directory: Path) -> None:
        self.pool = ReadyBoxes(Bubblewrap(), directory / "agents", size=0)
        self.idle = 60.0
        self.sessions = Sessions(lambda: self.idle)
        self._workspace = make_home(directory)

    async def open(self, agent: str = "ann", language: ProgramLanguage = "python") -> str:
        with anyio.fail_after(WAIT):
            return await self.sessions.open(agent, language, lambda: self.make(language))

    async def make(self, language: ProgramLanguage = "python") -> Session:
        return await self.pool.open_session(language, self._workspace, LIMITS)

    async def run(
        self,
        handle: str,
        code: str,
        agent: str = "ann",
        answer: Answer = echo,
        language: ProgramLanguage = "python",
        **limits: Any,
    ) -> Outcome:
        program = Program(code=code, language=language)
        with anyio.fail_after(WAIT):
            return await self.sessions.run(
                handle, agent, program, Door(answer=answer), replace(LIMITS, **limits)
            )

    def is_open(self, handle: str, agent: str = "ann") -> bool:
        try:
            self.sessions.find(handle, agent)
        except NotFoundError:
            return False
        return True

    async def why(self, handle: str, agent: str = "ann") -> str:
        """What is said of a handle that does not work, having checked that it is said properly."""
        with pytest.raises(NotFoundError, match="unknown session") as caught:
            await self.run(handle, "print(1)", agent)
        assert "session='new'" in str(caught.value.hint)
        with pytest.raises(NotFoundError):
            await self.sessions.end(handle, agent)
        return str(caught.value.hint)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    before = set(descendants(os.getpid()))
    place = Place(tmp_path)
    yield place
    await place.sessions.aclose()
    await place.pool.aclose()
    await until(lambda: not set(descendants(os.getpid())) - before)


async def test_a_handle_leads_to_its_session_and_to_no_other(place: Place) -> None:
    one, other = await place.open(), await place.open()
    assert one != other
    await place.run(one, "x = 1")
    await place.run(other, "x = 2")
    assert (await place.run(one, "result = x")).result == 1
    assert (await place.run(other, "result = x")).result == 2
    assert place.is_open(one)


async def test_a_handle_is_its_agents_and_nobody_elses(place: Place) -> None:
    handle = await place.open("ann")
    await place.run(handle, "x = 1")
    for agent in ("bob", ""):
        assert "ended" not in await place.why(handle, agent)
    assert place.is_open(handle)
    assert (await place.run(handle, "result = x")).result == 1
    await place.sessions.end(handle, "ann")
    assert "ended" not in await place.why(handle, "bob")  # not even that there was one
    assert "it was ended by its caller" in await place.why(handle, "ann")


async def test_handles_that_never_were_are_unknown_whatever_they_look_like(place: Place) -> None:
    for handle in ("session-0123456789abcdef", "", "new", "../x", "\0", "x" * 100_000):
        with pytest.raises(NotFoundError) as caught:
            await place.run(handle, "print(1)")
        assert len(str(caught.value)) < 1_000


async def test_a_session_that_was_ended_has_no_processes_and_says_why(place: Place) -> None:
    before = set(descendants(os.getpid()))
    handle = await place.open()
    await place.run(handle, "import subprocess\nsubprocess.Popen(['sleep', '60'])")
    assert len(set(descendants(os.getpid())) - before) >= 3
    await place.sessions.end(handle, "ann")
    await until(lambda: not set(descendants(os.getpid())) - before)
    assert not place.is_open(handle)
    why = await place.why(handle)
    assert "it has ended: it was ended by its caller; its variables and processes are lost" in why


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("import time\ntime.sleep(60)", "timeout"),
        ("import os\nos._exit(3)", None),
        ("import os\nos.kill(2, 9)", "killed"),
    ],
)
async def test_a_session_that_its_program_ended_says_so(place: Place, code: str, ended: str | None) -> None:
    handle = await place.open()
    await place.run(handle, "x = 1")
    outcome = await place.run(handle, code, seconds=1 if ended == "timeout" else LIMITS.seconds)
    assert outcome.ended == ended
    assert "its last program ended it" in await place.why(handle)


async def test_a_session_that_nobody_uses_ends_and_so_do_its_processes(place: Place) -> None:
    before = set(descendants(os.getpid()))
    during: list[set[int]] = []

    async def answer(method: str, params: Json) -> None:
        during.append(set(descendants(os.getpid())) - before)
        place.idle = 0.15  # not sooner, lest it end before it is used

    handle = await place.open()
    await place.run(handle, "await call_mcp_tool('x', {})", answer=answer)
    assert during[0]
    await until(lambda: not set(descendants(os.getpid())) - before)
    assert "nobody used it for 0.15 s" in await place.why(handle)


@pytest.mark.slow
async def test_a_session_that_was_opened_and_never_used_ends_as_well(place: Place) -> None:
    before = set(descendants(os.getpid()))
    place.idle = 0.1
    handle = await place.open()
    await until(lambda: not set(descendants(os.getpid())) - before)
    assert "nobody used it for 0.1 s" in await place.why(handle)


@pytest.mark.slow
async def test_a_session_that_is_used_does_not_end_however_long_its_programs_take(place: Place) -> None:
    place.idle = 2.5
    handle = await place.open()
    await place.run(handle, "import time\nx = 1")
    for _ in range(2):
        await anyio.sleep(0.3)
        assert (await place.run(handle, "time.sleep(2.7)\nresult = x")).result == 1


@pytest.mark.slow
async def test_of_too_many_the_one_that_rested_longest_ends(place: Place) -> None:
    handles = [await place.open() for _ in range(MOST)]
    await place.run(handles[0], "x = 1")  # now the second has rested longest
    newest = await place.open()
    assert "more than 16 were open, and it had rested longest" in await place.why(handles[1])
    assert [place.is_open(handle) for handle in [handles[0], *handles[2:], newest]] == [True] * MOST
    assert (await place.run(handles[0], "result = x")).result == 1


@pytest.mark.slow
async def test_of_too_many_none_ends_in_which_a_program_runs(place: Place) -> None:
    busy = await place.open()
    begun, go_on = anyio.Event(), anyio.Event()

    async def answer(method: str, params: Json) -> Any:
        begun.set()
        await go_on.wait()

    async def run() -> None:
        assert (await place.run(busy, "await call_mcp_tool('x', {})\nresult = 7", answer=answer)).result == 7

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        with anyio.fail_after(WAIT):
            await begun.wait()
        others = [await place.open() for _ in range(MOST)]
        assert place.is_open(busy)
        assert not place.is_open(others[0])
        go_on.set()


async def test_programs_of_a_session_run_one_after_the_other_in_the_order_they_came(place: Place) -> None:
    handle = await place.open()
    await place.run(handle, "import time\nseen = []")
    results: list[Any] = []

    async def run(number: int) -> None:
        code = f"before = len(seen)\ntime.sleep(0.01)\nseen.append({number})\nresult = len(seen) - before"
        results.append((await place.run(handle, code)).result)

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(run, number)
            await anyio.lowlevel.checkpoint()
    assert results == [1] * 8
    assert (await place.run(handle, "result = seen")).result == list(range(8))


@pytest.mark.slow
async def test_programs_that_wait_for_one_that_ends_the_session_are_told(place: Place) -> None:
    handle = await place.open()
    await place.run(handle, "import os, time")
    said: list[str] = []

    async def run(code: str) -> None:
        try:
            said.append(str((await place.run(handle, code)).exit_code))
        except NotFoundError as error:
            said.append(str(error.hint))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, "time.sleep(0.2)\nos._exit(3)")
        await anyio.sleep(0.05)
        tasks.start_soon(run, "print(1)")
        tasks.start_soon(run, "print(2)")
    assert said[0] == "3"
    assert ["its last program ended it" in text for text in said[1:]] == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["by its caller", "with everything"])
async def test_a_session_can_be_ended_while_a_program_runs_and_others_wait(place: Place, how: str) -> None:
    handle = await place.open()
    begun = anyio.Event()
    said: list[str] = []

    async def answer(method: str, params: Json) -> Any:
        begun.set()
        await anyio.sleep_forever()

    async def run(code: str) -> None:
        try:
            said.append(str((await place.run(handle, code, answer=answer)).ended))
        except NotFoundError as error:
            said.append(str(error.hint))

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "await call_mcp_tool('x', {})")
            await begun.wait()
            tasks.start_soon(run, "print(1)")
            await anyio.sleep(0.05)
            await (place.sessions.end(handle, "ann") if how == "by its caller" else place.sessions.aclose())
    assert said[0] == "killed"
    assert ("ended by its caller" if how == "by its caller" else "Satchel was closed") in said[1]


async def test_a_session_that_would_show_what_it_no_longer_may_ends_even_for_a_program_that_waited(
    place: Place,
) -> None:
    why = "what it may do with the memory of agents has changed"
    handle = await place.sessions.open("ann", "python", place.make, {why: "b"})
    await place.sessions.follow(handle, "ann", {why: "b", "the plugin x was disabled": 1})
    assert place.is_open(handle)
    running, go_on = anyio.Event(), anyio.Event()

    async def answer(method: str, params: Any) -> Any:
        running.set()
        await go_on.wait()
        return params["arguments"]

    async def hold() -> None:
        await place.run(handle, "from servers.demo import echo\nawait echo(text='x')", answer=answer)

    async def run_after_it() -> None:
        with pytest.raises(NotFoundError) as refused:
            await place.sessions.run(handle, "ann", Program(code="1"), ECHO, LIMITS, {why: "none"})
        assert f"it has ended: {why}" in str(refused.value.hint)

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hold)
            await running.wait()
            await place.sessions.follow(handle, "ann", {why: "none"})
            assert place.is_open(handle)  # its program may go on to its end
            tasks.start_soon(run_after_it)
            await anyio.wait_all_tasks_blocked()
            go_on.set()
    assert not place.is_open(handle)
    other = await place.sessions.open("ann", "python", place.make, {why: "b"})
    await place.sessions.follow(other, "ann", {})
    assert why in await place.why(other)


async def test_a_program_in_another_language_is_refused_and_ends_nothing(place: Place) -> None:
    handle = await place.open()
    await place.run(handle, "x = 1")
    with pytest.raises(ArgumentError, match="runs python, and not typescript") as caught:
        await place.run(handle, "1", language="typescript")
    assert caught.value.hint == "use a session for each language"
    assert (await place.run(handle, "result = x")).result == 1


@pytest.mark.slow
async def test_a_caller_that_gives_up_ends_the_session_and_the_next_one_is_told(place: Place) -> None:
    handle = await place.open()
    await place.run(handle, "x = 1")
    with anyio.move_on_after(0.2):
        await place.run(handle, "import time\ntime.sleep(60)")
    assert not place.is_open(handle)
    assert "it has ended" in await place.why(handle)


@pytest.mark.slow
async def test_closing_ends_all_of_them(place: Place) -> None:
    before = set(descendants(os.getpid()))
    handles = [await place.open() for _ in range(3)]
    await place.run(handles[0], "x = 1")
    await place.sessions.aclose()
    assert [place.is_open(handle) for handle in handles] == [False] * 3
    await until(lambda: not set(descendants(os.getpid())) - before)
    assert "Satchel was closed" in await place.why(handles[0])

"""One budget for all boxes: what several programs hold together that each could hold alone."""

import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from satchel.errors import NotFoundError, SandboxError
from satchel.model import Event, Json, ProgramBegins, ProgramWaits
from satchel.sandbox.backends import BUBBLEWRAP
from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes
from satchel.sandbox.limits import MIB, Limits, Totals
from satchel.sandbox.running import budget, cgroups
from satchel.sandbox.running import home as homes
from satchel.sandbox.running.budget import INTERVAL, Budget, Held, _rest_after
from satchel.sandbox.running.processes import descendants
from satchel.sandbox.running.sessions import Sessions
from satchel.sandbox.sandbox import Door, Outcome, Program, Shown
from tests.upstream.helpers import until

pytestmark = pytest.mark.anyio

LIMITS = Limits(seconds=50, cpu_seconds=50, memory=400 * MIB, processes=64)
WAIT = 60  # seconds; only a hang reaches it
HOLD = "import os\nkept = b'x' * ({size} << 20)\nawait call_mcp_tool('held', {{}})\nprint('done')"
"""A program that holds so many MiB until it is told to go on."""
GROW = """
import time
kept = [b'x' * ({size} << 20)]
await call_mcp_tool('held', {{}})
for _ in range({more}):
    kept.append(b'x' * (1 << 20))
    time.sleep(0.02)
print('done')
"""
"""One that goes on to take more, slowly enough to be seen."""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


class Place:
    """Boxes of several agents with one budget."""

    def __init__(self, directory: Path, totals: Totals, *, use_cgroups: bool, size: int = 0) -> None:
        self.budget = Budget(totals, use_cgroups=use_cgroups)
        self.pool = ReadyBoxes(Bubblewrap(budget=self.budget), directory / "agents", size=size)
        self.sessions = Sessions(lambda: 600, self.budget)
        self._directory = directory
        self.held = 0
        self.go_on = anyio.Event()

    def home(self, agent: str) -> homes.LocalHome:
        code_api = self._directory / "code-api"
        code_api.mkdir(exist_ok=True)
        agents = self._directory / "agents"
        shown = Shown(code_api=code_api, memory=agents / agent / "memory")
        return homes.make_home(agents, agent, shown, BUBBLEWRAP)

    async def answer(self, method: str, params: Json) -> Any:
        self.held += 1
        await self.go_on.wait()

    async def run(self, agent: str, code: str) -> Outcome:
        with anyio.fail_after(WAIT):
            return await self.pool.run(Program(code=code), self.home(agent), Door(answer=self.answer), LIMITS)

    async def open(self, agent: str, code: str = "pass") -> str:
        """A session in which one program has run."""
        home = self.home(agent)
        with anyio.fail_after(WAIT):
            handle = await self.sessions.open(
                agent, "python", lambda: self.pool.open_session("python", home, LIMITS)
            )
            await self.continue_(handle, agent, code)
        return handle

    async def continue_(self, handle: str, agent: str, code: str) -> Outcome:
        door = Door(answer=self.answer)
        with anyio.fail_after(WAIT):
            return await self.sessions.run(handle, agent, Program(code=code), door, LIMITS)

    def why(self, handle: str, agent: str) -> str:
        """Why a session has ended; empty while it has not."""
        try:
            self.sessions.find(handle, agent)
        except NotFoundError as error:
            return str(error.hint)
        return ""

    async def close(self) -> None:
        await self.sessions.aclose()
        await self.pool.aclose()
        self.budget.close()


Open = Callable[..., Awaitable[Place]]


@pytest.fixture(params=["cgroups", "watch"])
async def open_place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Open]:
    if request.param == "cgroups" and cgroups.find_parents() is None:
        pytest.skip("no control groups can be made here")
    before, places = set(descendants(os.getpid())), list[Place]()

    async def open_(*, size: int = 0, **totals: Any) -> Place:
        places.append(Place(tmp_path, Totals(**totals), use_cgroups=request.param == "cgroups", size=size))
        return places[-1]

    yield open_
    for place in places:
        await place.close()
    await until(lambda: not set(descendants(os.getpid())) - before)


async def together(place: Place, *programs: tuple[str, str]) -> list[Outcome]:
    """Programs of agents at once; those that are not ended hold what they have until one was."""
    outcomes: dict[int, Outcome] = {}

    async def run(number: int, agent: str, code: str) -> None:
        outcomes[number] = await place.run(agent, code)
        place.go_on.set()

    async with anyio.create_task_group() as tasks:
        for number, (agent, code) in enumerate(programs):
            tasks.start_soon(run, number, agent, code)
    return [outcomes[number] for number in range(len(programs))]


# Memory and processes


@pytest.mark.slow
async def test_programs_that_hold_too_much_together_are_ended_though_none_does_alone(
    open_place: Open,
) -> None:
    place = await open_place(memory=256 * MIB)
    hold = HOLD.format(size=120)
    outcomes = await together(place, ("ann", hold), ("ann", hold), ("ann", hold))
    ended = [outcome for outcome in outcomes if outcome.ended is not None]
    assert 1 <= len(ended) < 3, outcomes
    for outcome in ended:
        assert (outcome.ended, outcome.exit_code) == ("memory", 137)
        assert str(outcome.detail).startswith("all programs together reached 256 MiB of memory")
    assert [o.stdout.text for o in outcomes if o.ended is None] == ["done\n"] * (3 - len(ended))
    assert (await place.run("ann", "print(1)")).stdout.text == "1\n"


@pytest.mark.slow
async def test_a_program_beyond_its_own_limit_is_told_that_it_was_that_one(open_place: Open) -> None:
    place = await open_place(memory=1024 * MIB)
    place.go_on.set()
    outcome = await place.run(
        "ann", "import mmap\nkept = mmap.mmap(-1, 700 << 20)\nkept.write(b'x' * (700 << 20))"
    )
    assert outcome.ended == "memory"
    assert outcome.detail == "it used more than 400 MiB of memory (memory_mb)"


@pytest.mark.slow
async def test_the_agent_that_holds_most_pays_and_not_the_one_with_the_largest_program(
    open_place: Open,
) -> None:
    place = await open_place(memory=600 * MIB)
    hers = HOLD.format(size=100)

    async def let_it_grow() -> None:
        await until(lambda: place.held == 4)
        place.go_on.set()

    results: dict[str, Outcome] = {}

    async def run(name: str, code: str) -> None:
        results[name] = await place.run(name.partition(" ")[0], code)

    wait = "\nimport time\nwhile not os.path.exists('/workspace/end'): time.sleep(0.01)"
    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "ann 1", hers + wait)
            tasks.start_soon(run, "ann 2", hers + wait)
            tasks.start_soon(run, "ann 3", GROW.format(size=100, more=290))
            tasks.start_soon(run, "bob", HOLD.format(size=180) + wait)
            tasks.start_soon(let_it_grow)
            await until(lambda: bool(results))
            for agent in ("ann", "bob"):
                (place.home(agent).files / "end").touch()
    assert (results["bob"].ended, results["bob"].exit_code) == (None, 0), results
    ended = {name for name, outcome in results.items() if outcome.ended == "memory"}
    assert ended == {"ann 3"}, results


FILL_SOCKETS = """
import os, socket, time
for _ in range(6):
    if os.fork() == 0:
        kept = []
        for _ in range(100):
            kept += socket.socketpair()
            for end in kept[-2:]:
                end.setblocking(False)
                try:
                    while True:
                        end.send(bytes(100_000))
                except BlockingIOError:
                    pass
            time.sleep(0.01)
        time.sleep(60)
        os._exit(0)
while os.wait():
    pass
"""
"""A program that has the kernel hold memory for it, and hardly any of its own."""


@pytest.mark.slow
async def test_what_the_kernel_holds_for_an_agent_is_not_paid_for_by_another(open_place: Open) -> None:
    place = await open_place(memory=512 * MIB)
    if place.budget.layers == (None, None):
        pytest.skip("only control groups see memory that the kernel holds for a program")
    results: dict[str, Outcome] = {}

    async def run(agent: str, code: str) -> None:
        results[agent] = await place.run(agent, code)
        place.go_on.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, "bob", HOLD.format(size=180))
        await until(lambda: place.held == 1)
        tasks.start_soon(run, "ann", FILL_SOCKETS)
    assert (results["bob"].ended, results["bob"].stdout.text) == (None, "done\n"), results
    assert results["ann"].ended == "memory", results
    assert str(results["ann"].detail).startswith("all programs together reached 512 MiB of memory"), results


@pytest.mark.slow
async def test_all_programs_together_have_no_more_processes_than_they_may(open_place: Open) -> None:
    place = await open_place(processes=60)
    code = "import os, time\nfor _ in range(45):\n    if os.fork() == 0:\n        time.sleep(60)\n"
    outcomes = await together(place, *[("ann", code + "await call_mcp_tool('held', {})\nprint('done')")] * 2)
    ended = [outcome for outcome in outcomes if outcome.ended is not None]
    # The kernel refuses whoever asks, which may be both; the watch ends one.
    assert ended and {outcome.ended for outcome in ended} == {"processes"}, outcomes
    for outcome in ended:
        assert str(outcome.detail).startswith("all programs together reached 60 processes and threads")
    assert (await place.run("ann", "print(1)")).stdout.text == "1\n"


@pytest.mark.slow
async def test_what_is_kept_ready_and_what_makes_it_counts_too(open_place: Open) -> None:
    place = await open_place(size=2)
    await place.run("ann", "print(1)")
    await place.pool.settle()
    kept = place.pool.processes()
    assert len(kept) == 3  # a zygote and two boxes
    assert {held.process for held in place.budget._held} == set(kept)
    own, of_user = place.budget.layers
    if own is not None and of_user is not None:
        for directory in own.inside.directories.values():
            inside = {int(n) for file in directory.glob("*/*/cgroup.procs") for n in file.read_text().split()}
            assert set(kept) <= inside
            assert directory.parent in of_user.inside.directories.values()


async def test_each_agents_boxes_are_in_a_group_of_its_own_so_that_none_starves(open_place: Open) -> None:
    place = await open_place()
    anns, bobs = place.budget.groups_of("ann"), place.budget.groups_of("bob")
    if anns is None or bobs is None:
        assert place.budget.layers == (None, None)
        return
    for controller, directory in anns.directories.items():
        assert directory != bobs.directories[controller]
        assert directory.parent == bobs.directories[controller].parent
    assert place.budget.groups_of("ann") is anns


async def test_a_budget_leaves_no_control_groups_behind(open_place: Open) -> None:
    place = await open_place()
    await place.run("ann", "print(1)")
    own, _ = place.budget.layers
    await place.close()
    assert own is None or not any(path.exists() for path in own.inside.directories.values())


# Sessions


@pytest.mark.slow
async def test_sessions_that_rest_give_way_to_new_ones_oldest_first_and_it_is_said_why(
    open_place: Open,
) -> None:
    place = await open_place(agent_sessions=2, sessions=3)
    first, second = await place.open("ann"), await place.open("ann")
    third = await place.open("ann")
    why = "more than 2 were open, and it had rested longest; it was ended to make room"
    assert why in place.why(first, "ann")
    bobs = await place.open("bob")
    assert [place.why(*each) for each in ((second, "ann"), (third, "ann"), (bobs, "bob"))] == [""] * 3
    # One too many in all: the agent that has most of them gives one.
    another = await place.open("bob")
    assert "more than 3 were open" in place.why(second, "ann")
    assert [place.why(*each) for each in ((third, "ann"), (bobs, "bob"), (another, "bob"))] == [""] * 3


@pytest.mark.slow
async def test_sessions_that_hold_too_much_between_their_programs_end_to_make_room(open_place: Open) -> None:
    place = await open_place(memory=300 * MIB)
    small = await place.open("bob", "kept = 1")
    first = await place.open("ann", "kept = b'x' * (90 << 20)")
    second = await place.open("ann", "kept = b'x' * (90 << 20)")
    await until(lambda: place.why(first, "ann") != "")
    why = place.why(first, "ann")
    assert "all programs together reached 300 MiB of memory" in why
    assert "it was ended to make room" in why
    assert (place.why(small, "bob"), place.why(second, "ann")) == ("", "")
    assert (await place.continue_(second, "ann", "print(len(kept) >> 20)")).stdout.text == "90\n"


@pytest.mark.slow
async def test_a_session_rather_than_a_program_gives_way_where_its_agent_holds_most(open_place: Open) -> None:
    place = await open_place(memory=400 * MIB)
    session = await place.open("ann", "kept = b'x' * (150 << 20)")
    place.go_on.set()
    outcome = await place.run("ann", GROW.format(size=150, more=120) + "time.sleep(0.5)\n")
    assert (outcome.ended, outcome.stdout.text) == (None, "done\n"), outcome
    assert "it was ended to make room" in place.why(session, "ann")


# The look at all of them


@pytest.mark.slow
async def test_nobody_looks_any_more_when_no_program_runs(
    open_place: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    look = Budget._look

    def count(budget: Budget) -> None:
        looks.append(1)
        look(budget)

    monkeypatch.setattr(Budget, "_look", count)
    place = await open_place(memory=200 * MIB)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(place.run, "bob", HOLD.format(size=1))
        await until(lambda: place.held == 1)
        for _ in range(3):  # each is too much beside the one before, and so begins a look of its own
            await place.open("ann", "kept = b'x' * (60 << 20)")
        await until(lambda: place.budget._looking is None or place.budget._looking.done())
        place.go_on.set()
    assert looks
    looks.clear()
    await anyio.sleep(0.3)
    assert not looks


def test_a_look_comes_soon_again_however_long_the_last_one_took() -> None:
    assert _rest_after(0.001) == INTERVAL
    assert _rest_after(0.02) == pytest.approx(0.4)
    assert _rest_after(60) == 2


def test_an_agent_that_takes_long_to_look_at_does_not_delay_the_look_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget, "_LONGEST_LOOK", 0.0)
    with ExitStack() as kept:
        programs = [kept.enter_context(subprocess.Popen(["/bin/sleep", "60"])) for _ in range(4)]
        held = [Held(agent="ann", process=program.pid) for program in programs[:3]]
        held.append(Held(agent="bob", process=programs[3].pid))
        used = budget._measure(held, 0)
        for program in programs:
            program.kill()
    sizes = {agent: [used[each].memory for each in held if each.agent == agent] for agent in ("ann", "bob")}
    assert sizes["ann"].count(sys.maxsize) == 1  # the others count by a quick look
    assert sizes["bob"] == [sys.maxsize]


# Places


class Queue:
    """Programs that hold a place until they are told to go on. Whose turn it is shows without boxes."""

    def __init__(self, **totals: Any) -> None:
        self.budget = Budget(Totals(**totals), use_cgroups=False)
        self.ran: list[str] = []
        self.go_on = anyio.Event()
        self.told: list[Event] = []

    async def run(self, agent: str) -> None:
        async with self.budget.place(agent, self.told.append):
            self.ran.append(agent)
            await self.go_on.wait()


async def test_an_agent_that_asks_for_everything_leaves_a_place_for_others() -> None:
    queue = Queue(programs=4, reserve=1)
    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(queue.run, "ann")
        await until(lambda: len(queue.told) == 7)
        assert queue.ran == ["ann"] * 3
        assert set(queue.told) == {ProgramWaits(running=3)}
        tasks.start_soon(queue.run, "bob")
        await until(lambda: "bob" in queue.ran)
        assert queue.budget.running == 4
        queue.go_on.set()
    assert queue.ran.count("ann") == 10
    assert queue.told.count(ProgramBegins()) == 7
    assert queue.budget.running == 0


async def test_a_program_does_not_wait_for_ever_for_its_place() -> None:
    queue = Queue(programs=1, patience=0.1)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(queue.run, "ann")
        await until(lambda: queue.ran == ["ann"])
        with pytest.raises(SandboxError, match=r"no place was free within 0\.1 s: 1 of 1 places") as caught:
            await queue.run("bob")
        assert "total.programs" in str(caught.value.hint)
        queue.go_on.set()
    async with queue.budget.place("bob"):
        assert queue.budget.running == 1


async def test_an_agent_that_has_too_many_waiting_is_told_at_once() -> None:
    queue = Queue(programs=1, patience=30)
    async with anyio.create_task_group() as tasks:
        for _ in range(101):
            tasks.start_soon(queue.run, "ann")
        await until(lambda: len(queue.told) == 100)
        with pytest.raises(SandboxError, match="100 programs of this agent wait already"):
            await queue.run("ann")
        tasks.start_soon(queue.run, "bob")
        await until(lambda: len(queue.told) == 101)
        tasks.cancel_scope.cancel()
    assert queue.budget.running == 0


async def test_more_places_are_given_as_soon_as_the_settings_say_so() -> None:
    queue = Queue(programs=1)
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(queue.run, "ann")
        await until(lambda: len(queue.told) == 2)
        queue.budget.follow(Totals(programs=3))
        await until(lambda: len(queue.ran) == 3)
        queue.go_on.set()

"""A few places, shared fairly between agents."""

import anyio
import pytest
from anyio.lowlevel import checkpoint

from satchel.support.turns import Turns

pytestmark = pytest.mark.anyio


class Work:
    """Takes turns, and notes who had one, in order; each holds its place until it is told to go on."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.order: list[str] = []
        self.ends: list[anyio.Event] = []

    async def run(self, agent: str) -> None:
        async with self.turns.turn(agent):
            self.order.append(agent)
            end = anyio.Event()
            self.ends.append(end)
            await end.wait()

    async def end_next(self) -> None:
        self.ends.pop(0).set()
        await settle()


async def settle() -> None:
    for _ in range(5):
        await checkpoint()


async def test_an_agent_with_many_requests_does_not_delay_one_with_few() -> None:
    work = Work(Turns(2))
    async with anyio.create_task_group() as tasks:
        for agent in [*"aaaaaaaa", "b", "c"]:
            tasks.start_soon(work.run, agent)
        await settle()
        assert work.order == ["a", "a"]
        await work.end_next()
        await work.end_next()
        assert work.order[2:] == ["b", "c"]
        for _ in range(8):
            await work.end_next()
    assert work.order.count("a") == 8
    assert work.turns.held == 0


async def test_an_agent_never_holds_more_than_its_share() -> None:
    work = Work(Turns(4, each=1))
    async with anyio.create_task_group() as tasks:
        for agent in "aaab":
            tasks.start_soon(work.run, agent)
        await settle()
        assert work.order == ["a", "b"]
        assert work.turns.waiting("a") == 2
        for _ in range(4):
            await work.end_next()
    assert work.order == ["a", "b", "a", "a"]


async def test_a_place_is_not_lost_with_whoever_gives_up() -> None:
    turns = Turns(1)
    work = Work(turns)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work.run, "a")
        await settle()
        with anyio.move_on_after(0.01):
            await work.run("b")
        assert turns.waiting("b") == 0
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as others:
                others.start_soon(work.run, "c")
                await settle()
                work.ends.pop(0).set()  # c gets its place and is cancelled before it can use it
                scope.cancel()
        await settle()
        assert turns.held == 0
        tasks.start_soon(work.run, "d")
        await settle()
        assert work.order[-1] == "d"
        work.ends[-1].set()


async def test_more_places_are_handed_out_at_once_and_fewer_as_they_are_given_back() -> None:
    turns = Turns(1)
    work = Work(turns)
    async with anyio.create_task_group() as tasks:
        for agent in "aaaa":
            tasks.start_soon(work.run, agent)
        await settle()
        turns.resize(3)
        await settle()
        assert turns.held == 3
        turns.resize(1)
        await work.end_next()
        assert turns.held == 2
        await work.end_next()
        await work.end_next()
        assert turns.held == 1
        await work.end_next()
    assert turns.held == 0


async def test_the_last_places_are_for_agents_that_have_none() -> None:
    work = Work(Turns(4, reserve=2))
    async with anyio.create_task_group() as tasks:
        for agent in "aaaabb":
            tasks.start_soon(work.run, agent)
        await settle()
        assert work.order == ["a", "a", "b"]
        tasks.start_soon(work.run, "c")
        await settle()
        assert work.order == ["a", "a", "b", "c"]
        assert not work.turns.is_entitled("d")
        while work.ends:
            await work.end_next()
    assert work.turns.held == 0

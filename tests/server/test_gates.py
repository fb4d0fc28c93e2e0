"""Gates: what an agent has sent at once is begun one by one, turn after turn."""

import asyncio
import time

import pytest

from satchel.server.gates import STRANGERS, Gates

pytestmark = pytest.mark.anyio


async def begun(agents: list[str], gone: frozenset[int] = frozenset()) -> dict[int, list[int]]:
    """Which requests are begun in which turn of the event loop."""
    gates, turn = Gates(), 0
    found: dict[int, list[int]] = {}

    async def ask(number: int, agent: str) -> None:
        if await gates.enter(agent, lambda: number in gone):
            found.setdefault(turn, []).append(number)

    tasks = [asyncio.create_task(ask(number, agent)) for number, agent in enumerate(agents)]
    while not all(task.done() for task in tasks):
        turn += 1
        await asyncio.sleep(0)
    return found


async def test_one_request_of_an_agent_is_begun_in_a_turn() -> None:
    found = await begun(["a"] * 5)
    assert [*found.values()] == [[0], [1], [2], [3], [4]]


async def test_agents_do_not_wait_for_each_other() -> None:
    found = await begun(["a"] * 50 + ["b"])
    assert 50 in next(iter(found.values()))


async def test_a_few_strangers_are_begun_at_once() -> None:
    found = await begun([STRANGERS] * 20)
    assert [len(numbers) for numbers in found.values()] == [8, 8, 4]


async def test_others_have_turns_between_two_requests_that_take_long() -> None:
    gates, turns, requests = Gates(), 0, 20

    async def ask() -> None:
        await gates.enter("a", lambda: False)
        time.sleep(0.005)

    tasks = [asyncio.create_task(ask()) for _ in range(requests)]
    while not all(task.done() for task in tasks):
        turns += 1
        await asyncio.sleep(0)
    assert turns > 3 * requests


async def test_clients_that_have_gone_take_no_turn() -> None:
    found = await begun(["a"] * 100, frozenset(range(99)))
    assert [*found.values()] == [[99]]
    assert len(found) == 1


async def test_a_cancelled_request_takes_no_turn() -> None:
    gates = Gates()
    first, second, third = (asyncio.create_task(gates.enter("a", lambda: False)) for _ in range(3))
    await asyncio.sleep(0)
    second.cancel()
    assert await first
    assert await third
    assert second.cancelled()

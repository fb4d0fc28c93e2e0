"""Work in threads, in turn and on whose account; and steps on the event loop, after which an agent rests."""

import asyncio
import sys
import threading
import time

import anyio
import anyio.to_thread
import pytest

from satchel.support import charging
from satchel.support.charging import MOST_HELD, Host, apart, charged_to, timed

pytestmark = pytest.mark.anyio

WAIT = 30.0  # seconds; only a hang reaches it


def compute(seconds: float) -> str:
    """Use the processor for so long."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
    return threading.current_thread().name


async def test_work_is_done_in_a_thread_and_charged_to_whoever_asked() -> None:
    spent: list[float] = []
    share = Host().share("agent")
    with charged_to(share, spent.append):
        name = await apart(compute, 0.05)
    assert name != threading.current_thread().name
    assert len(spent) == 1 and spent[0] >= 0.05
    assert await apart(compute, 0.0) != threading.current_thread().name  # on nobody's account
    assert len(spent) == 1


async def test_work_that_fails_is_charged_as_well() -> None:
    spent: list[float] = []

    def fail() -> None:
        compute(0.02)
        raise ValueError("no")

    with charged_to(Host().share("agent"), spent.append), pytest.raises(ValueError, match="no"):
        await apart(fail)
    assert sum(spent) >= 0.02


async def test_an_agent_has_one_thread_at_a_time_and_others_do_not_wait_for_it() -> None:
    host = Host(places=2)
    begun, go_on = threading.Semaphore(0), threading.Event()

    def wait() -> None:
        begun.release()
        assert go_on.wait(WAIT)

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            with charged_to(host.share("greedy")):
                for _ in range(5):
                    tasks.start_soon(apart, wait)
            await anyio.to_thread.run_sync(begun.acquire)
            with charged_to(host.share("other")):
                await apart(compute, 0.0)
            assert not begun.acquire(blocking=False)
            go_on.set()


async def test_whoever_gives_up_keeps_the_place_until_the_thread_has_ended() -> None:
    share = Host(places=1).share("agent")
    ended = threading.Event()

    def work() -> None:
        compute(0.2)
        ended.set()

    with charged_to(share):
        with anyio.move_on_after(0.01):
            await apart(work)
        await apart(compute, 0.0)
    assert ended.is_set()


async def test_whoever_gives_up_before_its_turn_has_nothing_done() -> None:
    share, done = Host(places=1).share("agent"), list[str]()
    begun, end = threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        assert end.wait(60)

    with charged_to(share):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(apart, block)
            assert await anyio.to_thread.run_sync(begun.wait, 60)
            with pytest.raises(TimeoutError), anyio.fail_after(0.1):
                await apart(done.append, "given up")
            end.set()
        await apart(done.append, "asked")
    assert done == ["asked"]


async def test_threads_hand_over_sooner_while_one_works_and_as_before_when_none_does() -> None:
    usual = sys.getswitchinterval()
    with charged_to(Host().share("agent")):
        assert await apart(sys.getswitchinterval) < usual
    assert sys.getswitchinterval() == pytest.approx(usual)


async def test_each_step_on_the_event_loop_is_told() -> None:
    steps: list[float] = []

    async def work() -> str:
        compute(0.03)
        await asyncio.sleep(0.05)
        compute(0.02)
        return "done"

    assert await timed(work(), lambda used, taken: steps.append(used)) == "done"
    assert len(steps) == 2  # what it waits for is nobody's time
    assert steps[0] >= 0.03 and steps[1] >= 0.02


async def test_work_that_is_timed_can_fail_and_be_cancelled() -> None:
    caught: list[str] = []

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("no")

    async def wait() -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            caught.append("cancelled")
            raise

    with pytest.raises(ValueError, match="no"):
        await timed(fail(), lambda used, taken: None)
    with anyio.move_on_after(0.01):
        await timed(wait(), lambda used, taken: None)
    assert caught == ["cancelled"]


async def test_after_a_long_step_an_agent_rests_and_no_other() -> None:
    host = Host()
    host.share("agent").note_step(0.001, 0.5)
    assert host.share("agent").rest == 0  # others had the processor meanwhile
    host.share("agent").note_step(0.02, 0.05)
    assert host.share("agent").rest > 0 and host.share("other").rest == 0
    began = time.monotonic()
    with anyio.fail_after(WAIT):
        await host.share("agent").step()
    assert time.monotonic() - began >= 0.05
    host.share("agent").note_step(1000, 1000)
    assert host.share("agent").rest <= charging._LONGEST_REST


async def test_after_long_work_in_a_thread_the_agents_next_waits_as_long_and_no_others() -> None:
    host, ended = Host(), dict[str, float]()

    async def work(agent: str, name: str, seconds: float) -> None:
        with charged_to(host.share(agent)):
            await apart(compute, seconds)
        ended[name] = time.monotonic()

    await work("greedy", "long", 0.3)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work, "greedy", "next", 0.0)
        tasks.start_soon(work, "other", "other", 0.0)
    assert ended["next"] - ended["long"] >= 0.25
    assert ended["other"] < ended["next"]


async def test_of_all_that_wait_one_comes_in_each_turn_of_the_event_loop() -> None:
    share, turns = Host().share("agent"), 0
    came: list[int] = []

    async def come() -> None:
        await share.step()
        came.append(turns)

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(come)
            while len(came) < 10:
                turns += 1
                await asyncio.sleep(0)
    assert len(set(came)) == 10


def test_who_listens_is_told_when_there_is_no_more_room_and_when_there_is_some() -> None:
    share, told = Host().share("agent"), 0

    def tell() -> None:
        nonlocal told
        told += 1

    share.listen(tell)
    share.hold(MOST_HELD)
    assert not share.is_full
    share.hold(10)
    assert share.is_full and told == 1
    share.hold(10)
    assert told == 1
    share.hold(-20)
    assert not share.is_full and told == 2
    share.ignore(tell)
    share.hold(10)
    share.hold(-10)
    assert told == 2

"""Threads that agents share."""

import asyncio
import threading
from concurrent.futures import CancelledError, Future

import pytest

from satchel.support.threads import Aside, FairThreads

LONG = 60


class Work:
    """Work that goes on until it is told to end."""

    def __init__(self, threads: FairThreads, agent: str) -> None:
        self.begun, self.end = threading.Event(), threading.Event()
        self.future: Future[str] = threads.submit(agent, lambda: self._do(agent))

    def _do(self, agent: str) -> str:
        self.begun.set()
        assert self.end.wait(LONG)
        return agent

    def finish(self) -> str:
        self.end.set()
        return self.future.result(LONG)


def test_an_agent_whose_work_never_ends_has_one_thread_and_the_others_are_for_others() -> None:
    threads = FairThreads(2, "test")
    blocked = [Work(threads, "a") for _ in range(5)]
    assert blocked[0].begun.wait(LONG)
    for _ in range(3):
        assert Work(threads, "b").finish() == "b"
    assert [work.begun.is_set() for work in blocked] == [True, False, False, False, False]
    assert [work.finish() for work in blocked] == ["a"] * 5


def test_the_agent_that_has_waited_longest_is_next() -> None:
    threads = FairThreads(1, "test")
    order: list[str] = []
    first = Work(threads, "a")
    others = [threads.submit(agent, lambda agent=agent: order.append(agent)) for agent in "aaabbc"]
    assert first.finish() == "a"
    for other in others:
        other.result(LONG)
    assert "".join(order) == "abcaba"


def test_what_nobody_waits_for_any_more_is_not_begun_and_an_error_is_passed_on() -> None:
    threads = FairThreads(1, "test")
    first = Work(threads, "a")
    given_up, failing = Work(threads, "b"), threads.submit("b", lambda: 1 / 0)
    given_up.future.cancel()
    first.finish()
    with pytest.raises(ZeroDivisionError):
        failing.result(LONG)
    with pytest.raises(CancelledError):
        given_up.finish()
    assert not given_up.begun.is_set()


@pytest.mark.anyio
async def test_a_thread_is_taken_until_its_work_ends_though_nobody_waits_for_it() -> None:
    threads = FairThreads(2, "test")
    begun, end = threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        assert end.wait(LONG)

    task = asyncio.create_task(threads.run("a", block))  # which is given up below
    assert await asyncio.to_thread(begun.wait, LONG)
    task.cancel()
    await asyncio.wait([task])
    second = threads.submit("a", lambda: "done")
    assert await threads.run("b", lambda: "other") == "other"
    assert not second.done()
    end.set()
    assert await asyncio.wrap_future(second) == "done"


@pytest.mark.anyio
async def test_work_is_done_aside_once_it_was_not_quick() -> None:
    here = threading.get_ident()
    always, never = (Aside(FairThreads(1, "test"), "a", moment) for moment in (0, 1_000))
    places = [await always.do(threading.get_ident) for _ in range(3)]
    assert places[0] == here and here not in places[1:]
    assert [await never.do(threading.get_ident) for _ in range(3)] == [here] * 3
    assert await never.do(threading.get_ident, is_long=True) != here
    with pytest.raises(ZeroDivisionError):
        await always.do(lambda: 1 // 0)
    assert always.took > 0

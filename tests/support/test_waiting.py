"""Work that nobody can break off, and who waits for it."""

import asyncio

import anyio
import anyio.lowlevel
import pytest

from satchel.support.waiting import Task, background, to_the_end, until_done

pytestmark = pytest.mark.anyio


class Work:
    def __init__(self, error: Exception | None = None) -> None:
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.is_done = False
        self._error = error

    async def run(self) -> int:
        self.begun.set()
        await self.go_on.wait()
        self.is_done = True
        if self._error is not None:
            raise self._error
        return 7


async def test_its_result_and_its_error_are_those_of_the_work() -> None:
    work, failing = Work(), Work(ValueError("no paper"))
    work.go_on.set()
    failing.go_on.set()
    assert await to_the_end(work.run()) == 7
    with pytest.raises(ValueError, match="no paper"):
        await to_the_end(failing.run())


@pytest.mark.parametrize("error", [None, ValueError("told to nobody")])
async def test_a_task_that_is_cancelled_again_and_again_is_so_when_the_work_is_done(
    error: Exception | None,
) -> None:
    work = Work(error)
    waiting = asyncio.create_task(to_the_end(work.run()))
    await work.begun.wait()
    for _ in range(3):
        waiting.cancel()
        await asyncio.sleep(0)
    assert not waiting.done()
    work.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert work.is_done


async def test_a_scope_that_is_cancelled_waits_for_the_work_and_is_then_left() -> None:
    work = Work()
    with anyio.fail_after(60), anyio.move_on_after(0) as scope:
        asyncio.get_running_loop().call_later(0.05, work.go_on.set)
        assert await to_the_end(work.run()) == 7
        await anyio.lowlevel.checkpoint()
    assert work.is_done and scope.cancelled_caught


async def test_who_only_waits_is_told_whether_it_was_cancelled() -> None:
    work = Work()
    task = asyncio.create_task(work.run())
    waiting = asyncio.create_task(until_done(task))
    await work.begun.wait()
    waiting.cancel()
    await asyncio.sleep(0)
    work.go_on.set()
    assert isinstance(await waiting, asyncio.CancelledError)
    assert await until_done(task) is None


async def test_a_task_whose_work_waited_for_something_that_was_cancelled_fails_alone() -> None:
    async def wait_for_what_is_cancelled() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    went_on = False
    async with background() as tasks:
        task = Task(tasks, wait_for_what_is_cancelled)
        with anyio.fail_after(60):
            await task.wait()
            await anyio.sleep(0.01)  # a group that was cancelled would end the block here
        went_on = True
    assert went_on
    with pytest.raises(RuntimeError, match="cancelled"):
        task.result()


async def test_a_task_that_is_ended_ends_alone_and_has_no_result() -> None:
    went_on = False
    async with background() as tasks:
        task = Task(tasks, anyio.sleep_forever)
        await anyio.sleep(0.01)
        task.end()
        with anyio.fail_after(60):
            await task.ended()
            await anyio.sleep(0.01)
        went_on = True
    assert went_on
    with pytest.raises(asyncio.CancelledError):
        task.result()

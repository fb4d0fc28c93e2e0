"""Waiting: for work that must finish even if the caller gives up, and for people, whose time is not charged.

A cancelled scope of anyio cancels again and again, which a shield keeps off. A task that is cancelled by
asyncio is so within a shield as well.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Generic, TypeVar

import anyio
from anyio import CancelScope
from anyio.abc import TaskGroup

from satchel.model import Client, Json

Result = TypeVar("Result")


async def until_done(task: "asyncio.Future[Result]") -> asyncio.CancelledError | None:
    """Wait for a task, however often the one that waits is cancelled; the last of these is returned."""
    cancelled: asyncio.CancelledError | None = None
    with CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
    return cancelled


async def to_the_end(work: Awaitable[Result]) -> Result:
    """The result of work that nobody can break off. Who was cancelled meanwhile is so when it is done."""
    task = asyncio.ensure_future(work)  # a task group would be cancelled with the one that waits
    cancelled = await until_done(task)
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # or asyncio complains that nobody looked at it
        raise cancelled
    return task.result()


def patient(client: Client, scope: anyio.CancelScope) -> Client:
    """The same client; while it is asked, the deadline of `scope` stands still."""
    asked = 0
    left = 0.0

    async def ask(method: str, params: Json, key: str) -> Json:
        nonlocal asked, left
        if not asked:
            left, scope.deadline = scope.deadline - anyio.current_time(), float("inf")
        asked += 1
        try:
            return await client.ask(method, params, key)
        finally:
            asked -= 1
            if not asked:
                scope.deadline = anyio.current_time() + left

    return replace(client, ask=ask)


@asynccontextmanager
async def background() -> AsyncGenerator[TaskGroup]:
    """A task group whose tasks end with the block. What the block raises comes out as it is, in no group."""
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as error:  # noqa: BLE001  raised below
            failure = error
        finally:
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


class Task(Generic[Result]):
    """Work in a task group that somebody may wait for, end, or come back to for its result.

    It is ended by one cancellation, as asyncio has it. A cancelled scope of anyio would cancel again and
    again, and so everything that the work still awaits to put things in order.
    """

    def __init__(self, tasks: TaskGroup, work: Callable[[], Awaitable[Result]]) -> None:
        self._done = anyio.Event()
        self._results: list[Result] = []
        self._failure: Exception | None = None
        self._is_ending = False
        self._task: asyncio.Task[None] | None = None
        tasks.start_soon(self._run, work)

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    def result(self) -> Result:
        """The result; raises the error if there was one."""
        if self._failure is not None:
            raise self._failure
        if not self._results:
            raise asyncio.CancelledError
        return self._results[0]

    def end(self) -> None:
        """Have it end. Nothing happens where that was asked for already."""
        if not self._is_ending:
            self._is_ending = True
            if self._task is not None:
                self._task.cancel()

    async def wait(self) -> None:
        await self._done.wait()

    async def ended(self) -> None:
        """Wait until it is over, even if the caller gives up."""
        with CancelScope(shield=True):
            await self._done.wait()

    async def _run(self, work: Callable[[], Awaitable[Result]]) -> None:
        self._task = task = asyncio.current_task()
        assert task is not None
        try:
            if not self._is_ending:
                self._results.append(await work())
        except asyncio.CancelledError:
            if not task.cancelling():  # only what it waited for was: that must not end the whole group
                self._failure = RuntimeError("the awaited work was cancelled")
            elif not self._is_ending or task.uncancel() > 0:
                raise
        except Exception as error:  # noqa: BLE001  it is raised where the result is asked for
            self._failure = error
        finally:
            self._done.set()

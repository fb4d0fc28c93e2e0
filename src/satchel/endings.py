"""What has to come to its end, whoever gives up waiting for it.

A cancelled scope of anyio cancels again and again, which a shield keeps off. A task that is cancelled by
asyncio is so within a shield as well.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from anyio import CancelScope

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
    task = asyncio.ensure_future(work)
    cancelled = await until_done(task)
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # or asyncio complains that nobody looked at it
        raise cancelled
    return task.result()

"""Waiting: for work that must finish whoever gives up, and for people, whose time is not charged.

A cancelled scope of anyio cancels again and again, which a shield keeps off. A task that is cancelled by
asyncio is so within a shield as well.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

import anyio
from anyio import CancelScope

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
    task = asyncio.ensure_future(work)
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

"""The pool of connections, opened when a server is first needed: loading the SDK takes most of a second."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from anyio import CancelScope

from satchel.errors import ClosedError

if TYPE_CHECKING:
    from satchel.upstream.pool import Pool


class PoolLater:
    """Whoever makes one also closes it."""

    def __init__(self, open_pool: Callable[[], "AbstractAsyncContextManager[Pool]"]) -> None:
        self._open_pool = open_pool
        self._opening: asyncio.Future[Pool] | None = None
        self._holding: asyncio.Task[None] | None = None
        self._end = asyncio.Event()
        self._is_closed = False
        self.opened: Pool | None = None
        """The pool, if there is one yet."""

    async def get(self) -> "Pool":
        if self._is_closed:
            raise ClosedError
        if self._opening is None:
            self._opening = asyncio.get_running_loop().create_future()
            # Its task group has to be left by the task that has entered it, and callers come and go.
            self._holding = asyncio.create_task(self._hold(self._opening))
        return await asyncio.shield(self._opening)

    async def _hold(self, opening: "asyncio.Future[Pool]") -> None:
        try:
            async with self._open_pool() as pool:
                self.opened = pool
                opening.set_result(pool)
                await self._end.wait()
        except Exception as error:
            if opening.done():
                raise
            opening.set_exception(error)

    async def aclose(self, *, is_failing: bool) -> None:
        """Close it; in a hurry where something has failed already. It can't be had any more."""
        self._is_closed = True
        if self._holding is None or self._opening is None:
            return
        if is_failing:
            self._holding.cancel()
        self._end.set()
        with CancelScope(shield=True):
            await asyncio.wait([self._holding])
        if not self._opening.done():  # it was cancelled before it began
            self._opening.set_exception(ClosedError())
            self._opening.exception()  # whether somebody waits for it or not
        if not self._holding.cancelled():
            self._holding.result()

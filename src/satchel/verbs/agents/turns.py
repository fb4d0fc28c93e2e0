"""A turn of an agent, as Python programs have it: to be awaited for its answer, or followed by its events."""

import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import suppress
from typing import Any

import anyio
from anyio.abc import TaskGroup

from satchel.model import Answer, TellTurn, TurnEvent, TurnRequest, silent_turn
from satchel.support.waiting import Task

RunTurn = Callable[[TurnRequest, TellTurn], Awaitable[Answer]]


class AgentTurn:
    """`await turn` gives the answer; `async for event in turn` what happens, the answer's event last.

    Nothing is done before either. Whoever stops following ends the turn; what was done is kept.
    """

    def __init__(self, run: RunTurn, request: TurnRequest, tasks: TaskGroup) -> None:
        self._run = run
        self._request = request
        self._tasks = tasks

    def __await__(self) -> Generator[Any, None, Answer]:
        return self._answered().__await__()

    async def _answered(self) -> Answer:
        return await self._run(self._request, silent_turn)

    async def __aiter__(self) -> AsyncGenerator[TurnEvent]:
        sending, receiving = anyio.create_memory_object_stream[TurnEvent](math.inf)

        def tell(event: TurnEvent) -> None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                sending.send_nowait(event)

        async def work() -> Answer:
            with sending:
                return await self._run(self._request, tell)

        task = Task(self._tasks, work)
        try:
            with receiving:
                async for event in receiving:
                    yield event
            await task.wait()
            task.result()
        finally:
            task.end()
            await task.ended()

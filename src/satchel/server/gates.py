"""Of all requests that an agent has sent at once, one is begun in each turn of the event loop.

Hundreds, however small, would make everybody else wait for all of them, turn after turn. Strangers count as
one agent, of whom a few are begun at once, because little is done for them. While more wait, others get as
much time as the last turn took: a program takes a hundred turns to start, and each would be longer. Not a
limit on how many may be under way.
"""

import asyncio
from collections import deque
from collections.abc import Callable

STRANGERS = ""
_AT_ONCE = {STRANGERS: 8}  # which takes some milliseconds
_LONGEST_REST = 0.02  # seconds; a busy machine has long turns, too


class Gates:
    """One for each agent; those whose clients have gone meanwhile cost no turn."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[tuple[asyncio.Future[bool], Callable[[], bool]]]] = {}

    async def enter(self, agent: str, is_gone: Callable[[], bool]) -> bool:
        """Wait for the request's turn; false when its client has gone by then."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        if agent not in self._waiting:
            self._waiting[agent] = deque()
            loop.call_soon(self._open, agent)
        self._waiting[agent].append((turn, is_gone))
        return await turn

    def _open(self, agent: str) -> None:
        queue = self._waiting[agent]
        places = _AT_ONCE.get(agent, 1)
        while queue and places:
            turn, is_gone = queue.popleft()
            if not turn.done():  # cancelled
                is_here = not is_gone()
                turn.set_result(is_here)
                places -= is_here
        if queue:
            loop = asyncio.get_running_loop()
            loop.call_soon(self._rest, agent, loop.time())
        else:
            del self._waiting[agent]

    def _rest(self, agent: str, began: float) -> None:
        """Leave others as much time as what was begun has just taken, in turns that it does not lengthen."""
        loop = asyncio.get_running_loop()
        loop.call_later(min(loop.time() - began, _LONGEST_REST), self._open, agent)

"""Turns: a few places, shared fairly between agents.

An agent that asks for many places at once delays itself, not the others: a free place goes to the waiting
agent that holds the fewest, and among equals to the one whose last turn was longest ago. With a reserve, the
last few places go only to agents that hold none, who then don't wait for the others' work to end. Not a limit
on how many may wait: whoever asks bounds that, or the time they are ready to wait.
"""

from collections import Counter, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio


class Turns:
    """`places` in all, of which one agent holds at most `each` at a time; `reserve` are for newcomers."""

    def __init__(self, places: int, *, each: int | None = None, reserve: int = 0) -> None:
        self._places = places
        self._each = each
        self._reserve = reserve
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[anyio.Event]] = {}
        self._turns = 0
        self._last_turns: dict[str, int] = {}  # there are only as many agents as are configured

    @property
    def held(self) -> int:
        """How many places are taken, by all agents together."""
        return self._held.total()

    def waiting(self, agent: str) -> int:
        """How many of an agent's requests have no place yet."""
        return len(self._waiting.get(agent, ()))

    def is_entitled(self, agent: str) -> bool:
        """Whether the agent would get a place now, if it were its turn."""
        held = self._held[agent]
        free = self._places - self.held - (self._reserve if held else 0)
        return free > 0 and (self._each is None or held < self._each)

    def resize(self, places: int, *, each: int | None = None, reserve: int = 0) -> None:
        """Change the limits. Places that are held stay held; with fewer of them, others wait for longer."""
        self._places, self._each, self._reserve = places, each, reserve
        self._hand_out()

    @asynccontextmanager
    async def turn(self, agent: str) -> AsyncGenerator[None]:
        """Wait for a place, and hold it for the block."""
        await self._take(agent)
        try:
            yield
        finally:
            self._give_back(agent)

    async def _take(self, agent: str) -> None:
        given = anyio.Event()
        self._waiting.setdefault(agent, deque()).append(given)
        self._hand_out()
        if given.is_set():
            return
        try:
            await given.wait()
        except BaseException:  # cancelled: the place is for somebody else
            if given.is_set():
                self._give_back(agent)
            else:
                self._forget(agent, given)
            raise

    def _give_back(self, agent: str) -> None:
        self._held[agent] -= 1
        if not self._held[agent]:
            del self._held[agent]
        self._hand_out()

    def _hand_out(self) -> None:
        while entitled := [agent for agent in self._waiting if self.is_entitled(agent)]:
            agent = min(entitled, key=lambda each: (self._held[each], self._last_turns.get(each, 0)))
            given = self._waiting[agent][0]
            self._forget(agent, given)
            given.set()
            self._held[agent] += 1
            self._turns += 1
            self._last_turns[agent] = self._turns

    def _forget(self, agent: str, given: anyio.Event) -> None:
        queue = self._waiting[agent]
        queue.remove(given)
        if not queue:
            del self._waiting[agent]

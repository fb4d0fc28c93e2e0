"""The limits of a turn, shared by all agents that it delegates to; people's time is not charged."""

from collections.abc import Generator, Hashable
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from satchel.config.agents import LimitSettings
from satchel.model import Usage

MOST_DELEGATED = 3
"""So many agents work at once for one that has delegated to them."""


@dataclass(kw_only=True)
class Allowance:
    """What is left of a turn's limits."""

    limits: LimitSettings
    used: Usage = field(default_factory=Usage)
    places: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(MOST_DELEGATED))

    def take(self, usage: Usage) -> None:
        self.used += usage

    def exceeded(self) -> tuple[str, str] | None:
        """Which limit is reached, and that as a sentence."""
        limits, used = self.limits, self.used
        if used.requests >= limits.requests:
            return "requests", f"{used.requests} requests were made, the limit of this turn"
        if limits.tokens is not None and used.tokens >= limits.tokens:
            return "tokens", f"{used.tokens:,} tokens were used; the limit is {limits.tokens:,}"
        if limits.cost is not None and used.cost is not None and used.cost >= limits.cost:
            return "cost", f"it has cost ${used.cost:.4f}; the limit is ${limits.cost:g}"
        return None


class Clock:
    """The seconds of a turn. They stand still while a person is asked."""

    def __init__(self) -> None:
        self._scope = anyio.CancelScope()
        self._asked: set[Hashable] = set()
        self._left = 0.0

    @contextmanager
    def running(self, seconds: float) -> Generator[anyio.CancelScope]:
        with anyio.move_on_after(seconds) as self._scope:
            yield self._scope

    def stop(self, question: Hashable) -> None:
        if not self._asked:
            self._left, self._scope.deadline = self._scope.deadline - anyio.current_time(), float("inf")
        self._asked.add(question)

    def go_on(self, question: Hashable) -> None:
        if question in self._asked:
            self._asked.remove(question)
            if not self._asked:
                self._scope.deadline = anyio.current_time() + self._left

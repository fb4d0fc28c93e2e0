"""The limits of a turn, shared by all agents that it delegates to."""

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

"""From how many servers on programs are cheaper than tools in the context.

A further server adds its definitions to every turn of the direct way, and next to nothing to the other. How
many servers that takes depends on which come first, so it is told for the order of their names, and for
random ones.
"""

import random
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import quantiles

from bench.context.conversation import Tally
from bench.context.savings import Direct, InCode
from bench.context.servers import Recorded, recorded_servers

SIZES = (0, 1, 2, 5, 20, 75)
ORDERS = 500
SEED = 75

Cost = Callable[[Tally], float]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One task, both ways, by how many other servers are attached: 0, 1, 2, …"""

    servers: Sequence[int]  # all of them
    direct: Sequence[float]
    code: Sequence[float]

    @property
    def crossing(self) -> int | None:
        """The place from which on code costs less."""
        return _crossing(self.direct, self.code)


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """At so many servers in the order of their names, and `low` to `high` in most random ones.

    It is where definitions take that many `tokens`; none or fewer where code always costs less.
    """

    servers: int
    low: float
    high: float
    tokens: float
    is_first: bool  # code costs less with the task's own servers alone


def line(direct: Direct, measured: Sequence[InCode], ours: Cost, theirs: Cost) -> Line:
    """`ours` is what programs cost, `theirs` what direct calls do."""
    others = range(measured[-1].others + 1)
    return Line(
        servers=[len(direct.task.servers) + count for count in others],
        direct=_direct_costs(direct, recorded_servers()[: len(others) - 1], theirs),
        code=_code_costs(measured, others, ours),
    )


def crossing(direct: Direct, measured: Sequence[InCode], ours: Cost, theirs: Cost) -> Crossing | None:
    drawn = line(direct, measured, ours, theirs)
    place = drawn.crossing
    if place is None:
        return None
    low, high = _spread(direct, drawn.code, theirs)
    return Crossing(
        servers=drawn.servers[place],
        low=low,
        high=high,
        tokens=_equal(direct, drawn.code[0], theirs),
        is_first=place == 0,
    )


def _equal(direct: Direct, code: float, cost: Cost) -> float:
    """How many tokens of definitions make direct calls as dear; what they cost grows evenly with these."""
    nothing, many = cost(direct.tally_before(0)), cost(direct.tally_before(1_000_000))
    return 1_000_000 * (code - nothing) / (many - nothing)


def _spread(direct: Direct, code: Sequence[float], cost: Cost) -> tuple[float, float]:
    source = random.Random(SEED)
    servers = list(recorded_servers()[: len(code) - 1])
    found: list[int] = []
    for _ in range(ORDERS):
        source.shuffle(servers)
        place = _crossing(_direct_costs(direct, servers, cost), code)
        found.append(len(direct.task.servers) + (len(servers) if place is None else place))
    tenths = quantiles(found, n=10)
    return tenths[0], tenths[-1]


def _direct_costs(direct: Direct, servers: Sequence[Recorded], cost: Cost) -> list[float]:
    before = direct.before
    costs = [cost(direct.tally_before(before))]
    for server in servers:
        before += server.tokens
        costs.append(cost(direct.tally_before(before)))
    return costs


def _code_costs(measured: Sequence[InCode], others: Sequence[int], cost: Cost) -> list[float]:
    """Between two sizes that were measured, a straight line."""
    sizes = [one.others for one in measured]
    costs = [cost(one.tally()) for one in measured]

    def at(count: int) -> float:
        right = min(bisect_right(sizes, count), len(sizes) - 1)
        left = max(right - 1, 0)
        if sizes[left] == sizes[right]:
            return costs[left]
        return costs[left] + (costs[right] - costs[left]) * (count - sizes[left]) / (
            sizes[right] - sizes[left]
        )

    return [at(count) for count in others]


def _crossing(direct: Sequence[float], code: Sequence[float]) -> int | None:
    """The first place from which on code always costs less."""
    place = len(direct)
    while place and code[place - 1] < direct[place - 1]:
        place -= 1
    return place if place < len(direct) else None

"""How good a ranking is. A ranking is a list of keys, "server/tool", best first.

The measures are those of ../shared/data/toolsearch/eval.py, and a test holds them equal. A query comes with
groups of keys: one for each tool that its task needs, any member of which will do.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

MEASURES = (
    "hit@1",
    "hit@5",
    "hit@10",
    "recall@5",
    "recall@10",
    "MRR",
    "nDCG@10",
    "server@1",
    "server@3",
    "server@5",
)
LIMIT = 20
"""How many keys of a ranking count; only what is said of servers looks beyond the first ten."""
RESAMPLES = 2000
SEED = 399

Ranking = Sequence[str]
Groups = Sequence[Sequence[str]]
Scores = Mapping[str, float]


class Interval(NamedTuple):
    """A difference of means, and where 95 % of its resamples lie."""

    difference: float
    low: float
    high: float


def score(ranking: Ranking, groups: Groups) -> dict[str, float]:
    """Every measure of one query, from 0 to 1."""
    places = _places(ranking[:LIMIT], groups)
    servers = list(dict.fromkeys(map(server_of, ranking[:LIMIT])))
    right = {server_of(key) for group in groups for key in group}
    return {
        **{f"hit@{count}": float(any(place < count for place in places)) for count in (1, 5, 10)},
        **{f"recall@{count}": sum(place < count for place in places) / len(groups) for count in (5, 10)},
        "MRR": 1 / (min(places) + 1) if min(places) < 10 else 0.0,
        "nDCG@10": _gain(place for place in places if place < 10) / _gain(range(min(len(groups), 10))),
        **{f"server@{count}": float(not right.isdisjoint(servers[:count])) for count in (1, 3, 5)},
    }


def server_of(key: str) -> str:
    """Up to the last slash, as the scorer of the data has it, although some tools have one in their name."""
    return key.rpartition("/")[0]


def average(scores: Sequence[Scores]) -> dict[str, float]:
    return {measure: fmean(one[measure] for one in scores) for measure in MEASURES}


def bootstrap(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Paired: a query is drawn with both of its values. The draws are the same for every pair of methods."""
    differences = [one - other for one, other in zip(first, second, strict=True)]
    source = random.Random(SEED)
    means = sorted(fmean(source.choices(differences, k=len(differences))) for _ in range(RESAMPLES))
    cut = RESAMPLES * 25 // 1000
    return Interval(fmean(differences), means[cut], means[-cut - 1])


def _places(ranking: Ranking, groups: Groups) -> list[float]:
    """For each group, the first place, from 0, at which one of its members is."""
    first: dict[str, int] = {}
    for place, key in enumerate(ranking):
        first.setdefault(key, place)
    return [min((first[key] for key in group if key in first), default=math.inf) for group in groups]


def _gain(places: Iterable[float]) -> float:
    return sum(1 / math.log2(place + 2) for place in places)

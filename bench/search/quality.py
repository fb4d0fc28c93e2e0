"""Every method on every query, in both catalogs."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.rows import Skipped
from bench.search.data import catalogs, queries
from bench.search.methods import SATCHEL, Ranker, methods
from bench.search.peer import Peer
from bench.search.scoring import Scores, average, score


@dataclass(frozen=True, kw_only=True)
class Quality:
    """Of one catalog: the scores of each query by method, or why there are none."""

    catalog: str
    scores: dict[str, list[Scores]] = field(default_factory=dict[str, list[Scores]])
    skipped: dict[str, str] = field(default_factory=dict[str, str])

    def averages(self, method: str, kind: str | None = None) -> dict[str, float]:
        scored = zip(queries(), self.scores[method], strict=True)
        return average([scores for query, scores in scored if kind in (None, query.kind)])

    def of_each_query(self, method: str, measure: str) -> Sequence[float]:
        return [scores[measure] for scores in self.scores[method]]


def kinds() -> list[str]:
    return list(dict.fromkeys(query.kind for query in queries()))


def measure(peer: Peer, *, only_satchel: bool = False) -> list[Quality]:
    compared = methods(peer)
    if only_satchel:
        compared = {SATCHEL: compared[SATCHEL]}
    return [_measure(catalog, compared) for catalog in catalogs()]


def _measure(catalog: str, compared: Mapping[str, Ranker]) -> Quality:
    quality = Quality(catalog=catalog)
    texts = [query.text for query in queries()]
    for name, rank in compared.items():
        sys.stderr.write(f"searching {catalog}: {name} …\n")
        try:
            rankings = rank(catalogs()[catalog], texts)
        except Skipped as reason:
            quality.skipped[name] = str(reason)
            continue
        quality.scores[name] = [
            score(ranking, query.groups) for ranking, query in zip(rankings, queries(), strict=True)
        ]
    return quality

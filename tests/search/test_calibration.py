"""Whether "nothing fits" can be believed: seldom said of what was found, mostly of what no server does.

On the open set, which is not part of the project. The requests that nothing fits are in
bench/search/impossible.json; the last forty were written when all constants had been chosen.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from bench.search.data import Tool, catalogs, queries
from bench.search.indexing import index_of
from bench.search.scoring import score

from satchel.search.documents import Hit
from satchel.search.index import Index
from satchel.search.rank import search
from tests.conftest import SHARED

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
IMPOSSIBLE: dict[str, list[str]] = json.loads((ROOT / "bench/search/impossible.json").read_text())


@pytest.fixture(scope="module", params=["527 tools", "3,319 tools"])
def index(request: pytest.FixtureRequest) -> Index:
    if not (SHARED / "toolsearch").is_dir():
        pytest.skip(f"{SHARED / 'toolsearch'} is not here")
    tools: Sequence[Tool] = catalogs()[request.param]
    return index_of(tools)


def says_that_nothing_fits(hits: Sequence[Hit]) -> bool:
    return not hits or not hits[0].is_match


def test_one_in_ten_of_the_right_answers_is_doubted_at_most(index: Index) -> None:
    doubted: list[bool] = []
    for query in queries():
        hits = search(index, query.text, limit=10)
        if score([f"{hit.group}/{hit.key}" for hit in hits], query.groups)["hit@5"]:
            doubted.append(says_that_nothing_fits(hits))
    assert len(doubted) > 200
    assert sum(doubted) / len(doubted) <= 0.1


@pytest.mark.parametrize("part", IMPOSSIBLE)
def test_four_in_five_of_the_requests_that_nothing_fits_are_told_so(index: Index, part: str) -> None:
    told = [says_that_nothing_fits(search(index, request, limit=5)) for request in IMPOSSIBLE[part]]
    assert len(told) == 40
    assert sum(told) / len(told) >= 0.8

"""The measures of the benchmark of tool search, and the interval of a difference."""

import math
import random
import runpy
from collections.abc import Callable, Sequence
from typing import cast

import pytest
from bench.search.scoring import MEASURES, Interval, average, bootstrap, score

from tests.conftest import SHARED

SCORER = SHARED / "toolsearch" / "eval.py"
Scorer = Callable[[Sequence[str], Sequence[Sequence[str]]], dict[str, float]]


def test_the_right_tool_at_the_top_is_worth_everything() -> None:
    assert score(["slack/post", "mail/send"], [["slack/post"]]) == dict.fromkeys(MEASURES, 1.0)


def test_nothing_found_is_worth_nothing() -> None:
    assert score([], [["slack/post"]]) == dict.fromkeys(MEASURES, 0.0)


def test_a_tool_in_the_third_place_counts_from_the_first_five_on() -> None:
    scores = score(["mail/send", "mail/read", "slack/post"], [["slack/post"]])
    assert (scores["hit@1"], scores["hit@5"], scores["recall@5"]) == (0.0, 1.0, 1.0)
    assert scores["MRR"] == pytest.approx(1 / 3)
    assert scores["nDCG@10"] == pytest.approx(1 / math.log2(4))
    assert (scores["server@1"], scores["server@3"]) == (0.0, 1.0)


def test_recall_is_the_share_of_groups_and_any_member_of_one_will_do() -> None:
    scores = score(["chat/post", "mail/send"], [["slack/post", "chat/post"], ["drive/read"]])
    assert (scores["hit@5"], scores["recall@5"], scores["recall@10"]) == (1.0, 0.5, 0.5)
    assert scores["nDCG@10"] == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_servers_are_counted_once_each_however_many_of_their_tools_come_first() -> None:
    ranking = [*(f"mail/tool_{number}" for number in range(12)), "slack/read"]
    scores = score(ranking, [["slack/post"]])
    assert (scores["server@1"], scores["server@3"]) == (0.0, 1.0)
    assert scores["hit@10"] == 0.0


def test_the_eleventh_place_is_too_late_for_the_mean_reciprocal_rank() -> None:
    assert score([*(f"a/{number}" for number in range(10)), "b/x"], [["b/x"]])["MRR"] == 0.0


def test_averages_are_over_queries() -> None:
    found, missed = score(["a/x"], [["a/x"]]), score(["b/x"], [["a/x"]])
    assert average([found, missed]) == dict.fromkeys(MEASURES, 0.5)


@pytest.mark.skipif(not SCORER.exists(), reason="../shared/data/toolsearch is not here")
def test_random_rankings_score_as_by_the_scorer_of_the_data() -> None:
    theirs = cast(Scorer, runpy.run_path(str(SCORER))["score"])
    source = random.Random(1)
    keys = [
        f"server {number % 7}/tool/{number}" if number % 9 == 0 else f"s{number % 7}/t{number}"
        for number in range(40)
    ]
    for _ in range(500):
        ranking = source.choices(keys, k=source.randrange(21))  # some twice
        groups = [source.sample(keys, source.randint(1, 3)) for _ in range(source.randint(1, 12))]
        expected = {
            _our_name(name): value for name, value in theirs(ranking, groups).items() if name != "R@1"
        }
        assert score(ranking, groups) == pytest.approx(expected)


def _our_name(measure: str) -> str:
    return measure.replace("R@", "recall@").replace("srv@", "server@")


def test_methods_that_do_the_same_differ_by_nothing() -> None:
    assert bootstrap([1.0, 0.0, 1.0], [1.0, 0.0, 1.0]) == Interval(0.0, 0.0, 0.0)


def test_an_interval_is_the_same_every_time() -> None:
    first, second = _values(0.7, 1), _values(0.6, 2)
    assert bootstrap(first, second) == bootstrap(first, second)


def test_an_interval_lies_around_the_difference_and_is_as_wide_as_theory_says() -> None:
    first = [1.0] * 80 + [0.0] * 320
    difference, low, high = bootstrap(first, [0.0] * 400)
    half = 1.96 * math.sqrt(0.2 * 0.8 / 400)
    assert difference == pytest.approx(0.2)
    assert low == pytest.approx(0.2 - half, abs=0.01)
    assert high == pytest.approx(0.2 + half, abs=0.01)


def test_queries_stay_paired() -> None:
    """One method is better by the same on every query, however much the queries themselves differ."""
    second = _values(0.5, 3)
    first = [value + 0.25 for value in second]
    assert bootstrap(first, second) == Interval(0.25, 0.25, 0.25)


def test_methods_with_different_numbers_of_queries_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        bootstrap([1.0, 0.0], [1.0])


def _values(share: float, seed: int) -> list[float]:
    source = random.Random(seed)
    return [float(source.random() < share) for _ in range(200)]

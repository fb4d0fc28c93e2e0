"""What `make hostile` leaves to `make long` are only more ways for the same attacks."""

from collections import Counter, defaultdict

import pytest

from tests.sandbox.hostile.ways import WAYS, attack_of, parameters

_ATTACKS = 200  # there are more; fewer were chosen by somebody


@pytest.mark.slow
def test_every_attack_is_tried_in_two_ways_and_every_way_is_tried_often(
    request: pytest.FixtureRequest,
) -> None:
    tried: defaultdict[str, set[str]] = defaultdict(set)
    for item in request.session.items:
        if "shared_box" in (given := parameters(item)):
            way = "-".join(given["shared_box"])
            tried[attack_of(item, way)].add(way)
    if len(tried) < _ATTACKS or len(WAYS) == 1 or request.config.option.keyword:
        pytest.skip("not all attacks were chosen; make hostile does this")
    usual, *others = ("-".join(way) for way in WAYS)
    assert [attack for attack, ways in tried.items() if usual not in ways or len(ways) < 2] == []
    count = Counter(way for ways in tried.values() for way in ways)
    assert [way for way in others if count[way] < _ATTACKS / 10] == []

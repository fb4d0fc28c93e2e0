"""While one agent sends all it can, another one's programs and clients are answered.

Through a real `satchel serve --http`, with the floods of `bench/flooding.py`. How much slower they are is
measured by `python -m bench floods`.
"""

from collections.abc import Generator

import pytest
from bench.flooding import FLOODS, Service, feel, service

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

ANSWERED = 2.0  # seconds
NOISE = 4  # times the slowest answer of a machine that takes over half a second without any flood


@pytest.fixture(scope="module")
def served() -> Generator[Service]:
    with service() as opened:
        feel(opened, 0.5)  # what is done once
        yield opened


@pytest.mark.parametrize("flood", FLOODS)
def test_others_are_answered_during_a_flood(served: Service, flood: str) -> None:
    quiet = feel(served, 1.0)
    felt = feel(served, 2.0, flood)
    assert not felt.failures
    assert felt.programs and felt.listings
    assert max(felt.memory) < max(quiet.memory) + 600  # MB
    if felt.worst >= ANSWERED:
        # Others may keep the machine busy. Both before and after the flood it must have been so slow.
        after = feel(served, 1.0)
        assert felt.worst < max(ANSWERED, NOISE * min(quiet.worst, after.worst)), (felt, quiet, after)

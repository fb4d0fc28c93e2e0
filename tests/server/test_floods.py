"""While one agent sends all it can, another one's programs and clients are answered.

Through a real `satchel serve --http`, with the floods of `bench/flooding.py`. How much slower they are is
measured by `python -m bench floods`.
"""

from collections.abc import Generator

import pytest
from bench.flooding import FLOODS, Felt, Service, feel, service

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

ANSWERED = 2.0  # seconds
NOISE = 10  # times the worst without a flood: where other work has the machine, all takes longer


@pytest.fixture(scope="module")
def served() -> Generator[Service]:
    with service() as opened:
        yield opened


@pytest.fixture(scope="module")
def quiet(served: Service) -> Felt:
    feel(served, 0.5)  # what is done once
    return feel(served, 2.0)


@pytest.mark.parametrize("flood", FLOODS)
def test_others_are_answered_during_a_flood(served: Service, quiet: Felt, flood: str) -> None:
    felt = feel(served, 2.0, flood)
    assert not felt.failures
    assert felt.programs and felt.listings
    assert felt.worst < max(ANSWERED, NOISE * quiet.worst), felt
    assert max(felt.memory) < quiet.memory[-1] + 600  # MB

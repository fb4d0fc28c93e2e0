"""How much the tests marked `long` do: a sample, which .ci/run has time for, or all of it (`make long`)."""

import os

FULL = "SATCHEL_TEST_FULL"


def scaled(sample: int, full: int) -> int:
    return full if os.environ.get(FULL) else sample

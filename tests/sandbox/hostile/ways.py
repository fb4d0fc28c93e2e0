"""In which ways hostile programs get their box, and which attacks are tried in which of them.

All attacks in all ways take many minutes. So `make hostile` tries each in the usual way and in one other way
(which one differs from attack to attack), and `make long` tries the rest.
"""

import os
from typing import Any, TypeVar
from zlib import crc32

import pytest

from tests.sandbox.hostile.ground import Way
from tests.scale import scaled

Chosen = TypeVar("Chosen")
_HAS_ALL = bool(os.environ.get("SATCHEL_TEST_EVERY_WAY") or scaled(0, 1))
_USUAL: tuple[tuple[Way, str], ...] = (("pool", "cgroups"),)
_UNUSUAL: tuple[tuple[Way, str], ...] = (
    ("pool", "watch"),
    ("session", "cgroups"),
    ("cold", "cgroups"),
    ("cold", "watch"),
    ("bubblewrap", "cgroups"),
    ("session", "watch"),
)
WAYS = _USUAL + _UNUSUAL if _HAS_ALL else _USUAL
TYPESCRIPT_WAYS: tuple[Way, ...] = ("pool", "cold") if _HAS_ALL else ("pool",)


def parameters(item: pytest.Item) -> dict[str, Any]:
    return item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}


def attack_of(item: pytest.Item, way: str) -> str:
    """The test and its other parameters."""
    return item.nodeid.replace(f"[{way}", "[", 1)


def is_sampled(item: pytest.Item) -> bool:
    """Whether an attack is tried this way by `make hostile`."""
    given = parameters(item)
    if "shared_box" in given:
        way: tuple[Way, str] = given["shared_box"]
        return way in (*_USUAL, _turn(attack_of(item, "-".join(way)), _UNUSUAL))
    for name in ("shared_ground", "shared_watched"):
        if name in given:
            return given[name] == _turn(attack_of(item, given[name]), TYPESCRIPT_WAYS)
    return True


def _turn(attack: str, ways: tuple[Chosen, ...]) -> Chosen:
    """The same in every process: pytest's workers must agree."""
    return ways[crc32(attack.encode()) % len(ways)]

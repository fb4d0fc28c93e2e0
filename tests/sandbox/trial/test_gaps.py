"""What doctor says that nobody keeps here."""

import os

import pytest

from satchel.sandbox.limits import Limits
from satchel.sandbox.trial.gaps import gaps
from satchel.sandbox.trial.trial import _limits

ALL = {"memory": 1, "pids": 1, "cpu": 1, "cpuacct": 1}
WAYS: dict[str, tuple[dict[str, int], bool, list[str]]] = {
    "root, with all control groups": (ALL, True, []),
    "an ordinary user, with groups of version 2": (dict.fromkeys(ALL, 2), False, ["deleted file"]),
    "the same without a share of the processor": (
        {"memory": 2, "pids": 2, "cpuacct": 2},
        False,
        ["share of the processor", "deleted file"],
    ),
    "an ordinary user, without groups": (
        {},
        False,
        ["the kernel holds", "processor time", "share of the processor", "deleted file"],
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_what_is_not_kept_depends_on_groups_and_user(name: str) -> None:
    groups, is_root, words = WAYS[name]
    found = list(gaps(groups, is_root=is_root))
    assert len(found) == len(words)
    assert all(word in gap for word, gap in zip(words, found, strict=True))


def test_it_is_told_with_a_next_step_or_there_is_nothing_to_tell() -> None:
    told = {check.name: check for check in _limits(Limits(), {})}["not kept"]
    assert told.level == "note"
    assert "the kernel holds" in told.message
    assert told.next_step is not None and "delegated" in told.next_step
    names = {check.name for check in _limits(Limits(), ALL)}
    assert ("not kept" in names) == (os.geteuid() != 0)

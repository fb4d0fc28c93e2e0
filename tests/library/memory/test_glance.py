"""Which memories are looked at without a thread."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel.library.memory.glance import glance


def test_a_glance_changes_with_every_file(tmp_path: Path) -> None:
    memory, standing = tmp_path / "memory", tmp_path / "memory.json"
    assert glance(memory, standing) == ()
    memory.mkdir()
    (memory / "a").write_text("a")
    first = glance(memory, standing)
    assert first is not None and first == glance(memory, standing)
    (memory / "b").touch()
    second = glance(memory, standing)
    assert second != first
    (memory / "b").write_text("b")
    assert glance(memory, standing) not in (first, second)


def many(memory: Path) -> None:
    for number in range(100):
        (memory / str(number)).touch()


LAID: dict[str, Callable[[Path], object]] = {
    "large file": lambda memory: (memory / "large").write_bytes(b"x" * 100_000),
    "YAML that takes a while": lambda memory: (memory / "a.yaml").write_bytes(b"a: 1\n" * 1_600),
    "folder": lambda memory: (memory / "folder").mkdir(),
    "link": lambda memory: (memory / "link").symlink_to("/etc/passwd"),
    "pipe": lambda memory: os.mkfifo(memory / "pipe"),
    "many files": many,
    "much that is known": lambda memory: (memory.parent / "memory.json").write_bytes(b"x" * 100_000),
}


@pytest.mark.parametrize("what", LAID)
def test_what_could_take_long_is_not_small(tmp_path: Path, what: str) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    LAID[what](memory)
    assert glance(memory, tmp_path / "memory.json") is None

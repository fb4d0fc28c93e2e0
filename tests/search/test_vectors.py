"""Vectors outlive their process, whatever happens to it and to their file."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy")

import numpy as np
from numpy.typing import NDArray

from satchel.search import vectors
from satchel.search.vectors import VectorCache, key_of

pytestmark = pytest.mark.slow

WAIT = 30  # seconds, for what takes milliseconds


def some(*texts: str, dimension: int = 8) -> dict[bytes, NDArray[Any]]:
    """A vector of length 1 for each text that is always the same for it."""
    made: dict[bytes, NDArray[Any]] = {}
    for text in texts:
        key = key_of(text)
        raw = np.random.default_rng(list(key)).normal(size=dimension)
        made[key] = (raw / np.linalg.norm(raw)).astype(np.float32)
    return made


def file_in(directory: Path) -> Path:
    (file,) = directory.glob("*.vectors")
    return file


def assert_has(cache: VectorCache, *texts: str, dimension: int = 8) -> None:
    for key, vector in some(*texts, dimension=dimension).items():
        found = cache.get(key)
        assert found is not None
        assert np.abs(found - vector).max() < 0.001


def test_what_was_added_is_there_and_is_read_again(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "new" / "folder", "model")
    assert (len(cache), cache.dimension, cache.get(key_of("a"))) == (0, 0, None)
    cache.add(some("a", "b"))
    cache.add(some("c"))
    cache.add({})

    again = VectorCache(tmp_path / "new" / "folder", "model")

    for each in (cache, again):
        assert_has(each, "a", "b", "c")
        assert (len(each), each.dimension, each.get(key_of("d"))) == (3, 8, None)


def test_embedders_do_not_see_the_vectors_of_others(tmp_path: Path) -> None:
    VectorCache(tmp_path, "one").add(some("a"))

    assert len(VectorCache(tmp_path, "other")) == 0
    assert len(VectorCache(tmp_path, "one")) == 1


def test_any_text_has_a_key() -> None:
    assert len({key_of(text) for text in ("", "a", "A", "ä", "\ud800", "a\x00")}) == 6
    assert len(key_of("a")) == 16


def test_a_file_that_is_cut_anywhere_keeps_its_whole_records_and_can_be_added_to(tmp_path: Path) -> None:
    VectorCache(tmp_path, "model").add(some("a", "b"))
    file = file_in(tmp_path)
    content = file.read_bytes()
    record = (len(content) - 16) // 2
    for length in range(len(content)):
        file.write_bytes(content[:length])
        cache = VectorCache(tmp_path, "model")
        whole = max(length - 16, 0) // record
        assert len(cache) == whole
        cache.add(some("c"))
        again = VectorCache(tmp_path, "model")
        assert_has(again, "c", *["a", "b"][:whole])
        assert len(again) == whole + 1


def test_no_damaged_vector_is_ever_given(tmp_path: Path) -> None:
    VectorCache(tmp_path, "model").add(some("a", "b"))
    file = file_in(tmp_path)
    content = file.read_bytes()
    for place in range(len(content)):
        file.write_bytes(content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :])
        cache = VectorCache(tmp_path, "model")
        assert len(cache) == (0 if place < 16 else 1)
        assert_has(cache, *(text for text in ("a", "b") if cache.get(key_of(text)) is not None))
        cache.add(some("a", "b", "c"))
        assert_has(VectorCache(tmp_path, "model"), "a", "b", "c")


@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"nonsense " * 1000, b"satchel1" + b"\xff" * 100])
def test_a_file_that_is_something_else_is_replaced(tmp_path: Path, content: bytes) -> None:
    VectorCache(tmp_path, "model").add(some("a"))
    file_in(tmp_path).write_bytes(content)

    cache = VectorCache(tmp_path, "model")
    assert len(cache) == 0
    cache.add(some("b"))

    assert_has(VectorCache(tmp_path, "model"), "b")


def test_a_link_or_pipe_in_place_of_the_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    VectorCache(tmp_path, "model").add(some("a"))
    file, target = file_in(tmp_path), tmp_path / "target"
    file.rename(target)
    before = target.read_bytes()
    file.symlink_to(target)
    VectorCache(tmp_path, "model").add(some("b"))
    assert target.read_bytes() == before

    file.unlink()
    os.mkfifo(file)
    VectorCache(tmp_path, "model").add(some("c"))
    assert_has(VectorCache(tmp_path, "model"), "c")


def test_a_file_that_vanished_is_written_again_with_everything(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "model")
    cache.add(some("a"))
    file_in(tmp_path).unlink()
    cache.add(some("b"))

    assert_has(VectorCache(tmp_path, "model"), "a", "b")


def test_vectors_of_another_dimension_start_the_file_anew(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "model")
    cache.add(some("a"))
    cache.add(some("b", dimension=5))

    for each in (cache, VectorCache(tmp_path, "model")):
        assert (len(each), each.dimension) == (1, 5)
        assert_has(each, "b", dimension=5)


def test_what_is_forgotten_is_gone_once_something_of_another_dimension_is_added(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "model")
    cache.add(some("a"))
    cache.forget()
    assert (len(cache), cache.dimension) == (0, 0)
    cache.add(some("b", dimension=5))

    assert len(VectorCache(tmp_path, "model")) == 1


def test_vectors_stay_in_memory_where_the_disk_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    cache = VectorCache(tmp_path / "file", "model")

    with pytest.raises(OSError):
        cache.add(some("a"))
    assert_has(cache, "a")


def test_a_file_that_outgrew_what_is_used_is_cleaned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_SMALL", 8)
    cache = VectorCache(tmp_path, "model")
    texts = [f"text {number}" for number in range(41)]
    cache.add(some(*texts[:40]))
    size = file_in(tmp_path).stat().st_size
    used = [key_of(text) for text in texts[:10]]

    cache.tidy(used)  # four times as many: not yet
    assert (len(cache), file_in(tmp_path).stat().st_size) == (40, size)
    VectorCache(tmp_path, "model").add(some("by another process"))
    cache.add(some(texts[40]))
    cache.tidy(used)

    for each in (cache, VectorCache(tmp_path, "model")):
        assert len(each) == 20
        assert_has(each, *texts[:10], "by another process", texts[40], *texts[36:])
    assert file_in(tmp_path).stat().st_size < size


def test_a_small_file_is_left_alone(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "model")
    cache.add(some(*map(str, range(50))))
    cache.tidy([key_of("1")])

    assert len(VectorCache(tmp_path, "model")) == 50


def test_threads_and_caches_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    shared = VectorCache(tmp_path, "model")

    def write(name: int) -> None:
        cache = shared if name % 2 else VectorCache(tmp_path, "model")
        for number in range(10):
            cache.add(some(f"{name} {number}"))

    threads = [threading.Thread(target=write, args=[name]) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)

    again = VectorCache(tmp_path, "model")
    assert_has(again, *(f"{name} {number}" for name in range(4) for number in range(10)))


WRITER = """
import sys
from pathlib import Path
import numpy as np
from satchel.search.vectors import VectorCache, key_of
directory, name = Path(sys.argv[1]), sys.argv[2]
cache = VectorCache(directory, "model")
for number in range(1_000_000):
    keys = [key_of(f"{name} {number} {part}") for part in range(20)]
    cache.add({key: np.full(64, key[0] / 256, np.float32) for key in keys})
    print(number, flush=True)
"""


def test_processes_that_are_killed_while_they_write_lose_nothing_that_was_written(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, tmp_path, name], stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    done: list[int] = []
    for writer in writers:
        assert writer.stdout is not None
        for _ in range(5):
            assert writer.stdout.readline()
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
        done.append(5 + len(writer.communicate(timeout=WAIT)[0].split()))

    cache = VectorCache(tmp_path, "model")

    for name, numbers in zip(("one", "two"), done, strict=True):
        for number in range(numbers):
            for part in range(20):
                key = key_of(f"{name} {number} {part}")
                found = cache.get(key)
                assert found is not None
                assert found[0] == np.float16(key[0] / 256)


def test_thirty_thousand_vectors_are_read_quickly(tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).normal(0, 0.05, (30_000, 384)).astype(np.float32)
    VectorCache(tmp_path, "model").add({key_of(str(row)): vector for row, vector in enumerate(numbers)})

    started = time.process_time()
    cache = VectorCache(tmp_path, "model")

    assert time.process_time() - started < 1  # about 0.1 s
    assert len(cache) == 30_000
    assert file_in(tmp_path).stat().st_size < 25_000_000

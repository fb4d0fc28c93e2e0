"""Files are replaced in one step, and one writer at a time."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from satchel.support.files import locked, read_small, write_atomically

WAIT = 30  # seconds, for what takes milliseconds: only a hang reaches it


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def umask(mask: int) -> Generator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_file_is_replaced_by_the_new_content(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"a much longer content than the one that follows")

    write_atomically(file, b"new")

    assert file.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_a_replaced_file_is_another_one_so_that_open_readers_keep_theirs(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")

    with open(file, "rb") as reader:
        write_atomically(file, b"new")
        assert reader.read() == b"old"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755])
def test_an_existing_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(mode)

    write_atomically(file, b"new", mode=0o666)

    assert mode_of(file) == mode


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_new_file_is_for_its_owner_only_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        write_atomically(tmp_path / "file", b"secret")

    assert mode_of(tmp_path / "file") == 0o600


def test_a_new_file_gets_the_mode_that_is_asked_for(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", b"for all to read", mode=0o644)

    assert mode_of(tmp_path / "file") == 0o644


def test_missing_directories_are_made(tmp_path: Path) -> None:
    write_atomically(tmp_path / "one" / "two" / "file", b"new")

    assert (tmp_path / "one" / "two" / "file").read_bytes() == b"new"


@pytest.mark.parametrize("there", [True, False])
def test_a_symbolic_link_is_replaced_and_never_followed(tmp_path: Path, there: bool) -> None:
    target = tmp_path / "target"
    if there:
        target.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to("target")

    write_atomically(link, b"new")

    assert not link.is_symlink()
    assert link.read_bytes() == b"new"
    assert target.exists() == there
    assert not there or target.read_bytes() == b"old"


@pytest.mark.parametrize("kind", ["pipe", "directory", "huge"])
def test_what_is_no_small_file_is_not_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.write_bytes(b"x" * 1001)

    with pytest.raises(OSError):
        read_small(path, limit=1000)


def test_a_failed_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.mkdir()

    with pytest.raises(OSError):
        write_atomically(in_the_way, b"new")

    assert os.listdir(tmp_path) == ["file"]
    assert in_the_way.is_dir()


WRITE_FOR_EVER = """
import sys
from pathlib import Path
from satchel.support.files import write_atomically

print("ready", flush=True)
while True:
    for letter in b"ab":
        write_atomically(Path(sys.argv[1]), bytes([letter]) * int(sys.argv[2]))
"""


@pytest.mark.slow
def test_a_killed_writer_never_leaves_a_torn_file(tmp_path: Path) -> None:
    file, size = tmp_path / "file", 1_000_000
    whole = {b"a" * size, b"b" * size}
    file.write_bytes(b"a" * size)
    for round in range(12):
        writer = start(WRITE_FOR_EVER, file, size)
        assert writer.stdout is not None
        with writer:
            assert writer.stdout.readline() == "ready\n"
            # Reading while it writes spreads the moments of the kills, without a clock.
            for _ in range(1 + round * 7):
                assert file.read_bytes() in whole
            writer.send_signal(signal.SIGKILL)
            assert writer.wait(WAIT) == -signal.SIGKILL
        assert file.read_bytes() in whole


COUNT = """
import os, sys
from pathlib import Path
from satchel.support.files import locked

directory, times = Path(sys.argv[1]), int(sys.argv[2])
for _ in range(times):
    with locked(directory):
        number = int((directory / "count").read_text())
        os.sched_yield()
        (directory / "count").write_text(str(number + 1))
"""


@pytest.mark.slow
def test_the_lock_excludes_other_processes(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")

    counters = [start(COUNT, tmp_path, 300) for _ in range(3)]
    for counter in counters:
        counter.communicate(timeout=WAIT)

    assert [counter.returncode for counter in counters] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "900"


def test_the_lock_excludes_other_threads_and_is_the_same_through_a_symbolic_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    (real / "count").write_text("0")

    def count(directory: Path) -> None:
        for _ in range(100):
            with locked(directory):
                number = int((real / "count").read_text())
                (real / "count").write_text(str(number + 1))

    threads = [threading.Thread(target=count, args=(name,)) for name in (real, link, real, link)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)

    assert (real / "count").read_text() == "400"


def test_different_directories_have_different_locks(tmp_path: Path) -> None:
    with locked(tmp_path / "one"), locked(tmp_path / "two"):
        pass


def test_the_lock_is_given_back_when_something_fails_under_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError

    with locked(tmp_path):
        pass


def test_the_lock_leaves_nothing_behind_and_makes_the_directory(tmp_path: Path) -> None:
    with locked(tmp_path / "new"):
        assert os.listdir(tmp_path / "new") == []
    assert os.listdir(tmp_path) == ["new"]


HOLD = """
import sys
from pathlib import Path
from satchel.support.files import locked

with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_the_lock_of_a_killed_process_is_free_again(tmp_path: Path) -> None:
    holder = start(HOLD, tmp_path)
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == "locked\n"
        holder.kill()
        holder.wait(WAIT)

    with locked(tmp_path):
        pass

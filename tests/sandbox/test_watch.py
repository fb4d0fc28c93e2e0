"""How a workspace is measured, and what a look at running processes finds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from satchel.sandbox.disk import Contents, measure, tidy, unlinked_size
from satchel.sandbox.limits import Limits
from satchel.sandbox.processes import descendants
from satchel.sandbox.watch import Watch

BLOCK = 4096


def write(path: Path, blocks: int = 1) -> Path:
    path.write_bytes(b"x" * (blocks * BLOCK))
    return path


def size_of(*paths: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in paths)


def test_files_of_all_directories_are_counted_with_the_space_they_take(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    first, second = write(tmp_path / "one"), write(tmp_path / "a/b/two", blocks=3)
    assert measure([tmp_path], 100) == Contents(size=size_of(first, second), files=4)
    assert measure([tmp_path], 100).size >= 4 * BLOCK


def test_a_file_with_several_names_takes_its_space_once(tmp_path: Path) -> None:
    first = write(tmp_path / "one", blocks=8)
    for number in range(5):
        os.link(first, tmp_path / f"link-{number}")
    contents = measure([tmp_path], 100)
    assert contents == Contents(size=size_of(first), files=6)


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    large = write(outside / "large", blocks=50)
    (inside / "file").symlink_to(large)
    (inside / "directory").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    assert measure([inside], 100) == Contents(
        size=size_of(*(inside / name for name in ("file", "directory", "loop"))), files=3
    )
    assert measure([inside], 100).size < 50 * BLOCK


def test_holes_take_no_space(tmp_path: Path) -> None:
    with open(tmp_path / "sparse", "wb") as stream:
        stream.truncate(1 << 30)
    assert measure([tmp_path], 100).size < 1 << 20


def test_counting_stops_where_it_is_clearly_too_much(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"{number}").touch()
    assert measure([tmp_path], 20) == Contents(size=0, files=20, whole=False)


def test_directories_nested_beyond_reason_count_as_too_much(tmp_path: Path) -> None:
    place = tmp_path
    for _ in range(102):
        place = place / "d"
        place.mkdir()
    assert not measure([tmp_path], 1_000).whole


def test_what_hides_is_put_right_and_everything_else_stays(tmp_path: Path) -> None:
    directory = tmp_path / "workspace"
    kept = directory / "kept"
    kept.mkdir(parents=True)
    write(kept / "file")
    (kept / "link").symlink_to(tmp_path)
    place = os.open(directory, os.O_RDONLY)
    for _ in range(3_000):  # longer than any path can be
        os.mkdir("d", dir_fd=place)
        below = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)
    closed = directory / "closed"
    closed.mkdir()
    write(closed / "file")
    closed.chmod(0)
    assert not measure([directory], 10_000).whole
    tidy(directory)
    assert measure([directory], 10_000).whole
    assert (kept / "file").exists() and (kept / "link").is_symlink() and (closed / "file").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["workspace"]


def test_files_without_a_name_count_while_they_are_open(tmp_path: Path) -> None:
    with open(tmp_path / "file", "wb") as stream:
        stream.write(b"x" * (50 * BLOCK))
        stream.flush()
        assert unlinked_size([os.getpid()], [tmp_path]) == 0
        (tmp_path / "file").unlink()
        assert unlinked_size([os.getpid()], [tmp_path]) >= 50 * BLOCK
    assert unlinked_size([os.getpid()], [tmp_path]) == 0


def test_a_directory_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    assert measure([tmp_path / "missing"], 100) == Contents(size=0, files=0)


@pytest.mark.anyio
async def test_a_workspace_that_was_too_full_before_may_shrink_but_not_grow(tmp_path: Path) -> None:
    first = write(tmp_path / "one", blocks=10)
    watch = Watch(Limits(disk=5 * BLOCK), None, (tmp_path,))
    await watch.look_before()
    assert watch._look_at_disk(0) is None
    second = write(tmp_path / "two")
    assert watch._look_at_disk(0) == "disk"
    second.unlink()
    first.unlink()
    assert watch._look_at_disk(0) is None


@pytest.mark.anyio
async def test_too_many_files_are_too_much_however_small(tmp_path: Path) -> None:
    watch = Watch(Limits(files=5), None, (tmp_path,))
    await watch.look_before()
    for number in range(6):
        (tmp_path / f"{number}").touch()
    assert watch._look_at_disk(0) == "disk"


def test_the_processes_below_one_are_found_also_those_of_its_threads() -> None:
    code = """
import subprocess, sys, threading
def start():
    command = [sys.executable, "-S", "-c", "import sys; sys.stdin.read()"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE)
    print(child.pid, flush=True)
    sys.stdin.read()
    child.stdin.close()
    child.wait()
thread = threading.Thread(target=start)
thread.start()
thread.join()
"""
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        child = int(process.stdout.readline())
        assert descendants(process.pid) == [child]
        assert child in descendants(os.getpid())
        process.stdin.close()
    assert descendants(process.pid) == []

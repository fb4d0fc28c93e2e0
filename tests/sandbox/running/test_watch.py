"""How a workspace is measured, and what a look at running processes finds."""

import ctypes
import mmap
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from satchel.errors import SandboxError
from satchel.sandbox.limits import Limits
from satchel.sandbox.running.disk import (
    Contents,
    SharedMeasure,
    alone,
    in_use,
    measure,
    tidy,
    unlinked_size,
)
from satchel.sandbox.running.processes import (
    AllProcesses,
    CpuClock,
    Deadline,
    TooMuchError,
    descendants,
    exact_memory,
    most_watched_descriptors,
    quick_memory,
    watched_descriptors,
)
from satchel.sandbox.running.watch import Watch
from satchel.support.threads import Aside, FairThreads

Result = TypeVar("Result")
BLOCK = 4096
LONG = 30


def write(path: Path, blocks: int = 1) -> Path:
    path.write_bytes(b"x" * (blocks * BLOCK))
    return path


def size_of(*paths: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in paths)


def test_files_of_all_directories_are_counted_with_the_space_they_take(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    first, second = write(tmp_path / "one"), write(tmp_path / "a/b/two", blocks=3)
    folders = tmp_path / "a", tmp_path / "a/b"  # which keep their blocks when what was in them has gone
    assert measure([tmp_path], 100) == Contents(size=size_of(first, second, *folders), files=4)
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
    for _ in range(70):
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
    for _ in range(100):  # longer than any path can be
        os.mkdir("d" * 200, dir_fd=place)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=place)
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
    before = unlinked_size(
        [os.getpid()], [tmp_path], Deadline(LONG)
    )  # what is printed here goes to such files
    with open(tmp_path / "file", "wb") as stream:
        stream.write(b"x" * (50 * BLOCK))
        stream.flush()
        assert unlinked_size([os.getpid()], [tmp_path], Deadline(LONG)) == before
        (tmp_path / "file").unlink()
        assert unlinked_size([os.getpid()], [tmp_path], Deadline(LONG)) >= before + 50 * BLOCK
    assert unlinked_size([os.getpid()], [tmp_path], Deadline(LONG)) == before


def test_mappings_and_directories_without_a_name_count_as_well(tmp_path: Path) -> None:
    code = """
import mmap, os, sys
with open("file", "w+b") as file:
    file.write(b"x" * (50 * 4096))
    held = mmap.mmap(file.fileno(), 4096)
os.unlink("file")
os.mkdir("directory")
os.chdir("directory")
os.rmdir("../directory")
print(flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seen = 50 * BLOCK if os.geteuid() == 0 else BLOCK  # only root sees more than what is mapped
        directory = os.stat(f"/proc/{process.pid}/cwd").st_blocks * 512  # none, on some file systems
        found = unlinked_size([process.pid], [tmp_path], Deadline(LONG))
        assert seen + directory <= found < seen + directory + 50 * BLOCK
        assert unlinked_size([process.pid], [Path("/proc")], Deadline(LONG)) == 0
        with pytest.raises(TooMuchError):
            unlinked_size([process.pid], [tmp_path], Deadline(0))
        process.kill()


def test_a_directory_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    assert measure([tmp_path / "missing"], 100) == Contents(size=0, files=0)


@pytest.mark.anyio
async def test_a_workspace_that_was_too_full_before_may_shrink_but_not_grow(tmp_path: Path) -> None:
    first = write(tmp_path / "one", blocks=10)
    watch = Watch(Limits(disk=5 * BLOCK), None, (tmp_path,))
    await watch.look_before()
    assert await watch.look_at_disk() is None
    second = write(tmp_path / "two")
    assert await watch.look_at_disk() == "disk"
    second.unlink()
    first.unlink()
    assert await watch.look_at_disk() is None


@pytest.mark.anyio
async def test_too_many_files_are_too_much_however_small(tmp_path: Path) -> None:
    watch = Watch(Limits(files=5), None, (tmp_path,))
    await watch.look_before()
    for number in range(6):
        (tmp_path / f"{number}").touch()
    assert await watch.look_at_disk() == "disk"


@pytest.mark.anyio
@pytest.mark.parametrize("is_large", [True, False])
async def test_no_program_begins_in_a_workspace_that_is_far_too_full(tmp_path: Path, is_large: bool) -> None:
    limits = Limits(disk=5 * BLOCK) if is_large else Limits(files=5)
    workspace = tmp_path / "reader" / "workspace"
    workspace.mkdir(parents=True)
    for number in range(9):
        write(workspace / f"{number}")
    await Watch(limits, None, (workspace,)).look_before()  # which may tidy up
    for number in range(9, 12):
        write(workspace / f"{number}")
    await anyio.sleep(0.11)  # for that long, what was measured is good enough
    with pytest.raises(SandboxError, match=r"in 12 files, more than 2 times what they may") as refused:
        await Watch(limits, None, (workspace,)).look_before()
    remedy = f"delete files in {workspace}, or run satchel agents clear-workspace reader"
    assert refused.value.hint == remedy


@pytest.mark.anyio
async def test_files_that_were_deleted_a_moment_ago_keep_no_program_from_beginning(tmp_path: Path) -> None:
    first, second = (Watch(Limits(files=5), None, (tmp_path,)) for _ in range(2))
    files = [write(tmp_path / f"{number}") for number in range(12)]
    with pytest.raises(SandboxError):
        await first.look_before()
    for file in files[5:]:
        file.unlink()
    await second.look_before()


def test_a_walk_that_took_long_is_good_for_others_for_a_while(tmp_path: Path) -> None:
    for share, seen in ((1e9, 1), (0, 2)):
        shared = SharedMeasure((tmp_path,), 100, share=share)
        write(tmp_path / f"one-{share}")
        before = shared.measure().files
        write(tmp_path / f"two-{share}")
        time.sleep(0.11)
        assert shared.measure().files == before + seen - 1
        shared.forget()
        assert shared.measure().files == before + 1


def test_looks_at_all_processes_are_shared_for_a_while() -> None:
    everybody = AllProcesses()
    known = everybody.children(0)(os.getpid())
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert everybody.children(1_000)(os.getpid()) == known
        assert process.pid in everybody.children(0)(os.getpid())
        process.kill()


class Noted(FairThreads):
    """Threads that note whose work they did."""

    def __init__(self) -> None:
        super().__init__(1, "test-look")
        self.agents: list[str] = []

    async def run(self, agent: str, work: Callable[[], Result]) -> Result:
        self.agents.append(agent)
        return await super().run(agent, work)


@pytest.mark.anyio
@pytest.mark.parametrize("moment", [0.0, 1_000.0])
async def test_a_look_that_takes_longer_than_a_moment_is_done_in_the_agents_thread(
    tmp_path: Path, moment: float
) -> None:
    own = tmp_path / "workspace"
    own.mkdir()
    threads = Noted()
    aside = Aside(threads, str(tmp_path), moment)
    watch = Watch(Limits(cpu_seconds=0.5), None, (own,), aside=aside)
    await watch.look_before()
    with subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) as process:
        with anyio.fail_after(LONG):
            assert await watch.until_exceeded(process.pid) == "cpu"
        process.kill()
    assert set(threads.agents) == ({str(tmp_path)} if moment == 0 else set())


def test_what_processes_have_the_kernel_watch_is_counted() -> None:
    code = """
import os, select, sys
held = [os.eventfd(0) for number in range(20)]
polls = [select.epoll() for number in range(3)]
for poll in polls:
    for descriptor in held:
        poll.register(descriptor)
print(flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert watched_descriptors([process.pid], 1_000, Deadline(LONG)) == 60
        assert watched_descriptors([process.pid, process.pid], 1_000, Deadline(LONG)) == 120
        assert watched_descriptors([process.pid] * 100, 50, Deadline(LONG)) <= 60
        with pytest.raises(TooMuchError):
            watched_descriptors([process.pid], 1_000, Deadline(0))
        process.kill()
    assert watched_descriptors([process.pid], 1_000, Deadline(LONG)) == 0


def test_a_program_may_have_a_part_of_what_the_kernel_watches_for_a_user(tmp_path: Path) -> None:
    kernel = tmp_path / "max_user_watches"
    for said, most in (("6400", 100), ("64000000", 50_000), ("?", 50_000)):
        kernel.write_text(said)
        assert most_watched_descriptors(kernel) == most
    assert most_watched_descriptors(tmp_path / "missing") == 50_000


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


@pytest.mark.anyio
async def test_what_is_the_users_own_counts_as_it_grows_and_is_never_tidied(tmp_path: Path) -> None:
    own, granted = tmp_path / "own", tmp_path / "granted"
    own.mkdir()
    deep = granted.joinpath(*["d"] * 80)
    deep.mkdir(parents=True)
    precious = write(deep / "precious")
    closed = granted / "closed"
    closed.mkdir(mode=0)
    watch = Watch(Limits(disk=5 * BLOCK), None, (own,), (granted,))
    await watch.look_before()
    assert await watch.look_at_disk() is None
    assert precious.exists() and closed.stat().st_mode & 0o777 == 0
    write(granted / "more", blocks=10)
    assert await watch.look_at_disk() == "disk"


@pytest.mark.anyio
async def test_the_memory_of_another_agent_is_tidied_once_nothing_of_either_runs(tmp_path: Path) -> None:
    own, other = tmp_path / "agents/a/workspace", tmp_path / "agents/b/memory"
    own.mkdir(parents=True)
    other.joinpath(*["d"] * 70).mkdir(parents=True)
    with in_use(other.parent) as is_free, pytest.raises(SandboxError, match=f"and {other} can't be measured"):
        assert is_free
        await Watch(Limits(), None, (own, other)).look_before()
    assert not measure([other], 1_000).whole
    await Watch(Limits(), None, (own, other)).look_before()
    assert measure([other], 1_000).whole


@pytest.mark.anyio
async def test_a_memory_that_a_person_keeps_counts_and_is_never_tidied(tmp_path: Path) -> None:
    own, memory, deep = tmp_path / "agents/a/workspace", tmp_path / "notes", tmp_path / "deep"
    for directory in (own, memory, deep.joinpath(*["d"] * 70)):
        directory.mkdir(parents=True)
    watch = Watch(Limits(disk=5 * BLOCK), None, (own, memory))
    await watch.look_before()
    write(memory / "more", blocks=10)
    assert await watch.look_at_disk() == "disk"
    with pytest.raises(SandboxError, match="nor in a directory of your own"):
        await Watch(Limits(), None, (own, deep)).look_before()
    assert not measure([deep], 1_000).whole
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.anyio
async def test_what_is_hidden_in_granted_directories_counts_as_too_much(tmp_path: Path) -> None:
    own, granted = tmp_path / "own", tmp_path / "granted"
    own.mkdir()
    granted.joinpath("before", *["d"] * 80).mkdir(parents=True)
    watch = Watch(Limits(disk=1_000 * BLOCK), None, (own,), (granted,))  # not for the directories themselves
    await watch.look_before()
    assert await watch.look_at_disk() is None
    deep = granted.joinpath("hidden", *["d"] * 80)
    deep.mkdir(parents=True)
    write(deep / "file", blocks=2_000)
    assert await watch.look_at_disk() == "disk"


@pytest.mark.anyio
async def test_a_workspace_is_tidied_only_while_no_program_of_the_agent_runs(tmp_path: Path) -> None:
    own = tmp_path / "workspace"
    own.joinpath(*["d"] * 70).mkdir(parents=True)
    with in_use(tmp_path) as is_free, pytest.raises(SandboxError, match="another program of the agent runs"):
        assert is_free
        await Watch(Limits(), None, (own,)).look_before()
    with alone(tmp_path) as is_alone, in_use(tmp_path) as is_free:
        assert is_alone and not is_free
    await Watch(Limits(), None, (own,)).look_before()
    assert measure([own], 1_000).whole


@pytest.mark.anyio
async def test_an_agent_with_much_to_look_at_keeps_only_itself_waiting(tmp_path: Path) -> None:
    threads = FairThreads(2, "test")
    end = threading.Event()
    busy, other = tmp_path / "busy/workspace", tmp_path / "other/workspace"
    for directory in (busy, other):
        directory.mkdir(parents=True)
        for number in range(300):  # so many that they are measured in a thread
            (directory / f"{number}").touch()
    looks = [threads.submit(str(busy.parent), lambda: end.wait(LONG)) for _ in range(5)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Watch(Limits(), None, (busy,), threads=threads).look_before)
        with anyio.fail_after(LONG):
            await Watch(Limits(), None, (other,), threads=threads).look_before()
        assert not any(look.done() for look in looks)
        end.set()
    assert all(look.result(LONG) for look in looks)


def test_time_of_processes_that_nobody_waits_for_counts_on() -> None:
    code = """
import sys, time
while time.process_time() < 0.3:
    pass
print(flush=True)
sys.stdin.read()
"""
    clock = CpuClock()
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert clock.seconds([process.pid]) >= 0.2
    assert clock.seconds([]) >= 0.2


def test_memory_is_found_behind_a_first_thread_that_has_ended() -> None:
    code = """
import ctypes, sys, threading
def hold():
    held = bytearray(60_000_000)
    held[::4096] = b"x" * len(held[::4096])
    print(flush=True)
    sys.stdin.buffer.raw.read(1)
    ctypes.CDLL(None)._exit(0)
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall(60 if ctypes.sizeof(ctypes.c_long) == 8 and sys.argv[1] == "x86_64" else 93, 0)
"""
    machine = os.uname().machine
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code, machine], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert quick_memory([process.pid]) > 60_000_000
        assert exact_memory([process.pid], Deadline(LONG)) > 55_000_000
        with pytest.raises(TooMuchError):
            exact_memory([process.pid], Deadline(0))
        process.kill()


def test_a_shared_mapping_counts_as_far_as_it_reaches_however_it_is_cut() -> None:
    size = 40 * 1024 * 1024
    shared = mmap.mmap(-1, size)
    protect = ctypes.CDLL(None).mprotect
    start = ctypes.addressof(ctypes.c_char.from_buffer(shared))
    for place in range(0, size, size // 10):
        protect(ctypes.c_void_p(start + place), size // 20, 1)
    before = exact_memory([os.getpid()], Deadline(LONG))
    assert before >= size

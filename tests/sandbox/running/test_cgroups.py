"""Control groups: for real where this machine lets us make some, and on a made-up tree for version 2."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel.sandbox.limits import MIB, Limits
from satchel.sandbox.running.cgroups import CommonGroup, Group, Parents, Usage, find_parents, sweep

LIMITS = Limits(memory=64 * MIB, processes=10)


@pytest.fixture
def group() -> Iterator[Group]:
    """A real one, of version 1."""
    parents = find_parents()
    if parents is None or parents.version != 1:
        pytest.skip("this process can make no control groups of version 1")
    group = Group(parents, LIMITS)
    yield group
    assert group.remove()


def run_inside(group: Group, code: str) -> subprocess.CompletedProcess[bytes]:
    """A Python program that joins the groups before anything else."""
    joining = "".join(f"open({str(path)!r}, 'w').write('0')\n" for path in group.join_files)
    return subprocess.run([sys.executable, "-S", "-c", joining + code], capture_output=True, timeout=60)


def test_a_program_that_takes_more_memory_than_its_group_has_is_killed_and_counted(group: Group) -> None:
    assert run_inside(group, "pass").returncode == 0
    assert group.usage().out_of_memory is False
    assert run_inside(group, "x = b'x' * (200 << 20)").returncode == -9
    assert group.usage().out_of_memory is True


@pytest.mark.slow
def test_the_time_that_a_group_has_used_is_counted(group: Group) -> None:
    code = "import time\nend = time.process_time() + 0.15\nwhile time.process_time() < end: pass"
    assert run_inside(group, code).returncode == 0
    used = group.usage().cpu_seconds
    if used is None:
        pytest.skip("the controller cpuacct is not here")
    assert 0.14 < used < 5


@pytest.mark.slow
def test_more_processes_than_a_group_may_have_are_refused_and_counted(group: Group) -> None:
    if len(group.join_files) < 3:
        pytest.skip("the controller pids is not here")
    assert group.usage().out_of_processes is False
    code = (
        "import os, time\n"
        "made = 0\n"
        "for _ in range(30):\n"
        "    try:\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(0.2); os._exit(0)\n"
        "        made += 1\n"
        "    except BlockingIOError:\n"
        "        pass\n"
        "print(made)\n"
        "while made: os.wait(); made -= 1\n"
    )
    done = run_inside(group, code)
    assert int(done.stdout) == LIMITS.processes + 2 - 1  # bubblewrap's two, and the first of all
    assert group.usage().out_of_processes is True


def test_a_group_with_something_in_it_is_not_removed() -> None:
    parents = find_parents()
    if parents is None or parents.version != 1:
        pytest.skip("this process can make no control groups of version 1")
    group = Group(parents, LIMITS)
    with subprocess.Popen(["/bin/sleep", "60"]) as process:
        for path in group.join_files:
            path.write_text(str(process.pid))
        assert group.remove() is False
        process.kill()
    while not group.remove():
        pass
    assert not any(path.parent.exists() for path in group.join_files)


# Version 2, as files in a directory. What needs a kernel is not tested here.


def unified(directory: Path, enabled: str = "cpu memory pids") -> tuple[Path, Path]:
    """(the root, the file that says which group we are in) of a made-up tree."""
    ours = directory / "cgroup/user.slice/satchel.scope"
    ours.mkdir(parents=True)
    (directory / "cgroup/cgroup.controllers").write_text("cpu io memory pids\n")
    (ours / "cgroup.subtree_control").write_text(enabled + "\n")
    own = directory / "own"
    own.write_text("0::/user.slice/satchel.scope\n")
    return directory / "cgroup", own


@pytest.mark.slow
def test_version_2_is_used_where_memory_and_processes_can_be_limited(tmp_path: Path) -> None:
    root, own = unified(tmp_path)
    parents = find_parents(root, own)
    assert parents == Parents(version=2, directories={"unified": root / "user.slice/satchel.scope"})


@pytest.mark.slow
def test_in_version_2_the_next_group_above_is_used_where_ours_passes_nothing_on(tmp_path: Path) -> None:
    root, own = unified(tmp_path, "")
    (root / "user.slice/cgroup.subtree_control").write_text("memory pids\n")
    assert find_parents(root, own) == Parents(version=2, directories={"unified": root / "user.slice"})


def test_looking_for_groups_leaves_none() -> None:
    parents = find_parents()
    if parents is None:
        pytest.skip("this process can make no control groups")
    for directory in parents.directories.values():
        assert list(directory.glob(f"satchel-{os.getpid()}-*trial*")) == []


@pytest.mark.parametrize("enabled", ["", "cpu", "memory", "cpu pids"])
def test_version_2_without_the_controllers_is_not_used(tmp_path: Path, enabled: str) -> None:
    assert find_parents(*unified(tmp_path, enabled)) is None


def test_a_group_that_is_not_there_or_not_ours_is_not_used(tmp_path: Path) -> None:
    root, own = unified(tmp_path)
    own.write_text("0::/elsewhere\n")
    assert find_parents(root, own) is None
    assert find_parents(root, tmp_path / "missing") is None


@pytest.mark.slow
def test_version_1_is_found_by_its_controllers_and_needs_that_of_memory(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("4:memory:/box\n3:cpu,cpuacct:/\n2:pids:/gone\n1:name=systemd:/\n0::/\n")
    (tmp_path / "cpuacct").mkdir()
    assert find_parents(tmp_path, own) is None
    (tmp_path / "memory/box").mkdir(parents=True)
    assert find_parents(tmp_path, own) == Parents(
        version=1, directories={"memory": tmp_path / "memory/box", "cpuacct": tmp_path / "cpuacct"}
    )


def test_the_limits_of_an_execution_are_written_to_its_group(tmp_path: Path) -> None:
    parents = Parents(version=2, directories={"unified": tmp_path})
    group = Group(parents, LIMITS)
    (path,) = [file.parent for file in group.join_files]
    assert path.parent == parents.directories["unified"]
    assert path.name.startswith(f"satchel-{os.getpid()}-")
    written = {file.name: file.read_text() for file in path.iterdir()}
    assert written == {
        "memory.max": str(64 * MIB),
        "pids.max": "12",  # with bubblewrap's two
        "memory.swap.max": "0",
        "memory.oom.group": "1",
        "cpu.weight": "50",
    }
    assert Group(parents, LIMITS).join_files != group.join_files


def test_what_a_group_has_used_is_read_from_its_files(tmp_path: Path) -> None:
    parents = Parents(version=2, directories={"unified": tmp_path})
    group = Group(parents, LIMITS)
    assert group.usage() == Usage(cpu_seconds=None, out_of_memory=False, out_of_processes=False)
    path = group.join_files[0].parent
    (path / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1000000\n")
    (path / "memory.events").write_text("low 0\nmax 7\noom 1\noom_kill 0\n")
    (path / "pids.events").write_text("max 0\n")
    assert group.usage() == Usage(cpu_seconds=1.5, out_of_memory=False, out_of_processes=False)
    (path / "memory.events").write_text("low 0\nmax 7\noom 1\noom_kill 1\n")
    (path / "pids.events").write_text("max 3\n")
    assert group.usage() == Usage(cpu_seconds=1.5, out_of_memory=True, out_of_processes=True)


def test_a_group_whose_limits_can_not_be_set_is_not_used_and_not_left(tmp_path: Path) -> None:
    directory = tmp_path / "memory"
    directory.mkdir()
    # Not all of its parents are there: the second can't be made.
    parents = Parents(version=1, directories={"memory": directory, "pids": tmp_path / "gone"})
    with pytest.raises(OSError, match="gone"):
        Group(parents, LIMITS)
    assert list(directory.iterdir()) == []


def test_what_the_dead_left_is_swept_and_what_the_living_use_is_not(tmp_path: Path) -> None:
    started = Path(f"/proc/{os.getpid()}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    with subprocess.Popen(["/bin/true"]) as dead:
        dead.wait()
    ours = tmp_path / f"satchel-{os.getpid()}-{started}-1"
    names = (
        ours.name,
        f"satchel-{dead.pid}-{started}-1",  # its process is gone
        f"satchel-{os.getpid()}-1-1",  # its number belongs to another now
        "satchel-notes-of-mine",
        "other-1-2-3",
    )
    for name in names:
        (tmp_path / name).mkdir()
    sweep(Parents(version=2, directories={"unified": tmp_path}))
    assert {path.name for path in tmp_path.iterdir()} == {ours.name, "satchel-notes-of-mine", "other-1-2-3"}


def test_a_group_for_others_lets_them_count_and_bounds_them(tmp_path: Path) -> None:
    parents = Parents(version=2, directories={"unified": tmp_path})
    place = tmp_path / "satchel-user-7"
    place.mkdir()
    (place / "cgroup.controllers").write_text("cpuset cpu memory pids\n")
    (place / "cpu.weight").write_text("100\n")
    common = CommonGroup(parents, user=7)
    assert common.inside.directories == {"unified": place}
    assert (place / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"
    assert int((place / "cpu.weight").read_text()) == 100 * max(1, (os.cpu_count() or 1) - 1)
    common.limit(memory=64 * MIB, processes=10)
    assert common.limits == (64 * MIB, 10)
    (place / "memory.current").write_text("4096\n")
    assert common.usage() == 4096
    own = CommonGroup(common.inside)
    assert own.limits == (None, None)
    box = Group(own.inside, LIMITS)
    assert box.join_files[0].parent.parent == own.inside.directories["unified"]
    assert own.remove() is False


def test_what_a_group_may_have_and_what_all_may_have_are_told_apart(tmp_path: Path) -> None:
    group = Group(Parents(version=2, directories={"unified": tmp_path}), LIMITS)
    path = group.join_files[0].parent
    (path / "memory.events").write_text("max 0\noom 0\noom_kill 1\n")
    assert group.is_within_its_memory()
    (path / "memory.events").write_text("max 9\noom 1\noom_kill 1\n")
    assert not group.is_within_its_memory()
    (path / "memory.current").write_text("6000\n")
    table = "anon 100\nkernel 900\nshmem 20\nactive_file 3000\ninactive_file 2000\nslab_reclaimable 200\n"
    (path / "memory.stat").write_text(table)
    assert group.memory() == 800  # what the kernel holds for its sockets included
    assert not group.is_within_its_processes()  # this kernel does not tell
    for peak, within in ((9, True), (10, False)):
        (path / "pids.peak").write_text(f"{peak}\n")
        assert group.is_within_its_processes() is within


def test_what_the_dead_left_is_swept_with_what_is_in_it(tmp_path: Path) -> None:
    with subprocess.Popen(["/bin/true"]) as dead:
        dead.wait()
    left = tmp_path / f"satchel-{dead.pid}-1-all2"
    (left / f"satchel-{dead.pid}-1-all3" / f"satchel-{dead.pid}-1-4").mkdir(parents=True)
    (tmp_path / "satchel-user-0").mkdir()
    sweep(Parents(version=2, directories={"unified": tmp_path}))
    assert [path.name for path in tmp_path.iterdir()] == ["satchel-user-0"]


def test_all_groups_together_are_bounded_for_real() -> None:
    parents = find_parents()
    if parents is None or parents.version != 1:
        pytest.skip("this process can make no control groups of version 1")
    common = CommonGroup(parents)
    common.limit(memory=80 * MIB, processes=100)
    group = Group(common.inside, Limits(memory=500 * MIB, processes=10))
    try:
        assert common.limits[0] == 80 * MIB
        assert run_inside(group, "x = b'x' * (200 << 20)").returncode == -9
        assert group.usage().out_of_memory and group.is_within_its_memory()
    finally:
        assert group.remove() and common.remove()

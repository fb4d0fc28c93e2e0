"""Control groups, where this process may make them: one for each execution, for memory, processes and time.

Version 1 (a directory per controller) and version 2 (one for all). A group bears the name of the process that
made it, so that what a killed Satchel left behind can be told from what is in use. Those of executions lie in
groups that bound all of them together: one of their agent, in one of this Satchel, in one of all Satchels of
the user.

    satchel-user-UID / satchel-PID-START-allN / satchel-PID-START-allN / satchel-PID-START-N
"""

import itertools
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from satchel.sandbox.limits import Limits

_PREFIX = "satchel-"
_BUBBLEWRAP = 2  # processes of its own, which are inside as well
_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Usage:
    """A group's use so far; None if nothing counts it."""

    cpu_seconds: float | None = None
    out_of_memory: bool = False
    out_of_processes: bool = False


@dataclass(frozen=True, kw_only=True)
class Parents:
    """Where groups can be made: by controller, the directory to make them in."""

    version: int
    directories: Mapping[str, Path]


def find_parents(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> Parents | None:
    """The groups in which this process may make others; None if there are none."""
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        return None
    found: dict[str, Path] = {}
    for _, names, path in lines:
        for name in names.split(","):
            if name in ("memory", "pids", "cpuacct", "cpu"):
                directory = root / name / path.lstrip("/")
                if _can_make(directory):
                    found[name] = directory
    if "memory" in found:
        return Parents(version=1, directories=found)
    for number, _, path in lines:
        if number == "0" and (root / "cgroup.controllers").exists():
            return _find_unified(root, root / path.lstrip("/"))
    return None


def _find_unified(root: Path, own: Path) -> Parents | None:
    """In version 2 a group with processes can't pass controllers on: so its own, or the next one above."""
    for directory in (own, *own.parents):
        if not directory.is_relative_to(root):
            return None
        enabled = _read_words(directory / "cgroup.subtree_control")
        if {"memory", "pids"} <= enabled and _can_make(directory):
            return Parents(version=2, directories={"unified": directory})
    return None


class CommonGroup:
    """Groups for others to be made in, which together have one limit. Bounds nothing by itself."""

    def __init__(self, parents: Parents, *, user: int | None = None) -> None:
        """One of this Satchel's own, or, with `user`, the one of all Satchels of that user."""
        own = f"{os.getpid()}-{_own_start_time(os.getpid())}-all{next(_numbers)}"
        name = _PREFIX + (own if user is None else f"user-{user}")
        directories = {controller: parent / name for controller, parent in parents.directories.items()}
        self.inside = Parents(version=parents.version, directories=directories)
        """Where to make the others."""
        try:
            for path in directories.values():
                with suppress(FileExistsError):
                    os.mkdir(path)
                self._pass_on(path)
        except OSError:
            self.remove()
            raise

    def _pass_on(self, path: Path) -> None:
        """Let groups in this one count, and leave a core for Satchel however many programs want them all."""
        others = max(1, (os.cpu_count() or 1) - 1)
        if self.inside.version == 1:
            files = {"memory.use_hierarchy": "1", "cpu.shares": str(1024 * others)}
        else:
            files = {"cpu.weight": str(min(10_000, 100 * others))}
            controllers = _read_words(path / "cgroup.controllers") & {"memory", "pids", "cpu"}
            if controllers:
                passed_on = " ".join(f"+{name}" for name in sorted(controllers))
                _write(path / "cgroup.subtree_control", passed_on)
        for name, text in files.items():
            if (path / name).exists():
                with suppress(OSError):  # the kernel may have decided it already
                    _write(path / name, text)

    def limit(self, *, memory: int, processes: int) -> None:
        """Bound all groups together. Less than is in use now can't be had everywhere."""
        directories = self.inside.directories
        if self.inside.version == 2:
            group = directories["unified"]
            with suppress(OSError):
                _write(group / "memory.max", str(memory))
            with suppress(OSError):
                _write(group / "memory.swap.max", "0")
            with suppress(OSError):
                _write(group / "pids.max", str(processes))
            return
        # The limit with swap is never the smaller one, so the order depends on where it comes from.
        for name in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.limit_in_bytes"):
            with suppress(OSError):
                _write(directories["memory"] / name, str(memory))
        if "pids" in directories:
            with suppress(OSError):
                _write(directories["pids"] / "pids.max", str(processes))

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """(memory, processes) as the kernel has them; None for what is not bounded."""
        directories, version = self.inside.directories, self.inside.version
        if version == 2:
            group = directories["unified"]
            return _read_number(group / "memory.max"), _read_number(group / "pids.max")
        processes = _read_number(directories["pids"] / "pids.max") if "pids" in directories else None
        return _read_number(directories["memory"] / "memory.limit_in_bytes"), processes

    def usage(self) -> int:
        """The memory charged to all groups together, including files that the kernel keeps in memory."""
        if self.inside.version == 2:
            return _read_number(self.inside.directories["unified"] / "memory.current") or 0
        return _read_number(self.inside.directories["memory"] / "memory.usage_in_bytes") or 0

    def remove(self) -> bool:
        """Take it away; false while there are others in it."""
        return _remove(self.inside.directories.values())


class Group:
    """The groups of one execution."""

    def __init__(self, parents: Parents, limits: Limits) -> None:
        self._version = parents.version
        name = f"{_PREFIX}{os.getpid()}-{_own_start_time(os.getpid())}-{next(_numbers)}"
        self._paths = {controller: parent / name for controller, parent in parents.directories.items()}
        try:
            for path in self._paths.values():
                os.mkdir(path)
            self._set_limits(limits)
        except OSError:
            self.remove()
            raise

    def _set_limits(self, limits: Limits) -> None:
        processes = limits.processes + _BUBBLEWRAP
        if self._version == 2:
            group = self._paths["unified"]
            _write(group / "memory.max", str(limits.memory))
            _write(group / "pids.max", str(processes))
            with suppress(OSError):
                _write(group / "memory.swap.max", "0")
            with suppress(OSError):
                _write(group / "memory.oom.group", "1")
            with suppress(OSError):  # where the controller is passed on
                _write(group / "cpu.weight", "50")
            return
        _write(self._paths["memory"] / "memory.limit_in_bytes", str(limits.memory))
        with suppress(OSError):  # only where swap is counted
            _write(self._paths["memory"] / "memory.memsw.limit_in_bytes", str(limits.memory))
        if "pids" in self._paths:
            _write(self._paths["pids"] / "pids.max", str(processes))
        if "cpu" in self._paths:  # half of what others have, all processes together
            _write(self._paths["cpu"] / "cpu.shares", "512")

    @property
    def join_files(self) -> list[Path]:
        """A process that writes its number to each of these is inside."""
        return [path / "cgroup.procs" for path in self._paths.values()]

    def usage(self) -> Usage:
        if self._version == 2:
            group = self._paths["unified"]
            microseconds = _read_table(group / "cpu.stat").get("usage_usec")
            return Usage(
                cpu_seconds=None if microseconds is None else microseconds / 1e6,
                out_of_memory=_read_table(group / "memory.events").get("oom_kill", 0) > 0,
                out_of_processes=_read_table(group / "pids.events").get("max", 0) > 0,
            )
        nanoseconds = (
            _read_number(self._paths["cpuacct"] / "cpuacct.usage") if "cpuacct" in self._paths else None
        )
        killed = _read_table(self._paths["memory"] / "memory.oom_control").get("oom_kill", 0)
        refused = (
            _read_table(self._paths["pids"] / "pids.events").get("max", 0) if "pids" in self._paths else 0
        )
        return Usage(
            cpu_seconds=None if nanoseconds is None else nanoseconds / 1e9,
            out_of_memory=killed > 0,
            out_of_processes=refused > 0,
        )

    def is_within_its_memory(self) -> bool:
        """Whether it never came to its own limit: what was killed in it then is for that of all together."""
        if self._version == 2:
            return _read_table(self._paths["unified"] / "memory.events").get("oom", 0) == 0
        return _read_number(self._paths["memory"] / "memory.failcnt") == 0

    def is_within_its_processes(self) -> bool:
        """Whether it never had as many as it may; unknown to older kernels."""
        path = self._paths.get("unified" if self._version == 2 else "pids")
        if path is None:
            return False
        peak, most = _read_number(path / "pids.peak"), _read_number(path / "pids.max")
        return peak is not None and most is not None and peak < most - _BUBBLEWRAP

    def memory(self) -> int:
        """Its memory that can't be reclaimed: not files that the kernel keeps in memory.

        What the kernel holds for it, such as the buffers of its sockets, fills the group as well.
        """
        path = self._paths["unified" if self._version == 2 else "memory"]
        used = _read_number(path / ("memory.current" if self._version == 2 else "memory.usage_in_bytes"))
        table = _read_table(path / "memory.stat")
        kept = ("active_file", "inactive_file", "slab_reclaimable")  # the last one in version 2 only
        return max(0, (used or 0) - sum(table.get(name, 0) for name in kept))

    def cpu_seconds(self) -> float | None:
        """The processor time used so far, alone; None where nothing counts it."""
        if self._version == 2 or "cpuacct" not in self._paths:
            return self.usage().cpu_seconds
        nanoseconds = _read_number(self._paths["cpuacct"] / "cpuacct.usage")
        return None if nanoseconds is None else nanoseconds / 1e9

    def kill(self) -> None:
        """End all processes inside, wherever they came from."""
        for file in self.join_files:
            with suppress(OSError, ValueError):
                for process in map(int, file.read_text().split()):
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)

    def remove(self) -> bool:
        """Take the groups away; false while something is still dying in one."""
        return _remove(self._paths.values())


def _remove(paths: Iterable[Path]) -> bool:
    gone = True
    for path in paths:
        try:
            path.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            gone = False
    return gone


def sweep(parents: Parents) -> None:
    """Remove what Satchels that were killed left behind."""
    for directory in parents.directories.values():
        for path in directory.glob(f"{_PREFIX}*-*-*"):
            owner, _, started = path.name.removeprefix(_PREFIX).partition("-")
            started = started.rpartition("-")[0]
            if owner.isdigit() and _start_time(int(owner)) != started:
                _remove(Path(place) for place, _, _ in os.walk(path, topdown=False))


def _can_make(directory: Path) -> bool:
    """Whether a process can be put into a group that is made there, by doing so."""
    trial = directory / f"{_PREFIX}{os.getpid()}-{_start_time(os.getpid())}-trial{next(_numbers)}"
    try:
        trial.mkdir()
    except OSError:
        return False
    try:
        joining = ["/bin/sh", "-c", 'echo $$ > "$1"', "sh", str(trial / "cgroup.procs")]
        return subprocess.run(joining, stderr=subprocess.DEVNULL, check=False, timeout=10).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        _remove_soon(trial)


def _remove_soon(path: Path) -> None:
    """A group is empty a moment after its last process has ended."""
    for _ in range(100):
        try:
            path.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.005)


def _start_time(process: int) -> str:
    """When a process started, in ticks since the machine did; empty when it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""


_own_start_time = cache(_start_time)  # by process: a fork is another one


def _read_words(path: Path) -> set[str]:
    try:
        return set(path.read_text().split())
    except OSError:
        return set()


def _write(path: Path, text: str) -> None:
    """At once, as a file of the kernel wants it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _read_table(path: Path) -> dict[str, int]:
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
        return {row[0]: int(row[1]) for row in rows if len(row) == 2}
    except (OSError, ValueError):
        return {}


def _read_number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None

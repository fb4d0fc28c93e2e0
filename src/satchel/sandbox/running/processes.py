"""The resources that the processes of a box use, from `/proc`: for machines without control groups."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_WALL_TIME = 10  # times the processor time that a look may take
_CHUNK = 1 << 16
_WITHOUT_FILE = ("/dev/zero", "/memfd:", "/SYSV")
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MOST = 10_000
_EPOLL = "anon_inode:[eventpoll]"
_LINES_OF_ANY = 4  # pos, flags, mnt_id and ino: what fdinfo says of any descriptor
_MOST_WATCHED = 50_000  # far more than a program needs, and few enough to be counted in a moment
_FAIR_SHARE = 64  # of what the kernel watches for a user, for one program


class Deadline:
    """How long a look at processes may take. A program that has more to look at has too much.

    The processor time of this thread counts, because a program is not to blame for a busy machine. A look
    that is kept waiting ends as well, only later.
    """

    def __init__(self, seconds: float) -> None:
        self._processor = time.thread_time() + seconds
        self._wall = time.monotonic() + _WALL_TIME * seconds

    def has_passed(self) -> bool:
        return time.thread_time() > self._processor or time.monotonic() > self._wall


class TooMuchError(Exception):
    """There is more to look at than a look has time for."""


def descendants(process: int, *, age: float = 0) -> list[int]:
    """The processes below one, itself not included. What leaves its parent goes to the box's first one.

    Where all processes of the machine have to be looked at, a look that is at most `age` seconds old will do.
    """
    children_of = _listed_children if _has_children_files() else _all.children(age)
    found: list[int] = []
    waiting = [process]
    while waiting and len(found) < _MOST:
        children = children_of(waiting.pop())
        waiting += children
        found += children
    return found


def _listed_children(process: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with suppress(OSError, ValueError):
                found += map(int, Path(f"/proc/{process}/task/{thread}/children").read_text().split())
    return found


@cache
def _has_children_files() -> bool:
    """Kernels are built with and without."""
    return Path(f"/proc/self/task/{threading.get_native_id()}/children").exists()


class AllProcesses:
    """The children of each process, from a look at every process of the machine, as `ps` does it.

    That costs the same for one program as for many, so those that are looked after at the same time share it.
    """

    def __init__(self) -> None:
        self._looking = threading.Lock()
        self._began = float("-inf")
        self._children: dict[int, list[int]] = {}

    def children(self, age: float) -> Callable[[int], list[int]]:
        with self._looking:
            began = time.monotonic()
            if self._began < began - age:
                self._children, self._began = _found_children(), began
            children = self._children
        return lambda process: children.get(process, [])


_all = AllProcesses()


def _found_children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        with suppress(OSError, IndexError, ValueError):
            parent = Path(f"/proc/{int(name)}/stat").read_bytes().rpartition(b")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(name))
    return children


class CpuClock:
    """The processor time of a box. What a process used counts on when it is gone."""

    def __init__(self) -> None:
        self._own: dict[tuple[int, int], float] = {}  # by number and start of every process that was seen

    def seconds(self, processes: Iterable[int]) -> float:
        """Those that were waited for are in their parent's time; those that nobody waits for are not."""
        with_children = 0.0
        for process in processes:
            with suppress(OSError, IndexError, ValueError):
                fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
                own, children = (sum(map(int, fields[at : at + 2])) / _TICKS for at in (11, 13))
                self._own[process, int(fields[19])] = own
                with_children += own + children
        return max(with_children, sum(self._own.values()))


def quick_memory(processes: Iterable[int]) -> int:
    """The memory they hold; shared pages count once for each process."""
    return sum(map(_resident, processes))


def _resident(process: int) -> int:
    with suppress(OSError, IndexError, ValueError):
        return int(Path(f"{living(process)}/statm").read_text().split()[1]) * _PAGE
    return 0


def watched_descriptors(processes: Iterable[int], most: int, deadline: Deadline) -> int:
    """How many descriptors processes have the kernel watch (epoll), counted up to a few more than `most`.

    An epoll that several processes or threads have counts for each: nobody could tell it from others.
    TooMuchError where there is more to look at than the deadline has time for.
    """
    found = 0
    for process in processes:
        for thread in _listed(f"/proc/{process}/task"):  # each may have descriptors of its own
            place = f"/proc/{process}/task/{thread}"
            for number in _listed(f"{place}/fd"):
                if deadline.has_passed():
                    raise TooMuchError
                with suppress(OSError):
                    if os.readlink(f"{place}/fd/{number}") == _EPOLL:
                        found += _lines(f"{place}/fdinfo/{number}", most - found)
                if found > most:
                    return found
    return found


def _lines(path: str, most: int) -> int:
    """How many things an epoll watches: each has a line, after a few about the epoll itself."""
    found = -_LINES_OF_ANY
    with open(path, "rb", buffering=0) as lines:
        while found <= most and (chunk := lines.read(_CHUNK)):
            found += chunk.count(b"\n")
    return max(found, 0)


def most_watched_descriptors(kernel: Path = Path("/proc/sys/fs/epoll/max_user_watches")) -> int:
    """How many descriptors a program may have watched; the kernel's total is for the whole user."""
    try:
        return min(_MOST_WATCHED, int(kernel.read_text()) // _FAIR_SHARE)
    except (OSError, ValueError):
        return _MOST_WATCHED


def _listed(directory: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(directory)
    return []


def living(process: int) -> str:
    """Where a process can be read: in itself, or in one of its threads if the first one has ended."""
    place = f"/proc/{process}"
    if Path(f"{place}/statm").read_text().startswith("0 "):
        for thread in os.listdir(f"{place}/task"):
            with suppress(OSError):
                if not Path(f"{place}/task/{thread}/statm").read_text().startswith("0 "):
                    return f"{place}/task/{thread}"
    return place


def exact_memory(processes: Iterable[int], deadline: Deadline) -> int:
    """The memory they hold, each page counted once. TooMuchError if that takes longer than the deadline.

    Memory that was mapped to be shared is there whether or not a process still shows it as its own, so all
    of such a mapping counts.
    """
    private = 0
    shared: dict[tuple[int, int], int] = {}
    for process in processes:
        if deadline.has_passed():
            raise TooMuchError
        with suppress(OSError):
            place = living(process)
            private += _private(place)
            for identity, end in _shared_mappings(place, deadline):
                shared[identity] = max(end, shared.get(identity, 0))
    return private + sum(shared.values())


def _private(place: str) -> int:
    with suppress(OSError, ValueError):
        rows = (line.split() for line in Path(f"{place}/smaps_rollup").read_text().splitlines())
        sizes = {row[0]: int(row[1]) * 1024 for row in rows if len(row) == 3 and row[1].isdigit()}
        return sizes.get("Pss_Anon:", sizes.get("Pss:", 0))
    with suppress(OSError, ValueError, IndexError):  # a thread has no rollup, or it may not be read
        resident, shared = Path(f"{place}/statm").read_text().split()[1:3]
        return (int(resident) - int(shared)) * _PAGE
    return 0


def _shared_mappings(place: str, deadline: Deadline) -> Iterator[tuple[tuple[int, int], int]]:
    """(device and inode, how far it reaches) of memory that has no file and is mapped to be shared."""
    for mapping in mappings(place, _WITHOUT_FILE, deadline):
        if mapping.mode.endswith("s") and mapping.name.startswith(_WITHOUT_FILE):
            yield mapping.identity, mapping.reach


@dataclass(frozen=True, kw_only=True, slots=True)
class Mapping:
    """A line of `/proc/<pid>/maps`."""

    start: int
    end: int
    mode: str
    offset: int
    identity: tuple[int, int]  # device and inode; 0 for the inode of what has no file
    name: str

    @property
    def reach(self) -> int:
        """Up to where it maps its file."""
        return self.offset + self.end - self.start


def mappings(place: str, words: Iterable[str], deadline: Deadline) -> Iterator[Mapping]:
    """The mappings of a process that have one of `words` in their line.

    A process can have a million of them: no more is read than the deadline has time for.
    """
    wanted = [word.encode() for word in words]
    with suppress(OSError, ValueError), open(f"{place}/maps", "rb", buffering=_CHUNK) as lines:
        for number, line in enumerate(lines):
            if number % 1_000 == 0 and deadline.has_passed():
                raise TooMuchError
            if any(word in line for word in wanted):
                yield _mapping(line.decode("utf-8", "replace"))


def _mapping(line: str) -> Mapping:
    span, mode, offset, device, inode, *name = line.split(maxsplit=5)
    start, end = (int(part, 16) for part in span.split("-"))
    return Mapping(
        start=start,
        end=end,
        mode=mode,
        offset=int(offset, 16),
        identity=(os.makedev(*(int(part, 16) for part in device.split(":"))), int(inode)),
        name=name[0].rstrip() if name else "",
    )

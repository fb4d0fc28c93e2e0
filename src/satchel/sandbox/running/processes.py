"""What the processes of a box use, by what `/proc` says of them: where no control group counts it."""

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


def descendants(process: int) -> list[int]:
    """The processes below one, itself not included. What leaves its parent goes to the box's first one."""
    children_of = _listed_children if _has_children_files() else _found_children()
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


def _found_children() -> Callable[[int], list[int]]:
    """By a look at every process of the machine, as `ps` does it."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        with suppress(OSError, IndexError, ValueError):
            parent = Path(f"/proc/{int(name)}/stat").read_bytes().rpartition(b")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(name))
    return lambda process: children.get(process, [])


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
    """What they hold; pages that several share count several times."""
    return sum(map(_resident, processes))


def _resident(process: int) -> int:
    with suppress(OSError, IndexError, ValueError):
        return int(Path(f"{living(process)}/statm").read_text().split()[1]) * _PAGE
    return 0


def living(process: int) -> str:
    """Where a process can be read: in itself, or, when its first thread has ended, in another of them."""
    place = f"/proc/{process}"
    if Path(f"{place}/statm").read_text().startswith("0 "):
        for thread in os.listdir(f"{place}/task"):
            with suppress(OSError):
                if not Path(f"{place}/task/{thread}/statm").read_text().startswith("0 "):
                    return f"{place}/task/{thread}"
    return place


def exact_memory(processes: Iterable[int], deadline: Deadline) -> int:
    """What they hold, each page counted once. TooMuchError where that takes longer than the deadline.

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

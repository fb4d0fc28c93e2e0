"""What the processes of a box use, by what `/proc` says of them: where no control group counts it."""

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MOST = 10_000


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


def cpu_seconds(processes: Iterable[int]) -> float:
    """What they, and those they have waited for, have used."""
    return sum(map(_cpu_seconds, processes))


def _cpu_seconds(process: int) -> float:
    with suppress(OSError, IndexError, ValueError):
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
        return sum(map(int, fields[11:15])) / _TICKS
    return 0.0


def quick_memory(processes: Iterable[int]) -> int:
    """What they hold; pages that several share count several times."""
    total = 0
    for process in processes:
        with suppress(OSError, IndexError, ValueError):
            total += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    return total


def exact_memory(processes: Iterable[int]) -> int:
    """What they hold, each page counted once. Takes a while.

    Memory that was mapped to be shared is there whether or not a process still shows it as its own, so all
    of such a mapping counts.
    """
    private = 0
    shared: dict[str, int] = {}
    for process in processes:
        private += _private(process)
        for identity, length in _shared_mappings(process):
            shared[identity] = max(length, shared.get(identity, 0))
    return private + sum(shared.values())


def _private(process: int) -> int:
    with suppress(OSError, ValueError):
        rows = (line.split() for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines())
        sizes = {row[0]: int(row[1]) * 1024 for row in rows if len(row) == 3 and row[1].isdigit()}
        return sizes.get("Pss_Anon:", sizes.get("Pss:", 0))
    return 0


def _shared_mappings(process: int) -> Iterable[tuple[str, int]]:
    """(device and inode, length) of memory that has no file and is mapped to be shared."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{process}/maps").read_text(errors="replace").splitlines():
            place, mode, _, device, inode, *name = line.split(maxsplit=5)
            if mode.endswith("s") and name and name[0].startswith(("/dev/zero", "/memfd:", "/SYSV")):
                start, end = (int(part, 16) for part in place.split("-"))
                yield f"{device} {inode}", end - start

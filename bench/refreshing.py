"""Refresh the servers of a project in a process of its own, and print what that took, as JSON.

    python -m bench.refreshing PROJECT

Apart from refresh.py so that memory, and the CPU of children, are those of this refresh alone.
"""

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from satchel import open_satchel


def memory() -> dict[str, float]:
    """Megabytes that are this process's own (`own`), and all it has in memory (`resident`)."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return {}
    sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}
    return {"own": sizes["Private_Clean"] + sizes["Private_Dirty"], "resident": sizes["Rss"]}


def children_cpu() -> float:
    """Seconds of CPU that servers took so far: those that run, and those that have ended already."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = sum(_ticks_below(os.getpid(), _processes()))
    return usage.ru_utime + usage.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


def _processes() -> dict[int, list[tuple[int, int]]]:
    """Parent → its running children, each with its own ticks and those of children it has waited for."""
    found: dict[int, list[tuple[int, int]]] = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            fields = (directory / "stat").read_text().rpartition(")")[2].split()
            guardian = b"guardian.py" in (directory / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended meanwhile
        if not guardian:
            ticks = sum(map(int, fields[11:15]))
            found.setdefault(int(fields[1]), []).append((int(directory.name), ticks))
    return found


def _ticks_below(parent: int, processes: dict[int, list[tuple[int, int]]]) -> Iterator[int]:
    for child, ticks in processes.get(parent, []):
        yield ticks
        yield from _ticks_below(child, processes)


async def refresh(project: Path) -> dict[str, Any]:
    async with open_satchel(project) as satchel:
        gc.collect()
        before = memory()
        began = time.perf_counter()
        servers = await satchel.servers.refresh()
        listed = time.perf_counter()
        cpu = children_cpu()
        gc.collect()
        after = memory()
        failed = [server.error for server in servers if server.error]
        leaving = time.perf_counter()
    closed = time.perf_counter()
    return {
        "wall": listed - began,
        "closing": closed - leaving,
        "cpu": cpu,
        "before": before,
        "after": after,
        "failed": failed,
        "tools": sum(len(server.tools) for server in servers),
    }


if __name__ == "__main__":
    print(json.dumps(anyio.run(refresh, Path(sys.argv[1]))))

"""This machine's resources, and the default share of them for all programs together.

The machine is what the control groups around this process leave of it: a container has less than its host.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from satchel.config.settings import CodeExecutionSettings
from satchel.sandbox.limits import MIB, Totals

_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_LEAST_PROGRAMS = 4
_PROGRAMS_PER_CORE = 8  # they mostly wait for tools


def memory_here(root: Path = _ROOT, own: Path = _OWN) -> int:
    """The memory that this process and all it starts can have."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    bounds = _bounds(root, own, "memory", ("memory.limit_in_bytes", "memory.max"))
    return min((physical, *bounds))


def processes_here(root: Path = _ROOT, own: Path = _OWN, kernel: Path = Path("/proc/sys/kernel")) -> int:
    """How many processes and threads there can be."""
    bounds = [
        *_bounds(root, own, "pids", ("pids.max",)),
        *_numbers(kernel / "pid_max", kernel / "threads-max"),
    ]
    return min(bounds, default=32_768)


def memory_for_programs(memory: int) -> int:
    """The share for programs: the rest is for Satchel, its servers and other processes."""
    return memory - max(memory // 4, min(1024 * MIB, memory // 2))


def totals_of(settings: CodeExecutionSettings, agents: int = 1) -> Totals:
    """The totals for all programs, from the settings and this machine, for a number of agents."""
    total, each = settings.total, settings.sandbox
    memory = total.memory_mb * MIB if total.memory_mb is not None else memory_for_programs(memory_here())
    programs = total.programs
    if programs is None:  # few programs hold as much as they may: twice as many as would fit then
        fitting = 2 * memory // (each.memory_mb * MIB)
        programs = max(_LEAST_PROGRAMS, min(fitting, _PROGRAMS_PER_CORE * (os.cpu_count() or 1)))
    processes = total.processes
    if processes is None:  # for programs that run, and as many again for what rests and is kept ready
        processes = min(2 * programs * each.processes, processes_here() // 2)
    return Totals(
        memory=memory,
        processes=processes,
        programs=programs,
        reserve=min(agents - 1, programs // 2),
        sessions=total.sessions,
        agent_sessions=settings.max_sessions,
        patience=settings.queue_timeout,
    )


def _bounds(root: Path, own: Path, controller: str, names: tuple[str, ...]) -> Iterator[int]:
    """The limits of the groups around this process, in both versions."""
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        return
    for number, controllers, path in lines:
        if number != "0" and controller not in controllers.split(","):
            continue
        top = root if number == "0" else root / controller
        inside = top / path.lstrip("/")  # in a container it may be the name outside, and not be there
        for directory in (inside, *inside.parents):
            if directory.is_relative_to(top):
                yield from _numbers(*(directory / name for name in names))


def _numbers(*files: Path) -> Iterator[int]:
    for file in files:
        try:
            yield int(file.read_text())
        except (OSError, ValueError):  # not there, or "max"
            continue

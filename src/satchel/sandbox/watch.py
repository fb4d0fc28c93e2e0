"""Limits that no layer below enforces: a look at a running execution, again and again.

How far it can overshoot is in docs/security.md: what a program uses within one interval.
"""

import asyncio
import time
from pathlib import Path

from satchel.errors import SandboxError
from satchel.sandbox.cgroups import Group
from satchel.sandbox.disk import Contents, measure, tidy, unlinked_size
from satchel.sandbox.limits import Ended, Limits
from satchel.sandbox.processes import cpu_seconds, descendants, exact_memory, quick_memory

INTERVAL = 0.05
DISK_INTERVAL = 0.2


class Watch:
    """Looks after one execution: its control group, where it has one, its processes and its directories."""

    def __init__(self, limits: Limits, group: Group | None, directories: tuple[Path, ...]) -> None:
        self._limits = limits
        self._group = group
        self._directories = directories
        self._before = Contents()
        self._most_files = 20 * limits.files

    async def look_before(self) -> None:
        """Note what is there already: a program may run, and tidy up, in a workspace that is too full.

        Where that can't be seen, what it adds could not be seen either.
        """
        self._before = await asyncio.to_thread(self._measure)
        if not self._before.whole:
            self._before = await asyncio.to_thread(self._measure_tidied)
        if not self._before.whole:
            raise SandboxError(
                f"{self._directories[0]} can't be measured: there are more than {self._most_files:,} files,"
                " or directories that are closed",
                hint=f"tidy it up, or remove it: rm -rf {self._directories[0]}",
            )

    async def until_exceeded(self, process: int) -> Ended:
        """Wait for a limit to be exceeded. `process` is the root of the execution's processes."""
        next_measure = time.monotonic() + DISK_INTERVAL
        while True:
            await asyncio.sleep(INTERVAL)
            ended = self._look(process)
            if ended is None and time.monotonic() >= next_measure:
                began = time.monotonic()
                ended = await asyncio.to_thread(self._look_closely, process)
                # A large workspace is not walked through all the time.
                next_measure = time.monotonic() + max(DISK_INTERVAL, 3 * (time.monotonic() - began))
            if ended is not None:
                return ended

    def look_after(self) -> Ended | None:
        """What only shows once the program has ended."""
        if self._group is None:
            return None
        usage = self._group.usage()
        if usage.out_of_memory:
            return "memory"
        if usage.cpu_seconds is not None and usage.cpu_seconds > self._limits.cpu_seconds:
            return "cpu"
        return "processes" if usage.out_of_processes else None

    async def look_at_disk(self) -> Ended | None:
        """What was written within the last interval is there as well."""
        return await asyncio.to_thread(self._look_at_disk, 0)

    def _look(self, process: int) -> Ended | None:
        usage = self._group.usage() if self._group is not None else None
        if usage is not None and usage.out_of_memory:
            return "memory"
        used = usage.cpu_seconds if usage is not None else None
        if usage is None or used is None:
            processes = descendants(process)
            used = cpu_seconds(processes)
            most = self._limits.memory
            if usage is None and quick_memory(processes) > most and exact_memory(processes) > most:
                return "memory"
        return "cpu" if used > self._limits.cpu_seconds else None

    def _look_closely(self, process: int) -> Ended | None:
        """What takes too long to be done on the event loop."""
        processes = descendants(process)
        if self._group is None and exact_memory(processes) > self._limits.memory:
            return "memory"
        return self._look_at_disk(unlinked_size(processes, self._directories))

    def _look_at_disk(self, unlinked: int) -> Ended | None:
        now, before = self._measure(), self._before
        size = now.size + unlinked
        too_large = size > self._limits.disk and size > before.size
        too_many = now.files > self._limits.files and now.files > before.files
        return "disk" if too_large or too_many or not now.whole else None

    def _measure(self) -> Contents:
        return measure(self._directories, self._most_files)

    def _measure_tidied(self) -> Contents:
        for directory in self._directories:
            tidy(directory)
        return self._measure()

"""Limits that no layer below enforces: a look at a running execution, again and again.

How far it can overshoot is in docs/security.md: what a program uses within one interval.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from satchel.errors import SandboxError
from satchel.sandbox.limits import MIB, Ended, Limits
from satchel.sandbox.running.cgroups import Group
from satchel.sandbox.running.disk import (
    Contents,
    SharedMeasure,
    alone,
    measure,
    temporary_files,
    tidy,
    unlinked_size,
)
from satchel.sandbox.running.processes import (
    CpuClock,
    Deadline,
    TooMuchError,
    descendants,
    exact_memory,
    most_watched_descriptors,
    quick_memory,
    watched_descriptors,
)
from satchel.support.threads import Aside, FairThreads

INTERVAL = 0.05
DISK_INTERVAL = 0.2
_LONGEST_INTERVAL = 2.0  # seconds, however long a look takes: what is written meanwhile stays
_REST = 4  # times as long as a look took, so that looks cost a fifth of a processor at most
_LONGEST_LOOK = 0.5  # seconds of processor time at the processes of a box
_MOST_FILES = 20  # times the limit: beyond that nobody counts
_TOO_MUCH = "it had more processes, open files and mappings than can be looked at in time; use fewer at once"
_TOO_FULL = 2  # times the limit: what programs add at their end is bounded, for none may begin there

Result = TypeVar("Result")
# Apart from the threads that everybody uses: a walk through a large workspace is nobody else's wait.
_threads = FairThreads(4, "satchel-watch")
# Apart from those again: whether a program holds too much memory does not wait for a walk through its files.
_quick_threads = FairThreads(2, "satchel-look")
_measures: WeakValueDictionary[tuple[Path, ...], SharedMeasure] = WeakValueDictionary()


def aside_of(home: Path) -> Aside:
    """Where the processes of an agent's programs are looked at, by the agent's directory."""
    return Aside(_quick_threads, str(home))


class Watch:
    """Looks after one execution: its control group, where it has one, its processes and its directories.

    `own` are the directories that it can fill, the agent's workspace first, with memories of other agents
    that it may write to. A memory that does not lie beside an agent's workspace is a person's. `granted` are
    those of the user that it may write to as well. Without isolation `/tmp` is everybody's, and is not looked
    at.
    """

    def __init__(
        self,
        limits: Limits,
        group: Group | None,
        own: tuple[Path, ...],
        granted: tuple[Path, ...] = (),
        *,
        isolated: bool = True,
        threads: FairThreads = _threads,
        aside: Aside | None = None,
    ) -> None:
        self._threads = threads
        self._aside = aside or aside_of(own[0].parent)
        self._isolated = isolated
        self._limits = limits
        self._group = group
        self._own = own
        self._granted = granted
        self._clock = CpuClock()
        self._before = self._granted_before = Contents()
        self._most_files = _MOST_FILES * limits.files
        self._shared = _measures.get(own) or SharedMeasure(own, self._most_files)
        _measures[own] = self._shared
        self.detail: str | None = None
        """Why a limit counts as exceeded, where nobody could see that it is."""

    async def look_before(self) -> None:
        """Note what is there already: a program may run, and tidy up, in a workspace that is too full.

        Where that can't be seen, what it adds could not be seen either.
        """
        try:
            self._before = self._shared.measure_quickly() or await self._in_thread(self._shared.measure)
            if not self._before.whole:
                self._before = await self._in_thread(self._measure_tidied)
            if self._granted:
                self._granted_before = await self._in_thread(self._measure_granted)
        except OSError as error:
            raise SandboxError(
                f"{self._own[0]} can't be measured: {error.strerror}", hint="try again"
            ) from error
        if not self._before.whole:
            raise SandboxError(
                f"{self._places} can't be measured: there are more than {self._most_files:,} files, or"
                " directories that are closed or nested too deep, which are not put right while another"
                " program of the agent runs, nor in a directory of your own",
                hint=f"try again when it has ended; {self._ways_to_tidy_up}",
            )
        if self._is_too_full:
            await self._refuse_unless_tidied_meanwhile()

    async def _refuse_unless_tidied_meanwhile(self) -> None:
        """A little too much is for a program to tidy up, but each may add some before it is ended."""
        self._shared.forget()  # what was measured a moment ago may be from before a person deleted files
        self._before = await self._in_thread(self._shared.measure)
        if not self._is_too_full:
            return
        limits, before = self._limits, self._before
        raise SandboxError(
            f"the agent's files take {before.size // MIB:,} MiB in {before.files:,} files, more than"
            f" {_TOO_FULL} times what they may ({limits.disk // MIB:,} MiB, {limits.files:,} files):"
            " no more of its programs are started",
            hint=self._ways_to_tidy_up,
        )

    @property
    def _is_too_full(self) -> bool:
        limits, before = self._limits, self._before
        return before.size > _TOO_FULL * limits.disk or before.files > _TOO_FULL * limits.files

    @property
    def _places(self) -> str:
        return " and ".join(map(str, self._own))

    @property
    def _ways_to_tidy_up(self) -> str:
        agent = self._own[0].parent.name
        return f"delete files in {self._places}, or run satchel agents clear-workspace {agent}"

    async def until_exceeded(self, process: int) -> Ended:
        """Wait for a limit to be exceeded. `process` is the root of the execution's processes."""
        next_look = time.monotonic() + DISK_INTERVAL
        pause = INTERVAL
        while True:
            await asyncio.sleep(pause)
            ended: Ended | None
            ended, is_suspicious = await self._aside.do(partial(self._look, process))
            pause = min(max(INTERVAL, _REST * self._aside.took), _LONGEST_INTERVAL)
            if ended is None and (is_suspicious or time.monotonic() >= next_look):
                began = time.monotonic()
                ended = await self._in_thread(lambda: self._look_closely(process))
                # A large workspace is not walked through all the time.
                next_look = time.monotonic() + min(
                    max(DISK_INTERVAL, 3 * (time.monotonic() - began)), _LONGEST_INTERVAL
                )
            if ended is not None:
                return ended

    def look_after(self) -> Ended | None:
        """Limits that can only be checked once the program has ended."""
        if self._group is None:
            return None
        usage = self._group.usage()
        if usage.out_of_memory:
            return "memory"
        if usage.cpu_seconds is not None and usage.cpu_seconds > self._limits.cpu_seconds:
            return "cpu"
        return "processes" if usage.out_of_processes else None

    async def look_at_rest(self, process: int) -> Ended | None:
        """Limits for a session between its programs, however short these are."""
        if not self._isolated:
            return None
        # Nothing is known of what a short program has left: 64 processes with 256 files each take 0.1 s.
        return await self._aside.do(
            lambda: self._look_at_watched([process, *descendants(process, age=INTERVAL)]), is_long=True
        )

    async def look_at_disk(self) -> Ended | None:
        """Includes files written within the last interval."""
        self._shared.forget()
        if not self._granted and (contents := self._shared.measure_quickly()) is not None:
            return self._judge(contents, Contents(), 0)
        return await self._in_thread(lambda: self._look_at_disk(0))

    def _look(self, process: int) -> tuple[Ended | None, bool]:
        """(the limit that is exceeded, whether memory needs a closer look)."""
        usage = self._group.usage() if self._group is not None else None
        if usage is not None and usage.out_of_memory:
            return "memory", False
        used = usage.cpu_seconds if usage is not None else None
        is_suspicious = False
        if usage is None or used is None:
            processes = [process, *descendants(process, age=INTERVAL)]
            used = self._clock.seconds(processes)
            is_suspicious = usage is None and quick_memory(processes) > self._limits.memory
        ended: Ended | None = "cpu" if used > self._limits.cpu_seconds else None
        return ended, is_suspicious

    def _look_closely(self, process: int) -> Ended | None:
        """Work that takes too long for the event loop. Each part of it is bounded."""
        inside = descendants(process, age=INTERVAL)
        processes = [process, *inside]
        if self._group is None and self._holds_too_much(processes):
            return "memory"
        if self._isolated and temporary_files(inside) > self._limits.files:
            return "disk"
        # Files with a name come first, so that a program can't delay this look by giving us more to look at.
        if (ended := self._look_at_disk(0)) is not None:
            return ended
        if self._isolated and (ended := self._look_at_watched(processes)) is not None:
            return ended
        try:
            unlinked = unlinked_size(processes, (*self._own, *self._granted), Deadline(_LONGEST_LOOK))
        except TooMuchError:
            self.detail = _TOO_MUCH
            return "disk"
        if unlinked and self._look_at_disk(unlinked) is not None:
            self._shared.forget()  # what has lost its name since it was measured would count twice
            return self._look_at_disk(unlinked)
        return None

    def _holds_too_much(self, processes: list[int]) -> bool:
        try:
            return exact_memory(processes, Deadline(_LONGEST_LOOK)) > self._limits.memory
        except TooMuchError:
            self.detail = _TOO_MUCH
            return True

    def _look_at_watched(self, processes: list[int]) -> Ended | None:
        most = most_watched_descriptors()
        try:
            found = watched_descriptors(processes, most, Deadline(_LONGEST_LOOK))
        except TooMuchError:
            self.detail = _TOO_MUCH
            return "open_files"
        if found <= most:
            return None
        self.detail = f"it had the kernel watch more than {most:,} descriptors (epoll); watch fewer at once"
        return "open_files"

    def _look_at_disk(self, unlinked: int) -> Ended | None:
        try:
            now = self._shared.measure()
            granted = self._measure_granted()
        except OSError:
            return None  # no descriptors left here: the next look may have some
        return self._judge(now, granted, unlinked)

    def _judge(self, now: Contents, granted: Contents, unlinked: int) -> Ended | None:
        grown = granted.size - self._granted_before.size + unlinked
        more = granted.files - self._granted_before.files
        too_large = now.size + grown > self._limits.disk and now.size + grown > self._before.size
        too_many = now.files + more > self._limits.files and now.files + more > self._before.files
        # The user's own may have had such directories before; one more hides what is written there.
        is_hidden = not now.whole or granted.closed > self._granted_before.closed
        return "disk" if too_large or too_many or is_hidden else None

    def _measure_granted(self) -> Contents:
        """What is the user's own counts only as far as it grows, and nothing in it is ever changed."""
        return measure(self._granted, self._most_files)

    def _measure_tidied(self) -> Contents:
        agents = self._own[0].parent.parent
        # Nothing of a person's own is changed.
        tidied = [directory for directory in self._own if directory.parent.parent == agents]
        with ExitStack() as locked:
            for home in {directory.parent for directory in tidied}:
                if not locked.enter_context(alone(home)):
                    return Contents(whole=False)
            for directory in tidied:
                tidy(directory)
        self._shared.forget()
        return self._shared.measure()

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await self._threads.run(str(self._own[0].parent), work)

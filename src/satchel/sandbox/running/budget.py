"""One budget for all programs of a Satchel: places to run in, and the memory and processes of all boxes.

Places are given in turns between agents. A control group around those of all boxes bounds their memory and
processes, including boxes that are kept ready and sessions that rest. When memory runs out there, the kernel
ends the largest process, whoever's it is. So a look from here acts a little sooner, and takes from the agent
that holds most. Where there are no control groups, the look is all there is.
"""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

import anyio

from satchel.errors import SandboxError
from satchel.model import ProgramBegins, ProgramWaits, Tell, silent
from satchel.sandbox.limits import Ended, Limits, Totals
from satchel.sandbox.running import cgroups
from satchel.sandbox.running.machine import memory_for_programs, memory_here, processes_here
from satchel.sandbox.running.processes import (
    Deadline,
    TooMuchError,
    descendants,
    exact_memory,
    quick_memory,
)
from satchel.sandbox.sandbox import Outcome
from satchel.support.turns import Turns

INTERVAL = 0.05
SOONER = 15 / 16  # of the total: from there on the look acts, before the kernel does
_MOST_WAITING = 100  # programs of one agent; an agent that asks for more does not wait for answers
_LONGEST_LOOK = 0.5  # seconds at one box: a box that takes longer to look at holds too much
_REST = 20  # times as long as a look took: it costs at most a twentieth of a processor, mostly
_LONGEST_REST = 2.0  # seconds, however long a look took: programs could take everything meanwhile
_threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix="satchel-budget")


@dataclass(frozen=True, kw_only=True)
class Used:
    """The memory and processes of a box."""

    memory: int
    processes: int = 0


class Held:
    """A box, or what makes boxes, while there is one: whose it is, and how it can be ended."""

    def __init__(
        self,
        budget: "Budget | None" = None,
        *,
        agent: str = "",
        process: int = 0,
        group: cgroups.Group | None = None,
        kill: Callable[[], None] = lambda: None,
    ) -> None:
        self._budget = budget
        self.agent = agent
        self.process = process
        self.group = group
        self._kill = kill
        self.running = False
        self.resting_since: float | None = None
        self._rested: Callable[[str], None] | None = None
        self._ended: Ended | None = None

    def begin(self) -> None:
        """A program runs in it from now on."""
        self.running, self.resting_since = True, None
        if self._budget is not None:
            self._budget.began(self)

    def end(self) -> None:
        """The program has ended."""
        if self.running:
            self.running = False
            if self._budget is not None:
                self._budget.ended()

    def rest(self, end: Callable[[str], None], processes: Sequence[int]) -> None:
        """Nothing runs in its processes, but it holds what it has. `end` ends it, and is told why."""
        self.resting_since, self._rested = time.monotonic(), end
        if self._budget is not None:
            self._budget.rests(self, processes)

    def drop(self) -> None:
        """It has gone."""
        self.end()
        if self._budget is not None:
            self._budget.drop(self)

    def make_room(self, ended: Ended, reason: str) -> None:
        """End it for what all hold together."""
        if self.resting_since is not None and self._rested is not None:
            self._rested(f"{reason}; it was ended to make room")
        else:
            self._ended = ended
            self._kill()

    def is_over(self) -> bool:
        """Whether the kernel has ended something in it for what all hold together."""
        group = self.group
        return group is not None and group.usage().out_of_memory and group.is_within_its_memory()

    def explain(self, outcome: Outcome) -> Outcome:
        """An outcome with the reason that counts, if the program was ended for what all hold together."""
        if self._budget is None or outcome.exit_code == 0:
            return outcome
        totals = self._budget.totals
        if self._ended is not None and outcome.ended in (None, "killed", "memory"):
            reason = totals.reason(self._ended)
            return replace(outcome, ended=self._ended, detail=reason, has_result=False, result=None)
        if outcome.ended == "memory" and self.is_over():
            return replace(outcome, detail=totals.reason("memory"))
        if outcome.ended == "processes" and self.group is not None and self.group.is_within_its_processes():
            return replace(outcome, detail=totals.reason("processes"))
        return outcome


class Budget:
    """The budget that all boxes of one Satchel share, on any backend."""

    def __init__(self, totals: Totals | None = None, *, use_cgroups: bool = True) -> None:
        self.totals = totals or Totals()
        self._use_cgroups = use_cgroups
        self._turns = Turns(self.totals.programs, reserve=self.totals.reserve)
        self._parents: cgroups.Parents | None = None
        self._is_open = False
        self._own: cgroups.CommonGroup | None = None
        self._of_user: cgroups.CommonGroup | None = None
        self._of_agents: dict[str, cgroups.CommonGroup] = {}
        self._held: set[Held] = set()
        self._resting: dict[Held, int] = {}  # what each held when it began to rest
        self._running = 0
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    def follow(self, totals: Totals) -> None:
        """Other limits from now on. What is running or resting stays, as far as the new ones allow."""
        if totals == self.totals:
            return
        self.totals = totals
        self._turns.resize(totals.programs, reserve=totals.reserve)
        if self._own is not None:
            self._limit_groups()

    # Places

    @property
    def running(self) -> int:
        """How many programs have a place."""
        return self._turns.held

    @asynccontextmanager
    async def place(self, agent: str, tell: Tell = silent) -> AsyncGenerator[None]:
        """Wait for a place to run a program in, and hold it."""
        totals = self.totals
        if self._turns.waiting(agent) >= _MOST_WAITING:
            raise self._no_place(f"{_MOST_WAITING} programs of this agent wait already")
        waits = self._turns.waiting(agent) > 0 or not self._turns.is_entitled(agent)
        async with AsyncExitStack() as held:
            if waits:
                tell(ProgramWaits(running=self.running))
            with anyio.move_on_after(totals.patience) as waiting:
                await held.enter_async_context(self._turns.turn(agent))
            if waiting.cancelled_caught:
                raise self._no_place(f"no place was free within {totals.patience:g} s")
            if waits:
                tell(ProgramBegins())
            yield

    def _no_place(self, why: str) -> SandboxError:
        return SandboxError(
            f"{why}: {self.running} of {self.totals.programs} places are taken",
            hint="try again when one has ended; total.programs and queue_timeout of code_execution set this",
        )

    # Control groups

    def open_groups(self) -> None:
        """Make the groups that bound all boxes together, where groups can be made."""
        if not self._is_open:
            self._is_open = True
            self._parents = cgroups.find_parents() if self._use_cgroups else None
            if self._parents is not None:
                cgroups.sweep(self._parents)
                self._make_common_groups(self._parents)

    def groups_of(self, agent: str) -> cgroups.Parents | None:
        """The parent of the groups of an agent's boxes: agents have equal parts of the processor."""
        if self._own is None:
            return self._parents
        if agent not in self._of_agents:
            self._of_agents[agent] = cgroups.CommonGroup(self._own.inside)
        return self._of_agents[agent].inside

    @property
    def layers(self) -> tuple[cgroups.CommonGroup | None, cgroups.CommonGroup | None]:
        """(the group of this Satchel, that of all Satchels of the user), where there are any."""
        return self._own, self._of_user

    def _make_common_groups(self, parents: cgroups.Parents) -> None:
        """Without them, boxes still have groups of their own."""
        for _ in range(5):  # another Satchel that ends may just take away what all have in common
            with suppress(OSError):
                left = cgroups.CommonGroup(parents, user=os.geteuid())
                cgroups.sweep(left.inside)
                left.remove()  # where nobody uses it: its limits are those of a Satchel that has gone
                self._of_user = cgroups.CommonGroup(parents, user=os.geteuid())
                self._own = cgroups.CommonGroup(self._of_user.inside)
                self._limit_groups()
                return
        self._of_user = self._own = None

    def _limit_groups(self) -> None:
        assert self._own is not None and self._of_user is not None, "they are made together"
        memory, processes = self.totals.memory, self.totals.processes
        self._own.limit(memory=memory, processes=processes)
        # What all Satchels of the user share is never less than what one of them was promised.
        known_memory, known_processes = self._of_user.limits
        memory = max(memory, memory_for_programs(memory_here()))
        processes = max(processes, processes_here() // 2)
        if (known_memory or 0) < memory or (known_memory or 0) >= _UNBOUNDED:
            known_memory = memory
        if (known_processes or 0) < processes:
            known_processes = processes
        self._of_user.limit(memory=known_memory or memory, processes=known_processes or processes)

    def close(self) -> None:
        """Take the groups away. Those in which something still dies stay, until it is called again."""
        self._of_agents = {name: group for name, group in self._of_agents.items() if not group.remove()}
        if self._own is not None and self._own.remove():
            self._own = None
        if self._own is None and self._of_user is not None:
            self._of_user.remove()  # stays while others use it
            self._of_user = None
        self._is_open = self._own is not None

    # What all boxes hold

    def hold(self, agent: str, process: int, group: cgroups.Group | None, kill: Callable[[], None]) -> Held:
        held = Held(self, agent=agent, process=process, group=group, kill=kill)
        self._held.add(held)
        return held

    def drop(self, held: Held) -> None:
        self._held.discard(held)
        self._resting.pop(held, None)

    def began(self, held: Held) -> None:
        self._resting.pop(held, None)
        self._running += 1
        if self._running == 1:
            self._look_later(INTERVAL)

    def ended(self) -> None:
        self._running -= 1
        if not self._running and self._timer is not None:
            self._timer.cancel()

    def rests(self, held: Held, processes: Sequence[int]) -> None:
        """Between programs nothing grows, so one look when it begins to rest is enough."""
        # At least what it holds, at little cost.
        self._resting[held] = held.group.memory() if held.group is not None else quick_memory(processes)
        if sum(self._resting.values()) > self.totals.resting_memory:
            self._look_now()

    def _look_later(self, seconds: float) -> None:
        if self._timer is not None:  # a look that a session began may end while another one is awaited
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        if self._own is not None and self._own.usage() < SOONER * self.totals.memory:
            self._look_later(INTERVAL)
        else:
            self._look_now()

    def _look_now(self) -> None:
        if self._looking is None or self._looking.done():
            # Begun by a timer, or by a session that will not wait for it; it takes a second at most.
            self._looking = asyncio.create_task(self._look_closely())

    async def _look_closely(self) -> None:
        began = time.monotonic()
        loop = asyncio.get_running_loop()
        held = [each for each in self._held if each.process]
        enough = 0 if self._own is not None else min(self.totals.memory, self.totals.resting_memory)
        try:
            used = await loop.run_in_executor(_threads, partial(_measure, held, enough))
            self._end_what_is_too_much({each: used[each] for each in used if each in self._held})
        finally:  # also where this process had no descriptors left to look with
            if self._running:
                self._look_later(_rest_after(time.monotonic() - began))

    def _end_what_is_too_much(self, used: Mapping[Held, Used]) -> None:
        totals = self.totals
        most = int(SOONER * totals.memory) if self._own is not None else totals.memory
        memory = {held: each.memory for held, each in used.items()}
        self._reduce(memory, most, "memory")
        resting = {held: size for held, size in memory.items() if held.resting_since is not None}
        self._reduce(resting, totals.resting_memory, "memory")
        if self._own is None:  # else the kernel refuses one too many, and nothing has to be ended
            self._reduce({held: each.processes for held, each in used.items()}, totals.processes, "processes")

    def _reduce(self, sizes: dict[Held, int], most: int, ended: Ended) -> None:
        """End as much of what the agent holds that holds most as there is too much."""
        while sum(sizes.values()) > most:
            victim = _whom_to_end(sizes)
            if victim is None:
                return
            del sizes[victim]
            self._resting.pop(victim, None)
            victim.make_room(ended, self.totals.reason(ended))


_UNBOUNDED = 1 << 61  # what the kernel says where no limit was set


def of_zygote() -> Limits:
    """A maker of boxes runs no program, and must hold no more than an interpreter."""
    return Limits(memory=512 << 20, processes=128)


def _whom_to_end(sizes: Mapping[Held, int]) -> Held | None:
    """Of the agent that holds most: the session that has rested longest, or else the largest program."""
    by_agent: Counter[str] = Counter()
    for held, size in sizes.items():
        by_agent[held.agent] += size
    for agent, _ in by_agent.most_common():
        own = [held for held in sizes if held.agent == agent]
        resting = [held for held in own if held.resting_since is not None]
        if resting:
            return min(resting, key=lambda held: held.resting_since or 0)
        if running := [held for held in own if held.running]:
            return max(running, key=lambda held: sizes[held])
    return None


def _rest_after(seconds: float) -> float:
    """How long to wait after a look that took so long."""
    return min(max(INTERVAL, _REST * seconds), _LONGEST_REST)


def _measure(held: Iterable[Held], enough: int) -> dict[Held, Used]:
    """What each holds, exactly if all hold more than `enough` by a quick look."""
    seen: set[int] = set()
    inside: dict[Held, list[int]] = {}
    for each in sorted(held, key=lambda each: not (each.running or each.resting_since)):
        # What makes boxes comes last: those that it has made are among its processes.
        processes = [] if each.group is not None else [each.process, *descendants(each.process)]
        inside[each] = [process for process in processes if process not in seen]
        seen.update(processes)
    quick = {each: _memory_of(each, inside[each], quick_memory) for each in inside}
    if sum(quick.values()) > enough:
        spent: dict[str, float] = {}  # an agent that takes too long to look at pays for what it seems to hold
        for each in inside:
            if spent.get(each.agent, 0) <= _LONGEST_LOOK:
                began = time.thread_time()
                quick[each] = _memory_of(each, inside[each], _exactly)
                spent[each.agent] = spent.get(each.agent, 0) + time.thread_time() - began
    return {each: Used(memory=quick[each], processes=_count(inside[each])) for each in inside}


def _count(processes: Iterable[int]) -> int:
    """The threads of processes, as the kernel counts them: each process has one at least."""
    found = 0
    for process in processes:
        with suppress(OSError):
            found += len(os.listdir(f"/proc/{process}/task"))
    return found


def _memory_of(held: Held, processes: list[int], count: Callable[[list[int]], int]) -> int:
    return held.group.memory() if held.group is not None else count(processes)


def _exactly(processes: list[int]) -> int:
    try:
        return exact_memory(processes, Deadline(_LONGEST_LOOK))
    except TooMuchError:  # a program that has more to look at than that holds too much in any case
        return sys.maxsize

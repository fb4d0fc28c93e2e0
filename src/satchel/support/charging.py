"""The cost of requests for this process, and the agent that pays for it.

The broker is one event loop for all agents. Work that takes long is done in a thread (`apart`), one piece at
a time for each agent and few in all. The processor time that a request takes, there and on the event loop
(`timed`), is charged to whoever sent it, and after a long step on the event loop its agent rests, so that
others come between. Not a limit on any single step: whoever writes one bounds it.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from types import coroutine
from typing import Any, TypeVar

from anyio import to_thread

from satchel.support.threads import FairThreads
from satchel.support.waiting import to_the_end

Result = TypeVar("Result")
Spend = Callable[[float], None]
"""Takes seconds of processor time."""
Step = Callable[[float, float], None]
"""Takes seconds of processor time, and for how many the event loop did nothing else."""

_PLACES = 2  # threads that work for agents at the same time
_LONG = 0.005  # seconds of processor time on the event loop after which an agent rests
_REST = 4  # times as long as the event loop did nothing else
_LONGEST_REST = 1.0
_LONG_WORK = 0.05  # seconds of processor time in a thread, after which the agent's next work waits as long
# A thread that computes keeps the interpreter for 5 ms each time that the event loop wants it back, which is
# after every call to the system. A program takes a hundred of these to start.
_SWITCH = 0.0005
MOST_HELD = 64 * 1024 * 1024
"""Bytes of an agent's requests that are not answered yet, as they are in memory."""


class Host:
    """This process, as far as all agents share it: its event loop, a few threads, and memory."""

    def __init__(self, places: int = _PLACES) -> None:
        self._threads = FairThreads(places, "satchel-work")
        self._shares: dict[str, Share] = {}  # there are only as many agents as are configured

    def share(self, agent: str) -> "Share":
        """The agent's share."""
        if agent not in self._shares:
            self._shares[agent] = Share(self, agent)
        return self._shares[agent]

    async def run(self, agent: str, work: Callable[[], Result], spend: Spend) -> Result:
        """Do work in a thread, in the agent's turn. Who gives up once it has begun waits for its end."""
        taken: list[float] = []

        def measured() -> Result:
            began = time.thread_time()
            try:
                return work()
            finally:
                taken.append(time.thread_time() - began)

        with _switching_quickly():
            future = self._threads.submit(agent, measured)
            done = asyncio.wrap_future(future)
            try:
                return await asyncio.shield(done)
            except asyncio.CancelledError:
                if not future.cancel():
                    with suppress(Exception):  # nobody asks any more
                        await to_the_end(done)
                raise
            finally:
                spend(sum(taken))


class Share:
    """One agent's part of it: what its programs and clients hold together, and whether it has to rest."""

    def __init__(self, host: Host, agent: str) -> None:
        self._host = host
        self._agent = agent
        self._gate = asyncio.Lock()
        self._desk = asyncio.Lock()
        self._has_worked = 0.0  # when it may work in a thread again
        self._rested = 0.0  # when it will have
        self._held = 0
        self._listeners: set[Callable[[], None]] = set()

    # Memory

    @property
    def is_full(self) -> bool:
        """Whether the agent's requests take so much that no more are read."""
        return self._held > MOST_HELD

    def hold(self, size: int) -> None:
        """Count bytes held for the agent, fewer for a negative size, and notify the listener."""
        was_full = self.is_full
        self._held += size
        if was_full is not self.is_full:
            for tell in tuple(self._listeners):
                tell()

    def listen(self, tell: Callable[[], None]) -> None:
        """Have it called when there is no more room, and again when there is room."""
        self._listeners.add(tell)

    def ignore(self, tell: Callable[[], None]) -> None:
        self._listeners.discard(tell)

    # Time

    @property
    def rest(self) -> float:
        """Seconds until the event loop does something long for the agent again."""
        return max(0.0, self._rested - time.monotonic())

    def note_step(self, used: float, taken: float) -> None:
        """After a long step, rest. One that took long because others had the processor is not a long one."""
        if used > _LONG:
            now = time.monotonic()
            self._rested = min(max(now, self._rested) + _REST * taken, now + _LONGEST_REST)

    async def step(self) -> None:
        """Wait until the agent has rested; of all that wait, one comes in each turn of the event loop."""
        async with self._gate:
            await asyncio.sleep(self.rest)

    async def run(self, work: Callable[[], Result], spend: Spend) -> Result:
        """Work in a thread. Parsing, for one, keeps the interpreter from all others until it is done."""

        def note(seconds: float) -> None:
            if seconds > _LONG_WORK:
                self._has_worked = time.monotonic() + min(seconds, _LONGEST_REST)
            spend(seconds)

        async with self._desk:  # an agent has only one thread anyway
            if (rest := self._has_worked - time.monotonic()) > 0:
                await asyncio.sleep(rest)
            return await self._host.run(self._agent, work, note)


def _free(seconds: float) -> None:
    """Charge nobody."""


_payer: ContextVar[tuple[Share, Spend] | None] = ContextVar("payer", default=None)


@contextmanager
def charged_to(share: Share, spend: Spend = _free) -> Generator[None]:
    """Charge what is done in the block, and in tasks begun there, to an agent."""
    before = _payer.set((share, spend))
    try:
        yield
    finally:
        _payer.reset(before)


async def apart(work: Callable[..., Result], *arguments: Any) -> Result:
    """Do work in a thread, in the agent's turn, and charge it to the current request."""
    payer = _payer.get()
    if payer is None:  # Satchel itself, or a program in Python that uses it: there is nobody to be kept off
        return await to_thread.run_sync(partial(work, *arguments))
    share, spend = payer
    return await share.run(partial(work, *arguments), spend)


class measured:
    """Tells how long the block had the event loop. It awaits nothing."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __enter__(self) -> None:
        self._used, self._began = time.thread_time(), time.monotonic()

    def __exit__(self, *failure: object) -> None:
        self._step(time.thread_time() - self._used, time.monotonic() - self._began)


@coroutine
def timed(work: Coroutine[Any, Any, Result], step: Step) -> Generator[Any, Any, Result]:
    """Await work, and tell how long each of its steps had the event loop."""
    go_on = partial(work.send, None)
    while True:
        try:
            with measured(step):
                awaited = go_on()
        except StopIteration as end:
            return end.value
        try:
            go_on = partial(work.send, (yield awaited))
        except BaseException as error:  # noqa: BLE001  it is for the work, as a cancellation is
            go_on = partial(work.throw, error)


_working = 0


@contextmanager
def _switching_quickly() -> Generator[None]:
    """Have threads hand over the interpreter sooner, while one of ours works."""
    global _working, _usual
    if not _working:
        _usual = sys.getswitchinterval()
        sys.setswitchinterval(min(_usual, _SWITCH))
    _working += 1
    try:
        yield
    finally:
        _working -= 1
        if not _working:
            sys.setswitchinterval(_usual)


_usual = sys.getswitchinterval()

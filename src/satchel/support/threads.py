"""Threads that agents share: work of one agent waits for work of that agent, not of others.

Each agent has at most one thread at a time, and a thread that is free goes to the agent whose last turn was
longest ago. The thread is taken until the work has ended, whether or not somebody still waits for it. That is
what sets it apart from `Turns`, where whoever waits holds the place. What work costs, and who pays, is
`charging.py`'s.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


class FairThreads:
    """At most `size` threads, which any event loop may use."""

    def __init__(self, size: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(max_workers=size, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._free = size
        self._busy: set[str] = set()
        self._waiting: dict[str, deque[Callable[[], None]]] = {}  # the agent that was served last comes last

    async def run(self, agent: str, work: Callable[[], Result]) -> Result:
        """Do `work` in a thread at the agent's turn. A caller that gives up before that is forgotten."""
        return await asyncio.wrap_future(self.submit(agent, work))

    def submit(self, agent: str, work: Callable[[], Result]) -> Future[Result]:
        done: Future[Result] = Future()

        def do() -> None:
            if not done.set_running_or_notify_cancel():
                return
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001  it is raised in the waiting caller
                done.set_exception(error)
            else:
                done.set_result(result)

        with self._lock:
            self._waiting.setdefault(agent, deque()).append(do)
            self._hand_out()
        return done

    def _hand_out(self) -> None:
        while self._free:
            agent = next((each for each in self._waiting if each not in self._busy), None)
            if agent is None:
                return
            queue = self._waiting.pop(agent)
            do = queue.popleft()
            if queue:
                self._waiting[agent] = queue
            self._free -= 1
            self._busy.add(agent)
            self._threads.submit(self._serve, agent, do)

    def _serve(self, agent: str, do: Callable[[], None]) -> None:
        try:
            do()
        finally:
            with self._lock:
                self._free += 1
                self._busy.discard(agent)
                self._hand_out()


class Aside:
    """Does an agent's work on the event loop while it is quick, and in the agent's thread once it was not."""

    def __init__(self, threads: FairThreads, agent: str, moment: float = 0.002) -> None:
        self._threads = threads
        self._agent = agent
        self._moment = moment
        self.took = 0.0
        """Seconds that the last work took, its turn for a thread included."""

    async def do(self, work: Callable[[], Result], *, is_long: bool = False) -> Result:
        """`is_long` is for what may take long at its first time."""
        began = time.monotonic()
        try:
            is_apart = is_long or self.took > self._moment
            return await self._threads.run(self._agent, work) if is_apart else work()
        finally:
            self.took = time.monotonic() - began

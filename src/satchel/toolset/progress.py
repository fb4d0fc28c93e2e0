"""A running program as progress of one call: how many calls it has made, and that it still runs."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from satchel.model import CallEnded, Event, PersonAsked, ProgramWaits, Progress, Tell, silent
from satchel.names import count
from satchel.support.waiting import background

_BETWEEN_REPORTS = 0.2  # seconds between two reports of how many calls a program has made
_STEP = 0.001  # of progress, for a report without another call


class _Reports:
    def __init__(self, tell: Tell, silence: float) -> None:
        self._tell = tell
        self._silence = silence
        self._began = time.monotonic()
        self._told = self._began - _BETWEEN_REPORTS  # so that the first call is told at once
        self._calls = 0
        self._last = 0.0

    def hear(self, event: Event) -> None:
        self._tell(event)
        if isinstance(event, ProgramWaits):
            running = count(event.running, "program")
            self._report(f"waiting for a free place: {running} running", _BETWEEN_REPORTS)
        elif isinstance(event, PersonAsked):
            self._report(f"{event.tool} waits for a person: satchel approvals allow {event.approval}", 0)
        elif isinstance(event, CallEnded):
            self._calls = event.count
            self._report(f"{count(event.count, 'call')} made; last {event.use.tool}", _BETWEEN_REPORTS)

    async def tick(self) -> None:
        while True:
            await anyio.sleep(self._silence / 4)
            seconds = time.monotonic() - self._began
            self._report(f"{count(self._calls, 'call')} made; running for {seconds:.0f} s", self._silence)

    def _report(self, message: str, pause: float) -> None:
        if time.monotonic() - self._told >= pause:
            self._told = time.monotonic()
            self._last = max(self._calls, self._last + _STEP)  # it has to grow with every report
            self._tell(Progress(progress=self._last, message=message))


@asynccontextmanager
async def reporting(tell: Tell, *, silence: float) -> AsyncGenerator[Tell]:
    """What a program's events are told to: they are passed on, and become progress now and then.

    There is a report at least every `silence` seconds.
    """
    if tell is silent:
        yield silent
        return
    reports = _Reports(tell, silence)
    async with background() as tasks:
        tasks.start_soon(reports.tick)
        yield reports.hear

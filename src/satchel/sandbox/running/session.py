"""A box that is kept: programs of a session share an interpreter, one after the other.

Between two programs nothing in the box runs. All of its processes are stopped, so nothing goes on that nobody
watches, nothing is called that belongs to no program, and a session that waits costs next to nothing.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Protocol

import anyio

from satchel.errors import SandboxError
from satchel.sandbox.bridge.bridge import Bridge
from satchel.sandbox.jobs import Job
from satchel.sandbox.limits import Limits
from satchel.sandbox.remedies import refusal
from satchel.sandbox.running.box import Box
from satchel.sandbox.running.disk import in_use
from satchel.sandbox.running.home import LocalHome
from satchel.sandbox.running.processes import descendants
from satchel.sandbox.running.supervise import Attended, Child
from satchel.sandbox.running.watch import Watch, aside_of
from satchel.sandbox.sandbox import Door, Outcome, Program
from satchel.support.threads import Aside
from satchel.support.waiting import to_the_end

_ROUNDS = 200  # of stopping processes that still run; one that runs after all of them resists
_LOOK = 1.0  # seconds between two looks at a session that rests
_QUICK_LOOK = 0.25  # where a look at the clock of its control group does
_NOTHING = 0.005  # seconds of processor time
_STOPPED = (b"T", b"t")
_GONE = (b"Z", b"X")


class Boxes(Protocol):
    """Makes and takes back the boxes of sessions."""

    async def watch(self, box: Box, home: LocalHome, limits: Limits) -> Watch: ...

    async def remove(self, box: Box) -> None: ...


class BoxSession:
    """The maker of a session also closes it. Not for two programs at once."""

    def __init__(
        self,
        boxes: Boxes,
        box: Box,
        job: Job,
        home: LocalHome,
        let_go: Callable[[], None] = lambda: None,
    ) -> None:
        self._boxes = boxes
        self._let_go = let_go
        self._turns = anyio.Lock()
        self._box = box
        self._job = job
        self._home = home
        self._last: Bridge | None = None
        self._resting: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._held = box.held
        self._aside = aside_of(home.files.parent)
        self._seen = anyio.Event()  # what it holds while it rests
        self._in_use = ExitStack()  # while it lives, nobody tidies up
        self.is_alive = True
        self.why = "its last program ended it"
        """Why it has ended, once it has."""

    async def run(self, program: Program, door: Door, limits: Limits) -> Outcome:
        """Run the next program. However it ends, the session may have ended with it: see `is_alive`."""
        async with self._turns:
            try:
                if self._resting is not None:
                    await self._seen.wait()  # programs that are short are looked at between them
                await self._rest_no_more()
                if not self.is_alive:
                    raise SandboxError(f"the session has ended: {self.why}", hint="begin a new one")
                watch = await self._boxes.watch(self._box, self._home, limits)
                files = self._home.files
                if self._last is None and not self._in_use.enter_context(in_use(files.parent)):
                    raise SandboxError(f"{files} is being tidied up", hint="try again in a moment")
                return await self._turn(program, door, limits, watch)
            except BaseException:
                await self._close()
                raise

    async def _turn(self, program: Program, door: Door, limits: Limits, watch: Watch) -> Outcome:
        started = self._box.started
        attended = Attended(started, door, limits)
        start = self._box.start(program, self._job, session=True)
        bridge = Bridge(door.answer, limits, attended.stop, start, share=door.share)
        self._held.begin()
        try:
            async with attended.watched(watch):
                if self._last is None:
                    loop = asyncio.get_running_loop()
                    await loop.create_unix_connection(lambda: bridge, sock=started.bridge)
                elif not bridge.follow(self._last):
                    attended.stop("protocol", "something was sent between two programs of the session")
                    bridge = self._last
                self._last = bridge
                if started.process.poll() is None:  # or its number may be another's by now
                    await self._aside.do(lambda: _signal_all(started.process.pid, signal.SIGCONT))
                code = await attended.until(lambda: self._end_of(bridge))
                stopped = await _stop_all(started.process, self._aside)
                attended.take_what_is_there()
            if not bridge.begun and attended.ended is None:
                raise refusal(attended.stderr.captured().text)
            if attended.ended is None and stopped and await bridge.detach():
                outcome = await attended.outcome(code, bridge, watch)
                if outcome.ended != "disk":  # a workspace that is too full is tidied up, and not while in use
                    self._held.rest(self._make_room, stopped)
                    self._seen = anyio.Event()
                    # It lives until the next program, and so longer than this call.
                    self._resting = asyncio.create_task(self._rest(watch))
                    return outcome
            started.kill()
            await attended.last_words(bridge)
            with anyio.CancelScope(shield=True):
                await bridge.end()
            outcome = self._held.explain(await attended.outcome(code, bridge, watch))
        finally:
            self._held.end()
            attended.close()
        await self._close()
        return outcome

    async def _rest(self, watch: Watch) -> None:
        """Nothing may happen until the next program. Code that finds a way to be woken ends the session."""
        process, group = self._box.started.process, self._box.group
        try:
            if await watch.look_at_rest(process.pid):
                self.is_alive, self.why = False, watch.detail or self.why
                self._box.started.kill()
        finally:
            self._seen.set()
        used = group.cpu_seconds() if group is not None else None
        living = await self._aside.do(lambda: _living(process.pid))
        since = 0.0
        while process.poll() is None:
            pause = _LOOK if used is None else _QUICK_LOOK
            await asyncio.sleep(pause)  # the kernel does not tell
            since += pause
            now = group.cpu_seconds() if group is not None else None
            if used is not None and now is not None and now < used + _NOTHING and since < _LOOK:
                continue
            used, since = now, 0.0
            if not await self._aside.do(lambda: _rests(process.pid, living)):
                break
        if self.is_alive:  # or the reason is known
            self.why = "something in it ran on between two programs, or it was killed"
            if self._held.is_over():
                self.why = "all programs together had no memory left; it was ended to make room"
        self.is_alive = False
        self._box.started.kill()
        async with self._turns:
            self._resting = None
            await self._close()

    def _make_room(self, why: str) -> None:
        """While it rests: what it holds is needed elsewhere. `_rest` sees that it has gone."""
        self.is_alive, self.why = False, why
        self._box.started.kill()

    async def _rest_no_more(self) -> None:
        resting, self._resting = self._resting, None
        if resting is not None:
            resting.cancel()
            await asyncio.wait([resting])

    async def _end_of(self, bridge: Bridge) -> int:
        """The end of a program, or of the session with it."""
        exited = asyncio.ensure_future(self._box.started.exited())  # ends below, whichever comes first
        try:
            await asyncio.wait([bridge.told, exited], return_when=asyncio.FIRST_COMPLETED)
            if exited.done():
                return exited.result()
        finally:
            exited.cancel()
            with anyio.CancelScope(shield=True):  # two can't wait for the same process
                await asyncio.wait([exited])
        code = (bridge.last_word or {}).get("exit_code")
        return code if type(code) is int and 0 <= code <= 255 else 1

    async def aclose(self) -> None:
        """End it. A running program ends with it, and callers that wait for that program are told."""
        self.is_alive = False
        self._box.started.kill()
        with anyio.CancelScope(shield=True):
            async with self._turns:
                await self._close()

    async def _close(self) -> None:
        """Only while no program runs: what it waits for would be another's."""
        self.is_alive = False
        if self._closing is None:
            # It must be completed even if the caller gives up waiting.
            self._closing = asyncio.create_task(self._leave_nothing())
        await to_the_end(self._closing)

    async def _leave_nothing(self) -> None:
        """In a separate task, so that a caller who gives up does not leave it half done."""
        try:
            await self._rest_no_more()
            self._box.started.kill()
            if self._last is not None:
                await self._last.end()
            await self._boxes.remove(self._box)
        finally:
            self._in_use.close()
            self._let_go()


async def _stop_all(process: Child, aside: Aside) -> list[int]:
    """Stop all processes of a box, and say which; none where they don't stand still."""
    before: list[int] = []
    for number in range(_ROUNDS):
        if process.poll() is not None:
            return []
        processes, stood_still = await aside.do(lambda: _stop_each(process.pid))
        # One look can miss a process whose parent ends just then; it is somebody else's child at the next.
        if stood_still and processes == before:
            return processes
        before = processes if stood_still else []
        await anyio.sleep(0 if number < 5 else 0.005)
    return []


def _stop_each(first: int) -> tuple[list[int], bool]:
    """(the processes of a box, whether all of them were stopped already)."""
    processes = [first, *descendants(first)]
    stood_still = [_stop(each) for each in processes]
    return processes, all(stood_still)


def _stop(process: int) -> bool:
    """Whether it was stopped already: only then it can't have started another since we looked."""
    if _stands_still(process):
        return True
    with suppress(OSError):  # it has just ended, and may have started another before
        os.kill(process, signal.SIGSTOP)
    return False


def _stands_still(process: int) -> bool:
    """Whether every thread of a process is stopped. One whose first thread has ended may have others."""
    states = _states(process)
    return bool(states) and all(state in _STOPPED or state in _GONE for state in states)


def _rests(first: int, living: list[int]) -> bool:
    """Whether these are still the processes of a box, and stand still."""
    return _living(first, age=_QUICK_LOOK) == living and all(map(_stands_still, living))


def _living(first: int, *, age: float = 0) -> list[int]:
    """The processes of a box that have not ended."""
    processes = (first, *descendants(first, age=age))
    return [process for process in processes if any(state not in _GONE for state in _states(process))]


def _states(process: int) -> list[bytes]:
    """Of all threads; none where it has just ended."""
    place = f"/proc/{process}/task"
    try:
        return [
            Path(f"{place}/{thread}/stat").read_bytes().rpartition(b")")[2].split()[0]
            for thread in os.listdir(place)
        ]
    except (OSError, IndexError):
        return []


def _signal_all(first: int, number: int) -> None:
    for process in (first, *descendants(first)):
        with suppress(OSError):
            os.kill(process, number)

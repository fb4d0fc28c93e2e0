"""One running program from its start to its end, however it ends: the part that all backends share."""

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

import anyio

from satchel.sandbox.bridge.bridge import START, Bridge
from satchel.sandbox.limits import KILLED, Ended, Limits, reason_of
from satchel.sandbox.remedies import refusal
from satchel.sandbox.running.capture import Capture, Telling
from satchel.sandbox.running.processes import descendants
from satchel.sandbox.running.watch import Watch
from satchel.sandbox.sandbox import Door, Outcome
from satchel.support.waiting import to_the_end

_LAST_WORDS = 1.0  # seconds for what is still in pipes once the program is gone
_LAST_MOMENT = 5.0  # seconds for a process that was killed
_CHUNK = 65536
# What a program can know of its own end, and the kernel does not tell.
_TOLD: tuple[Ended, ...] = ("memory", "processes", "open_files", "file_size", "disk", "calls")


class Child(Protocol):
    """The first process of a box, as far as it has to be known here."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        ...

    async def wait(self) -> int:
        """Wait for that, without a thread."""
        ...

    def close(self) -> None: ...


class Spawned:
    """A child of this process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self.poll = process.poll
        self._process = process
        self._descriptor = os.pidfd_open(process.pid)

    async def wait(self) -> int:
        while (code := self.poll()) is None:
            await readable(self._descriptor)
        return code

    def close(self) -> None:
        os.close(self._descriptor)
        with suppress(subprocess.TimeoutExpired):  # waits only where nobody could: it was killed a moment ago
            self._process.wait(_LAST_MOMENT)


@dataclass(kw_only=True)
class Started:
    """A box that was started, and this side of everything that leads to it."""

    process: Child
    bridge: socket.socket
    stdout: int
    stderr: int
    kill: Callable[[], None]
    """Ends all of its processes. May be called more than once."""
    is_closed: bool = False

    def close(self) -> None:
        self.is_closed = True
        self.bridge.close()
        self.process.close()
        for descriptor in (self.stdout, self.stderr):
            os.close(descriptor)

    async def give_up(self) -> None:
        """End it, and leave nothing of it. Who calls this sees to it that it comes to its end."""
        self.kill()
        try:
            await self.process.wait()
        finally:  # an event loop that closes cancels this, too
            self.close()

    async def exited(self) -> int:
        """Wait for its end; the exit code as a shell has it, 128 and the number for a signal."""
        code = await self.process.wait()
        return 128 - code if code < 0 else code


async def supervise(
    started: Started, door: Door, limits: Limits, watch: Watch, start: bytes = START
) -> Outcome:
    """Serve a program until it ends, or end it. SandboxError when it never began."""
    attended = Attended(started, door, limits)
    bridge = Bridge(door.answer, limits, attended.stop, start, share=door.share)
    try:
        async with attended.watched(watch):
            await asyncio.get_running_loop().create_unix_connection(lambda: bridge, sock=started.bridge)
            code = await attended.until(started.exited)
            started.kill()  # all processes that the program left running
            await attended.last_words(bridge)
    finally:
        # Also when the caller gives up: nothing may go on.
        started.kill()
        try:
            await to_the_end(_end(started, bridge))
        finally:
            attended.close()
            started.close()
    if not bridge.begun and attended.ended is None:
        raise refusal(attended.stderr.captured().text)
    return await attended.outcome(code, bridge, watch)


async def _end(started: Started, bridge: Bridge) -> None:
    await bridge.end()
    await started.exited()


class Attended:
    """One program while it runs: what it prints, how long it takes, and why it is ended if it is."""

    def __init__(self, started: Started, door: Door, limits: Limits) -> None:
        self._started = started
        self._door = door
        self._limits = limits
        self._began = time.monotonic()
        self._seconds = 0.0
        self._detail: str | None = None
        self.ended: Ended | None = None
        self._stdout, self.stderr = Capture(limits.kept_output), Capture(limits.kept_errors)
        told = Telling("stdout", limits.kept_output, door.tell)
        told_errors = Telling("stderr", limits.kept_errors, door.tell)
        self._streams = [
            _Stream(started.stdout, self._stdout, told, limits.output, self.stop),
            _Stream(started.stderr, self.stderr, told_errors, limits.output, self.stop),
        ]

    def stop(self, ended: Ended, detail: str | None) -> None:
        """End it. The first reason is the one that counts."""
        if self.ended is None:
            self.ended, self._detail = ended, detail
        self._started.kill()

    @asynccontextmanager
    async def watched(self, watch: Watch) -> AsyncGenerator[None]:
        # It ends with the block. A task group would wrap what the block raises, and wait for a last look.
        watching = asyncio.create_task(self._watch(watch))
        try:
            yield
        finally:
            watching.cancel()

    async def _watch(self, watch: Watch) -> None:
        try:
            ended = await watch.until_exceeded(self._started.process.pid)
            self.stop(ended, watch.detail)
        except Exception as error:  # noqa: BLE001  after any error, nobody would notice a limit any more
            self.stop("killed", f"it could not be watched: {type(error).__name__}: {error}")

    async def until(self, end: Callable[[], Awaitable[int]]) -> int:
        """Wait for an end, which says the exit code, or make one when it is time."""
        code = None
        left = self._limits.seconds
        while code is None and left > 0:
            with anyio.move_on_after(left):
                code = await end()
            left = self._began + self._limits.seconds + self._door.waited() - time.monotonic()
        if code is None:
            self.stop("timeout", None)
            code = await self._started.exited()
        self._seconds = time.monotonic() - self._began
        return code

    async def last_words(self, bridge: Bridge) -> None:
        """Output sent before the end arrives in a moment; a pipe that someone holds open is not awaited."""
        await asyncio.wait([bridge.closed, *(stream.ended for stream in self._streams)], timeout=_LAST_WORDS)

    def take_what_is_there(self) -> None:
        """Read what has been printed, without an end to wait for."""
        for stream in self._streams:
            stream.take_what_is_there()

    def close(self) -> None:
        """Stop reading. The output so far goes to the caller of the program."""
        self.take_what_is_there()
        for stream in self._streams:
            stream.close()
        self._door.leave(self._stdout.captured(), self.stderr.captured())

    async def outcome(self, code: int, bridge: Bridge, watch: Watch) -> Outcome:
        ended = self.ended or (_why(code, bridge, watch) if code else None) or await watch.look_at_disk()
        has_result, result, size = bridge.result if ended is None else (False, None, 0)
        return Outcome(
            exit_code=KILLED if self.ended else code,
            stdout=self._stdout.captured(),
            stderr=self.stderr.captured(),
            seconds=self._seconds,
            result=result,
            has_result=has_result,
            result_size=0 if has_result else size,
            ended=ended,
            detail=self._detail or (reason_of(ended, self._limits) if ended else None),
        )


def _why(code: int, bridge: Bridge, watch: Watch) -> Ended | None:
    """Which limit a program ran into that ended with an error; None when it was none."""
    seen = watch.look_after()
    if seen in ("memory", "cpu") and code >= 128:
        return seen
    told = (bridge.last_word or {}).get("ended")
    for word in _TOLD:
        if told == word:
            return word
    if seen == "processes" and code != KILLED:
        return seen
    return "killed" if code == KILLED else None


class _Stream:
    """Reads a pipe to its end, keeps what the capture keeps and tells what is to be told."""

    def __init__(
        self,
        descriptor: int,
        capture: Capture,
        telling: Telling,
        limit: int,
        stop: Callable[[Ended, None], None],
    ) -> None:
        self._descriptor = descriptor
        self._capture = capture
        self._telling = telling
        self._limit = limit
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self.ended = self._loop.create_future()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def _read(self) -> bool:
        """Whether there was something to read."""
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        self._capture.add(data)
        if not data:
            self.close()
            return False
        if self._capture.total > self._limit:
            self._stop("output", None)
        self._telling.add(data)
        return True

    def take_what_is_there(self) -> None:
        # A pipe holds no more than 1 MiB; a process that keeps filling it does not keep us here.
        for _ in range(1 + (1 << 20) // _CHUNK):
            if self.ended.done() or not self._read():
                return

    def close(self) -> None:
        if not self.ended.done():
            self._loop.remove_reader(self._descriptor)
            self.ended.set_result(None)
            self._telling.add(b"", final=True)


async def readable(descriptor: int) -> None:
    """Wait until something can be read."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def note() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(descriptor, note)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process with its own group, all processes in that group, and all of its descendants.

    A box that has just begun may not yet have arranged to end with the process that made it.
    """
    if process.returncode is None:
        below = descendants(process.pid)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for number in (process.pid, *below):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)

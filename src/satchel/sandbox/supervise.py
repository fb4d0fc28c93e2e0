"""One running program from its start to its end, whatever the end is: the part that all backends share."""

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import anyio

from satchel.sandbox.bridge import Bridge
from satchel.sandbox.capture import Capture
from satchel.sandbox.limits import KILLED, Ended, Limits, reason_of
from satchel.sandbox.processes import descendants
from satchel.sandbox.remedies import refusal
from satchel.sandbox.sandbox import Answer, Outcome
from satchel.sandbox.watch import Watch

_LAST_WORDS = 1.0  # seconds for what is still in pipes once the program is gone
_CHUNK = 65536
# What a program can know of its own end, and the kernel does not tell.
_TOLD: tuple[Ended, ...] = ("memory", "processes", "open_files", "file_size", "disk", "calls")


@dataclass(frozen=True, kw_only=True)
class Started:
    """A program that was started, and this side of everything that leads to it."""

    process: subprocess.Popen[bytes]
    bridge: socket.socket
    stdout: int
    stderr: int
    kill: Callable[[], None]
    """Ends all of its processes. May be called more than once."""


async def supervise(started: Started, answer: Answer, limits: Limits, watch: Watch) -> Outcome:
    """Serve a program until it ends, or end it. SandboxError when it never began."""
    ending = _Ending(started.kill)
    stdout, stderr = Capture(limits.kept_output), Capture(limits.kept_errors)
    streams = [
        _Stream(started.stdout, stdout, limits.output, ending.stop),
        _Stream(started.stderr, stderr, limits.output, ending.stop),
    ]
    try:
        bridge, code, seconds = await _serve(started, streams, answer, limits, watch, ending)
    finally:
        # Also when the caller gives up: nothing may go on.
        started.kill()
        with anyio.CancelScope(shield=True):
            await _exited(started.process)
        for stream in streams:
            stream.close()
    if not bridge.begun and ending.ended is None:
        raise refusal(stderr.captured().text)
    ended = ending.ended or (_why(code, bridge, watch) if code else None) or await watch.look_at_disk()
    has_result, result, size = bridge.result if ended is None else (False, None, 0)
    return Outcome(
        exit_code=KILLED if ending.ended else code,
        stdout=stdout.captured(),
        stderr=stderr.captured(),
        seconds=seconds,
        result=result,
        has_result=has_result,
        result_size=0 if has_result else size,
        ended=ended,
        detail=ending.detail or (reason_of(ended, limits) if ended else None),
    )


async def _serve(
    started: Started,
    streams: "list[_Stream]",
    answer: Answer,
    limits: Limits,
    watch: Watch,
    ending: "_Ending",
) -> tuple[Bridge, int, float]:
    """(the bridge, the exit code, how long it took) once nothing more can come."""
    began = time.monotonic()
    bridge = Bridge(answer, limits, ending.stop)
    watching = asyncio.create_task(_watch(watch, started.process.pid, ending))
    try:
        await asyncio.get_running_loop().create_unix_connection(lambda: bridge, sock=started.bridge)
        code = await _exit_code(started.process, limits.seconds, ending)
        seconds = time.monotonic() - began
        started.kill()  # whatever the program has left running
        await _last_words(bridge, streams)
    finally:
        watching.cancel()
        with anyio.CancelScope(shield=True):
            await bridge.end()
        started.bridge.close()  # nobody else does where it was cancelled before it was connected
    return bridge, code, seconds


async def _exit_code(process: subprocess.Popen[bytes], seconds: float, ending: "_Ending") -> int:
    """Wait for the end, or make it; as a shell has it, 128 and the number for a signal."""
    with anyio.move_on_after(seconds):
        await _exited(process)
    if process.returncode is None:
        ending.stop("timeout", None)
        await _exited(process)
    code = cast(int, process.returncode)
    return 128 - code if code < 0 else code


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


class _Ending:
    """The first reason to end an execution is the one that counts."""

    def __init__(self, kill: Callable[[], None]) -> None:
        self._kill = kill
        self.ended: Ended | None = None
        self.detail: str | None = None

    def stop(self, ended: Ended, detail: str | None) -> None:
        if self.ended is None:
            self.ended, self.detail = ended, detail
        self._kill()


async def _watch(watch: Watch, process: int, ending: _Ending) -> None:
    try:
        ending.stop(await watch.until_exceeded(process), None)
    except Exception as error:  # noqa: BLE001  whatever it is, nobody would notice a limit any more
        ending.stop("killed", f"it could not be watched: {type(error).__name__}: {error}")


class _Stream:
    """Reads a pipe to its end and keeps what the capture keeps."""

    def __init__(
        self, descriptor: int, capture: Capture, limit: int, stop: Callable[[Ended, None], None]
    ) -> None:
        self._descriptor = descriptor
        self._capture = capture
        self._limit = limit
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self.ended = self._loop.create_future()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._capture.add(data)
        if not data:
            self.close()
        elif self._capture.total > self._limit:
            self._stop("output", None)

    def close(self) -> None:
        if not self.ended.done():
            self._loop.remove_reader(self._descriptor)
            self.ended.set_result(None)
            os.close(self._descriptor)


async def _last_words(bridge: Bridge, streams: list[_Stream]) -> None:
    """What was sent before the end arrives within a moment; a pipe that someone holds open is not awaited."""
    await asyncio.wait([bridge.closed, *(stream.ended for stream in streams)], timeout=_LAST_WORDS)


async def _exited(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process without a thread. Linux only, as all backends are."""
    if process.poll() is not None:
        return
    descriptor = os.pidfd_open(process.pid)
    loop = asyncio.get_running_loop()
    gone = loop.create_future()

    def note() -> None:
        if not gone.done():
            gone.set_result(None)

    loop.add_reader(descriptor, note)
    try:
        while process.poll() is None:
            await gone
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that has a group of its own, what is in that group, and whatever is below it.

    A box that has just begun may not yet have arranged to end with the process that made it.
    """
    if process.returncode is None:
        below = descendants(process.pid)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for number in (process.pid, *below):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)

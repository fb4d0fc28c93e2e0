"""The stdio transport: a server as a child process, one JSON-RPC message a line.

The SDK's own transport is not used because it shows neither the process nor its exit code and standard
error, reads lines of any length into memory, and leaves behind descendants of a server that exits in order.
"""

import json
import re
import signal
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Self

import anyio
import anyio.abc
from mcp.shared.message import SessionMessage
from mcp_types import (
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from satchel.config import Target
from satchel.model import is_object
from satchel.support.files import private_directory
from satchel.support.json import DEEPEST, is_too_deep, mend_surrogates
from satchel.upstream.guardian import MARK, sweep
from satchel.upstream.logs import ServerLog, shown_command
from satchel.upstream.processes import Children, kill_group
from satchel.upstream.redacting import redact

MAX_MESSAGE = 32 * 1024 * 1024
_MOST_REQUESTS = 64  # of the server to us, unanswered
_EXIT_GRACE = 2.0  # seconds between closing its input and SIGTERM
_SILENT_GRACE = 0.2  # the same for one that never said a word: it has nothing to finish
_TERMINATE_GRACE = 1.0  # seconds between SIGTERM and SIGKILL
_STDERR_LINES = 40
_STDERR_COLUMNS = 500
_LONGEST_LINE = 16 * 1024  # bytes; of a longer one the end is kept
_VERSION = r'"jsonrpc"\s*:\s*"2\.0"'
_ID = r'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")'
_OUTCOME = r'"(?:result|error)"\s*:'
_BEGINS_WITH_ID = re.compile(rf"\s*\{{\s*(?:{_VERSION}\s*,\s*)?{_ID}\s*,\s*(?:{_VERSION}\s*,\s*)?{_OUTCOME}")
_BEGINS_WITH_OUTCOME = re.compile(rf"\s*\{{\s*(?:{_VERSION}\s*,\s*)?{_OUTCOME}")
_ENDS_WITH_ID = re.compile(rf",\s*{_ID}\s*(?:,\s*{_VERSION}\s*)?\}}\s*\Z")


class Child:
    """A running server process: its exit code, and the last of what it wrote to standard error."""

    def __init__(
        self, process: anyio.abc.Process, mark: str, log: ServerLog, secrets: Sequence[str] = ()
    ) -> None:
        self.process = process
        self.log = log
        self.mark = mark
        self._secrets = secrets
        self.stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self.noise: deque[str] = deque(maxlen=3)
        self.noise_count = 0
        self.received = 0  # bytes
        self.asked = 0  # requests of the server to us that are not answered yet
        self.excess: str | None = None  # why we stopped listening to it
        self.stopped = False  # by us, while it was running: its exit code says nothing then

    @property
    def exit_code(self) -> int | None:
        return self.process.returncode

    @property
    def has_ended(self) -> bool:
        return self.exit_code is not None and not self.stopped

    async def keep_stderr(self) -> None:
        """Read standard error for ever, so that the server never blocks on it; keep its last lines."""
        assert self.process.stderr is not None
        rest = b""
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for chunk in self.process.stderr:
                self.log.stderr(chunk)
                *lines, rest = (rest + chunk).split(b"\n")
                rest = rest[-_LONGEST_LINE:]
                for line in lines[-_STDERR_LINES:]:
                    self._keep(line)
        self._keep(rest)

    def _keep(self, line: bytes) -> None:
        text = redact(
            line.decode("utf-8", "replace").rstrip(), self._secrets
        )  # before a cut goes through one
        if len(line) >= _LONGEST_LINE:
            text = text[-_STDERR_COLUMNS:]
        if text:
            self.stderr.append(text[:_STDERR_COLUMNS])

    def note_noise(self, line: bytes) -> None:
        """A line on standard output that is not a message."""
        self.noise_count += 1
        text = line[:_LONGEST_LINE].decode("utf-8", "replace")
        self.noise.append(redact(text, self._secrets)[:200])

    async def stop(self) -> None:
        """Close its input, wait a little, then end the whole tree. Every wait is bounded."""
        assert self.process.stdin is not None
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self.process.stdin.aclose()
        self.stopped = not await self._exits_within(_EXIT_GRACE if self.received else _SILENT_GRACE)
        if self.stopped and kill_group(self.process.pid, signal.SIGTERM):
            await self._exits_within(_TERMINATE_GRACE)
        kill_group(self.process.pid, signal.SIGKILL)
        await anyio.to_thread.run_sync(sweep, self.mark)
        await self._exits_within(_TERMINATE_GRACE)

    async def _exits_within(self, seconds: float) -> bool:
        # Not process.wait(): asyncio's also waits for the pipes, which a grandchild may hold open.
        deadline = anyio.current_time() + seconds
        pause = 0.002
        while self.process.returncode is None:
            if anyio.current_time() >= deadline:
                return False
            await anyio.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        return True


class _Pipe:
    """What the SDK wants of a stream. Closing is left to the child: it owns its pipes."""

    async def aclose(self) -> None:
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class _Reader(_Pipe):
    """Messages from the server's standard output. Lines that are not messages are counted and skipped."""

    def __init__(self, child: Child) -> None:
        assert child.process.stdout is not None
        self._child = child
        self._stream = child.process.stdout
        self._buffer = bytearray()
        self._scanned = 0

    async def receive(self) -> SessionMessage:
        while True:
            line = await self._line()
            if not line.strip():
                continue
            message = read_message(line)
            if message is None:
                self._child.note_noise(line)
                continue
            if isinstance(message, JSONRPCRequest):
                self._child.asked += 1
                if self._child.asked > _MOST_REQUESTS:
                    self._child.excess = f"asked more than {_MOST_REQUESTS} questions at once"
                    raise anyio.EndOfStream
            return SessionMessage(message)

    async def _line(self) -> bytes:
        while True:
            end = self._buffer.find(b"\n", self._scanned)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._scanned = 0
                return line
            self._scanned = len(self._buffer)
            if self._scanned > MAX_MESSAGE:
                self._child.excess = f"sent a message of more than {MAX_MESSAGE >> 20} MiB"
                raise anyio.EndOfStream
            chunk = await self._stream.receive()
            self._child.received += len(chunk)
            self._buffer += chunk

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            raise StopAsyncIteration from None


class _Writer(_Pipe):
    """Messages to the server's standard input."""

    def __init__(self, child: Child) -> None:
        assert child.process.stdin is not None
        self._child = child
        self._stream = child.process.stdin

    async def send(self, item: SessionMessage, /) -> None:
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._child.asked -= 1
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            await self._stream.send(text.encode("utf-8", "surrogatepass") + b"\n")
        except OSError:
            raise anyio.BrokenResourceError from None


def read_message(line: bytes) -> JSONRPCMessage | None:
    """One line as a message, or None. Only the envelope is looked at; the rest is read where it is used.

    The SDK's own way validates the whole, which takes seconds for some messages of a few megabytes.
    """
    text = mend_surrogates(line).decode("utf-8-sig", "replace")
    try:
        value: object = json.loads(text, parse_constant=lambda word: None)
    except ValueError:
        return None
    except RecursionError:
        return _too_deep(text)
    # Each level takes a bracket, and few messages have so many: the others need not be walked through.
    if text.count("{") + text.count("[") > DEEPEST and is_too_deep(value):
        return _too_deep(text)
    if not is_object(value) or value.get("jsonrpc") != "2.0":
        return None
    identity, method, params = value.get("id"), value.get("method"), value.get("params")
    known = isinstance(identity, str | int) and not isinstance(identity, bool)
    if isinstance(method, str) and (params is None or is_object(params)):
        if known:
            return JSONRPCRequest.model_construct(jsonrpc="2.0", id=identity, method=method, params=params)
        return JSONRPCNotification.model_construct(jsonrpc="2.0", method=method, params=params)
    result = value.get("result")
    if known and is_object(result):
        return JSONRPCResponse.model_construct(jsonrpc="2.0", id=identity, result=result)
    try:
        return JSONRPCError.model_validate(value) if is_object(value.get("error")) else None
    except ValueError:
        return None


def _too_deep(text: str) -> JSONRPCError | None:
    """In place of an answer that is nested too deeply, so that nobody waits for it; else None."""
    known = _BEGINS_WITH_ID.match(text)
    if known is None and _BEGINS_WITH_OUTCOME.match(text):
        known = _ENDS_WITH_ID.search(text[-300:])
    if known is None:
        return None
    said = ErrorData(code=PARSE_ERROR, message=f"the answer is nested more than {DEEPEST} levels deep")
    return JSONRPCError(jsonrpc="2.0", id=json.loads(known[1]), error=said)


@asynccontextmanager
async def open_stdio(target: Target, children: Children) -> AsyncGenerator[tuple[_Reader, _Writer, Child]]:
    """Start the server and stop it on the way out, whatever happens in between."""
    children.watch()
    if target.data is not None:
        private_directory(target.data)
    environment = children.environment({**target.inherited, **target.env})
    process = await anyio.open_process(
        [target.command, *target.args], env=environment, cwd=target.cwd, start_new_session=True
    )
    # No await until the task group is entered: a cancellation here would lose the process.
    log = children.logs.open(target, process.pid)
    log.note(f"started: {shown_command(target)}")
    child = Child(process, environment[MARK], log, target.secrets)
    children.report("+", process.pid)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(child.keep_stderr)
            try:
                yield _Reader(child), _Writer(child), child
            finally:
                with anyio.CancelScope(shield=True):
                    await child.stop()
                    code = "killed" if child.exit_code is None else f"exit code {child.exit_code}"
                    log.note(f"{'stopped by Satchel' if child.stopped else 'ended'}: {code}")
                    children.report("-", process.pid)
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _close_pipes(process)


async def _close_pipes(process: anyio.abc.Process) -> None:
    """A descendant that survived in some other session can hold them; our ends are closed all the same."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await stream.aclose()
    inner: Any = getattr(process, "_process", None)
    if inner is not None:
        inner._transport.close()
        # Some versions of asyncio complain later about a broken pipe that nobody has asked about: ask.
        with suppress(OSError), anyio.move_on_after(0.2):
            await inner.stdin.wait_closed()

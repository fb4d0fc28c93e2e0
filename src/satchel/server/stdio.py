"""Over standard input and output: one client, which started this process."""

import asyncio
import logging
import os
import queue
import signal
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO, Self

import anyio
from mcp import MCPError
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse

from satchel.server.surface import Surface
from satchel.support.json import mend_surrogates

logger = logging.getLogger(__name__)

_LONGEST_MESSAGE = 64 * 1024 * 1024
_LAST_WORDS = 5.0  # seconds that a client has to read what it was sent before it left
_MOST_WAITING = 64  # messages that are read before they are taken


async def serve_stdio(surface: Surface) -> None:
    """Until the client closes standard input, or the process is told to end."""
    server = surface.server
    async with surface.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(_end_on_signal, tasks.cancel_scope)
        async with _own_streams() as (stdin, stdout), stdio_server(stdin, stdout) as (read, write):
            await server.run(read, Writer(write), server.create_initialization_options())
            tasks.cancel_scope.deadline = anyio.current_time() + _LAST_WORDS
        tasks.cancel_scope.cancel()


async def _end_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()
            return


@dataclass(frozen=True)
class _Written:
    """A message that has been turned into text already: the SDK asks for no more than this."""

    text: str

    def model_dump_json(self, **options: Any) -> str:
        return self.text


class Writer:
    """What the SDK writes to. Its own stream ends with the first message that can't be written."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def send(self, item: SessionMessage, /) -> None:
        written: Any = _Written(_as_text(item.message))
        if written.text:
            await self._stream.send(SessionMessage(written, metadata=item.metadata))

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


def _as_text(message: JSONRPCMessage) -> str:
    """A message as JSON; an error in place of an answer that can't be, and nothing in place of other news."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True)
    except (ValueError, RecursionError) as error:  # half a surrogate pair, or a nesting without end
        logger.warning("a message to the client can't be written: %s", str(error)[:200])
    failure = ErrorData(
        code=INTERNAL_ERROR, message="the answer can't be written as JSON; Satchel's log says why"
    )
    if isinstance(message, JSONRPCRequest):
        raise MCPError(code=failure.code, message="the question can't be written as JSON")
    if isinstance(message, JSONRPCResponse | JSONRPCError):
        return JSONRPCError(jsonrpc="2.0", id=message.id, error=failure).model_dump_json(by_alias=True)
    return ""


class _Lines:
    """Standard input line by line, read by a thread that nobody waits for.

    The SDK's own thread is waited for, and only the client can end that. An event loop would have to make the
    stream non-blocking, which output shares with it where both are one socket.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes] = asyncio.Queue(_MOST_WAITING)
        threading.Thread(target=self._read, name="satchel-stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self._lines.get():
            yield line.decode("utf-8", "replace")

    def _read(self) -> None:
        with suppress(RuntimeError, OSError, ValueError):  # the loop is closed, or the stream is broken
            while line := self._line():
                self._put(mend_surrogates(line))  # the SDK does not answer what it can't read
        with suppress(RuntimeError):
            self._put(b"")

    def _line(self) -> bytes:
        """The next line; of one that is longer than any message, something that is none."""
        line = self._stream.readline(_LONGEST_MESSAGE)
        if len(line) < _LONGEST_MESSAGE or line.endswith(b"\n"):
            return line
        while (rest := self._stream.readline(_LONGEST_MESSAGE)) and not rest.endswith(b"\n"):
            pass
        return b"a line of more than 64 MiB\n"

    def _put(self, line: bytes) -> None:
        # From the thread that reads: it waits until the loop has room for the line.
        asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()


class _Output:
    """Standard output, written to by a thread that nobody waits for either: a client need not read."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._texts: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        threading.Thread(target=self._write, name="satchel-stdout", daemon=True).start()

    async def write(self, text: str) -> None:
        written: asyncio.Future[None] = self._loop.create_future()
        self._texts.put((text.encode("utf-8"), written))
        await written

    async def flush(self) -> None:
        pass

    def _write(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            while True:
                data, written = self._texts.get()
                try:
                    while data:
                        data = data[os.write(self._descriptor, data) :]
                except OSError as error:
                    self._loop.call_soon_threadsafe(_settle, written, error)
                else:
                    self._loop.call_soon_threadsafe(_settle, written, None)


def _settle(written: "asyncio.Future[None]", error: OSError | None) -> None:
    if written.cancelled():
        return
    if error is not None:
        written.set_exception(error)
    else:
        written.set_result(None)


@asynccontextmanager
async def _own_streams() -> AsyncGenerator[tuple[Any, Any]]:
    """The two streams, for the protocol alone: everything else that prints goes to standard error."""
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    yield _Lines(os.fdopen(incoming, "rb")), _Output(outgoing)

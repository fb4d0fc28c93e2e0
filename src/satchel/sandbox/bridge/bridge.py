"""The host's end of the bridge: takes a program's requests off its socket and answers them.

Every writer to the socket is hostile. A frame is attributed by the socket it came on, never by what it
says; what breaks a rule ends that execution and nothing else. What a request means is not known here, but
which of them reach a server.
"""

import asyncio
import fcntl
import json
import logging
import os
import select
import socket
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from satchel.errors import NotAllowedError, SatchelError, ToolError
from satchel.model import Json, is_object
from satchel.sandbox.bridge.frames import FrameError, FrameReader, encode
from satchel.sandbox.limits import Ended, Limits, most_waiting
from satchel.sandbox.sandbox import Answer, EndProgramError
from satchel.support.charging import Host, Share, charged_to, measured, timed

Stop = Callable[[Ended, str | None], None]
"""Ends the execution; the text says what was wrong."""

START = encode({})
"""The answer to a box that is ready. A program runs only after it: none runs whose Satchel has given up or
died while the box was being made, when it can't yet be relied on to end with whoever made it."""
_CALLS = ("call_tool", "read_resource", "get_prompt")  # what reaches a server
_PATIENCE = 100  # calls beyond the limit that are answered with an error before the program is ended
_OTHER_REQUESTS = 10  # for each call, how many searches and the like
_MOST_HELD = 32 * 1024 * 1024
_MOST_LEFT = 1024 * 1024  # bytes that are read after it has gone; a socket keeps fewer, unless asked for more
_LARGEST_ANSWER = 64 * 1024 * 1024
_MOST_UNREAD = 2 * _LARGEST_ANSWER  # of answers that a program has not taken
_log = logging.getLogger(__name__)


class Bridge(asyncio.Protocol):
    """Serves one connection until it closes. Its maker also calls `end`, when all is over.

    Its tasks are plain ones, in no task group: that would take longer than all else that is done here.
    """

    def __init__(
        self, answer: Answer, limits: Limits, stop: Stop, start: bytes = START, *, share: Share | None = None
    ) -> None:
        self._start = start
        self._answer = answer
        self._limits = limits
        self._share = share or Host().share("")
        self._spent = 0.0  # seconds of this process that the program has cost
        self._resting: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._stop = stop
        self._reader = FrameReader(limits.frame)
        self._turns = asyncio.Semaphore(limits.calls_in_flight)
        self._writable = asyncio.Event()
        self._writable.set()
        self._unanswered: set[int] = set()
        self._held = 0  # bytes of requests that are not answered yet, as they are in memory
        self._received = self._calls = self._requests = self._waiting = self._last_id = 0
        self._transport: asyncio.Transport | None = None
        self._stopped = self._is_gone = self._is_over = False
        self.closed = asyncio.get_running_loop().create_future()
        self._is_ready = False
        self.begun = False
        """Whether the program was started: before it can do anything, its box says so."""
        self.last_word: Json | None = None
        """The program's own report of its end."""
        self.told = asyncio.get_running_loop().create_future()
        """Done when it has said that."""

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._share.listen(self._set_reading)

    def data_received(self, data: bytes) -> None:
        if self._stopped:
            return
        self._received += len(data)
        if self._received > self._limits.sent:
            self._end("protocol", f"it sent more than {self._limits.sent:,} bytes through the bridge")
            return
        with measured(self._spend_step):
            self._read(data)
        if self._share.rest:
            self._set_reading()

    def _read(self, data: bytes) -> None:
        try:
            for frame, size in self._reader.feed(data):
                self._take(frame, size)
                if self._stopped:
                    return
        except FrameError as error:
            self._end("protocol", f"it sent {error}")

    def pause_writing(self) -> None:
        # It does not take its answers: it gets no more, and to ask no more, until it does.
        self._writable.clear()
        self._set_reading()

    def resume_writing(self) -> None:
        self._writable.set()
        self._set_reading()

    def _set_reading(self) -> None:
        """Take requests while answers are taken, what was asked is not too large to be kept, and the agent
        does not have to rest."""
        if self._transport is None or self._transport.is_closing():
            return
        has_room = self._held <= _MOST_HELD and not self._share.is_full
        wanted = self._writable.is_set() and has_room and not self._is_over
        if wanted and (rest := self._share.rest):
            wanted = False
            if self._resting is None:
                self._resting = asyncio.get_running_loop().call_later(rest, self._go_on)
        if wanted and not self._transport.is_reading():
            self._transport.resume_reading()
        elif not wanted and self._transport.is_reading():
            self._transport.pause_reading()

    def _go_on(self) -> None:
        self._resting = None
        self._set_reading()

    def _leave(self) -> None:
        """Read no more because others have rested: the connection is no longer this program's."""
        self._share.ignore(self._set_reading)
        if self._resting is not None:
            self._resting.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_gone = True
        self._leave()
        try:
            self._take_last_word()
        finally:
            self._stopped = True
            if not self.closed.done():
                self.closed.set_result(None)

    def _take_last_word(self) -> None:
        """What a program sent before it went, and was not read because it did not read its answers.

        No more than is there now: one that only reads no more could send for as long as it is listened to.
        """
        if self._transport is not None:
            descriptor = self._transport.get_extra_info("socket").fileno()
            with suppress(OSError):
                left = min(_unread(descriptor), _MOST_LEFT)
                while left and not self._stopped and (data := os.read(descriptor, min(left, 1 << 16))):
                    left -= len(data)
                    self.data_received(data)

    # One frame

    def _take(self, frame: Json, size: int) -> None:
        method, params = frame.get("method"), frame.get("params")
        if not isinstance(method, str) or not is_object(params):
            self._end("protocol", "it sent a frame without a method and params")
        elif "id" not in frame:
            self._hear(method, params)
        elif not self._is_gone:
            self._ask(frame["id"], method, params, size)

    def _hear(self, method: str, params: Json) -> None:
        if method == "ready" and not self._is_ready:
            self._is_ready = True
            if self._transport is not None:
                self._transport.write(self._start)
        elif method == "begin" and self._is_ready and not self.begun:
            self.begun = True
        elif method == "end" and self.last_word is None:
            self.last_word = params
            self.told.set_result(None)
        else:
            self._end("protocol", f"it sent a message that nobody expects: {method[:40]!r}")

    def _ask(self, number: object, method: str, params: Json, size: int) -> None:
        if type(number) is not int or number <= self._last_id:
            shown = str(number)[:40] if isinstance(number, int | str) else "not a number"
            self._end("protocol", f"it sent an id that does not count up: {shown}")
            return
        self._last_id = number
        self._requests += 1
        self._calls += method in _CALLS
        if (
            self._requests > self._limits.calls * _OTHER_REQUESTS
            or self._calls > self._limits.calls + _PATIENCE
        ):
            self._end("calls", None)
            return
        if self._calls > self._limits.calls and method in _CALLS:
            message = f"this program may make {self._limits.calls:,} calls, and has made them (max_calls)"
            self._reply({"id": number, "error": {"kind": "limit", "message": message}})
            return
        self._waiting += 1
        if self._waiting > most_waiting(self._limits):
            self._end("calls_in_flight", None)
            return
        self._unanswered.add(number)
        if self._is_over:
            return
        self._held += size
        self._share.hold(size)
        self._set_reading()
        # Begun by a callback of the transport, which can't await a group; `end` waits for all of them.
        task = asyncio.create_task(self._serve(number, method, params))
        self._tasks.add(task)

        def forget(task: asyncio.Task[None]) -> None:  # also one that was cancelled before it began
            self._tasks.discard(task)
            self._waiting -= 1
            self._held -= size
            self._share.hold(-size)
            self._set_reading()

        task.add_done_callback(forget)

    async def _serve(self, number: int, method: str, params: Json) -> None:
        async with self._turns:
            await self._writable.wait()
            await self._have_a_turn()
            with charged_to(self._share, self._spend):
                reply = await timed(self._reply_to(number, method, params), self._spend_step)
            await self._have_a_turn()
            with measured(self._spend_step):
                self._reply(reply)
            self._unanswered.discard(number)

    async def _have_a_turn(self) -> None:
        """Not all in one turn of the event loop, which others need as well."""
        if self._waiting > 1 or self._share.rest:
            await self._share.step()

    def _spend_step(self, used: float, taken: float) -> None:
        """Time of the event loop, for which others have waited."""
        self._share.note_step(used, taken)
        self._spend(used)

    def _spend(self, seconds: float) -> None:
        self._spent += seconds
        if self._spent > self._limits.cpu_seconds and not self._stopped:
            self._end(
                "cpu",
                f"its requests took more than {self._limits.cpu_seconds:g} s of Satchel's processor time"
                " (cpu_seconds)",
            )

    async def _reply_to(self, number: int, method: str, params: Json) -> Json:
        try:
            return {"id": number, "result": await self._answer(method, params)}
        except EndProgramError as end:
            self._end(end.ended, end.detail)
            return {"id": number, "error": {"kind": "permission", "message": end.detail}}
        except NotAllowedError as error:
            return {"id": number, "error": {"kind": "permission", "message": error.message}}
        except ToolError as error:
            details = {
                "kind": error.kind,
                "server": error.server,
                "tool": error.tool,
                "message": error.reason,
            }
            return {"id": number, "error": details}
        except SatchelError as error:
            hint = f"; {error.hint}" if error.hint else ""
            return {"id": number, "error": {"kind": "request", "message": error.message + hint}}
        except Exception as error:  # noqa: BLE001  a fault of ours must not end a program that can go on
            _log.exception("a request of a program failed: %s", method)
            message = f"Satchel failed: {type(error).__name__}: {str(error)[:500]}"
            return {"id": number, "error": {"kind": "internal", "message": message}}

    def _reply(self, reply: Json) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        try:
            frame = encode(reply)
        except (ValueError, TypeError, RecursionError) as error:
            frame = encode({"id": reply["id"], "error": {"kind": "internal", "message": str(error)[:500]}})
        message = None
        if len(frame) > _LARGEST_ANSWER:
            message = f"the answer has {len(frame):,} bytes; at most {_LARGEST_ANSWER:,} can be handed over"
        elif self._transport.get_write_buffer_size() + len(frame) > _MOST_UNREAD:
            message = f"more than {_MOST_UNREAD:,} bytes of answers wait to be read; read them, and ask again"
        if message is not None:
            frame = encode({"id": reply["id"], "error": {"kind": "limit", "message": message}})
        self._transport.write(frame)

    def _end(self, ended: Ended, detail: str | None) -> None:
        self._stopped = True
        self._stop(ended, detail)
        self._close()

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def end(self) -> None:
        """Close the connection, and cancel what is still under way."""
        self._close()
        await self._cancel()

    async def _cancel(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # In a session, where one program follows another over the same connection

    async def detach(self) -> bool:
        """Cancel what is still under way, and keep the connection; false when it is of no more use.

        All that could send has been stopped: what it sent until then is refused, and nothing more will come.
        """
        if self._transport is None or self._transport.is_closing():
            return False
        self._leave()
        self._transport.pause_reading()
        self._is_over = True
        self._take_last_word()
        await self._cancel()
        for number in self._unanswered:
            message = "the program that asked for this has ended"
            self._reply({"id": number, "error": {"kind": "connection", "message": message}})
        # Who does not take its answers would have them pile up from one program to the next.
        has_taken_all = not self._transport.get_write_buffer_size()
        return has_taken_all and not self._stopped and not self._transport.is_closing()

    def follow(self, last: "Bridge") -> bool:
        """Take over the connection from the program before this one, and begin.

        False where something was sent in between, when nobody was to send: it would count as this program's.
        """
        assert last._transport is not None
        place = last._transport.get_extra_info("socket").fileno()
        if place >= 0 and is_readable(place) and not _is_at_end(place):
            return False
        self._is_ready = self.begun = True
        self._last_id = last._last_id
        self._reader = last._reader
        last._transport.set_protocol(self)
        self.connection_made(last._transport)
        last._transport.write(self._start)
        if not last._transport.is_reading():
            last._transport.resume_reading()
        return True

    @property
    def result(self) -> tuple[bool, Any, int]:
        """(whether there is one, the value, its size in characters) of the program's `result`."""
        word = self.last_word or {}
        if "result" not in word:
            return False, None, 0
        size = len(json.dumps(word["result"], ensure_ascii=False))
        if size > self._limits.result:
            return False, None, size
        return True, word["result"], size


def _unread(descriptor: int) -> int:
    """How many bytes there are to read now."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


def _is_at_end(descriptor: int) -> bool:
    """Whether the other side has gone, and that is all there is to read."""
    with socket.socket(fileno=os.dup(descriptor)) as way:
        try:
            return not way.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError:
            return True


def is_readable(descriptor: int) -> bool:
    """Whether there is something to read now. Not by `select`, which takes no descriptor beyond 1,023."""
    look = select.poll()
    look.register(descriptor, select.POLLIN)
    return bool(look.poll(0))

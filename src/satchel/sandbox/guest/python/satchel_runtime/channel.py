"""The connection over a socket: requests and answers as frames, many in flight, from any thread or task."""

import json
import os
import select
import threading
from collections.abc import Callable
from typing import Any

from satchel_runtime.errors import NotConnectedError, tool_error

_CHUNK = 1 << 16
_NEXT_PROGRAM = 0  # the id of what has none


class _Waiter:
    """One request that has no answer yet. Its reader calls `wake` when the answer comes."""

    __slots__ = ("error", "is_done", "result", "wake")

    def __init__(self, wake: Callable[[], None]) -> None:
        self.is_done = False
        self.result: Any = None
        self.error: Exception | None = None
        self.wake = wake

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


class Channel:
    """Sends requests through a descriptor. No thread reads: the waiting caller does."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_blocking(descriptor, False)
        self._owner = os.getpid()
        self._sending = threading.Lock()
        self._reading = threading.RLock()
        self._changed = threading.Condition()
        self._waiters: dict[int, _Waiter] = {}
        self._last_id = 0
        self._data = bytearray()
        self._loops: set[Any] = set()
        self._is_closed = False

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        import asyncio  # programs that don't await need not wait for it

        loop = asyncio.get_running_loop()
        answered = loop.create_future()

        def settle() -> None:
            if not answered.done():
                answered.set_result(None)

        home = threading.get_ident()

        def wake() -> None:
            if threading.get_ident() == home:
                settle()
            elif not loop.is_closed():
                loop.call_soon_threadsafe(settle)

        if loop not in self._loops:
            self._loops.add(loop)
            loop.add_reader(self._descriptor, self._read_what_is_there)
        waiter = self._send(method, params, wake)
        if not waiter.is_done:
            await answered
        return waiter.outcome()

    def request_blocking(self, method: str, params: dict[str, Any]) -> Any:
        return self._wait_for(self._send(method, params, self._notify))

    def next_program(self, ending: dict[str, Any]) -> str:
        """In a session: say how a program ended, and wait for the next, which is the answer to no request."""
        waiter = self._waiters[_NEXT_PROGRAM] = _Waiter(self._notify)
        body = json.dumps({"method": "end", "params": ending}, separators=(",", ":")).encode()
        with self._sending:
            self._write(len(body).to_bytes(4, "big") + body)
        return self._wait_for(waiter)["program"]

    def _wait_for(self, waiter: _Waiter) -> Any:
        while not waiter.is_done:
            if self._reading.acquire(blocking=False):
                try:
                    if not waiter.is_done:
                        select.select([self._descriptor], [], [])
                        self._read()
                finally:
                    self._reading.release()
                    self._notify()
            else:  # another thread reads, and tells
                with self._changed:
                    if not waiter.is_done:
                        self._changed.wait(0.05)
        return waiter.outcome()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _send(self, method: str, params: dict[str, Any], wake: Callable[[], None]) -> _Waiter:
        if os.getpid() != self._owner:
            raise NotConnectedError("only the program's first process can call tools, not one that it forked")
        waiter = _Waiter(wake)
        with self._sending:
            if self._is_closed:
                raise NotConnectedError("the connection to Satchel is closed")
            number = self._last_id + 1
            request = {"id": number, "method": method, "params": params}
            body = json.dumps(request, allow_nan=False, separators=(",", ":")).encode()
            self._last_id = number
            self._waiters[number] = waiter
            self._write(len(body).to_bytes(4, "big") + body)
        return waiter

    def _write(self, data: bytes) -> None:
        """Write all of it. A host that does not take more may be waiting for us to take its answers."""
        view = memoryview(data)
        while view and not self._is_closed:
            try:
                view = view[os.write(self._descriptor, view) :]
            except BlockingIOError:
                select.select([self._descriptor], [self._descriptor], [])
                self._read_what_is_there()
            except ConnectionError:
                self._close()

    def _read_what_is_there(self) -> None:
        """Read without waiting; nothing to do where another thread is reading already."""
        if not self._reading.acquire(blocking=False):
            return
        try:
            self._read()
        finally:
            self._reading.release()

    def _read(self) -> None:
        """Take what the host has sent, and hand out the answers."""
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        except ConnectionError:  # what it had not taken yet is lost, and so is the connection
            data = b""
        if not data:
            self._close()
            return
        self._data += data
        while len(self._data) >= 4:
            end = 4 + int.from_bytes(self._data[:4], "big")
            if len(self._data) < end:
                return
            answer = json.loads(bytes(self._data[4:end]))
            del self._data[:end]
            self._hand_out(answer)

    def _hand_out(self, answer: dict[str, Any]) -> None:
        waiter = self._waiters.pop(answer.get("id", _NEXT_PROGRAM), None)
        if waiter is None:
            return
        if "error" in answer:
            waiter.error = error_of(answer["error"])
        else:
            waiter.result = answer.get("result", answer)
        waiter.is_done = True
        waiter.wake()

    def _close(self) -> None:
        self._is_closed = True
        for loop in self._loops:
            if not loop.is_closed():
                loop.call_soon_threadsafe(loop.remove_reader, self._descriptor)
        for number in list(self._waiters):
            waiter = self._waiters.pop(number, None)
            if waiter is None:  # its answer has just come
                continue
            waiter.error = NotConnectedError("the connection to Satchel was closed")
            waiter.is_done = True
            waiter.wake()


_channels: dict[int, Channel] = {}


def channel_over(descriptor: int) -> Channel:
    """The one channel that there is over a descriptor."""
    if descriptor not in _channels:
        _channels[descriptor] = Channel(descriptor)
    return _channels[descriptor]


def error_of(details: dict[str, Any]) -> Exception:
    """The error that a program can catch."""
    if details["kind"] == "permission":
        return PermissionError(details["message"])
    return tool_error(details.get("server", ""), details.get("tool", ""), details["message"], details["kind"])

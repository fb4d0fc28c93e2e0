"""The bodies of requests: each is read whole, within limits, before anything is made of it.

A body is bounded by its size, by the number of its values and by time; so are all bodies of an agent that are
held at once. Parsing a large one keeps the event loop busy for everybody, so large ones take turns: each
waits for as long as it costs, and an agent that sends many delays itself.
"""

from collections import Counter
from functools import partial

import anyio
from anyio import to_thread
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from satchel.server.gates import Gates
from satchel.server.listening import is_gone
from satchel.server.refusing import refuse
from satchel.support.json import mend_surrogates
from satchel.support.turns import Turns
from satchel.support.values import MOST_DIGITS, MOST_VALUES, ValueCounter, has_too_many_digits

LARGEST = 16 * 1024 * 1024
PATIENCE = 60.0
"""Seconds that a body may take to arrive."""
_VALUE = 100  # bytes that one value is reckoned to take
_MOST_HELD = 8 * LARGEST  # of one agent, values included
_SMALL = 64 * 1024  # what takes no turn
_RATE = 32 * 1024 * 1024  # bytes, values included, that are read in a second at most


class _Body:
    """A body as it arrives, on behalf of an agent; `held` has what all bodies of each agent cost."""

    def __init__(self, agent: str, held: Counter[str]) -> None:
        self.data = bytearray()
        self.cost = 0
        self.is_whole = False
        self._values = ValueCounter()
        self._agent = agent
        self._held = held

    def add(self, piece: bytes) -> Response | None:
        """Take the next piece, or say why the body is refused."""
        self.data += piece
        self._values.feed(piece)
        before, self.cost = self.cost, len(self.data) + _VALUE * self._values.count
        self._held[self._agent] += self.cost - before
        if self._values.count > MOST_VALUES:
            return refuse(413, f"Content Too Large: a request may have {MOST_VALUES:,} values")
        if self._held[self._agent] > _MOST_HELD:
            return refuse(429, "Too Many Requests: wait for the answers to other large ones")
        if b"\0" in piece:  # of UTF-16 or UTF-32, in which values can't be counted
            return refuse(400, "Bad Request: a body must be JSON in UTF-8")
        return None

    def let_go(self) -> None:
        self._held[self._agent] -= self.cost
        if not self._held[self._agent]:
            del self._held[self._agent]


class Bodies:
    """Wraps an application. The agent of a request is known by then."""

    def __init__(self, app: ASGIApp, *, patience: float = PATIENCE) -> None:
        self._app = app
        self._patience = patience
        self._held: Counter[str] = Counter()
        self._turns = Turns(1)
        self._gates = Gates()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        agent: str = scope["user"].username
        body = _Body(agent, self._held)
        try:
            refusal = await self._read(body, Headers(scope=scope), receive)
            if refusal is not None:
                await refusal(scope, receive, send)
            elif body.is_whole:  # otherwise its sender has gone
                data = await self._in_turn(body, agent)
                app = self._app if data is not None else _too_many_digits()
                if await self._gates.enter(agent, partial(is_gone, scope)):
                    await app(scope, _given(data or b"", receive), send)
        finally:
            body.let_go()

    async def _read(self, body: _Body, headers: Headers, receive: Receive) -> Response | None:
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared[:20]) > LARGEST:
            return _too_large()
        with anyio.move_on_after(self._patience):
            refusal, size = None, 0
            while not body.is_whole:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                piece: bytes = message.get("body", b"")
                size += len(piece)
                # To answer before all was sent would reset the connection, and its client may never see why.
                refusal = refusal or body.add(piece)
                if size > LARGEST:
                    return _too_large()
                body.is_whole = not message.get("more_body", False)
            return refusal
        return refuse(408, f"Request Timeout: its body took more than {self._patience:g} seconds")

    async def _in_turn(self, body: _Body, agent: str) -> bytes | None:
        """What the body says, when the time has come to read it; None where that would take too long."""
        data = bytes(body.data)
        body.data = bytearray()
        if body.cost <= _SMALL:
            return mend_surrogates(data)
        async with self._turns.turn(agent):
            await anyio.sleep(body.cost / _RATE)
            return await to_thread.run_sync(_readable, data)


def _readable(data: bytes) -> bytes | None:
    return mend_surrogates(data) if not has_too_many_digits(data) else None


def _too_large() -> Response:
    return refuse(413, f"Content Too Large: a request may have {LARGEST:,} bytes")


def _too_many_digits() -> Response:
    return refuse(413, f"Content Too Large: long numbers may have {MOST_DIGITS:,} digits together")


def _given(data: bytes, receive: Receive) -> Receive:
    """What was read once more, and then whatever follows."""
    waiting: list[Message] = [{"type": "http.request", "body": data, "more_body": False}]

    async def given() -> Message:
        return waiting.pop() if waiting else await receive()

    return given

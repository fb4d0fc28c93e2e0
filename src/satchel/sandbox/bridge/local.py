"""The bridge as a socket on this machine, for scripts that people run outside of the sandbox.

It lies in a directory that only its owner can enter, and asks for a token all the same: a path is easily
passed on, and a container may share the directory.
"""

import asyncio
import hmac
import os
import secrets
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from satchel.errors import SandboxError
from satchel.model import Json, is_object
from satchel.sandbox.bridge.bridge import START, Bridge, Stop
from satchel.sandbox.bridge.frames import FrameError, FrameReader
from satchel.sandbox.limits import Ended, Limits
from satchel.sandbox.sandbox import Answer
from satchel.support.charging import Share

_HELLO = 10.0  # seconds for a script to say who it is
_LONGEST_HELLO = 1024
_LONGEST_PATH = 100  # of a socket, on the strictest system
Report = Callable[[str], None]


@dataclass(kw_only=True)
class _Scripts:
    """A script that is connected to a bridge."""

    connections: set[asyncio.Transport] = field(default_factory=set[asyncio.Transport])
    served: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])  # those that were let in
    is_closing: bool = False

    async def aclose(self) -> None:
        self.is_closing = True
        for connection in list(self.connections):
            connection.abort()
        if self.served:
            await asyncio.wait(self.served)


@asynccontextmanager
async def open_bridge(
    path: Path, answer: Answer, limits: Limits, report: Report, *, share: Share | None = None
) -> AsyncGenerator[str]:
    """Serve scripts that know the token. Gives the address to pass on to them."""
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise SandboxError(f"{path} is too long for a socket", hint="choose a shorter one with --socket")
    token = secrets.token_urlsafe(24)
    loop = asyncio.get_running_loop()
    scripts = _Scripts()
    with _umask(0o077):
        try:
            server = await loop.create_unix_server(
                lambda: _Door(token, lambda stop: Bridge(answer, limits, stop, share=share), scripts, report),
                path=path,
            )
        except OSError as error:
            raise SandboxError(
                f"{path} can't be opened: {error.strerror or error}", hint="choose another with --socket"
            ) from error
    mine = _inode(path)
    try:
        yield f"{token}@{path}"
    finally:
        server.close()
        if _inode(path) == mine:  # and not the socket of a bridge that has taken the place over
            with suppress(FileNotFoundError):
                os.unlink(path)
        with anyio.CancelScope(shield=True):
            await scripts.aclose()


class _Door(asyncio.Protocol):
    """One connection: nothing is served before the token was right."""

    def __init__(self, token: str, make: Callable[[Stop], Bridge], scripts: _Scripts, report: Report) -> None:
        self._token = token
        self._make = make
        self._scripts = scripts
        self._report = report
        self._reader = FrameReader(_LONGEST_HELLO)
        self._bridge: Bridge | None = None
        self._transport: asyncio.Transport | None = None
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._scripts.connections.add(transport)
        if self._scripts.is_closing:  # it came in the last moment
            transport.abort()
        self._patience = asyncio.get_running_loop().call_later(_HELLO, transport.abort)

    def data_received(self, data: bytes) -> None:
        if self._bridge is not None:
            self._bridge.data_received(data)
            return
        frames: list[Json] = []
        try:
            frames += [frame for frame, _ in self._reader.feed(data)]
        except FrameError:
            frames.append({})
        if frames:
            self._greet(frames)

    def _greet(self, frames: list[Json]) -> None:
        assert self._transport is not None and self._patience is not None
        self._patience.cancel()
        params = frames[0].get("params")
        given = params.get("token") if is_object(params) else None
        # Nothing else may come along: the script waits for the answer before it asks.
        if len(frames) > 1 or not isinstance(given, str) or not _is_same(given, self._token):
            self._report("a script was turned away: its token is not the one of this bridge")
            self._transport.abort()
            return
        self._bridge = self._make(self._stop)
        # Begun by a callback of the transport, which can't await a group; the scripts' end waits for it.
        task = asyncio.create_task(self._attend(self._bridge, self._transport))
        self._scripts.served.add(task)
        task.add_done_callback(self._scripts.served.discard)
        self._bridge.connection_made(self._transport)
        self._transport.write(START)  # the welcome
        self._transport.set_protocol(self._bridge)

    async def _attend(self, bridge: Bridge, transport: asyncio.Transport) -> None:
        """Until a script has gone, and its calls with it."""
        await bridge.closed
        self._scripts.connections.discard(transport)
        await bridge.end()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._scripts.connections.discard(self._transport)
        if self._patience is not None:
            self._patience.cancel()

    def _stop(self, ended: Ended, detail: str | None) -> None:
        self._report(f"a script was cut off ({ended}){': ' + detail if detail else ''}")


def _is_same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def _umask(mask: int) -> Generator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)

"""All connections: opened by the first call, shared, restarted after a crash, stopped when idle.

Each server has a slot and each open connection a task of its own, so that one server that hangs, floods or
dies touches no other. A call that was sent is never sent again from here.
"""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing

import anyio
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED

from satchel.config import ServerEntry
from satchel.config.settings import ServersSettings
from satchel.errors import (
    SatchelError,
    ServerError,
    ServerFailedError,
    ToolError,
)
from satchel.model import Call, CallResult, Json, Listing, State, is_list, is_object
from satchel.upstream.connection import Connection
from satchel.upstream.failures import describe, redact, tail
from satchel.upstream.processes import Children
from satchel.upstream.slot import Authorize, OnListing, Run, Slot, Surroundings

_LISTING_GRACE = 1.0  # seconds that closing waits for a listing under way, so that changes are seen

IsLegacy = Callable[[ServerEntry], bool]


class Pool:
    """Use through `open_pool`."""

    def __init__(self, around: Surroundings, is_legacy: IsLegacy) -> None:
        self._around = around
        self._is_legacy = is_legacy
        self._slots: dict[str, Slot] = {}

    @property
    def settings(self) -> ServersSettings:
        return self._around.settings

    @settings.setter
    def settings(self, settings: ServersSettings) -> None:
        self._around.settings = settings

    def state(self, server: str) -> tuple[State | None, str | None]:
        """What is known of a server right now: (state, error), both None when nothing is."""
        run = self._slots[server].run if server in self._slots else None
        if run is None:
            return None, None
        if run.failure is not None:
            return run.failure.state, run.failure.message
        return ("running", None) if run.usable else (None, None)

    def last_words(self, server: str) -> list[str]:
        """The last lines on standard error of the process that serves `server` now."""
        run = self._slots[server].run if server in self._slots else None
        connection = run.connection if run is not None else None
        return tail(connection.child, connection.target) if connection is not None else []

    async def list_server(self, entry: ServerEntry) -> Listing:
        """Ask a server for everything it offers."""
        timeout = entry.timeout or self.settings.timeout
        async with self._slot(entry).using(relist=False) as (run, connection):
            try:
                with anyio.fail_after(timeout):
                    listing = await connection.list_all()
            except (MCPError, TimeoutError) as error:
                cause = await self._explain(run, connection, error, f"no list within {timeout:g} s")
                if isinstance(cause, ServerError):
                    raise cause from error
                raise ServerFailedError(entry.name, cause.message.removeprefix(f"{entry.name}: ")) from error
        self._around.on_listing(entry, listing)
        return listing

    async def connect(self, entry: ServerEntry) -> None:
        """Have a connection ready, starting the server if need be."""
        async with self._slot(entry).using():
            pass

    async def call(self, entry: ServerEntry, call: Call) -> CallResult:
        """Send one call. Raises ToolError, or ServerError when the server can't be had."""
        tool = call.tool
        async with self._slot(entry).using() as (run, connection):
            try:
                raw = await connection.call(tool.name, tool.input_schema, call.arguments, call.on_progress)
            except MCPError as error:
                if error.code == CONNECTION_CLOSED:
                    lost = await self._explain(run, connection, error)
                    reason = lost.reason if isinstance(lost, ServerError) else lost.message
                    raise ToolError(
                        tool.server,
                        tool.name,
                        f"the server went away during the call: {reason}",
                        kind="connection",
                        stderr=tail(connection.child, connection.target),
                        hint="it may have had its effect: look before you call it again",
                    ) from error
                refusal = connection.refusal(error)
                if refusal is not None:
                    raise refusal from error
                message = redact(error.message, connection.target.secrets)
                raise ToolError(
                    tool.server, tool.name, f"{message} (code {error.code})", kind="protocol"
                ) from error
        if raw.get("resultType") == "input_required":
            message = "the tool asks for input, which can't be given here"
            raise ToolError(tool.server, tool.name, message, kind="input")
        return read_result(raw)

    async def read_resource(self, entry: ServerEntry, uri: str) -> Json:
        return await self._ask(entry, lambda connection: connection.read_resource(uri))

    async def get_prompt(self, entry: ServerEntry, name: str, arguments: Mapping[str, str]) -> Json:
        return await self._ask(entry, lambda connection: connection.get_prompt(name, arguments))

    async def _ask(self, entry: ServerEntry, ask: Callable[[Connection], Awaitable[Json]]) -> Json:
        timeout = entry.timeout or self.settings.timeout
        async with self._slot(entry).using() as (run, connection):
            try:
                with anyio.fail_after(timeout):
                    return await ask(connection)
            except (MCPError, TimeoutError) as error:
                raise await self._explain(
                    run, connection, error, f"no answer within {timeout:g} s"
                ) from error

    def forget(self, server: str) -> None:
        """Stop a server whose entry is gone or has changed. What is in flight on it fails."""
        slot = self._slots.pop(server, None)
        if slot is not None:
            slot.stop()

    async def settle(self) -> None:
        """Wait, briefly, for listings that are under way."""
        with anyio.move_on_after(_LISTING_GRACE):
            while any(slot.listing for slot in self._slots.values()):  # noqa: ASYNC110  over many slots
                await anyio.sleep(0.01)

    def _slot(self, entry: ServerEntry) -> Slot:
        slot = self._slots.get(entry.name)
        if slot is None or slot.entry.written != entry.written:
            self.forget(entry.name)
            slot = self._slots[entry.name] = Slot(entry, self._around, legacy=self._is_legacy(entry))
        return slot

    async def _explain(
        self, run: Run, connection: Connection, error: Exception, silence: str = "did not answer"
    ) -> SatchelError:
        """Why a request failed; when the connection was lost, as its own task has found out."""
        name = connection.target.name
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            with anyio.move_on_after(5):
                await run.finished.wait()
            return run.failure or ServerFailedError(name, "closed the connection")
        stderr = tail(connection.child, connection.target)
        if isinstance(error, MCPError):
            refusal = connection.refusal(error)
            return refusal or SatchelError(f"{name}: {redact(describe(error), connection.target.secrets)}")
        return ServerFailedError(name, silence, stderr=stderr)


@asynccontextmanager
async def open_pool(
    settings: ServersSettings,
    *,
    on_listing: OnListing = lambda entry, listing: None,
    is_legacy: IsLegacy = lambda entry: False,
    authorize: Authorize = lambda target: None,
    environment: Mapping[str, str] = os.environ,
) -> AsyncGenerator[Pool]:
    """A pool whose connections end with the block, and whose processes end however the block ends."""
    children = Children()
    failure: Exception | None = None
    with closing(children):
        async with anyio.create_task_group() as tasks:
            around = Surroundings(
                tasks=tasks,
                children=children,
                settings=settings,
                on_listing=on_listing,
                authorize=authorize,
                environment=environment,
            )
            pool = Pool(around, is_legacy)
            try:
                yield pool
                await pool.settle()
            except Exception as error:  # noqa: BLE001  raised below, as it is and not inside a group
                failure = error
            finally:
                tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


def read_result(raw: Json) -> CallResult:
    """A call's result from what the server sent, whatever of it is missing or odd."""
    content = raw.get("content")
    blocks = tuple(block for block in content if is_object(block)) if is_list(content) else ()
    return CallResult(
        content=blocks,
        structured=raw.get("structuredContent"),
        has_structured="structuredContent" in raw,
        is_error=raw.get("isError") is True,
    )

"""All connections: opened by the first call, shared, restarted after a crash, stopped when idle.

Each server has a slot and each open connection a task of its own, so that one server that hangs, floods or
dies touches no other. A call that was sent is never sent again from here.
"""

import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio
from mcp import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND

from satchel.config import ServerEntry
from satchel.config.settings import ServersSettings
from satchel.errors import (
    ArgumentError,
    NotFoundError,
    SatchelError,
    ServerError,
    ServerFailedError,
    ToolError,
)
from satchel.model import (
    Call,
    CallResult,
    Client,
    Json,
    Listing,
    Prompt,
    Resource,
    ResourceChanged,
    ResourceFollowed,
    State,
    Tool,
    is_list,
    is_object,
)
from satchel.support.waiting import background
from satchel.upstream.asking import Turn
from satchel.upstream.connection import Connection
from satchel.upstream.failures import describe, tail
from satchel.upstream.logs import ServerLogs
from satchel.upstream.processes import Children
from satchel.upstream.redacting import redact, redact_all
from satchel.upstream.slot import Authorize, OnListing, Run, Slot, Surroundings

logger = logging.getLogger(__name__)

_LISTING_GRACE = 1.0  # seconds that closing waits for a listing under way, so that changes are seen

_UNKNOWN = (INVALID_PARAMS, -32002)  # the latter is a resource that there is not, before 2026

_ABOUT_CLIENT = (-32021, -32042)  # it must be able to do more; somebody must open a page first
_CANT_ASK = "server-initiated requests"  # as servers on the SDK say that this connection has none

IsLegacy = Callable[[ServerEntry], bool]


class Pool:
    """Use through `open_pool`."""

    def __init__(self, around: Surroundings, is_legacy: IsLegacy) -> None:
        self._around = around
        self._is_legacy = is_legacy
        # A server is told what its clients can be asked when it is connected to; calls for clients that
        # differ in that have connections of their own. So have those of the two eras: most servers that speak
        # both can only ask in the way of the older one, as if the client were connected to them itself.
        self._slots: dict[tuple[str, frozenset[str], bool], Slot] = {}

    @property
    def settings(self) -> ServersSettings:
        return self._around.settings

    @settings.setter
    def settings(self, settings: ServersSettings) -> None:
        self._around.settings = settings

    def state(self, server: str) -> tuple[State | None, ServerError | None]:
        """A server's state and error right now, both None if nothing is known of it."""
        runs = self._runs(server)
        if any(run.failure is None and run.usable for run in runs):
            return "running", None
        for run in runs:
            if run.failure is not None:
                return run.failure.state, run.failure
        return None, None

    def used(self) -> set[str]:
        """The servers that have been connected to, or were to be."""
        return {name for (name, *_) in self._slots}

    def last_words(self, server: str) -> list[str]:
        """The last lines on standard error of the process that serves `server` now."""
        connections = [run.connection for run in self._runs(server) if run.connection is not None]
        return [line for one in connections[:1] for line in tail(one.child, one.target)]

    def _runs(self, server: str) -> list[Run]:
        """The last used first."""
        slots = [slot for (name, *_), slot in self._slots.items() if name == server]
        slots.sort(key=lambda slot: slot.last_used, reverse=True)
        return [slot.run for slot in slots if slot.run is not None]

    async def list_server(self, entry: ServerEntry, client: Client | None = None) -> Listing:
        """Ask a server for everything it offers, over the connection that calls for `client` would use."""
        timeout = entry.timeout or self.settings.timeout
        slot = self._slot(entry, client)
        async with slot.using(relist=False) as (run, connection):
            try:
                with anyio.fail_after(timeout):
                    listing = await slot.list_all(connection)
            except (MCPError, TimeoutError) as error:
                cause = await self._explain(run, connection, error, f"no list within {timeout:g} s")
                if isinstance(cause, ServerError):
                    raise cause from None
                raise ServerFailedError(entry.name, cause.message.removeprefix(f"{entry.name}: ")) from None
            else:
                self._around.on_listing(entry, listing)
            finally:
                run.listed.set()
        return listing

    async def connect(
        self, entry: ServerEntry, client: Client | None = None, *, listed: bool = False
    ) -> None:
        """Have a connection ready, starting the server if need be; and `listed`, once it has been anew."""
        async with self._slot(entry, client).using() as (run, _):
            if listed:
                await run.listed.wait()

    async def send(self, entry: ServerEntry, call: Call) -> CallResult:
        """Send one call, once. Raises ToolError, or ServerError when the server can't be had."""
        send = _SENDERS[type(call.what), call.action]
        began = anyio.current_time()
        try:
            return await send(self, entry, call)
        finally:
            taken = (anyio.current_time() - began) * 1000
            logger.info("%s: %s %s took %.0f ms", entry.name, call.action, call.what.label, taken)

    async def _call_tool(self, entry: ServerEntry, call: Call) -> CallResult:
        assert isinstance(call.what, Tool)
        tool, client = call.what, call.caller.client
        async with self._slot(entry, client).using() as (run, connection):
            with connection.asking.turn(client) as turn:
                try:
                    raw = await connection.call(
                        tool.name, tool.input_schema, call.arguments, call.tell, client
                    )
                except MCPError as error:
                    raise await self._failed_call(call, run, connection, error, turn) from None
                except SatchelError as error:  # the client could not be asked
                    raise _unanswered(call, connection, error.message) from None
        result = read_result(raw)
        if result.is_error and turn.refusal:
            raise _unanswered(call, connection, turn.refusal, result.text)
        return result

    async def _failed_call(
        self, call: Call, run: Run, connection: Connection, error: MCPError, turn: Turn
    ) -> SatchelError:
        what = call.what
        if await connection.is_lost(error):
            lost = await self._explain(run, connection, error)
            reason = lost.reason if isinstance(lost, ServerError) else lost.message
            return ToolError(
                what.server,
                what.label,
                f"the server went away during the call: {reason}",
                kind="connection",
                stderr=tail(connection.child, connection.target),
                hint="it may have had its effect: look before you call it again",
            )
        refusal = connection.refusal(error)
        if refusal is not None:
            return refusal
        message = redact(describe(error), connection.target.secrets)
        if turn.refusal:
            return _unanswered(call, connection, turn.refusal, message)
        if _CANT_ASK in error.message:
            refused = "it asks in the way before 2026, which this client is not of"
            return _unanswered(call, connection, refused, message)
        kind = "input" if error.code in _ABOUT_CLIENT else "protocol"
        data: object = redact_all(error.error.data, connection.target.secrets)
        return ToolError(what.server, what.label, message, kind=kind, code=error.code, data=data)

    async def _read_resource(self, entry: ServerEntry, call: Call) -> CallResult:
        assert isinstance(call.what, Resource)
        uri = call.what.uri
        return await self._ask(
            entry,
            call,
            lambda connection: connection.read_resource(uri, call.caller.client),
            unknown=lambda message: NotFoundError("resource", uri, hint=f"{entry.name} says: {message}"),
        )

    async def _get_prompt(self, entry: ServerEntry, call: Call) -> CallResult:
        name = call.what.name
        return await self._ask(
            entry,
            call,
            lambda connection: connection.get_prompt(name, call.arguments, call.caller.client),
            unknown=lambda message: ArgumentError(f"{entry.name}.{name}: {message}"),
        )

    async def _complete(self, entry: ServerEntry, call: Call) -> CallResult:
        return await self._ask(entry, call, lambda connection: connection.complete(dict(call.arguments)))

    async def _follow(self, entry: ServerEntry, call: Call) -> CallResult:
        """Lasts as long as the connection; `tell` hears of the agreement and of changes."""
        assert isinstance(call.what, Resource)
        uri, tell = call.what.uri, call.tell
        async with self._slot(entry, call.caller.client).using() as (run, connection):
            try:
                await connection.follow(
                    uri, lambda: tell(ResourceFollowed(uri=uri)), lambda: tell(ResourceChanged(uri=uri))
                )
            except MCPError as error:
                if error.code in (*_UNKNOWN, METHOD_NOT_FOUND):
                    said = redact(error.message, connection.target.secrets)
                    raise NotFoundError("resource", uri, hint=f"{entry.name} says: {said}") from None
                raise await self._explain(run, connection, error) from None
        return CallResult()

    async def _ask(
        self,
        entry: ServerEntry,
        call: Call,
        ask: Callable[[Connection], Awaitable[Json]],
        unknown: Callable[[str], SatchelError] | None = None,
    ) -> CallResult:
        """`unknown` is the error for what the server says it does not have, or can't take."""
        client = call.caller.client
        async with self._slot(entry, client).using() as (run, connection):
            try:
                with connection.asking.turn(client):
                    return CallResult(structured=await ask(connection), has_structured=True)
            except MCPError as error:
                if unknown is not None and error.code in _UNKNOWN:
                    raise unknown(redact(error.message, connection.target.secrets)) from None
                raise await self._explain(run, connection, error) from None
            except SatchelError as error:  # the client could not be asked
                raise SatchelError(redact(error.message, connection.target.secrets)) from None

    def forget(self, server: str) -> None:
        """Stop a server whose entry is gone or has changed. Its calls in flight fail."""
        for key in [key for key in self._slots if key[0] == server]:
            self._slots.pop(key).stop()

    async def settle(self) -> None:
        """Wait, briefly, for listings that are under way."""
        with anyio.move_on_after(_LISTING_GRACE):
            while any(slot.listing for slot in self._slots.values()):  # noqa: ASYNC110  over many slots
                await anyio.sleep(0.01)

    def _slot(self, entry: ServerEntry, client: Client | None = None) -> Slot:
        can, handshake = (frozenset[str](), False) if client is None else (client.can, client.handshake)
        key = (entry.name, can, bool(can) and handshake)
        slot = self._slots.get(key)
        if slot is None or not slot.entry.connects_like(entry):
            if slot is not None:
                self.forget(entry.name)
            slot = Slot(entry, self._around, legacy=self._is_legacy(entry), can=can, handshake=key[2])
            self._slots[key] = slot
        return slot

    async def _explain(
        self, run: Run, connection: Connection, error: Exception, silence: str = "did not answer"
    ) -> SatchelError:
        """Why a request failed; when the connection was lost, as its own task has found out."""
        name = connection.target.name
        if isinstance(error, MCPError) and await connection.is_lost(error):
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
    environment: Mapping[str, str] | None = None,
    projects: str = "",
    logs: Path | None = None,
) -> AsyncGenerator[Pool]:
    """A pool whose connections end with the block, and whose processes end however the block ends."""
    children = Children(projects, ServerLogs(logs))
    with closing(children):
        async with background() as tasks:
            around = Surroundings(
                tasks=tasks,
                children=children,
                settings=settings,
                on_listing=on_listing,
                authorize=authorize,
                environment=os.environ if environment is None else environment,
            )
            pool = Pool(around, is_legacy)
            yield pool
            await pool.settle()


_SENDERS: dict[tuple[type, str], Callable[[Pool, ServerEntry, Call], Awaitable[CallResult]]] = {
    (Tool, "use"): Pool._call_tool,
    (Resource, "use"): Pool._read_resource,
    (Resource, "follow"): Pool._follow,
    (Resource, "complete"): Pool._complete,
    (Prompt, "use"): Pool._get_prompt,
    (Prompt, "complete"): Pool._complete,
}


def _unanswered(call: Call, connection: Connection, refusal: str, said: str = "") -> ToolError:
    secrets = connection.target.secrets
    message = redact(refusal, secrets)
    if said:
        message += f"; it then said: {redact(said, secrets)[:500]}"
    return ToolError(
        call.what.server,
        call.what.label,
        message,
        kind="input",
        hint="call it from a client that supports elicitation and sampling, or give all values as arguments",
    )


def read_result(raw: Json) -> CallResult:
    """A call's result from what the server sent, even if parts are missing or odd."""
    content = raw.get("content")
    blocks = tuple(block for block in content if is_object(block)) if is_list(content) else ()
    return CallResult(
        content=blocks,
        structured=raw.get("structuredContent"),
        has_structured="structuredContent" in raw,
        is_error=raw.get("isError") is True,
        meta=_meta(raw.get("_meta")),
    )


def _meta(given: object) -> Json | None:
    """What is not about the connection that it came over."""
    kept = (
        {key: value for key, value in given.items() if not key.startswith("io.modelcontextprotocol/")}
        if (is_object(given))
        else {}
    )
    return kept or None

"""One live connection to one server: opened, negotiated, listed, called. Entered and left in one task."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Set
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp import ClientSession, MCPError
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from satchel.config import Target
from satchel.errors import SatchelError, ServerError, ServerFailedError
from satchel.model import Client, Json, Listing, Progress, Tell, is_list, is_object, silent
from satchel.upstream.asking import METHODS, Asking, answers_to
from satchel.upstream.dispatcher import AS_IT_IS, Kept, LenientDispatcher
from satchel.upstream.failures import refused
from satchel.upstream.http import Exchange, open_http
from satchel.upstream.listing import MAX_BYTES, MAX_ITEMS, MAX_PAGES, nesting, read_items, read_tools
from satchel.upstream.processes import Children
from satchel.upstream.redacting import redact, redact_all, redact_listed
from satchel.upstream.stdio import Child, open_stdio
from satchel.version import __version__

_BETWEEN_LISTINGS = 1.0  # seconds; a server that announces changes in a loop must not keep us busy
_MOMENT = 0.5  # seconds between the end of a connection and its being noted
_MOST_ROUNDS = 10  # in which a server may ask for input before it gives a result
_IDENTITIES = {"tools": "name", "resources": "uri", "resourceTemplates": "uriTemplate", "prompts": "name"}
_CHANGED = (
    types.ToolListChangedNotification,
    types.ResourceListChangedNotification,
    types.PromptListChangedNotification,
)


class Connection:
    """A negotiated session. `ended` is set when it can't be used any more."""

    def __init__(
        self,
        target: Target,
        session: ClientSession,
        dispatcher: LenientDispatcher,
        child: Child | None,
        exchange: Exchange,
        asking: Asking,
    ) -> None:
        self.target = target
        self.child = child
        self.ended = dispatcher.ended
        self.changed = anyio.Event()
        self._session = session
        self._dispatcher = dispatcher
        self._exchange = exchange
        self.asking = asking
        self._followers: dict[str, list[Callable[[], None]]] = {}

    @property
    def protocol_version(self) -> str:
        return self._session.protocol_version or ""

    @property
    def modern(self) -> bool:
        return self._dispatcher.modern

    async def negotiate(self, *, legacy: bool, probe_timeout: float) -> None:
        """Agree on a protocol version: the 2026 era where the server has it, else the handshake."""
        if legacy:
            try:
                await self._session.initialize()
            except MCPError as error:
                if error.code != UNSUPPORTED_PROTOCOL_VERSION:
                    raise
                await self._session.discover()  # it is of the 2026 era alone
        else:
            await self._discover(probe_timeout)
        self._dispatcher.modern = self.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def _discover(self, probe_timeout: float) -> None:
        with anyio.move_on_after(probe_timeout):
            try:
                await self._session.discover()
                return
            except MCPError as error:
                if error.code == UNSUPPORTED_PROTOCOL_VERSION and _only_other_modern(error):
                    raise
            except (RuntimeError, ValueError):  # an answer, but not that of a modern server
                pass
        try:
            await self._session.initialize()
        except MCPError as error:
            if error.code != UNSUPPORTED_PROTOCOL_VERSION:
                raise
            # The probe came through after all and settled the era; ask again.
            await self._session.discover()

    async def list_all(self) -> Listing:
        """Everything the server offers, page by page."""
        offers = self._session.server_capabilities or types.ServerCapabilities()
        # Some servers have tools and don't say so: always ask for those.
        tools, odd_tools = await self._pages(types.ListToolsRequest, "tools", needed=offers.tools is not None)
        tools, odd = read_tools(tools)
        problems = [*odd_tools, *odd]
        resources: list[object] = []
        templates: list[object] = []
        prompts: list[object] = []
        if offers.resources is not None:
            resources, odd = await self._pages(types.ListResourcesRequest, "resources")
            problems += odd
            templates, odd = await self._pages(types.ListResourceTemplatesRequest, "resourceTemplates")
            problems += odd
        if offers.prompts is not None:
            prompts, odd = await self._pages(types.ListPromptsRequest, "prompts")
            problems += odd
        kept_resources, odd = read_items(resources, "uri", "resource")
        kept_templates, odd_templates = read_items(templates, "uriTemplate", "resource template")
        kept_prompts, odd_prompts = read_items(prompts, "name", "prompt")
        problems += [*odd, *odd_templates, *odd_prompts]
        if self.child is not None and self.child.noise_count:
            first = self.child.noise[0][:80]
            problems.append(
                f"wrote {self.child.noise_count} lines to stdout that are not messages, such as: {first}"
            )
        information = self._session.server_info
        secrets = self.target.result_secrets
        nested = nesting(information.name if information else "", tools)
        problems += [nested] if nested else []
        return Listing(
            tools=tools,
            resources=kept_resources,
            resource_templates=kept_templates,
            prompts=kept_prompts,
            instructions=redact_all(self._session.instructions, secrets),
            implementation=redact(information.name, secrets) if information else "",
            version=redact(information.version, secrets) if information else "",
            protocol_version=self.protocol_version,
            problems=tuple(problems),
        )

    async def _pages(
        self, request: type[Any], key: str, *, needed: bool = False
    ) -> tuple[list[object], list[str]]:
        items: list[object] = []
        seen: set[str] = set()
        cursor: str | None = None
        began = self._received()
        secrets = self.target.result_secrets
        for _ in range(MAX_PAGES):
            try:
                page = await self._send(request(params=types.PaginatedRequestParams(cursor=cursor)))
            except MCPError as error:
                if error.code == METHOD_NOT_FOUND and not needed:
                    return items, []
                raise
            found = page.get(key)
            if not is_list(found):
                return items, [f"its list of {key} is not a list"]
            items += redact_listed(found, _IDENTITIES[key], secrets)
            following = page.get("nextCursor")
            if not isinstance(following, str) or not following:
                return items, []
            if following in seen:
                return items, [f"its list of {key} comes back to the same page; what came before is kept"]
            if len(items) > MAX_ITEMS:
                return items, [f"it lists more than {MAX_ITEMS} {key}; the rest is left out"]
            if self._received() - began > MAX_BYTES:
                return items, [f"its list of {key} exceeds {MAX_BYTES >> 20} MiB; the rest is left out"]
            seen.add(following)
            cursor = following
        return items, [f"its list of {key} has more than {MAX_PAGES} pages; the rest is left out"]

    def _received(self) -> int:
        """Bytes that came over this connection so far."""
        return self.child.received if self.child is not None else self._exchange.received

    async def call(
        self,
        name: str,
        input_schema: Mapping[str, Any],
        arguments: Mapping[str, Any],
        tell: Tell = silent,
        client: Client | None = None,
    ) -> Json:
        """Send one call, once, and return the result as it came; what it asks on the way, ask the client."""
        self._dispatcher.learn(name, input_schema)
        parameters: Json = {"name": name, "arguments": dict(arguments)}
        if client is not None and client.log_level is not None and self.modern:
            parameters["_meta"] = {types.LOG_LEVEL_META_KEY: client.log_level}
        return await self._with_input(
            types.CallToolRequest, types.CallToolRequestParams, parameters, client, tell
        )

    async def read_resource(self, uri: str, client: Client | None = None) -> Json:
        return await self._with_input(
            types.ReadResourceRequest, types.ReadResourceRequestParams, {"uri": uri}, client
        )

    async def get_prompt(self, name: str, arguments: Mapping[str, str], client: Client | None = None) -> Json:
        parameters: Json = {"name": name, "arguments": dict(arguments)}
        return await self._with_input(
            types.GetPromptRequest, types.GetPromptRequestParams, parameters, client
        )

    async def complete(self, parameters: Json) -> Json:
        """Proposals for an argument of a prompt or a resource template."""
        raw = await self._send(
            types.CompleteRequest(
                params=types.CompleteRequestParams.model_validate(parameters, by_name=False)
            )
        )
        return redact_all(raw, self.target.result_secrets)

    async def follow(self, uri: str, begin: Callable[[], None], updated: Callable[[], None]) -> None:
        """Call `updated` whenever a resource, or one below it, has changed, until that can't be heard of
        any more. `begin` is called once the server has agreed. Raises MCPError."""
        if self.modern:
            with suppress(SubscriptionLost):
                async with listen(self._session, resource_subscriptions=[uri]) as events:
                    if uri in (events.honored.resource_subscriptions or ()):
                        begin()
                        async for _ in events:
                            updated()
                        return
            if not self.ended.is_set():
                raise MCPError(METHOD_NOT_FOUND, "it does not tell when a resource changes")
            return
        followers = self._followers.setdefault(uri, [])
        followers.append(updated)
        try:
            # Each asks for itself, so that none is told of an agreement that is not there.
            await self._send(types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri)))
            begin()
            await self.ended.wait()
        finally:
            followers.remove(updated)
            if not followers and self._followers.get(uri) is followers:
                del self._followers[uri]
                ending = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
                with anyio.move_on_after(_MOMENT, shield=True), suppress(MCPError):
                    await self._send(ending)

    def note_update(self, uri: str) -> None:
        for followed, followers in list(self._followers.items()):
            if uri == followed or uri.startswith(followed.rstrip("/") + "/"):
                for updated in list(followers):
                    updated()

    async def _with_input(
        self,
        request: Callable[..., types.Request[Any, Any]],
        kind: type[BaseModel],
        parameters: Json,
        client: Client | None,
        tell: Tell = silent,
    ) -> Json:
        """The result of a request.

        A server of the 2026 era that wants input says so in place of it, and is sent the request again.
        """
        raw = await self._send(request(params=kind.model_validate(parameters, by_name=False)), tell)
        for _ in range(_MOST_ROUNDS):
            if raw.get("resultType") != "input_required":
                return redact_all(raw, self.target.result_secrets)
            answers = await answers_to(client, raw.get("inputRequests"), self.target)
            again = {**parameters, "inputResponses": answers}
            if raw.get("requestState") is not None:
                again["requestState"] = raw["requestState"]
            raw = await self._send(request(params=kind.model_validate(again, by_name=False)), tell)
        raise SatchelError(f"it asked for input more than {_MOST_ROUNDS} times")

    async def _send(self, request: types.Request[Any, Any], tell: Tell = silent) -> Json:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            said = redact_all(message, self.target.result_secrets)
            tell(Progress(progress=progress, total=total, message=said))

        kept: Kept = await self._session.send_request(
            request, AS_IT_IS, progress_callback=None if tell is silent else report
        )
        return kept.raw

    async def is_lost(self, error: MCPError) -> bool:
        """Whether an error is that of a connection that is gone. Servers use its code for others, too."""
        if error.code != CONNECTION_CLOSED:
            return False
        with anyio.move_on_after(_MOMENT):
            await self.ended.wait()
        return self.ended.is_set()

    def refusal(self, error: MCPError) -> ServerError | None:
        """The HTTP refusal behind an error of the SDK's, which has no status of its own."""
        status, self._exchange.refused = self._exchange.refused, None
        if error.message == "Session terminated":
            self.ended.set()  # the next call opens a new session
            return ServerFailedError(
                self.target.name, "ended the session", hint="call again for a new session"
            )
        if status is None or error.code != INTERNAL_ERROR:
            return None
        return refused(self.target, status)

    async def watch_changes(self, changed: Callable[[], Awaitable[None]]) -> None:
        """Call `changed` whenever the server says that its lists are others now. Never returns."""
        async with anyio.create_task_group() as tasks:
            if self.modern and self._announces_changes():
                tasks.start_soon(self._listen)
            while True:
                await self.changed.wait()
                self.changed = anyio.Event()  # what is announced while we list is listed once more
                await changed()
                await anyio.sleep(_BETWEEN_LISTINGS)

    def _announces_changes(self) -> bool:
        offers = self._session.server_capabilities
        return bool(offers and offers.tools and offers.tools.list_changed)

    async def _listen(self) -> None:
        """How servers of the 2026 generation announce changes; without it they announce none."""
        with suppress(MCPError, SubscriptionLost, TimeoutError):
            async with listen(
                self._session, tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
            ) as events:
                async for _ in events:
                    self.changed.set()


@asynccontextmanager
async def open_connection(
    target: Target,
    *,
    children: Children,
    auth: httpx2.Auth | None,
    exchange: Exchange,
    found: list[Child],
    can: Set[str] = frozenset(),
) -> AsyncGenerator[Connection]:
    """Open the transport and a session on it; the caller negotiates. `found` receives the process, if any.

    `can` is what the server may ask the clients that calls are made for.
    """
    connection: Connection | None = None
    asking = Asking(target)

    async def heed(message: types.ServerNotification | Exception) -> None:
        if isinstance(message, _CHANGED) and connection is not None:
            connection.changed.set()
        elif isinstance(message, types.ResourceUpdatedNotification) and connection is not None:
            connection.note_update(str(message.params.uri))

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        asking.log(params.model_dump(by_alias=True, mode="json", exclude_none=True))

    child: Child | None = None
    async with _open_transport(target, children, auth, exchange, found) as (read, write):
        child = found[0] if found else None
        dispatcher = LenientDispatcher(read, write, answers=dict.fromkeys(METHODS, asking.answer))
        session = ClientSession(
            dispatcher=dispatcher,
            message_handler=heed,
            logging_callback=log,
            # These only declare it: the dispatcher answers before they are reached.
            elicitation_callback=_unreached if "elicitation" in can else None,
            sampling_callback=_unreached if "sampling" in can else None,
            list_roots_callback=_unreached if "roots" in can else None,
            client_info=types.Implementation(name="satchel", version=__version__),
        )
        async with session:
            connection = Connection(target, session, dispatcher, child, exchange, asking)
            yield connection


async def _unreached(context: Any, params: Any = None) -> types.ErrorData:
    return types.ErrorData(code=INTERNAL_ERROR, message="not asked")


@asynccontextmanager
async def _open_transport(
    target: Target, children: Children, auth: httpx2.Auth | None, exchange: Exchange, found: list[Child]
) -> AsyncGenerator[tuple[Any, Any]]:
    if target.transport == "stdio":
        async with open_stdio(target, children) as (read, write, child):
            found.append(child)
            yield read, write
    else:
        async with open_http(target, auth, exchange) as (read, write):
            yield read, write


def _only_other_modern(error: MCPError) -> bool:
    """Whether the server speaks modern versions only, and none that we speak."""
    data: object = error.error.data
    supported = data.get("supported") if is_object(data) else None
    return is_list(supported) and all(str(version) >= "2026" for version in supported)

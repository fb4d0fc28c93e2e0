"""The MCP server: every request of every client, over any transport.

The SDK's low-level server negotiates, validates and dispatches; what a request means is here. What is shown
and called comes from `Toolset`, so that other surfaces show and do the same.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler, ResourceUpdated, ToolsListChanged

from satchel.config.agents import Mode
from satchel.errors import ArgumentError, NotFoundError, SatchelError
from satchel.model import Caller, Client, Json, Tell
from satchel.server.client_names import client_name
from satchel.server.commands import CommandOffers
from satchel.server.conversations import Conversations, active_skill
from satchel.server.following import MOST as MOST_FOLLOWED
from satchel.server.following import Following, Notify, OneBus, Teller, has_begun, remove_all
from satchel.server.instructions import instructions_for
from satchel.server.offers import Found, Offers, find_offer
from satchel.server.pending import LOG_LEVEL, Context, PendingRequest, PendingRequests, Start, capabilities
from satchel.server.protocol import (
    COMPLETE,
    ChangingServer,
    NamedByUri,
    as_protocol_error,
    check_size,
    listed,
)
from satchel.server.remarks import Remarks
from satchel.server.skills import EXTENSION, SCHEME, SkillOffers
from satchel.server.views import Key, View, Views
from satchel.server.wire import fit_items, fit_result, is_modern
from satchel.support.charging import apart, charged_to
from satchel.support.waiting import Task
from satchel.toolset import PATIENCE, ActiveSkill, Toolset
from satchel.verbs.satchel import Satchel
from satchel.version import __version__

logger = logging.getLogger(__name__)

_VIEW = "satchel.view"
_FOLLOWED = "satchel.followed"
_TELLER = "satchel.teller"
_RESOURCES = "resources/list", "resources"
_TEMPLATES = "resources/templates/list", "resourceTemplates"
_INTERVAL = 0.5  # seconds; files tell nobody when they change
_AGREEING = 20.0  # seconds that servers have to agree to tell of their resources
_FIRST_REQUEST = 3.0  # seconds that servers are not listed before a client has said something


class Surface:
    """Satchel for MCP clients: as `agent` where nothing else says it; `mode` is what they are shown."""

    def __init__(self, satchel: Satchel, *, agent: str = "default", mode: Mode | None = None) -> None:
        satchel.project.agent(agent)
        self._satchel = satchel
        self._agent = agent
        self._mode: Mode | None = mode
        self._pending = PendingRequests(satchel.tasks)
        self._client: Client | None = None  # the one whose process this is; over HTTP there are others
        self._views = Views(satchel, self._make_toolset)
        self._following = Following(satchel)
        self._conversations = Conversations()
        self._remarks = Remarks(satchel)
        self._met = asyncio.Event()
        self.server = self._make_server()

    def _make_server(self) -> Server[Any]:
        server = ChangingServer(
            "satchel",
            version=__version__,
            title="Satchel",
            website_url=None,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=partial(self._list_resources, templates=False),
            on_list_resource_templates=partial(self._list_resources, templates=True),
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._listen,
        )
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)
        server.add_request_handler("skills/list", types.PaginatedRequestParams, self._list_skills)
        server.add_request_handler("skills/get", NamedByUri, self._get_skill)
        server.add_request_handler("resources/directory/read", NamedByUri, self._read_folder)
        server.extensions[EXTENSION] = {"directoryRead": True}
        security = RequestStateSecurity(
            codec=RequestStateSecurity.ephemeral().codec, bind_principal=self._agent_of
        )
        server.middleware.append(self._welcome)
        server.middleware.append(RequestStateBoundary(security, default_audience="satchel"))
        return server

    def check(self) -> None:
        """Raise ConfigError for what would keep clients from being told what they should be; say the rest."""
        self._remarks.look()
        toolset = self._views.view((self._agent, "")).toolset
        toolset.instructions(memory=toolset.memory())

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """While it is served: servers that nothing is known of are listed, and changes are told."""
        watching = Task(self._satchel.tasks, self._watch)
        try:
            yield
        finally:
            self._following.close()
            watching.end()
            with anyio.CancelScope(shield=True):
                await watching.ended()
                await self._pending.aclose()

    async def _watch(self) -> None:
        # Servers are told what their client can be asked when they are started, and that it says first.
        with anyio.move_on_after(_FIRST_REQUEST):
            await self._met.wait()
        await self._list_new()
        while True:
            await anyio.sleep(_INTERVAL)
            if await self._views.look():
                await self._list_new()
            self._remarks.look()
            self._following.look()

    async def _list_new(self, patience: float = 0) -> None:
        await self._satchel.servers.list_new(patience, client=self._client)

    # Who asks

    def _agent_of(self, context: Context) -> str:
        user = context.request.scope.get("user") if context.request is not None else None
        return user.username if user is not None else self._agent

    def _caller(self, context: Context, client: Client | None = None) -> Caller:
        """The caller, limited to the tools of the active skill if the agent must keep to them."""
        agent = self._agent_of(context)
        enforced = self._satchel.project.agent(agent).enforce_allowed_tools
        only = self._active_skill(context).tools if enforced else None
        talk = self._conversations.of(context, agent)
        return Caller(agent=agent, client=client, only=only, conversation=talk.id, reads=talk.reads)

    def _view(self, context: Context) -> View:
        return self._views.view((self._agent_of(context), client_name(context)[:100]))

    def _make_toolset(self, key: Key) -> Toolset:
        return Toolset(self._satchel, agent=key[0], client=key[1], mode=self._mode, relists=True)

    async def _welcome(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Tell a new client what it should know, and have it told of changes."""
        context = ctx  # the SDK wants it to be called like this
        check_size(context)
        self._meet(context)
        try:
            with charged_to(self._satchel.host.share(self._agent_of(context))):
                result = await call_next(context)
                if context.method in ("initialize", "server/discover") and isinstance(result, dict):
                    toolset = self._view(context).toolset
                    talk = self._conversations.of(context, self._agent_of(context))
                    told = await instructions_for(context, toolset, self._satchel, talk)
                    return {**result, "instructions": told}
        except SatchelError as error:
            raise as_protocol_error(error, context) from error
        state = context.session._connection.state
        if context.request_id is not None and not is_modern(context.protocol_version) and _VIEW not in state:
            state[_VIEW] = self._tell_of_changes(context)
        return result

    def _meet(self, context: Context) -> None:
        """Note what the client of this process can be asked. Over HTTP there are others."""
        if context.request is None and context.method != "initialize":
            self._client = PendingRequest(context, self._agent).client
        if context.request is not None or context.method != "initialize":
            self._met.set()

    def _tell_of_changes(self, context: Context) -> View:
        """For clients of the 2025 era, which need not ask for it."""
        view = self._view(context)
        connection = context.session._connection
        teller = connection.state[_TELLER] = Teller(self._satchel.tasks, connection.notify)
        connection.exit_stack.callback(teller.close)
        connection.exit_stack.callback(view.bus.subscribe(teller.tell))
        return view

    async def _subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        connection, uri = context.session._connection, str(params.uri)
        if _FOLLOWED not in connection.state:
            connection.state[_FOLLOWED] = {}
            connection.exit_stack.callback(remove_all, connection.state[_FOLLOWED])
        held: dict[str, tuple[asyncio.Future[None], Notify]] = connection.state[_FOLLOWED]
        if uri not in held:
            if len(held) >= MOST_FOLLOWED:
                raise ArgumentError(f"more than {MOST_FOLLOWED} resources", hint="unsubscribe from others")
            held[uri] = self._follow(
                context, uri, partial(self._teller(context).tell, ResourceUpdated(uri=uri))
            )
        following = held[uri]
        try:
            await asyncio.shield(following[0])
        except BaseException:
            if held.get(uri) is following:
                del held[uri]
            following[1]()
            raise
        return types.EmptyResult()

    def _follow(self, context: Context, uri: str, tell: Notify) -> tuple["asyncio.Future[None]", Notify]:
        return self._following.add(
            self._caller(context),
            uri,
            tell,
            can=capabilities(context),
            handshake=not is_modern(context.protocol_version),
        )

    def _teller(self, context: Context) -> Teller:
        if _TELLER not in context.session._connection.state:
            self._tell_of_changes(context)
        return context.session._connection.state[_TELLER]

    async def _unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        held: dict[str, tuple[object, Notify]] = context.session._connection.state.get(_FOLLOWED, {})
        if following := held.pop(str(params.uri), None):
            following[1]()
        return types.EmptyResult()

    async def _listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        bus, asked = OneBus(self._view(context).bus), params.notifications
        followed = {
            uri: self._follow(context, uri, partial(bus.tell, uri))
            for uri in dict.fromkeys((asked.resource_subscriptions or ())[:MOST_FOLLOWED])
        }
        try:
            if followed:
                await asyncio.wait([begun for begun, _ in followed.values()], timeout=_AGREEING)
                agreed = [uri for uri, (begun, _) in followed.items() if has_begun(begun)]
                asked = asked.model_copy(update={"resource_subscriptions": agreed or None})
            return await ListenHandler(bus)(context, params.model_copy(update={"notifications": asked}))
        finally:
            for _, remove in followed.values():
                remove()

    async def _set_level(self, context: Context, params: types.SetLevelRequestParams) -> Json:
        context.session._connection.state[LOG_LEVEL] = params.level
        return {}

    # Tools

    async def _list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> Any:
        toolset = self._view(context).toolset
        if not toolset.reaches_any:  # a client that does not heed changes would never see a tool
            await self._list_new(PATIENCE)
        definitions = toolset.definitions(self._active_skill(context))
        return listed("tools", fit_items("tools/list", "tools", context.protocol_version, definitions))

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> Any:
        toolset = self._view(context).toolset
        active = self._active_skill(context)
        talk = self._conversations.of(context, self._agent_of(context))

        async def call(client: Client, tell: Tell) -> Json:
            result = await toolset.call(
                params.name, params.arguments, client=client, tell=tell, active=active, conversation=talk
            )
            return fit_result(context.protocol_version, result) | COMPLETE

        return await self._answered(context, call, params)

    def _input_schema(self, name: str) -> Json | None:
        try:
            return self._satchel.servers.describe_tool(name).input_schema
        except SatchelError:
            return None

    # Resources and prompts

    async def _list_resources(self, context: Context, params: Any, *, templates: bool) -> Any:
        method, key = _TEMPLATES if templates else _RESOURCES
        offers, skills = self._shown_offers(context), self._skills(context)
        items = offers.resources(templates=templates) if offers is not None else []
        items += skills.templates() if templates else skills.resources()
        return listed(key, fit_items(method, key, context.protocol_version, items))

    async def _list_prompts(self, context: Context, params: Any) -> Any:
        offers = self._shown_offers(context)
        items = offers.prompts() if offers is not None else []
        items += self._commands(context).prompts()
        return listed("prompts", fit_items("prompts/list", "prompts", context.protocol_version, items))

    # Skills

    def _active_skill(self, context: Context) -> ActiveSkill:
        def telling() -> Callable[[], None]:  # keeps no context, which holds all of a request
            return partial(self._teller(context).tell, ToolsListChanged())

        return active_skill(context, self._view(context).toolset, telling)

    def _note_reading(self, context: Context, uri: str) -> None:
        skill = self._skills(context).of(uri)
        if skill is not None:
            self._active_skill(context).read(skill)

    def _skills(self, context: Context) -> SkillOffers:
        agent = self._agent_of(context)
        self._satchel.memory.hear(agent, self._conversations.of(context, agent).reads)
        return SkillOffers(self._satchel, agent)

    async def _list_skills(self, context: Context, params: types.PaginatedRequestParams | None) -> Json:
        cursor = params.cursor if params is not None else None
        # Every file is read for its digest, the first time.
        entries, following = await apart(lambda: self._skills(context).entries(cursor))
        return listed("skills", entries) | ({"nextCursor": following} if following is not None else {})

    async def _get_skill(self, context: Context, params: NamedByUri) -> Json:
        entry = await apart(lambda: self._skills(context).entry(params.uri))
        self._note_reading(context, params.uri)
        return {"skill": entry, **COMPLETE, "ttlMs": 0, "cacheScope": "private"}

    async def _read_folder(self, context: Context, params: NamedByUri) -> Json:
        return listed("resources", await apart(lambda: self._skills(context).children(params.uri)))

    def _shown_offers(self, context: Context) -> Offers | None:
        """What is listed: nothing where a model is to find things by itself."""
        return self._offers(context) if self._view(context).toolset.mode == "direct" else None

    def _commands(self, context: Context) -> CommandOffers:
        return CommandOffers(self._satchel, self._agent_of(context))

    def _offers(self, context: Context) -> Offers:
        return Offers(self._satchel, self._agent_of(context))

    async def _find(self, context: Context, find: Callable[[Offers], Found], name: str = "") -> Found:
        """Something that servers offer; one that nothing is known of yet may be who does."""
        return await find_offer(self._satchel, lambda: self._offers(context), find, name, client=self._client)

    async def _read_resource(self, context: Context, params: types.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)

        async def read(client: Client, tell: Tell) -> Json:
            if uri.startswith(SCHEME):
                with suppress(NotFoundError):  # a server may have such addresses of its own
                    contents = listed("contents", [await apart(lambda: self._skills(context).read(uri))])
                    self._note_reading(context, uri)
                    return contents
            server = await self._find(context, lambda offers: offers.server_of(uri))
            caller = self._caller(context, client)
            raw = await self._satchel.resources.read(server, uri, caller=caller)
            return listed("contents", raw.get("contents"))

        return await self._answered(context, read, params)

    async def _get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> Any:
        async def get(client: Client, tell: Tell) -> Json:
            commands = self._commands(context)
            if (command := commands.find(params.name)) is not None:
                return await apart(commands.fill_in, command, params.arguments) | COMPLETE
            prompt = await self._find(context, lambda offers: offers.prompt(params.name), params.name)
            raw = await self._satchel.resources.prompt(
                prompt.server, prompt.name, params.arguments, caller=self._caller(context, client)
            )
            return {key: raw[key] for key in ("description", "messages") if key in raw} | COMPLETE

        return await self._answered(context, get, params)

    async def _complete(self, context: Context, params: types.CompleteRequestParams) -> Any:
        asked = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        asked.pop("_meta", None)
        reference = params.ref
        if isinstance(reference, types.PromptReference):
            if self._commands(context).find(reference.name) is not None:
                return {"completion": {"values": []}, **COMPLETE}
            prompt = await self._find(context, lambda offers: offers.prompt(reference.name), reference.name)
            asked["ref"]["name"], server = prompt.name, prompt.server
        else:
            server = await self._find(context, lambda offers: offers.server_of(reference.uri))
        caller = self._caller(context, PendingRequest(context, self._agent).client)
        raw = await self._satchel.resources.complete(server, asked, caller=caller)
        return {"completion": raw.get("completion", {"values": []}), **COMPLETE}

    async def _answered(self, context: Context, start: Start, params: Any) -> Json:
        return await self._pending.answer(context, self._agent_of(context), start, params)

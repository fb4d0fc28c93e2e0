"""Over HTTP: any number of clients, each known by its token.

Every request passes the same door, in this order: is it meant for this server (Host, else 421), does it come
from a page that may (Origin, else 403), is there such a route (else 404), and whose token is it (else 401). A
route without a rule can't be added. Behind it, `http_sessions.py` bounds what an agent may have open,
`bodies.py` what a request may be, and `answers.py` what may wait to be read. Whoever is turned away has to
connect again: `listening.py` keeps connections for those who were let in.
"""

import asyncio
import ipaddress
import re
import secrets
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from satchel.config.settings import HttpSettings
from satchel.errors import ArgumentError, SatchelError
from satchel.server import answers, bodies, listening
from satchel.server.answers import Answers
from satchel.server.bodies import Bodies
from satchel.server.gates import STRANGERS, Gates
from satchel.server.http_sessions import Sessions
from satchel.server.listening import is_gone, let_in
from satchel.server.pending import GONE
from satchel.server.refusing import refuse
from satchel.server.surface import Surface

_HERE = ("localhost", "127.0.0.1", "[::1]")
_HOSTS = "http.allowed_hosts lists those that may be used"
_ORIGINS = "http.allowed_origins lists those that may be used"
_LETTING_GO = 10.0  # seconds: a session that is at work has another message soon
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[^][:@/?#,\s]+)(:[0-9]*)?")

Handle = Callable[[Scope, Receive, Send], Awaitable[None]]
AgentOf = Callable[[str], str | None]


@dataclass(frozen=True, kw_only=True)
class Route:
    path: str
    rule: Literal["token", "open"]
    handle: Handle


class Door:
    """The ASGI application: decides who gets to which route."""

    def __init__(
        self,
        routes: Sequence[Route],
        agent_of: AgentOf,
        is_agent: Callable[[str], bool],
        settings: Callable[[], HttpSettings],
        host: str,
    ) -> None:
        self.routes = tuple(routes)
        self._by_path = {route.path: route for route in routes}
        self._agent_of = agent_of
        self._is_agent = is_agent
        self._settings = settings
        self._host = host
        self._gates = Gates()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _no_lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        agent, handle = self._way_in(scope, headers)
        if agent != STRANGERS:
            let_in(scope, agent)
            scope = {**scope, "user": AuthenticatedUser(AccessToken(token="", client_id=agent, scopes=[]))}
        if await self._gates.enter(agent, partial(is_gone, scope)):
            is_shared = "origin" in headers and self._refusal(headers) is None
            answer = _with_headers(send, _sharing(headers["origin"])) if is_shared else send
            await handle(scope, receive, answer)

    def _way_in(self, scope: Scope, headers: Headers) -> tuple[str, Handle]:
        """Whose a request is, and what answers it."""
        if (refusal := self._refusal(headers)) is not None:
            return STRANGERS, refusal
        route = self._by_path.get(scope["path"].rstrip("/") or "/")
        if route is None:
            return STRANGERS, refuse(404, "Not Found")
        if "origin" in headers and scope["method"] == "OPTIONS":  # browsers ask without a token
            return STRANGERS, Response(status_code=204)
        if route.rule == "open":
            return STRANGERS, route.handle
        if (agent := self._known(headers.getlist("authorization"))) is not None:
            return agent, route.handle
        refusal = refuse(401, "Unauthorized: `satchel token` prints the token to send")
        refusal.headers["www-authenticate"] = 'Bearer realm="satchel"'
        return STRANGERS, refusal

    def _refusal(self, headers: Headers) -> Response | None:
        """The answer to requests that are not for us, or come from a forbidden origin."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if "content-length" in headers and "transfer-encoding" in headers:
            # Where its body ends, a proxy in front may see otherwise: what follows could be anybody's.
            return refuse(400, "Bad Request: two lengths")
        if not self._is_for_us(hosts):
            return refuse(421, f"Misdirected Request: unknown Host; {_HOSTS}", hosts)
        if len(origins) > 1 or not all(map(self._may_use_us, origins)):
            return refuse(403, f"Forbidden: unknown Origin; {_ORIGINS}", origins)
        return None

    def _known(self, given: list[str]) -> str | None:
        """The agent whose token was sent, if it is one and still exists."""
        if len(given) != 1:
            return None
        scheme, _, token = given[0].partition(" ")
        if scheme.lower() != "bearer" or not token.strip(" "):
            return None
        agent = self._agent_of(token.strip(" "))
        return agent if agent is not None and self._is_agent(agent) else None

    def _is_for_us(self, given: list[str]) -> bool:
        if len(given) != 1:
            return False
        host = _name_in(given[0])
        known = {*_HERE, self._host.lower()} - {"", "0.0.0.0", "[::]"}
        if host is None or host in known:
            return host is not None
        return _is_listed(given[0].lower(), host, self._settings().allowed_hosts)

    def _may_use_us(self, origin: str) -> bool:
        scheme, _, rest = origin.lower().partition("://")
        if scheme in ("http", "https") and _name_in(rest) in _HERE:
            return True
        return origin.lower() in {allowed.lower().rstrip("/") for allowed in self._settings().allowed_origins}


def _name_in(authority: str) -> str | None:
    """The name of `name:port`, in small letters; None where it is something else, as `[::1].example.com`."""
    found = _AUTHORITY.fullmatch(authority.lower())
    return found[1] if found is not None else None


def _split(host: str) -> tuple[str, str, str]:
    """Name and port of `name:port`, where a name can be [::1]."""
    if host.startswith("["):
        name, bracket, rest = host.partition("]")
        return name + bracket, ":", rest.removeprefix(":")
    return host.partition(":")


def _is_listed(whole: str, host: str, allowed: Sequence[str]) -> bool:
    """A name without a port stands for all of them."""
    return any(name.lower() in (whole, host) for name in allowed)


def _sharing(origin: str) -> dict[str, str]:
    """The headers for a page of another origin."""
    return {
        "access-control-allow-origin": origin,
        "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
        "access-control-allow-headers": "authorization, content-type, accept, mcp-protocol-version,"
        " mcp-session-id, mcp-method, mcp-name, last-event-id",
        "access-control-expose-headers": "mcp-session-id, mcp-protocol-version, www-authenticate",
        "vary": "origin",
    }


def _with_headers(send: Send, added: dict[str, str]) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            rows = [(name.encode(), value.encode()) for name, value in added.items()]
            message = {**message, "headers": [*message.get("headers", []), *rows]}
        await send(message)

    return answer


async def _no_lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def _health(scope: Scope, receive: Receive, send: Send) -> None:
    await JSONResponse({"status": "ok"})(scope, receive, send)


def _watched(handle: Handle) -> Handle:
    """Notes in the scope when the client has disconnected."""

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.Event()

        async def note_end() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
            return message

        await handle({**scope, GONE: gone}, note_end, send)

    return watched


async def _let_go(manager: StreamableHTTPSessionManager, name: str) -> None:
    """Have a session forget its last request and answer: the SDK's loops hold these until others come."""
    transport = manager._server_instances.get(name)
    if transport is None:
        return
    nothing = SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=secrets.token_hex(8), result={}))
    for stream in (transport._read_stream_writer, transport._write_stream):
        with anyio.move_on_after(_LETTING_GO), suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            if stream is not None:
                await stream.send(nothing)


@asynccontextmanager
async def open_door(
    surface: Surface,
    *,
    agent_of: AgentOf,
    is_agent: Callable[[str], bool],
    settings: Callable[[], HttpSettings],
    host: str = "127.0.0.1",
    body_patience: float = bodies.PATIENCE,
    answer_patience: float = answers.PATIENCE,
) -> AsyncGenerator[Door]:
    """The application, while it is to be served.

    The body of a request may take `body_patience` seconds, and its answer that long without being read.
    """
    manager = StreamableHTTPSessionManager(
        surface.server, max_request_body_size=bodies.LARGEST, max_sessions=None
    )
    bounded = Bodies(manager.handle_request, patience=body_patience)
    sessions = Sessions(bounded, lambda: settings().max_sessions, partial(_let_go, manager))
    read = Answers(sessions, patience=answer_patience)
    routes = (
        Route(path="/mcp", rule="token", handle=_watched(read)),
        Route(path="/health", rule="open", handle=_health),
    )
    async with surface.running(), manager.run():
        yield Door(routes, agent_of, is_agent, settings, host)


async def serve_http(
    surface: Surface,
    address: str,
    *,
    agent_of: AgentOf,
    is_agent: Callable[[str], bool],
    settings: Callable[[], HttpSettings],
    started: Callable[[str], None] = lambda url: None,
    patience: float = listening.PATIENCE,
    body_patience: float = bodies.PATIENCE,
    answer_patience: float = answers.PATIENCE,
) -> None:
    """Until the process is told to end. `started` hears the URL once clients can come.

    A connection has `patience` seconds to ask for something, `body_patience` more for a request's body, and
    `answer_patience` to take something of what it is sent.
    """
    host, port = read_address(address)
    shown = f"[{host}]" if ":" in host else host
    with _bind(host, port) as bound:
        async with open_door(
            surface,
            agent_of=agent_of,
            is_agent=is_agent,
            settings=settings,
            host=shown,
            body_patience=body_patience,
            answer_patience=answer_patience,
        ) as door:
            url = f"http://{shown}:{bound.getsockname()[1]}/mcp"
            await listening.serve(door, bound, lambda: started(url), patience)


def read_address(text: str) -> tuple[str, int]:
    """HOST:PORT, or a port alone, with or without a colon, which is on this machine only."""
    alone = text.removeprefix(":")
    host, _, port = _split(text) if not alone.isdecimal() else ("127.0.0.1", ":", alone)
    if not port.isdecimal() or int(port) > 65535 or not host:
        raise ArgumentError(f"'{text}' is not HOST:PORT", argument="http", hint="such as 127.0.0.1:8765")
    return host.strip("[]"), int(port)


def is_local(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bind(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise SatchelError(
            f"can't listen on {host}:{port}: {error.strerror or error}",
            hint="choose another port with --http",
        ) from error

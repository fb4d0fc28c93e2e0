"""The MCP sessions that agents have open over HTTP, and their requests: each agent has its own share.

The SDK bounds the sessions of all clients together, so that one agent could take them all. Here the bound is
for each agent: a session too many ends the one of the same agent that has rested longest.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from satchel.server.refusing import refuse

_SESSION = "mcp-session-id"
_LARGE = 64 * 1024  # bytes of a request and its answer that a session does not keep
_REQUESTS = 4  # of an agent under way at once, for each session that it may have


@dataclass
class _Session:
    """How many requests a session has under way, and when it was last used."""

    working: int = 0
    listening: int = 0  # streams of news, which most clients have open all the time
    used: int = 0

    @property
    def rest(self) -> tuple[bool, int]:
        """Its rank: the session with the lowest rank is ended first."""
        return self.listening > 0, self.used


class _Weighed:
    """How a request comes and its answer goes, with the bytes of both."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.size = 0

    async def receive(self) -> Message:
        message = await self._receive()
        self.size += len(message.get("body", b""))
        return message

    async def send(self, message: Message) -> None:
        self.size += len(message.get("body", b""))
        await self._send(message)


async def _keep(name: str) -> None:
    """Do nothing to a session."""


class Sessions:
    """Wraps the SDK's manager of sessions, which is to have no bound of its own.

    `let_go` has a session, by its name, forget the last request and answer.
    """

    def __init__(
        self, app: ASGIApp, most: Callable[[], int], let_go: Callable[[str], Awaitable[None]] = _keep
    ) -> None:
        self._app = app
        self._most = most
        self._let_go = let_go
        self._of: dict[str, dict[str, _Session]] = {}
        self._under_way: Counter[str] = Counter()
        self._clock = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        agent: str = scope["user"].username
        most = _REQUESTS * self._most()
        if self._under_way[agent] >= most:
            refusal = refuse(429, f"Too Many Requests: the agent has {most} under way")
            await refusal(scope, receive, send)
            return
        self._under_way[agent] += 1
        weighed = _Weighed(receive, send)
        try:
            name = await self._pass_on(agent, scope, weighed.receive, weighed.send)
            if name is not None and weighed.size > _LARGE:
                await self._let_go(name)
        finally:
            self._under_way[agent] -= 1
            if not self._under_way[agent]:
                del self._under_way[agent]

    async def _pass_on(self, agent: str, scope: Scope, receive: Receive, send: Send) -> str | None:
        """Returns the name of the request's session, if it has one of the agent or begins one."""
        named = Headers(scope=scope).get(_SESSION)
        if named is None:
            begun: list[str] = []
            await self._app(scope, receive, self._noting(agent, scope, send, begun))
            return begun[0] if begun else None
        session = self._of.get(agent, {}).get(named, _Session())
        with self._using(session, is_stream=scope["method"] == "GET"):
            await self._app(scope, receive, send)
        if scope["method"] == "DELETE":
            self._of.get(agent, {}).pop(named, None)
        return named if named in self._of.get(agent, {}) else None

    @contextmanager
    def _using(self, session: _Session, *, is_stream: bool) -> Generator[None]:
        self._clock += 1
        session.used = self._clock
        session.working += not is_stream
        session.listening += is_stream
        try:
            yield
        finally:
            session.working -= not is_stream
            session.listening -= is_stream

    def _noting(self, agent: str, scope: Scope, send: Send, begun: list[str]) -> Send:
        """Sends the answer to a request that may have `begun` a session, if there is room for it."""
        is_refused = False

        async def note(message: Message) -> None:
            nonlocal is_refused
            if is_refused:
                return
            if message["type"] == "http.response.start" and message["status"] < 400:
                new = Headers(raw=message.get("headers", [])).get(_SESSION)
                is_refused = new is not None and not await self._begin(agent, new, scope)
                if new is not None and not is_refused:
                    begun.append(new)
            if not is_refused:
                await send(message)
                return
            refusal = refuse(429, f"Too Many Requests: all {self._most()} sessions of the agent are at work")
            await refusal(scope, _nothing, send)

        return note

    async def _begin(self, agent: str, new: str, scope: Scope) -> bool:
        """Whether the agent can have another session. It may cost one that rests."""
        own = self._of.setdefault(agent, {})
        while len(own) >= self._most():
            resting = [name for name, session in own.items() if not session.working]
            if not resting:
                await self._end(new, scope)
                return False
            oldest = min(resting, key=lambda name: own[name].rest)
            del own[oldest]
            await self._end(oldest, scope)
        self._clock += 1
        own[new] = _Session(used=self._clock)
        return True

    async def _end(self, name: str, scope: Scope) -> None:
        """As its client would; one that has ended by itself is not known any more."""
        headers = [(_SESSION.encode(), name.encode())]
        await self._app({**scope, "method": "DELETE", "headers": headers}, _nothing, _ignore)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore(message: Message) -> None:
    pass

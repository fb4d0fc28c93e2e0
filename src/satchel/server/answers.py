"""Answers until they are read: bounded in size for each agent, and in time.

What a client does not read stays here, in the connection's buffer. A request counts as under way until its
answer is taken. A client that takes nothing for a while loses its connection, and so does the one of an agent
that has kept an answer longest, where those of the agent are too large together.
"""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from satchel.server.listening import Connection, connection_of

logger = logging.getLogger(__name__)

PATIENCE = 30.0
"""Seconds in which a client has to take something of what it is sent."""
MOST_UNREAD = 64 * 1024 * 1024
"""Bytes of an agent's answers that nobody has read yet. A single one may be larger."""


@dataclass(frozen=True, eq=False)
class _Part:
    """Of an answer, as far as it waits to be read."""

    size: int
    connection: Connection


class Answers:
    """Wraps an application. The agent of a request is known by then."""

    def __init__(self, app: ASGIApp, *, patience: float = PATIENCE) -> None:
        self._app = app
        self._patience = patience
        self._unread: dict[str, dict[_Part, None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        agent: str = scope["user"].username
        connection = connection_of(scope)
        if connection is None:
            await self._app(scope, receive, send)
            return
        end: list[Message] = []

        async def send_in_time(message: Message) -> None:
            body: bytes = message.get("body", b"")
            if message["type"] == "http.response.body" and not body and not message.get("more_body"):
                end.append(message)  # of a stream, which is to let go of what it has sent
                return
            await self._until_read(agent, connection, len(body))
            await send(message)

        await self._app(scope, receive, send_in_time)
        await self._until_read(agent, connection, 0)
        for message in end:
            await send(message)

    async def _until_read(self, agent: str, connection: Connection, size: int) -> None:
        """Wait until a connection has room, with so much more to be sent then."""
        if connection.flow.write_paused:
            size += connection.transport.get_write_buffer_size()
            with self._counted(agent, _Part(size, connection)):
                await connection.taken(self._patience)

    @contextmanager
    def _counted(self, agent: str, part: _Part) -> Generator[None]:
        own = self._unread.setdefault(agent, {})
        own[part] = None
        while len(own) > 1 and sum(each.size for each in own) > MOST_UNREAD:
            oldest = next(iter(own))
            del own[oldest]
            logger.info("closed a connection of %s: too much waits to be read", agent)
            oldest.connection.transport.abort()
        try:
            yield
        finally:
            own.pop(part, None)
            if not own and self._unread.get(agent) is own:
                del self._unread[agent]

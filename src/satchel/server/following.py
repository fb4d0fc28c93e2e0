"""Resources that clients want to hear of, each followed once at its server for all of them."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent

from satchel.app import Satchel
from satchel.errors import SatchelError
from satchel.server.offers import Offers
from satchel.server.skills import SCHEME, SkillOffers

MOST = 1_000
"""Resources that one client may follow at once."""
_PAUSE = 1.0  # seconds before a server is asked again that went away

Tell = Callable[[], None]


class _Followed:
    """One resource, and who is told of it."""

    def __init__(self) -> None:
        self.told: dict[object, Tell] = {}
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[None] | None = None

    def tell(self) -> None:
        for tell in list(self.told.values()):
            tell()


class Following:
    def __init__(self, satchel: Satchel) -> None:
        self._satchel = satchel
        self._followed: dict[tuple[str, str], _Followed] = {}
        self._skills: object = None

    def add(self, agent: str, uri: str, tell: Tell) -> tuple[asyncio.Future[None], Tell]:
        """Have `tell` called when a resource has changed, until the second of what is returned is called.

        The first is done when the resource's server has agreed; it may also have failed.
        """
        key = agent, uri
        followed = self._followed.get(key)
        if followed is None:
            followed = self._followed[key] = _Followed()
            followed.begun.add_done_callback(_heed)
            followed.task = asyncio.ensure_future(self._follow(followed, agent, uri))
        token = object()
        followed.told[token] = tell

        def remove() -> None:
            followed.told.pop(token, None)
            if not followed.told and followed.task is not None:
                followed.task.cancel()
                self._forget(agent, uri, followed)

        return followed.begun, remove

    def _forget(self, agent: str, uri: str, followed: _Followed) -> None:
        if self._followed.get((agent, uri)) is followed:
            del self._followed[agent, uri]

    def look(self) -> None:
        """Tell of skills, whose files are looked at from time to time."""
        before, self._skills = self._skills, self._satchel.shown_skills.stamp()
        if before is not None and before != self._skills:
            for (_, uri), followed in list(self._followed.items()):
                if uri.startswith(SCHEME):
                    followed.tell()

    async def aclose(self) -> None:
        tasks = [followed.task for followed in self._followed.values() if followed.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _follow(self, followed: _Followed, agent: str, uri: str) -> None:
        def begin() -> None:
            if followed.begun.done():
                followed.tell()  # it may have changed while nobody listened
            else:
                followed.begun.set_result(None)

        try:
            while True:
                try:
                    if uri.startswith(SCHEME) and SkillOffers(self._satchel, agent).has(uri):
                        begin()
                        await asyncio.Event().wait()  # `look` tells
                    server = Offers(self._satchel, agent).server_of(uri)
                    await self._satchel.follow_resource(
                        server, uri, agent=agent, begin=begin, updated=followed.tell
                    )
                except SatchelError as error:
                    if not followed.begun.done():
                        followed.begun.set_exception(error)
                        self._forget(agent, uri, followed)  # it may be there for the next one who asks
                        return
                await asyncio.sleep(_PAUSE)
        finally:
            if not followed.begun.done():
                followed.begun.cancel()


def _heed(begun: asyncio.Future[None]) -> None:
    """Whether it failed is for those to know who wait for it; there may be none left."""
    with suppress(asyncio.CancelledError):
        begun.exception()


class OneBus:
    """What one client of the 2026 era listens to: the events of all like it, and those of its resources."""

    def __init__(self, shared: InMemorySubscriptionBus) -> None:
        self._shared = shared
        self._listener: Callable[[ServerEvent], None] | None = None

    def tell(self, uri: str) -> None:
        if self._listener is not None:
            self._listener(ResourceUpdated(uri=uri))

    async def publish(self, event: ServerEvent) -> None:
        await self._shared.publish(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        self._listener = listener
        return self._shared.subscribe(listener)

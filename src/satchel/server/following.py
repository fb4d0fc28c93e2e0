"""Resources that clients want to hear of, each followed once at its server for all of them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Set
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent
from mcp.shared.subscriptions import event_to_notification

from satchel.errors import NotFoundError, SatchelError
from satchel.model import Caller, Client, Event, Json, Reads, ResourceChanged, ResourceFollowed
from satchel.server.offers import Offers, find_offer
from satchel.server.skills import SCHEME, SkillOffers
from satchel.verbs.satchel import Satchel

logger = logging.getLogger(__name__)

MOST = 1_000
"""Resources that one client may follow at once."""
_PAUSE = 1.0  # seconds before a server is asked again that went away
_LONGEST_PAUSE = 60.0  # as it fails again and again: every time it is asked is in the journal

Notify = Callable[[], None]


async def _never(method: str, params: Json, key: str) -> Json:
    raise AssertionError("a subscription asks nobody")


class _Followed:
    """One resource and its subscribers. `begun` is done once its server has agreed or refused."""

    def __init__(self) -> None:
        self.told: dict[object, Notify] = {}
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.begun.add_done_callback(_heed)
        self.scope = anyio.CancelScope()
        self.reads = Reads()
        self.content: object = None  # of a file of a skill, when it was last looked at

    def tell(self) -> None:
        for tell in list(self.told.values()):
            tell()

    def hear(self, event: Event) -> None:
        if isinstance(event, ResourceFollowed):
            self.begin()
        elif isinstance(event, ResourceChanged):
            self.tell()

    def begin(self) -> None:
        if self.begun.done():
            self.tell()  # it may have changed while nobody listened
        else:
            self.begun.set_result(None)

    def fail(self, error: SatchelError) -> None:
        if not self.begun.done():
            self.begun.set_exception(error)


def _heed(begun: "asyncio.Future[None]") -> None:
    begun.exception()  # is for those who wait for it, and there may be none left


_Key = tuple[Caller, str, Set[str], bool]
"""The follower as permissions see it, the resource, and the kind of connection."""


class Following:
    def __init__(self, satchel: Satchel) -> None:
        self._satchel = satchel
        self._followed: dict[_Key, _Followed] = {}
        self._skills: object = None
        self._offers: dict[str, tuple[object, object, Offers]] = {}

    def add(
        self, caller: Caller, uri: str, tell: Notify, *, can: Set[str] = frozenset(), handshake: bool = False
    ) -> tuple["asyncio.Future[None]", Notify]:
        """Have `tell` called when a resource has changed, until the second of what is returned is called.

        The first is done when the resource's server has agreed, and has an error where it has not. `can` and
        `handshake` say which connection the client's calls go over: what they change is told there.
        """
        hears = caller.reads  # what is followed for several conversations is read in all of them
        key = replace(caller, conversation=None), uri, frozenset(can), bool(can) and handshake
        followed = self._followed.get(key)
        if followed is None:
            followed = self._followed[key] = _Followed()
            if hears is not None:  # what was read before may be in the address
                followed.reads.begin_with(*hears.sources)
            self._satchel.tasks.start_soon(self._follow, key, followed)
        token = object()
        followed.told[token] = tell
        if hears is not None:
            followed.begun.add_done_callback(lambda begun: hears.add(*followed.reads.own))

        def remove() -> None:
            followed.told.pop(token, None)
            if not followed.told:
                followed.fail(SatchelError(f"nobody follows {uri} any more"))
                followed.scope.cancel()
                self._forget(key, followed)

        return followed.begun, remove

    def look(self) -> None:
        """Notify of skills, whose files are looked at from time to time."""
        skills = [(key, followed) for key, followed in self._followed.items() if followed.content is not None]
        if not skills:
            return
        before, self._skills = self._skills, self._satchel.skills.stamp()
        if before == self._skills:
            return
        for (caller, uri, *_), followed in skills:
            content, followed.content = followed.content, self._content(caller.agent, uri) or ""
            if content != followed.content:
                followed.tell()

    def close(self) -> None:
        for followed in self._followed.values():
            followed.scope.cancel()

    async def _follow(self, key: _Key, followed: _Followed) -> None:
        with followed.scope:
            await self._follow_until_ended(key, followed)

    async def _follow_until_ended(self, key: _Key, followed: _Followed) -> None:
        caller, uri, can, handshake = key
        client = Client(key=followed, can=frozenset(can), handshake=handshake, ask=_never)
        pause = _PAUSE
        while True:
            began = anyio.current_time()
            try:
                if uri.startswith(SCHEME) and (content := self._content(caller.agent, uri)) is not None:
                    followed.content = content
                    followed.begin()
                    return  # `look` tells
                server = await find_offer(
                    self._satchel,
                    partial(self._offers_of, caller.agent),
                    lambda offers: offers.server_of(uri, suggest=False),
                    client=client,
                )
                await self._satchel.resources.follow(
                    server,
                    uri,
                    tell=followed.hear,
                    caller=replace(caller, client=client, reads=followed.reads),
                )
            except SatchelError as error:
                if not followed.begun.done():
                    followed.fail(error)
                    self._forget(key, followed)  # it may be there for the next one who asks
                    return
            except Exception:  # a fault of ours must not end the server that others use
                logger.exception("following a resource failed")
                followed.fail(SatchelError("the resource can't be followed", hint="Satchel's log says why"))
                self._forget(key, followed)
                return
            if anyio.current_time() - began > _LONGEST_PAUSE:
                pause = _PAUSE  # it was followed for a while
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _forget(self, key: _Key, followed: _Followed) -> None:
        if self._followed.get(key) is followed:
            del self._followed[key]

    def _content(self, agent: str, uri: str) -> object:
        with suppress(NotFoundError):
            return SkillOffers(self._satchel, agent).read(uri)
        return None

    def _offers_of(self, agent: str) -> Offers:
        """Made once for the many that a client may ask for."""
        catalog, configuration = self._satchel.catalog, self._satchel.configuration
        kept = self._offers.get(agent)
        if kept is None or kept[0] is not catalog or kept[1] is not configuration:
            kept = self._offers[agent] = catalog, configuration, Offers(self._satchel, agent)
        return kept[2]


class Teller:
    """Tells one client of the 2025 era: what it has not taken yet only once, however often it happens."""

    def __init__(self, tasks: TaskGroup, notify: Callable[[str, Json], Awaitable[Any]]) -> None:
        self._notify = notify
        self._pending: dict[ServerEvent, None] = {}
        self._news = anyio.Event()
        self._scope = anyio.CancelScope()
        tasks.start_soon(self._run)

    def tell(self, event: ServerEvent) -> None:
        self._pending[event] = None
        self._news.set()

    def close(self) -> None:
        self._scope.cancel()

    async def _run(self) -> None:
        with self._scope:
            while True:
                await self._news.wait()
                self._news = anyio.Event()
                await self._send()

    async def _send(self) -> None:
        while self._pending:
            event = next(iter(self._pending))
            del self._pending[event]
            params: Json = {"uri": event.uri} if isinstance(event, ResourceUpdated) else {}
            try:
                await self._notify(event_to_notification(event, {}).method, params)
            except Exception as error:  # noqa: BLE001  an error of one connection must not affect the others
                logger.debug("a client could not be told: %r", error)


class OneBus:
    """The events for one client of the 2026 era: the shared ones, and those of its resources."""

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


def has_begun(begun: "asyncio.Future[None]") -> bool:
    return begun.done() and begun.exception() is None


def remove_all(held: dict[str, tuple[object, Notify]]) -> None:
    for _, remove in held.values():
        remove()

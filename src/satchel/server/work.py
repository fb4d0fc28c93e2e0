"""A request while it is worked on: ended with its client, telling it how far it is, asking what servers ask.

A client of the 2025 era is asked by a request to it while its own waits. One of the 2026 era can't be: it is
answered that input is wanted, the work stands still meanwhile, and goes on when the client comes back.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import NoBackChannelError
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, LOG_LEVEL_META_KEY

from satchel.errors import SatchelError
from satchel.model import Client, Json, Progress
from satchel.server.wire import is_modern
from satchel.support.waiting import until_done

_Item = TypeVar("_Item")
Context = ServerRequestContext[Any, Any]
Start = Callable[[Client, Callable[[Progress], None]], Awaitable[Json]]
GONE = "satchel.gone"
"""The key of an HTTP request's scope under which an event says that its client has gone."""
LOG_LEVEL = "satchel.log_level"
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_KEPT = 600.0  # seconds that work waits for a client to come back
_MOST_KEPT = 64  # of one agent
_MOST_NEWS = 100  # of each kind that wait to be told, the last ones
_LONGEST_NEWS = 1024 * 1024  # characters of them together


class _News(Generic[_Item]):
    """What a client is to be told when it can be: the last of it, for a server may say anything meanwhile."""

    def __init__(self) -> None:
        self._items: deque[tuple[_Item, int]] = deque()
        self._size = 0

    def add(self, item: _Item) -> None:
        size = len(repr(item))
        self._items.append((item, size))
        self._size += size
        while len(self._items) > _MOST_NEWS or self._size > _LONGEST_NEWS:
            self._size -= self._items.popleft()[1]

    def take(self) -> list[_Item]:
        items = [item for item, _ in self._items]
        self._items.clear()
        self._size = 0
        return items


class _Work:
    """`context` is the request that is being answered now; a client that comes back makes a new one."""

    def __init__(self, context: Context, agent: str, key: object, start: Start) -> None:
        self.context = context
        self.agent = agent
        self.news = asyncio.Event()
        self.progress = _News[Progress]()
        self.logged = _News[Json]()
        self.questions: dict[str, Json] = {}
        self._answers: dict[str, asyncio.Future[Json]] = {}
        self._given: Json = dict((context.params or {}).get("inputResponses") or {})  # before it was asked
        client = Client(
            key=key,
            can=capabilities(context),
            handshake=not is_modern(context.protocol_version),
            ask=self._ask,
            log=self._log,
            log_level=_log_level(context),
        )
        self.task = asyncio.ensure_future(start(client, self._report))
        self.task.add_done_callback(_note)
        self._is_ending = False

    def answer(self, responses: Mapping[str, Any]) -> None:
        """What the client says. What it leaves out is asked again."""
        for key in list(self.questions):
            if key in responses:
                del self.questions[key]
                self._answers.pop(key).set_result(responses[key])
        if self.questions:
            self.news.set()

    def end(self) -> None:
        """Have it end. Only once: a second time would end what it still has to put in order."""
        if not self._is_ending:
            self._is_ending = True
            self.task.cancel()

    async def ended(self) -> None:
        """Wait until it is over, whoever gives up waiting: how a program ended is recorded last."""
        await until_done(self.task)

    def _report(self, progress: Progress) -> None:
        self.progress.add(progress)
        self.news.set()

    def _log(self, params: Json) -> None:
        self.logged.add(params)
        self.news.set()

    async def _ask(self, method: str, params: Json, key: str) -> Json:
        if params.get("mode") == "url":
            params = _page(self.context, params)
        if not is_modern(self.context.protocol_version):
            try:
                return await self.context.session._request_outbound.send_raw_request(method, params)
            except NoBackChannelError:
                raise SatchelError("the client can't be asked over this connection") from None
            except MCPError as error:
                raise SatchelError(f"the client did not answer: {error.message}") from error
        if key in self._given:
            return self._given.pop(key)
        if not key or key in self.questions:
            key = f"question-{len(self._answers) + 1}-{secrets.token_hex(4)}"
        self.questions[key] = {"method": method, "params": params}
        answer = self._answers[key] = asyncio.get_running_loop().create_future()
        self.news.set()
        try:
            return await answer
        finally:
            if self._answers.get(key) is answer:  # whoever asked has given up
                del self._answers[key], self.questions[key]


def _note(task: asyncio.Future[Json]) -> None:
    """That it has failed is no news where its client never comes back for it."""
    if not task.cancelled():
        task.exception()


class Works:
    """The requests under way."""

    def __init__(self) -> None:
        self._under_way: set[_Work] = set()
        self._kept: dict[str, tuple[_Work, asyncio.TimerHandle]] = {}

    async def answer(self, context: Context, agent: str, start: Start, params: Any) -> Json:
        """The answer to a request: that of `start`, or what it has to be told first."""
        state: str | None = params.request_state
        if is_modern(context.protocol_version) and state is not None:
            work = self._resume(state, agent, context)
        else:
            work = self._begin(context, agent, start)
        try:
            answer = await self._attend(work)
        except BaseException:
            work.end()
            await work.ended()
            raise
        if answer is not None:
            return answer
        return {
            "resultType": "input_required",
            "inputRequests": dict(work.questions),
            "requestState": self._keep(work),
        }

    async def aclose(self) -> None:
        for _, timer in self._kept.values():
            timer.cancel()
        works = list(self._under_way)
        for work in works:
            work.end()
        for work in works:
            await work.ended()

    def _begin(self, context: Context, agent: str, start: Start) -> _Work:
        work = _Work(context, agent, _key(context), start)
        self._under_way.add(work)
        work.task.add_done_callback(lambda _: self._under_way.discard(work))
        return work

    async def _attend(self, work: _Work) -> Json | None:
        """Until the work is done, or can't go on without its client."""
        gone = _gone(work.context)
        watched = asyncio.ensure_future(gone.wait()) if gone is not None else None
        try:
            while True:
                news = asyncio.ensure_future(work.news.wait())
                waits: list[asyncio.Future[Any]] = [work.task, news]
                if watched is not None:
                    waits.append(watched)
                try:
                    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    news.cancel()
                work.news.clear()
                await _tell(work)
                if work.task.done():
                    return work.task.result()
                if watched is not None and watched.done():
                    raise MCPError(code=INVALID_REQUEST, message="the client has gone")
                if work.questions:
                    return None
        finally:
            if watched is not None:
                watched.cancel()

    def _keep(self, work: _Work) -> str:
        own = [handle for handle, (kept, _) in self._kept.items() if kept.agent == work.agent]
        if len(own) >= _MOST_KEPT:
            oldest, timer = self._kept.pop(own[0])
            timer.cancel()
            oldest.end()
        handle = secrets.token_urlsafe(16)

        def forget() -> None:
            if self._kept.pop(handle, None) is not None:
                work.end()

        self._kept[handle] = work, asyncio.get_running_loop().call_later(_KEPT, forget)
        return handle

    def _resume(self, handle: str, agent: str, context: Context) -> _Work:
        work, timer = self._kept.get(handle, (None, None))
        if work is None or timer is None or work.agent != agent:
            raise MCPError(
                code=INVALID_PARAMS,
                message="nothing waits for this input any more: send the request again without requestState",
            )
        timer.cancel()
        del self._kept[handle]
        work.context = context
        work.answer((context.params or {}).get("inputResponses") or {})
        return work


def capabilities(context: Context) -> frozenset[str]:
    """What the client of a request can be asked."""
    declared = context.session.client_capabilities
    can: set[str] = set()
    if declared is not None and declared.elicitation is not None:
        can.add("elicitation")
    if declared is not None and declared.sampling is not None:
        can.add("sampling")
    if declared is not None and declared.roots is not None:
        can.add("roots")
    return frozenset(can)


def _page(context: Context, params: Json) -> Json:
    """The request to visit a page, as the client's era has it: in that of 2025 it has an identity."""
    declared = context.session.client_capabilities
    if declared is None or declared.elicitation is None or declared.elicitation.url is None:
        # What it says is added where it is known which secrets may be in it.
        raise SatchelError("it asks for a page to be visited, and the client can't be asked that")
    if is_modern(context.protocol_version) or "elicitationId" in params:
        return params
    return {**params, "elicitationId": secrets.token_hex(8)}


def _key(context: Context) -> object:
    """Whose requests belong together: those of one connection. By HTTP of the 2026 era, nobody's do."""
    if context.request is None:
        return "stdio"
    return object() if is_modern(context.protocol_version) else context.session._connection


def _gone(context: Context) -> asyncio.Event | None:
    """Set when the client of an HTTP request has gone, where the SDK does not end the request by itself."""
    if context.request is None or is_modern(context.protocol_version):
        return None
    return context.request.scope.get(GONE)


async def _tell(work: _Work) -> None:
    context = work.context
    reports, logged = work.progress.take(), work.logged.take()
    for progress in reports:
        await context.session.report_progress(progress.progress, progress.total, progress.message)
    for params in logged:
        if _is_wanted(context, params.get("level")):
            await context.session._request_outbound.notify("notifications/message", params)


def _log_level(context: Context) -> str | None:
    """What the client asked to hear: with this request, or once for all in the 2025 era."""
    level: object = (context.meta or {}).get(LOG_LEVEL_META_KEY)
    if not is_modern(context.protocol_version):
        level = context.session._connection.state.get(LOG_LEVEL)
    return level if isinstance(level, str) else None


def _is_wanted(context: Context, level: object) -> bool:
    if level not in context.session._allowed_log_levels:
        return False
    least = context.session._connection.state.get(LOG_LEVEL, "debug")
    return _LEVELS.index(level) >= _LEVELS.index(least)

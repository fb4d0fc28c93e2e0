"""A request while it is worked on: ended with its client, telling it how far it is, asking what servers ask.

A client of the 2025 era is asked by a request to it while its own waits. One of the 2026 era can't be: it is
answered that input is wanted, the work stands still meanwhile, and goes on when the client comes back.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

import anyio
from anyio.abc import TaskGroup
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import NoBackChannelError
from mcp_types import INVALID_PARAMS, INVALID_REQUEST, LOG_LEVEL_META_KEY

from satchel.errors import SatchelError
from satchel.model import Client, Event, Json, Progress, Tell, is_object
from satchel.server.client_names import client_name
from satchel.server.wire import is_modern
from satchel.support.text import label
from satchel.support.waiting import Task, background

_Item = TypeVar("_Item")
Context = ServerRequestContext[Any, Any]
Start = Callable[[Client, Tell], Awaitable[Json]]
GONE = "satchel.gone"
"""The key of an HTTP request's scope under which an event says that its client has gone."""
LOG_LEVEL = "satchel.log_level"
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_KEPT = 600.0  # seconds that work waits for a client to come back
_MOST_KEPT = 64  # of one agent
_MOST_NEWS = 100  # of each kind that wait to be told, the last ones
_LONGEST_NEWS = 1024 * 1024  # characters of them together
_LONGEST_PROGRESS = 1_000  # characters of one report


class _News(Generic[_Item]):
    """Messages that wait for a client; of each kind only the last, because a server may send many."""

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


class _Bell:
    """Rung when there is something to see to. What waits to ring it knows nothing of the request."""

    def __init__(self) -> None:
        self._rung = anyio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self) -> None:
        await self._rung.wait()
        self._rung = anyio.Event()


class PendingRequest:
    """`context` is the request that is being answered now; a client that comes back makes a new one."""

    def __init__(self, context: Context, agent: str) -> None:
        self.context = context
        self.agent = agent
        self.news = _Bell()
        self.progress = _News[Progress]()
        self.logged = _News[Json]()
        self.questions: dict[str, Json] = {}
        self._answers: dict[str, asyncio.Future[Json]] = {}
        self._given = _input_responses(context)  # before it was asked

    @property
    def client(self) -> Client:
        """Made when it is asked for: a request that kept it would be in a cycle, and stay for a while."""
        return Client(
            key=_key(self.context),
            can=capabilities(self.context),
            name=client_name(self.context),
            handshake=not is_modern(self.context.protocol_version),
            ask=self._ask,
            log=self._log,
            log_level=_log_level(self.context),
        )

    def answer(self, responses: Mapping[str, Any]) -> None:
        """What the client says. What it leaves out is asked again."""
        for key in list(self.questions):
            if key in responses:
                del self.questions[key]
                answer = self._answers.pop(key)
                if not answer.done():  # or the caller has given up a moment ago
                    answer.set_result(responses[key])
        if self.questions:
            self.news.ring()

    def tell(self, event: Event) -> None:
        """Progress is for the client; it hears of nothing else. Clients show it as it is, in one line."""
        if isinstance(event, Progress):
            told = event.message and label(event.message, _LONGEST_PROGRESS)
            self.progress.add(replace(event, message=told))
            self.news.ring()

    def _log(self, params: Json) -> None:
        self.logged.add(params)
        self.news.ring()

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
        self.news.ring()
        try:
            return await answer
        finally:
            if self._answers.get(key) is answer:  # the caller has given up
                del self._answers[key], self.questions[key]


class _Work(NamedTuple):
    """A request, and the task that works on it."""

    request: PendingRequest
    task: Task[Json]

    async def end(self) -> None:
        """End it, and wait until it is over: how a program ended is recorded last."""
        self.task.end()
        await self.task.ended()


class PendingRequests:
    """The requests under way. `tasks` work on them."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._under_way: set[_Work] = set()
        self._kept: dict[str, tuple[_Work, asyncio.TimerHandle]] = {}

    async def answer(self, context: Context, agent: str, start: Start, params: Any) -> Json:
        """The answer to a request: that of `start`, or what it has to be told first."""
        state: str | None = params.request_state
        if is_modern(context.protocol_version) and state is not None:
            work = self._resume(state, agent, context)
        else:
            work = self._begin(PendingRequest(context, agent), start)
        try:
            answer = await self._attend(work)
        except BaseException:
            await work.end()
            raise
        if answer is not None:
            return answer
        return {
            "resultType": "input_required",
            "inputRequests": dict(work.request.questions),
            "requestState": self._keep(work),
        }

    async def aclose(self) -> None:
        for _, timer in self._kept.values():
            timer.cancel()
        works = list(self._under_way)
        for work in works:
            work.task.end()
        for work in works:
            await work.task.ended()

    def _begin(self, request: PendingRequest, start: Start) -> _Work:
        async def run() -> Json:
            try:
                return await start(request.client, request.tell)
            finally:
                self._under_way.discard(work)
                request.news.ring()

        work = _Work(request, Task(self._tasks, run))
        self._under_way.add(work)
        return work

    async def _attend(self, work: _Work) -> Json | None:
        """Until the work is done, or can't go on without its client."""
        request, task = work
        gone = _gone(request.context)
        async with background() as watching:
            if gone is not None:
                watching.start_soon(_pass_on, gone, request.news)
            watching.start_soon(_pass_on, task, request.news)
            while True:
                await request.news.wait()
                await _tell(request)
                if task.is_done:
                    return task.result()
                if gone is not None and gone.is_set():
                    raise MCPError(code=INVALID_REQUEST, message="the client has disconnected")
                if request.questions:
                    return None

    def _keep(self, work: _Work) -> str:
        agent = work.request.agent
        own = [handle for handle, (kept, _) in self._kept.items() if kept.request.agent == agent]
        if len(own) >= _MOST_KEPT:
            oldest, timer = self._kept.pop(own[0])
            timer.cancel()
            oldest.task.end()
        handle = secrets.token_urlsafe(16)

        def forget() -> None:
            if self._kept.pop(handle, None) is not None:
                work.task.end()

        self._kept[handle] = work, asyncio.get_running_loop().call_later(_KEPT, forget)
        return handle

    def _resume(self, handle: str, agent: str, context: Context) -> _Work:
        work, timer = self._kept.get(handle, (None, None))
        if work is None or timer is None or work.request.agent != agent:
            raise MCPError(
                code=INVALID_PARAMS,
                message="nothing waits for this input any more: send the request again without requestState",
            )
        timer.cancel()
        del self._kept[handle]
        work.request.context = context
        work.request.answer(_input_responses(context))
        return work


def _input_responses(context: Context) -> Json:
    """What the client says of its own accord. Its parameters may not have been validated yet."""
    given = (context.params or {}).get("inputResponses")
    return dict(given) if is_object(given) else {}


def capabilities(context: Context) -> frozenset[str]:
    """The questions that the client of a request can be asked."""
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


async def _pass_on(event: "asyncio.Event | Task[Json]", bell: _Bell) -> None:
    await event.wait()
    bell.ring()


async def _tell(request: PendingRequest) -> None:
    context = request.context
    reports, logged = request.progress.take(), request.logged.take()
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

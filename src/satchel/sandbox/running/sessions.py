"""The sessions that are open: by handles that callers pass back, each for one agent, until it is left."""

import asyncio
import secrets
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace

import anyio

from satchel.errors import ArgumentError, ClosedError, NotFoundError, SandboxError
from satchel.model import Reads
from satchel.sandbox.limits import Limits
from satchel.sandbox.remedies import NotBegunError
from satchel.sandbox.running.budget import Budget
from satchel.sandbox.sandbox import Door, Outcome, Program, Session
from satchel.support.waiting import to_the_end

Make = Callable[[], Awaitable[Session]]
Around = Callable[[], AbstractAsyncContextManager[None]]
NEW = "new"
"""The handle that asks for a new session."""
_MOST_REMEMBERED = 100
_ATTEMPTS = 3
_GONE = "the session ended with it, and its variables and processes are lost"
_HINT = "ask for a new one with session='new', and set its variables again"


def reading(agent: str) -> str:
    """Whose sessions are those of an agent's programs that may only read."""
    return f"{agent}\nread-only"


def owner_of(agent: str) -> str:
    """Whom such sessions count for."""
    return agent.partition("\n")[0]


@dataclass(kw_only=True)
class _Open:
    agent: str
    language: str
    kept: Session
    shows: Mapping[str, object] = field(default_factory=dict[str, object])  # by the reason to end it
    reads: Reads = field(default_factory=Reads)
    turn: anyio.Lock = field(default_factory=anyio.Lock)
    resting: asyncio.TimerHandle | None = None


class Sessions:
    """`idle` tells how many seconds one may rest before it is ended; the budget, how many there may be."""

    def __init__(self, idle: Callable[[], float], budget: Budget | None = None) -> None:
        self._idle = idle
        self._budget = budget or Budget()
        self._opening: Counter[str] = Counter()
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._ended: OrderedDict[str, tuple[str, str]] = OrderedDict()  # handle → agent, why
        self._ending: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def run_new(
        self,
        make: Make,
        agent: str,
        program: Program,
        door: Door,
        limits: Limits,
        shows: Mapping[str, object] | None = None,
        reads: Reads | None = None,
    ) -> Outcome:
        """Run the first program of a session that is made for it. The caller has a place for it.

        `reads` hears all that its programs will have read.
        """
        for _ in range(_ATTEMPTS - 1):
            handle = await self.open(agent, program.language, make, shows, reads)
            with suppress(NotBegunError):  # it was killed while it waited, and nothing has run in it
                return await self._run(handle, agent, program, door, limits, has_place=True)
        handle = await self.open(agent, program.language, make, shows, reads)
        return await self._run(handle, agent, program, door, limits, has_place=True)

    async def open(
        self,
        agent: str,
        language: str,
        make: Make,
        shows: Mapping[str, object] | None = None,
        reads: Reads | None = None,
    ) -> str:
        """A handle for a new session. `shows`: see `follow`."""
        if self._is_closed:
            raise ClosedError
        totals = self._budget.totals
        owner = owner_of(agent)
        await self._make_room(totals.agent_sessions, owner)
        await self._make_room(totals.sessions)
        if self._count(owner) >= totals.agent_sessions or self._count() >= totals.sessions:
            count = f"{self._count(owner)} sessions are at work, of {self._count()} in all"
            raise SandboxError(count, hint="end one, or wait for its program")
        self._opening[owner] += 1
        try:
            kept = await make()
        finally:
            self._opening[owner] -= 1
        if self._is_closed:
            await to_the_end(kept.aclose())
            raise ClosedError
        handle = f"session-{secrets.token_hex(8)}"
        self._open[handle] = session = _Open(
            agent=agent, language=language, kept=kept, shows=shows or {}, reads=reads or Reads()
        )
        self._rest(handle, session)
        return handle

    async def _make_room(self, most: int, owner: str | None = None) -> None:
        """End sessions that rest until another one fits: of an agent, or of the one that has most."""
        why = f"more than {most} were open, and it had rested longest; it was ended to make room"
        while self._count(owner) >= most and (resting := self._resting(owner)):
            (largest, _), *_ = Counter(resting.values()).most_common(1)
            await self._end(next(handle for handle, agent in resting.items() if agent == largest), why)

    def _resting(self, owner: str | None) -> dict[str, str]:
        """Sessions in which no program runs, with their agents; the first has rested longest."""
        return {
            handle: owner_of(session.agent)
            for handle, session in self._open.items()
            if owner in (None, owner_of(session.agent)) and not session.turn.locked()
        }

    def _count(self, owner: str | None = None) -> int:
        """How many there are, of one agent or of all; those that are being made too."""
        opening = self._opening.total() if owner is None else self._opening[owner]
        return opening + sum(owner in (None, owner_of(each.agent)) for each in self._open.values())

    async def run(
        self,
        handle: str,
        agent: str,
        program: Program,
        door: Door,
        limits: Limits,
        shows: Mapping[str, object] | None = None,
        around: Around = nullcontext,
    ) -> Outcome:
        """Run a program in a session, after those that were asked for before it, once it has a place.

        `around` is entered when its turn has come, and left when it has ended.
        """
        return await self._run(handle, agent, program, door, limits, around, has_place=False, shows=shows)

    async def _run(
        self,
        handle: str,
        agent: str,
        program: Program,
        door: Door,
        limits: Limits,
        around: Around = nullcontext,
        *,
        has_place: bool,
        shows: Mapping[str, object] | None = None,
    ) -> Outcome:
        session = self.find(handle, agent)
        if session.language != program.language:
            raise ArgumentError(
                f"session {handle} runs {session.language}, and not {program.language}",
                argument="language",
                hint="use a session for each language",
            )
        async with session.turn, AsyncExitStack() as held:
            self.find(handle, agent)  # the one before may have ended it, or it itself
            if shows is not None and (why := _changed(session, shows)):
                await self._end(handle, why)
                self.find(handle, agent)
            self._open.move_to_end(handle)
            if session.resting is not None:
                session.resting.cancel()
            try:
                if not has_place:
                    await held.enter_async_context(self._budget.place(owner_of(agent), door.tell))
                    self.find(handle, agent)  # its caller may have ended it meanwhile
                async with around():
                    outcome = await session.kept.run(program, door, limits)
            finally:
                if handle not in self._open:
                    pass  # somebody has ended it meanwhile
                elif session.kept.is_alive:
                    self._rest(handle, session)
                else:
                    self._forget(handle, session.kept.why)
            if handle in self._open:
                return replace(outcome, session=handle)
            detail = f"{outcome.detail}; {_GONE}" if outcome.detail else _GONE
            return replace(outcome, detail=detail)

    async def follow(self, handle: str, agent: str, shows: Mapping[str, object]) -> None:
        """End a session that would go on to show what it was opened with, where that has changed or gone.

        `shows` is what one that is opened now would show: by the reason to end those that show otherwise.
        """
        session = self.find(handle, agent)
        why = _changed(session, shows)
        if why and not session.turn.locked():
            await self._end(handle, why)

    async def end(self, handle: str, agent: str) -> None:
        """End a session, and what it holds with it."""
        self.find(handle, agent)
        await self._end(handle, "it was ended by its caller")

    async def aclose(self) -> None:
        self._is_closed = True
        with anyio.CancelScope(shield=True):
            for handle in list(self._open):
                self._begin_to_end(handle, "Satchel was closed")
            if self._ending:
                await asyncio.wait(self._ending)

    def find(self, handle: str, agent: str) -> _Open:
        """The session of a handle; NotFoundError if there is none, or if it belongs to another agent."""
        session = self._open.get(handle)
        if session is not None and not session.kept.is_alive and not session.turn.locked():
            self._begin_to_end(handle, session.kept.why)
        elif session is not None and session.agent == agent:
            return session
        owner, why = self._ended.get(handle, ("", ""))
        if owner == agent and why:
            raise NotFoundError(
                "session", handle, hint=f"it has ended: {why}; its variables and processes are lost; {_HINT}"
            )
        raise NotFoundError("session", handle[:100], hint=_HINT)

    def _rest(self, handle: str, session: _Open) -> None:
        idle = self._idle()
        why = f"nobody used it for {idle:g} s"
        loop = asyncio.get_running_loop()
        session.resting = loop.call_later(idle, self._begin_to_end, handle, why)

    async def _end(self, handle: str, why: str) -> None:
        if handle in self._open:
            with anyio.CancelScope(shield=True):
                await asyncio.shield(self._begin_to_end(handle, why))

    def _begin_to_end(self, handle: str, why: str) -> asyncio.Task[None]:
        """It continues even if nobody waits for it, or if the caller has given up."""
        # It outlives a caller that gives up waiting; `aclose` waits for it.
        task = asyncio.create_task(self._forget(handle, why).kept.aclose())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task

    def _forget(self, handle: str, why: str) -> _Open:
        session = self._open.pop(handle)
        if session.resting is not None:
            session.resting.cancel()
        self._ended[handle] = (session.agent, why)
        while len(self._ended) > _MOST_REMEMBERED:
            self._ended.popitem(last=False)
        return session


def _changed(session: _Open, shows: Mapping[str, object]) -> str:
    """The reason to end a session, if there is one."""
    return next((why for why, identity in session.shows.items() if shows.get(why) != identity), "")

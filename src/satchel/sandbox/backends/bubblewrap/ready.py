"""Boxes that are prepared before there is a program: a program then starts within a millisecond or two.

Every program still gets a box of its own, which nobody has used and nobody will use again. Boxes are kept for
one workspace with the same grants and limits, so that nothing is left to be mounted when one is handed out.
A zygote makes them; where the machine does not let it, bubblewrap does, which takes longer, but not for
whoever waits. The first program for a workspace is not kept waiting for either: its box is made for it alone.
"""

import asyncio
import logging
import re
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import anyio

from satchel.errors import SandboxError
from satchel.languages import Language, ProgramLanguage
from satchel.sandbox.backends import BUBBLEWRAP
from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.backends.bubblewrap.zygote import Zygote, open_zygote
from satchel.sandbox.jobs import Job
from satchel.sandbox.limits import Limits
from satchel.sandbox.remedies import NotBegunError
from satchel.sandbox.running.box import Box
from satchel.sandbox.running.home import LocalHome, local, make_home
from satchel.sandbox.running.session import BoxSession
from satchel.sandbox.running.supervise import readable
from satchel.sandbox.sandbox import Door, Home, Outcome, Program, Shown

Way = Literal["zygote", "bubblewrap"]
"""The maker of prepared boxes."""
_PAUSE = 0.05  # seconds after the first program: a command that runs only one is gone by then
_ATTEMPTS = 3
_MOST_STOCKS = 8
# Not permitted, not supported, or more of them than may be.
_REFUSED = re.compile(r"failed (?:OSError: |PermissionError: )?\[Errno (?:1|13|22|28|38|87)\]")
_log = logging.getLogger(__name__)
_PATIENCE = 30.0  # seconds for a box that is being prepared


@dataclass(kw_only=True)
class _Stock:
    """The boxes that are ready for one workspace, by the guest that they have."""

    key: tuple[object, ...]
    home: LocalHome
    limits: Limits
    zygote: Zygote | None = None
    retired: list[Zygote] = field(default_factory=list[Zygote])
    ready: dict[Language, deque[Box]] = field(default_factory=dict[Language, deque[Box]])
    running: int = 0
    is_closed: bool = False
    used: float = 0.0
    tending: asyncio.Task[None] | None = None
    resting: asyncio.TimerHandle | None = None

    def take_dead(self) -> Box | None:
        """Take out a box that has ended."""
        for ready in self.ready.values():
            for box in ready:
                if box.started.process.poll() is not None:
                    ready.remove(box)
                    return box
        return None

    def boxes(self) -> Iterator[Box]:
        for ready in self.ready.values():
            yield from ready


class ReadyBoxes:
    """Runs programs in prepared boxes if there are any, and in new ones otherwise.

    `size` boxes are kept ready for Python, one for TypeScript, which needs more memory. After `idle` seconds
    without a program one of each is left, after ten times that none.
    """

    about = BUBBLEWRAP

    def __init__(
        self, boxes: Bubblewrap, agents: Path, *, size: int = 4, idle: float = 30.0, way: Way = "zygote"
    ) -> None:
        self._boxes = boxes
        self._agents = agents  # where homes are made
        self._size = size
        self._idle = idle
        self.way: Way = way
        self.refusal = ""
        """Why a zygote does not make the boxes, where it does not."""
        if (path := boxes.mounted_over()) is not None:
            self.way, self.refusal = "bubblewrap", f"{path} lies where every box has something of its own"
        self._is_closed = False
        self._stocks: OrderedDict[tuple[object, ...], _Stock] = OrderedDict()
        self._shrinking: set[asyncio.Task[None]] = set()

    async def home(self, agent: str, shown: Shown, *, writable: bool = True) -> LocalHome:
        return make_home(self._agents, agent, shown, self.about, writable=writable)

    async def run(self, program: Program, home: Home, door: Door, limits: Limits) -> Outcome:
        job, own = self._boxes.job(program), local(home)
        if job.is_deno and not job.speaks:  # nothing is prepared for what is seldom asked for
            return await self._boxes.run(program, own, door, limits)
        stock = self._stock(own, limits)
        stock.running += 1
        try:
            for _ in range(_ATTEMPTS):
                box = await self._take(stock, job)
                if box is None:
                    break
                with suppress(NotBegunError):  # it was killed while it waited, and no program has run in it
                    start = box.start(program, job)
                    return await self._boxes.run_in(box, start, own, door, limits)
            return await self._boxes.run(program, own, door, limits)
        finally:
            stock.running -= 1
            self._use(stock, job)

    async def open_session(self, language: ProgramLanguage, home: Home, limits: Limits) -> BoxSession:
        """A box to be kept; the caller closes it."""
        job, own = self._boxes.job(Program(code="", language=language)), local(home)
        stock = self._stock(own, limits)
        stock.running += 1  # for as long as it lives: it would end with its zygote

        def let_go() -> None:
            stock.running -= 1
            self._use(stock, job)

        try:
            box = await self._take(stock, job) or await self._boxes.make(job, own, limits)
        except BaseException:
            let_go()
            raise
        return BoxSession(self._boxes, box, job, own, let_go)

    async def _take(self, stock: _Stock, job: Job) -> Box | None:
        """A box that is ready, or will be sooner than one made for the purpose."""
        ready = stock.ready.get(job.guest, deque())
        while ready:
            box = ready.popleft()
            if box.started.process.poll() is None:
                return box
            await self._boxes.remove(box)
        zygote = stock.zygote
        if zygote is not None and self.way == "zygote":
            with suppress(NotBegunError):
                try:
                    return await zygote.make(job)
                except TimeoutError:  # it is not dead, but does nothing: others may still be in its boxes
                    if stock.zygote is zygote:  # or somebody who waited as well has retired it
                        stock.retired.append(zygote)
                        stock.zygote = None
        return None

    # What is ready

    def _stock(self, home: LocalHome, limits: Limits) -> _Stock:
        key = (*self._boxes.key(home), limits.of_box)
        if key not in self._stocks or self._stocks[key].is_closed:
            self._stocks[key] = _Stock(key=key, home=home, limits=limits.of_box)
        self._stocks.move_to_end(key)
        return self._stocks[key]

    def _use(self, stock: _Stock, job: Job) -> None:
        """A program has run: another one is likely."""
        stock.used = time.monotonic()
        stock.ready.setdefault(job.guest, deque())
        if self._is_closed or stock.is_closed:
            return
        if self._size and (stock.tending is None or stock.tending.done()):
            # Boxes are made ready between executions, when no caller is there to wait; `_close` ends it.
            stock.tending = asyncio.create_task(self._tend(stock))

    async def _tend(self, stock: _Stock) -> None:
        """Make what is missing, one box after the other, as long as something is."""
        await self._close_unused()
        if stock.zygote is None or not stock.zygote.is_alive:
            await anyio.sleep(_PAUSE)
        with suppress(SandboxError, TimeoutError, OSError):
            while (missing := self._missing(stock)) is not None:
                stock.ready[missing.guest].append(await self._prepare(stock, missing))
        self._rest(stock)

    def _missing(self, stock: _Stock) -> Job | None:
        """A job for which fewer boxes are ready than should be."""
        for guest, ready in stock.ready.items():
            job = self._boxes.job(Program(code="", language=guest))
            if len(ready) < (1 if job.is_deno else self._size):
                return job
        return None

    async def _prepare(self, stock: _Stock, job: Job) -> Box:
        box = await self._make(stock, job)
        try:
            with anyio.fail_after(_PATIENCE):
                # It says that it is ready; what it says is heard when it is used.
                await readable(box.started.bridge.fileno())
        except BaseException:
            await self._boxes.remove(box)
            raise
        return box

    async def _make(self, stock: _Stock, job: Job) -> Box:
        if self.way != "zygote":
            return await self._boxes.make(job, stock.home, stock.limits)
        if stock.zygote is None or not stock.zygote.is_alive:
            await self._bury(stock)
            stock.zygote = await open_zygote(self._boxes, stock.home, stock.limits)
        try:
            return await stock.zygote.make(job)
        except NotBegunError as error:
            if not _REFUSED.match(error.message):  # it was killed, or there was too much to do; next time
                raise
            reason = error.message.removeprefix("failed ")
            self.way = "bubblewrap"
            self.refusal = f"this machine refuses namespaces within namespaces ({reason[:100]})"
            _log.warning("boxes take longer to be prepared: %s", self.refusal)
            return await self._boxes.make(job, stock.home, stock.limits)

    async def _bury(self, stock: _Stock) -> None:
        """A zygote that was killed has taken its boxes with it."""
        dead, stock.zygote = stock.zygote, None
        if dead is not None:
            await dead.aclose()
        while (box := stock.take_dead()) is not None:  # other callers take some out at the same time
            await self._boxes.remove(box)

    def _rest(self, stock: _Stock, times: int = 1) -> None:
        """See after a while whether it is still used."""
        if stock.resting is not None:
            stock.resting.cancel()
        if stock.is_closed:
            return

        def look() -> None:
            task = asyncio.create_task(self._shrink(stock))  # begun by a timer; `aclose` waits for it
            self._shrinking.add(task)
            task.add_done_callback(self._shrinking.discard)

        stock.resting = asyncio.get_running_loop().call_later(times * self._idle, look)

    async def _shrink(self, stock: _Stock) -> None:
        idle = time.monotonic() - stock.used
        if stock.is_closed:
            return
        if idle < self._idle * 0.9 or stock.running:
            self._rest(stock)
        elif idle < 10 * self._idle * 0.9:
            for ready in list(stock.ready.values()):
                while len(ready) > 1:
                    await self._boxes.remove(ready.pop())
            self._rest(stock, 9)
        else:  # closed: a caller in the meantime must not get a box of a zygote that ends
            await self._close(stock)

    async def _close_unused(self) -> None:
        """Not more than a few workspaces have boxes ready."""
        for stock in list(self._stocks.values()):
            if len(self._stocks) <= _MOST_STOCKS or self._is_closed:
                return
            if not stock.running and not stock.is_closed:
                await self._close(stock)

    async def _close(self, stock: _Stock) -> None:
        stock.is_closed = True  # before anything is awaited: the next program gets another stock
        if stock.resting is not None:
            stock.resting.cancel()
        if stock.tending is not None and stock.tending is not asyncio.current_task():
            stock.tending.cancel()
            with suppress(asyncio.CancelledError, Exception):  # with any outcome, it is over
                await stock.tending
        await self._empty(stock)
        stock.ready.clear()
        if self._stocks.get(stock.key) is stock:
            del self._stocks[stock.key]

    async def _empty(self, stock: _Stock) -> None:
        for ready in list(stock.ready.values()):
            while ready:
                await self._boxes.remove(ready.popleft())
        while stock.retired:  # a cancelled caller leaves the rest to the next one
            await stock.retired.pop().aclose()
        zygote, stock.zygote = stock.zygote, None
        if zygote is not None:
            await zygote.aclose()

    async def settle(self) -> None:
        """Wait until everything is ready that is being made ready."""
        for stock in list(self._stocks.values()):
            while stock.tending is not None and not stock.tending.done():
                await asyncio.wait([stock.tending])
        await self._boxes.settle()

    def processes(self) -> list[int]:
        """The first processes of all that is kept."""
        found: list[int] = []
        for stock in self._stocks.values():
            found += [zygote.pid for zygote in (*stock.retired, stock.zygote) if zygote is not None]
            found += [box.started.process.pid for box in stock.boxes()]
        return found

    async def aclose(self) -> None:
        self._is_closed = True
        with anyio.CancelScope(shield=True):
            for stock in list(self._stocks.values()):
                await self._close(stock)
            self._stocks.clear()
            if self._shrinking:
                await asyncio.wait(self._shrinking)
            await self._boxes.aclose()

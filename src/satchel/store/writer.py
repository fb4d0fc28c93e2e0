"""One writer for all tables, for those who must not wait: the store behind an async face.

What begins is committed before `begin` returns. What has ended is written soon after, many changes at a time,
by a thread; what can't be written is kept, and nothing begins while it can't. Before the first use nothing is
opened, created or imported. It knows no table.
"""

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio
from anyio import CancelScope, to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from satchel.errors import ClosedError, JournalError
from satchel.store.row_changes import Change
from satchel.support.waiting import to_the_end

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from satchel.store.store import Store

Result = TypeVar("Result")
Location = Path | str

_MOMENT = 0.05  # seconds in which changes are gathered: a write takes the interpreter from the calls that run


def _open_store(location: Location) -> "Store":
    from satchel.store.store import open_store  # SQLAlchemy takes a third of a second to import

    return open_store(location)


def _nothing_to_undo(number: int) -> None:
    pass


class Writer:
    """Opened by its first user, and closed after `aclose` as soon as nobody uses it."""

    def __init__(
        self,
        location: Location | Callable[[], Location],
        open_store: "Callable[[Location], Store]" = _open_store,
    ) -> None:
        self._location = location
        self._open_store = open_store
        self._when_opened: list[Callable[[Store], object]] = []
        self._store: Store | None = None
        self._opening = threading.Lock()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="satchel-writer")
        self._waiting: list[Callable[[], Change]] = []
        self._scheduled = False
        self._changing = threading.Lock()  # the two above
        self._writing = threading.Lock()
        self._behind = False  # something could not be written when it was its turn
        self._is_closed = False
        self._users = 0  # threads that use the store

    def when_opened(self, work: "Callable[[Store], object]") -> None:
        """Have `work` done each time the store is opened, before anyone uses it."""
        self._when_opened.append(work)

    async def begin(
        self, *changes: Change, undo: Callable[[int], None] = _nothing_to_undo, quick: bool = True
    ) -> int:
        """Commit the changes together, and give the number of the last, as `Store.commit` does.

        Without a wait where that is `quick`, else in a thread. If the caller is cancelled meanwhile, the
        changes are committed all the same, and `undo` is called with the number before the cancellation is
        raised.
        """
        if self._behind:
            await self.flush()
        self._refuse_if_closed()
        store = self._store if quick else None
        number = store.try_commit(changes) if store is not None else None
        if number is not None:
            return number

        def work() -> int:
            with self._opened(to_begin=True) as store:
                return store.commit(changes)

        return await _in_thread(work, undo)

    def write_soon(self, make: Callable[[], Change]) -> None:
        """Write a change together with others. The thread that writes it makes it, too.

        It can't be `required`: nobody waits here to be told.
        """
        with self._changing:
            self._waiting.append(make)
            if not self._scheduled:
                self._scheduled = True
                self._thread.submit(self._write_after_a_moment)

    async def finish(self, *changes: Change) -> None:
        """Commit the changes together, after all that wait; also while everything is cancelled."""
        store = self._store if not self._is_closed else None  # or it may be closed in the middle of it
        nothing_else = not self._waiting and not self._writing.locked()
        if store is not None and nothing_else and store.try_commit(changes) is not None:
            return

        def work() -> int:
            self._write_waiting()
            with self._opened() as store:
                return store.commit(changes)

        with CancelScope(shield=True):
            await _in_thread(work)

    async def read(self, work: "Callable[[Connection], Result]") -> Result:
        """Read in a thread, after writing what waits."""

        def write_and_read() -> Result:
            with suppress(JournalError):  # what was recorded can be read even if no more can be
                self._write_waiting()
            with self._opened() as store:
                return store.read(work)

        return await to_thread.run_sync(write_and_read)

    async def change(self, work: "Callable[[Store], int]") -> int:
        """Do what is more than changing rows by their values, in a thread, after writing what waits."""

        def write_and_change() -> int:
            self._write_waiting()
            with self._opened(to_begin=True) as store:
                return work(store)

        return await _in_thread(write_and_change)

    async def flush(self) -> None:
        """Have everything written that ended until now. The store bounds how long that takes."""
        with CancelScope(shield=True):
            await to_thread.run_sync(self._write_waiting)

    async def aclose(self) -> None:
        """Write what is left, and close the store. Nothing can begin any more; what is there can be read."""
        self._is_closed = True
        with CancelScope(shield=True):
            await to_thread.run_sync(self._end)

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise ClosedError

    def _end(self) -> None:
        with self._opening:
            self._users += 1
        try:
            self._write_waiting()
        finally:
            self._let_go()

    @contextmanager
    def _opened(self, *, to_begin: bool = False) -> "Generator[Store]":
        """The store, opened by the first user. A user that comes after the end closes it again."""
        with self._opening:
            if to_begin:
                self._refuse_if_closed()
            if self._store is None:
                self._store = self._open()
            store = self._store
            self._users += 1
        try:
            yield store
        finally:
            self._let_go()

    def _let_go(self) -> None:
        with self._opening:
            self._users -= 1
            if self._is_closed and not self._users and self._store is not None:
                store, self._store = self._store, None
                store.close()

    def _open(self) -> "Store":
        store = self._open_store(self._location() if callable(self._location) else self._location)
        try:
            for work in self._when_opened:
                work(store)
        except BaseException:
            store.close()
            raise
        return store

    def _write_after_a_moment(self) -> None:
        time.sleep(_MOMENT)
        with suppress(JournalError):  # the next beginning meets it
            self._write_waiting()

    def _write_waiting(self) -> None:
        with self._writing:
            with self._changing:
                waiting, self._waiting, self._scheduled = self._waiting, [], False
            if not waiting:
                return
            try:
                with self._opened() as store:
                    store.commit([make() for make in waiting])
            except BaseException:
                with self._changing:
                    self._waiting = waiting + self._waiting
                self._behind = True
                raise
            self._behind = False


async def _in_thread(work: Callable[[], int], undo: Callable[[int], None] = _nothing_to_undo) -> int:
    """Write in a thread, which can't be stopped: wait for its end even if cancelled, then undo it.

    The store bounds how long this takes.
    """
    done: list[int] = []
    try:
        await to_the_end(to_thread.run_sync(lambda: done.append(work())))
        await checkpoint_if_cancelled()  # a scope that was cancelled meanwhile
    except anyio.get_cancelled_exc_class():
        for number in done:
            undo(number)
        raise
    return done[0]

"""All connections of one Satchel, by the names of servers. The pool behind them opens with the first use.

Loading the SDK takes most of a second, and much that is asked of Satchel needs no server.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from satchel.config import Configuration, ServerEntry
from satchel.config.follow import LiveConfiguration
from satchel.config.paths import PROJECTS
from satchel.errors import ClosedError, NeedsSetupError, ServerError
from satchel.model import Call, CallResult, Client, Listing, State
from satchel.names import in_shell
from satchel.support.waiting import background

if TYPE_CHECKING:
    from satchel.upstream.pool import Pool
    from satchel.upstream.slot import Authorize

OpenPool = Callable[[], "AbstractAsyncContextManager[Pool]"]
OnListing = Callable[[ServerEntry, Listing], None]


class Connections:
    """Use through `open_connections`. `entry_of` is what the configuration says of a server now."""

    def __init__(
        self,
        tasks: TaskGroup,
        open_pool: OpenPool,
        entry_of: Callable[[str], ServerEntry],
        lists_first: Callable[[ServerEntry], bool],
    ) -> None:
        self._tasks = tasks
        self._open_pool = open_pool
        self._entry_of = entry_of
        self._lists_first = lists_first
        self._pool: Pool | None = None
        self._failure: Exception | None = None
        self._is_opening = False
        self._opened = anyio.Event()  # or failed to
        self._end = anyio.Event()
        self._is_closed = False
        self._held = anyio.Event()
        self._held.set()

    # Links of the chain

    async def connect(self, call: Call) -> None:
        """Have the connection of a call's server ready, starting the server if need be."""
        entry = self._usable(call.what.server)
        await (await self._get()).connect(entry, call.caller.client, listed=self._lists_first(entry))

    async def send(self, call: Call) -> CallResult:
        """Send a call, once."""
        entry = self._usable(call.what.server)  # it may have been disabled since it was connected to
        return await (await self._get()).send(entry, call)

    def timeout_of(self, call: Call) -> float:
        """How many seconds the server of a call has to answer."""
        pool = self._pool
        assert pool is not None  # it was connected to
        return self._entry_of(call.what.server).timeout or pool.settings.timeout

    async def list_server(self, entry: ServerEntry, client: Client | None) -> None:
        """Ask a server for everything it offers; the pool's `on_listing` gets it."""
        refuse_disabled(entry)
        await (await self._get()).list_server(entry, client)

    # What is known of servers that have been used

    def state(self, server: str) -> tuple[State | None, ServerError | None]:
        """(state, error) of a server right now, both None when nothing is known."""
        return self._pool.state(server) if self._pool is not None else (None, None)

    def used(self) -> set[str]:
        """The servers of which `state` may know something."""
        return self._pool.used() if self._pool is not None else set()

    def last_words(self, server: str) -> list[str]:
        """The last lines on standard error of the process that serves `server` now."""
        return self._pool.last_words(server) if self._pool is not None else []

    def follow(self, before: Configuration, now: Configuration) -> None:
        """Take up a new configuration: stop the servers whose entries are gone, disabled or different."""
        if self._pool is None:
            return
        self._pool.settings = now.settings.servers
        entries = {entry.name: entry for entry in now.servers if entry.enabled}
        for entry in before.servers:
            following = entries.get(entry.name)
            if following is None or not following.connects_like(entry):
                self._pool.forget(entry.name)

    def _usable(self, server: str) -> ServerEntry:
        entry = self._entry_of(server)
        refuse_disabled(entry)
        return entry

    async def _get(self) -> "Pool":
        if self._is_closed:
            raise ClosedError
        if self._pool is not None:
            return self._pool
        if not self._is_opening:
            self._is_opening = True
            self._held = anyio.Event()
            # The pool's task group must be left by the task that has entered it, and callers come and go.
            self._tasks.start_soon(self._hold)
        await self._opened.wait()
        if self._pool is None:
            raise self._failure or ClosedError()
        return self._pool

    async def _hold(self) -> None:
        try:
            async with self._open_pool() as pool:
                self._pool = pool
                self._opened.set()
                await self._end.wait()
        except Exception as error:  # raised in callers that wait for the pool
            if self._opened.is_set():
                raise
            self._failure = error
        finally:
            self._opened.set()
            self._held.set()

    async def close(self) -> None:
        """End all connections in order. None can be had any more."""
        self._is_closed = True
        self._end.set()
        with anyio.CancelScope(shield=True):
            await self._held.wait()


def refuse_disabled(entry: ServerEntry) -> None:
    if not entry.enabled:
        raise NeedsSetupError(entry.name, "is disabled", hint=f"satchel enable {in_shell(entry.name)}")


@asynccontextmanager
async def open_connections(
    configuration: LiveConfiguration,
    environment: Mapping[str, str],
    *,
    entry_of: Callable[[str], ServerEntry],
    on_listing: OnListing,
    is_legacy: Callable[[ServerEntry], bool] = lambda entry: False,
    lists_first: Callable[[ServerEntry], bool] = lambda entry: False,
    authorize: "Authorize | None" = None,
) -> AsyncGenerator[Connections]:
    """Connections that end with the block: in order, or at once where the block fails.

    `on_listing` gets what servers offer, `is_legacy` says which ones are asked in the older way at once, and
    `lists_first` which ones are listed anew before the first call over a new connection.
    """

    def open_pool() -> "AbstractAsyncContextManager[Pool]":
        # The SDK takes most of a second to load, and much that is asked of Satchel needs no server.
        from satchel.upstream import auth, pool

        paths, settings = configuration.now.paths, configuration.now.settings
        return pool.open_pool(
            settings.servers,
            on_listing=on_listing,
            is_legacy=is_legacy,
            authorize=authorize or auth.stored_authorization(paths.credentials, settings.credentials),
            environment=environment,
            projects=f"{environment.get(PROJECTS, '')}:{paths.mark}",
            logs=paths.logs,
        )

    async with background() as tasks:
        connections = Connections(tasks, open_pool, entry_of, lists_first)
        yield connections
        await connections.close()

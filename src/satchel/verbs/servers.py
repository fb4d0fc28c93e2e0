"""Servers: known, listed anew, waited for, and found by the names of their tools."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import anyio
from anyio.abc import TaskGroup

from satchel.catalog import Catalog, Snapshot
from satchel.catalog.states import is_usable
from satchel.config import ServerEntry
from satchel.config.follow import LiveConfiguration
from satchel.errors import ClosedError, NotFoundError, SatchelError, ServerError, ServerFailedError
from satchel.model import (
    Client,
    Difference,
    Event,
    Json,
    Server,
    ServerFailed,
    ServerListed,
    ServerListing,
    State,
    Tell,
    Tool,
    silent,
)
from satchel.support.charging import apart
from satchel.upstream.connections import Connections
from satchel.verbs.server_rows import list_servers

logger = logging.getLogger(__name__)

_LONGEST_WAIT = 45.0  # seconds for a server that somebody names: many clients give up after a minute


@dataclass(kw_only=True)
class _Listing:
    """A server that is being listed in the background."""

    began: float
    done: anyio.Event = field(default_factory=anyio.Event)


class Servers:
    """The servers of one open Satchel. `tasks` are listings that nobody has to wait for."""

    def __init__(
        self,
        configuration: LiveConfiguration,
        catalog: Catalog,
        connections: Connections,
        tasks: TaskGroup,
    ) -> None:
        self._configuration = configuration
        self._catalog = catalog
        self._connections = connections
        self._tasks = tasks
        self._listings: dict[str, _Listing] = {}
        self._is_closed = False
        self._live: tuple[Snapshot, list[tuple[str, State, str]], Snapshot] | None = None

    def known(self) -> Snapshot:
        """Every server and tool as known now, after changes of the configuration have been followed."""
        self._configuration.follow()
        self._catalog.look()
        return self._catalog.snapshot

    @property
    def snapshot(self) -> Snapshot:
        """Every server and tool as last known."""
        return self._catalog.snapshot

    def now(self) -> Snapshot:
        """Like `known`, but with what connections have found out since: whether a server can be used."""
        known = self.known()
        names = self._connections.used() & {server.name for server in known.servers}
        changed: dict[str, Server] = {}
        for server in map(known.server, sorted(names)):
            live = self._with_live_state(server)
            if server.listed_at is None and is_usable(live):
                continue  # it runs, and is being listed
            if server.state != "disabled" and is_usable(server) != is_usable(live):
                changed[server.name] = live
        told: list[tuple[str, State, str]] = [
            (server.name, server.state, server.reason) for server in changed.values()
        ]
        if not changed:
            return known
        before = self._live
        if before is not None and before[0] is known and before[1] == told:
            return before[2]  # the same one, so that a search's index is up to date
        now = Snapshot(tuple(changed.get(server.name, server) for server in known.servers))
        self._live = known, told, now
        return now

    def list_all(self) -> Json:
        """All servers, short enough to be read by a model."""
        return list_servers([self._with_live_state(server) for server in self.known().servers])

    def describe_tool(self, name: str) -> Tool:
        """One tool, by any of its spellings. NotFoundError carries the closest names."""
        return self.known().tool(name)

    async def find_tool(self, name: str, *, client: Client | None = None, tell: Tell = silent) -> Tool:
        """Like `describe_tool`, but a server that nothing is known of yet is asked first."""
        try:
            return await self._look_up(name)
        except NotFoundError:
            asked = self._catalog.silent(name) or self._catalog.unlisted()
            if not asked:
                raise
        failures: list[ServerError] = []

        def note(event: Event) -> None:
            tell(event)
            if isinstance(event, ServerFailed):
                failures.append(event.error)

        await self.refresh([entry.name for entry in asked], client=client, tell=note)
        if failures and len(failures) == len(asked):
            raise failures[0]
        return await self._look_up(name)

    async def _look_up(self, name: str) -> Tool:
        """A tool that is known, or in a thread what its name comes close to: that takes a second for many."""
        known = self.known()
        return known.tool(name) if known.has_tool(name) else await apart(known.tool, name)

    def differences(self, names: Sequence[str] = ()) -> list[Difference]:
        """How definitions differ from those that were accepted, of these servers or of all."""
        known = self.known()
        found = [known.server(name) for name in names] or list(known.servers)
        return [
            each for server in found for each in self._catalog.differences(self._catalog.entry(server.name))
        ]

    def accept_changes(self, name: str, digests: Collection[str] | None = None) -> None:
        """Take a server's definitions as they are now, or those of these digests, for the right ones."""
        self._catalog.accept_changes(self._catalog.entry(self.known().server(name).name), digests)

    def last_words(self, name: str) -> list[str]:
        """What custom tools wrote last on standard error: a traceback of the user's own code.

        A server's lines may be about anything, so it has none.
        """
        return self._connections.last_words(name) if self._catalog.entry(name).custom else []

    async def refresh(
        self, names: Sequence[str] = (), *, client: Client | None = None, tell: Tell = silent
    ) -> list[Server]:
        """List servers anew, all at once. A failing one is recorded, told of, and stops no other.

        One that is removed meanwhile is not in the answer.
        """
        if self._is_closed:
            raise ClosedError
        known = self.known()
        entries = [self._catalog.entry(known.server(name).name) for name in names]
        if not names:
            entries = [entry for entry in self._catalog.entries.values() if entry.enabled]
        outcomes: dict[str, Server] = {}

        async def refresh_one(entry: ServerEntry) -> None:
            tell(ServerListing(server=entry.name))
            server, failure = await self._list(entry, client)
            if server is not None:
                outcomes[entry.name] = server
            if failure is None and server is not None:
                tell(ServerListed(server=server))
            else:
                gone = ServerFailedError(entry.name, "has been removed in the meantime")
                tell(ServerFailed(server=entry.name, error=failure or gone))

        async with anyio.create_task_group() as tasks:
            for entry in entries:
                tasks.start_soon(refresh_one, entry)
        return [outcomes[entry.name] for entry in entries if entry.name in outcomes]

    async def _list(
        self, entry: ServerEntry, client: Client | None
    ) -> tuple[Server | None, ServerError | None]:
        """(the server as it is known then, or None where its entry is gone; why it could not be listed)."""
        failure: ServerError | None = None
        try:
            await self._connections.list_server(entry, client)
        except ServerError as error:
            failure = error
            if entry.enabled and self._catalog.is_current(entry):
                self._catalog.record_failure(entry, error)
        if entry.name not in self._catalog.entries:
            return None, failure
        server = self._catalog.snapshot.server(entry.name)
        return (server if failure is None else replace(server, error=failure.message)), failure

    async def list_new(
        self, patience: float, named: Collection[str] = (), *, client: Client | None = None
    ) -> list[str]:
        """List servers that nothing is known of yet, in the background; tell which are still awaited.

        Each is waited for until `patience` seconds after it was started: one that hangs delays nobody twice.
        One that is among the `named`, in any spelling, is waited for until it is known or has failed.
        """
        self._begin_to_list(client)
        now = anyio.current_time()
        await _wait([each for each in self._listings.values() if now - each.began < patience], patience)
        for _ in range(2):  # its entry may be corrected while it is waited for
            self._begin_to_list(client)
            wanted = [self._listings[name] for name in self._under_way(named)]
            if not wanted:
                break
            await _wait(wanted, max(0, now + _LONGEST_WAIT - anyio.current_time()))
        return self.being_listed

    @property
    def being_listed(self) -> list[str]:
        """The servers that nothing is known of yet and that have been asked."""
        return list(self._listings)

    async def list_unlisted(
        self, patience: float | None, named: Collection[str], *, client: Client | None, tell: Tell
    ) -> None:
        """List all servers that nothing is known of; with `patience`, as `list_new` does."""
        self._configuration.follow()
        unlisted = self._catalog.unlisted()
        if unlisted and patience is not None:
            await self.list_new(patience, named, client=client)
        elif unlisted:
            await self.refresh([entry.name for entry in unlisted], client=client, tell=tell)

    def close(self) -> None:
        """Nothing is listed any more."""
        self._is_closed = True

    def _begin_to_list(self, client: Client | None) -> None:
        if self._is_closed:
            return
        self._configuration.follow()
        for entry in self._catalog.unlisted():
            if entry.name not in self._listings:
                self._listings[entry.name] = listing = _Listing(began=anyio.current_time())
                self._tasks.start_soon(self._list_in_background, entry.name, listing, client)

    def _under_way(self, named: Collection[str]) -> list[str]:
        """The servers that are being listed and are called so in any spelling."""
        servers = self._catalog.snapshot.named(named)
        return [name for name in self._listings if name in servers]

    async def _list_in_background(self, name: str, listing: _Listing, client: Client | None) -> None:
        try:
            await self.refresh([name], client=client)
        except SatchelError:
            pass  # it is recorded; and the server may have been removed meanwhile
        except Exception:  # a fault of ours must not end the group that other listings are in
            logger.exception("server %s: it could not be listed", name)
        finally:
            del self._listings[name]
            listing.done.set()

    def _with_live_state(self, server: Server) -> Server:
        state, error = self._connections.state(server.name)
        if state is None:
            return server
        message, reason = (error.message, error.brief) if error else (None, "")
        return replace(server, state=state, error=message, reason=reason)


async def _wait(listings: Sequence[_Listing], seconds: float) -> None:
    with anyio.move_on_after(seconds):
        for listing in listings:
            await listing.done.wait()

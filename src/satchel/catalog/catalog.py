"""The catalog of one project: which servers it has, how they are spelled, what is known of each."""

import json
import os
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from satchel.catalog.beside import Failure
from satchel.catalog.cache import Cache
from satchel.catalog.snapshot import Known, Snapshot, build_server, build_snapshot
from satchel.config import Configuration, ServerEntry, Target, resolve
from satchel.errors import NotFoundError, SatchelError, ServerError
from satchel.model import Difference, Listing, Server, Tool
from satchel.names import Spelling, assign_servers, claude_names
from satchel.support.files import Stamp, locked, read_small, stamp_of, write_atomically

_RETRY_AFTER = timedelta(minutes=10)


class Catalog:
    """Reads and writes the cache; `snapshot` is what everyone else looks at."""

    def __init__(self, configuration: Configuration, environment: Mapping[str, str] | None = None) -> None:
        paths = configuration.paths
        self._names_file = paths.names
        self._cache = Cache(paths.catalog, paths.user_data / "catalog.key")
        self._environment = os.environ if environment is None else environment
        self._configuration = configuration
        self._spellings: dict[str, Spelling] = {}
        self._recorded: dict[str, tuple[str, Stamp | None]] = {}  # of quarantined servers, where and when
        self.entries: dict[str, ServerEntry] = {}
        self.snapshot = Snapshot(())
        self.load(configuration)

    def load(self, configuration: Configuration) -> None:
        """Take up a configuration: every server with what the cache has of it. Starts nothing."""
        self._configuration = configuration
        self._recorded = {}
        self.entries = {entry.name: entry for entry in configuration.servers}
        self._spellings = self._assign_spellings()
        self.snapshot = build_snapshot(
            configuration.servers, self._spellings, self._read, self.is_quarantined
        )

    def follow(self, before: Configuration, now: Configuration) -> None:
        """Take up a new configuration."""
        self.load(now)

    def record(self, entry: ServerEntry, listing: Listing) -> Server:
        """A server was listed: write it to the cache and put its part into the snapshot."""
        quarantined = self.is_quarantined(entry)
        cached = self._cache.write(entry, self._target(entry), listing, quarantined=quarantined)
        return self._exchange(entry, Known(state="listed", cached=cached))

    def record_current(self, entry: ServerEntry, listing: Listing) -> None:
        """The same, unless the entry is another by now: what an earlier one lists is not its."""
        if self.is_current(entry):
            self.record(entry, listing)

    def record_failure(self, entry: ServerEntry, error: ServerError) -> Server:
        """A server could not be listed: its old tools stay, and its error is remembered for a while."""
        target = self._target(entry)
        # Without its name: of a plugin's server, another name may come to count.
        text = error.message.removeprefix(f"{error.server}: ")
        self._cache.write_failure(entry, target, text, error.state, error.brief)
        cached, _ = self._cache.read(entry, target)
        known = Known(state=error.state, error=error.message, reason=error.brief, cached=cached)
        return self._exchange(entry, known)

    def accept_changes(self, entry: ServerEntry, digests: Collection[str] | None = None) -> None:
        """Take the definitions as they are now, or those of these digests, for the right ones."""
        self._cache.accept_changes(entry, self._target(entry), digests)
        self._exchange(entry, self._read(entry))

    def differences(self, entry: ServerEntry) -> list[Difference]:
        """What has changed since the definitions of a server were accepted, and is noted."""
        known = self._read(entry)
        if known.cached is None:
            return []
        shown = {change.tool for change in self.snapshot.server(entry.name).changes}
        tools = {tool.name: tool for tool in known.cached.tools}
        return [
            Difference(
                server=entry.name,
                change=change,
                before=known.cached.accepted(change.tool),
                after=tools[change.tool].read_definition(),
            )
            for change in known.cached.changes
            if change.tool in tools and (change.tool in shown or not change.is_new)
        ]

    def is_held(self, tool: Tool) -> bool:
        """Whether a tool waits for a person; by what any process has recorded or accepted."""
        entry = self.entries.get(tool.server)
        if entry is None or not self.is_quarantined(entry):
            return False
        self._look(entry)
        return tool.name in self.snapshot.server(entry.name).held

    def _look(self, entry: ServerEntry) -> None:
        """Take up what other processes have recorded of a quarantined server."""
        if entry.name not in self._recorded:
            file = str(self._cache.file_of(entry, self._target(entry)))
            self._recorded[entry.name] = file, None
        file, before = self._recorded[entry.name]
        stamp = stamp_of(file)
        if stamp is not None and stamp != before:
            self._recorded[entry.name] = file, stamp
            known = self._read(entry)
            digest = None if known.cached is None else known.cached.head["digest"]
            if self.snapshot.server(entry.name).digest.partition(" ")[0] != digest:
                self._exchange(entry, known)

    def look(self) -> None:
        """Take up what a person has accepted in a different process."""
        for server in self.snapshot.servers:
            if server.held:
                self._look(self.entries[server.name])

    def is_quarantined(self, entry: ServerEntry) -> bool:
        """Whether tools of a server that are new or changed are held."""
        if entry.custom:
            return False
        return (entry.definitions or self._configuration.settings.definitions) == "quarantine"

    def entry(self, name: str) -> ServerEntry:
        """The current entry of a server in the configuration."""
        entry = self.entries.get(name)
        if entry is None:
            raise NotFoundError("server", name, hint="it has been removed in the meantime")
        return entry

    def forget(self, name: str) -> None:
        self._cache.forget(name)

    def is_current(self, entry: ServerEntry) -> bool:
        """Whether an entry is still what the configuration says: what was found out by another is not its."""
        known = self.entries.get(entry.name)
        return known is not None and known.connects_like(entry)

    def unlisted(self) -> list[ServerEntry]:
        """The servers that nothing is known of and that could be asked now."""
        return [self.entries[server.name] for server in self.snapshot.servers if server.state == "not listed"]

    def silent(self, tool: str) -> list[ServerEntry]:
        """The servers without known tools that the name of a tool may belong to."""
        letters = _letters(tool)
        return [
            self.entries[server.name]
            for server in self.snapshot.servers
            if not server.tool_count
            and server.state != "disabled"
            and any(letters.startswith(_letters(called)) for called in _names_of(server))
        ]

    def newest(self, tool: Tool) -> Tool | None:
        """The same tool as its server listed it last; None where it has none of that name any more."""
        tools = (server.tools for server in self.snapshot.servers if server.name == tool.server)
        return next((known for known in next(tools, ()) if known.name == tool.name), None)

    def is_legacy(self, entry: ServerEntry) -> bool:
        """Whether the server last spoke a version before 2026. Saves old servers a question they break on."""
        server = next((server for server in self.snapshot.servers if server.name == entry.name), None)
        return server is not None and "" < server.protocol_version < "2026"

    def _exchange(self, entry: ServerEntry, known: Known) -> Server:
        server = build_server(entry, self._spellings, known, self.is_quarantined)
        self.snapshot = self.snapshot.replace(server)
        return server

    def _read(self, entry: ServerEntry) -> Known:
        target: Target | None = None
        problem: ServerError | None = None
        try:
            target = resolve(entry, self._environment)
        except ServerError as error:
            problem = error
        cached, failure = self._cache.read(entry, target)
        if not entry.enabled:
            return Known(state="disabled", cached=cached)
        if problem is not None:
            error = f"{problem.message}; {problem.hint}" if problem.hint else problem.message
            return Known(state=problem.state, error=error, reason=problem.brief, cached=cached)
        if failure is not None and (cached is not None or _still_counts(failure)):
            text = failure.error.removeprefix(f"{entry.name}: ")
            error = f"{entry.name}: {text}"
            return Known(state=failure.state, error=error, reason=failure.reason or text, cached=cached)
        return Known(state="listed" if cached else "not listed", cached=cached)

    def _target(self, entry: ServerEntry) -> Target | None:
        try:
            return resolve(entry, self._environment)
        except ServerError:
            return None

    def _assign_spellings(self) -> dict[str, Spelling]:
        """Spellings are kept for the project, so that adding a server renames none that was there."""
        kept = self._kept_spellings()
        names = [*self.entries, *(alias for entry in self.entries.values() for alias in entry.aliases)]
        spellings = assign_servers(names, kept)
        if spellings != kept and spellings:
            try:
                with locked(self._names_file.parent):
                    spellings = assign_servers(names, self._kept_spellings())
                    rows = {name: [s.python, s.typescript, s.wire] for name, s in spellings.items()}
                    write_atomically(self._names_file, json.dumps({"servers": rows}).encode())
            except (OSError, SatchelError):
                pass  # a home that can't be written to; the names are the same as long as the servers are
        return spellings

    def _kept_spellings(self) -> dict[str, Spelling]:
        try:
            rows: dict[str, Any] = json.loads(read_small(self._names_file))["servers"]
            return {
                name: Spelling(python=str(row[0]), typescript=str(row[1]), wire=str(row[2]))
                for name, row in rows.items()
            }
        except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            return {}


def _names_of(server: Server) -> list[str]:
    return [called for name in server.spellings for called in (name, *claude_names(name))]


def _letters(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())


def _still_counts(failure: Failure) -> bool:
    """One that wants a login is not asked again by itself: only a person can change that."""
    return failure.state == "needs authorization" or _is_recent(failure)


def _is_recent(failure: Failure) -> bool:
    try:
        return datetime.now(UTC) - datetime.fromisoformat(failure.at) < _RETRY_AFTER
    except (ValueError, TypeError):
        return False

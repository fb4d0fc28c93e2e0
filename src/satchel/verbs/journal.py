"""The journal: what was run and called, and whether its database can be reached.

It is read without starting a server, and reading makes no database where there is none.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime

from satchel.catalog import Catalog, Snapshot
from satchel.config import Configuration, Paths, read_configuration
from satchel.config.database import database_of
from satchel.errors import NotFoundError
from satchel.model import CallRecord, ExecutionRecord, ToldMemoryRecord
from satchel.store.journal import Journal
from satchel.store.writer import Writer

_PATIENCE = 3  # seconds to connect to a server, only to see whether it answers


class JournalReader:
    """What was recorded. `journal` is None where there is no database yet."""

    def __init__(self, journal: Journal | None, catalog: Callable[[], Snapshot]) -> None:
        self._journal = journal
        self._catalog = catalog

    async def executions(
        self, *, agent: str | None = None, since: datetime | None = None, limit: int = 50
    ) -> list[ExecutionRecord]:
        """The newest first, without their calls."""
        if self._journal is None:
            return []
        return await self._journal.executions(agent=agent, since=since, limit=limit)

    async def execution(self, id: str) -> ExecutionRecord:
        """The execution of that id, or the only one whose id begins like that; with its calls in order."""
        found = await self._journal.execution(id) if self._journal is not None else None
        if found is None:
            raise NotFoundError("execution", id, hint="satchel executions lists them")
        return found

    async def calls(
        self,
        *,
        server: str | None = None,
        tool: str | None = None,
        agent: str | None = None,
        since: datetime | None = None,
        execution: str | None = None,
        limit: int = 100,
    ) -> list[CallRecord]:
        """The newest first. A server or tool may have any name that the catalog knows it by."""
        if self._journal is None:
            return []
        server, tool = self._as_recorded(server, tool)
        return await self._journal.calls(
            server=server, tool=tool, agent=agent, since=since, execution=execution, limit=limit
        )

    async def told_memories(
        self, *, agent: str | None = None, conversation: str | None = None, limit: int = 100
    ) -> list[ToldMemoryRecord]:
        """What models were told of memories, by digest, the newest first."""
        if self._journal is None:
            return []
        return await self._journal.told_memories(agent=agent, conversation=conversation, limit=limit)

    def _as_recorded(self, server: str | None, tool: str | None) -> tuple[str | None, str | None]:
        """The names that the journal has. One that the catalog no longer has is taken as it is."""
        catalog = self._catalog()
        with suppress(NotFoundError):
            server = catalog.server(server).name if server else None
        try:
            found = catalog.tool(tool) if tool else None
        except NotFoundError:
            return server, tool
        return (found.server, found.name) if found else (server, None)


@asynccontextmanager
async def open_journal(paths: Paths) -> AsyncGenerator[JournalReader]:
    """The journal of a project by itself; callers with an open Satchel need not open it again."""
    configuration = read_configuration(paths)

    def catalog() -> Snapshot:
        return Catalog(configuration).snapshot

    if configuration.settings.database is None and not paths.database.exists():
        yield JournalReader(None, catalog)
        return
    journal = Journal(Writer(database_of(configuration)))
    try:
        yield JournalReader(journal, catalog)
    finally:
        await journal.aclose()


def check_database(configuration: Configuration) -> str | None:
    """Connect once to the database that the settings name, without writing; say what answers.

    None if they name none: the project's own file is made when it is needed. A file that they name is left
    alone, since looking at one that is not there would make it.
    """
    if configuration.settings.database is None:
        return None
    # SQLAlchemy takes a third of a second to import.
    from satchel.store.databases import find_database
    from satchel.store.failures import journal_errors

    location = str(database_of(configuration))
    if location.startswith("sqlite:"):
        return location
    if "connect_timeout" not in location:
        location += f"{'&' if '?' in location else '?'}connect_timeout={_PATIENCE}"
    database = find_database(location)
    try:
        with journal_errors(database.place), database.engine.connect():
            return f"{database.place} answers"
    finally:
        database.engine.dispose()

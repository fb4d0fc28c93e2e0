"""Opening what asks a person and what a person decides with: in an open Satchel, or by itself."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from satchel.catalog import Catalog, Snapshot
from satchel.config import Configuration, Paths, read_configuration
from satchel.config.database import database_of
from satchel.config.follow import LiveConfiguration
from satchel.store.approvals import ApprovalStore
from satchel.store.suspensions import Suspensions
from satchel.store.writer import Writer
from satchel.support.sealing import Sealer
from satchel.verbs.approvals.approvals import Approvals
from satchel.verbs.approvals.asking import Asking


def approvals_on(
    writer: Writer, configuration: LiveConfiguration, catalog: Catalog
) -> tuple[Asking, Approvals]:
    """On the database of an open Satchel."""
    sealer = sealer_of(configuration.current)
    store = ApprovalStore(writer, sealer)
    asking = Asking(store, configuration.current, catalog.newest)
    return asking, Approvals(store, lambda: catalog.snapshot, Suspensions(writer, sealer))


@asynccontextmanager
async def open_approvals(paths: Paths) -> AsyncGenerator[Approvals]:
    """The approvals of a project by themselves; whoever has a Satchel open need not open them again."""
    configuration = read_configuration(paths)

    def catalog() -> Snapshot:
        return Catalog(configuration).snapshot

    if configuration.settings.database is None and not paths.database.exists():
        yield Approvals(None, catalog)
        return
    writer = Writer(database_of(configuration))
    try:
        yield Approvals(ApprovalStore(writer, sealer_of(lambda: configuration)), catalog)
    finally:
        await writer.aclose()


def sealer_of(configuration: Callable[[], Configuration]) -> Sealer:
    """What seals texts of this user in the database."""
    return Sealer(configuration().paths.keys, lambda: configuration().settings.credentials)

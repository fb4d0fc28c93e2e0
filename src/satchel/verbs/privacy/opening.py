"""Opening the boundary: in an open Satchel, or what it has kept by itself."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from satchel.config import Paths, read_configuration
from satchel.config.database import database_of
from satchel.config.follow import LiveConfiguration
from satchel.store.privacy.interface import TokenStore
from satchel.store.writer import Writer
from satchel.verbs.approvals.opening import sealer_of
from satchel.verbs.privacy.boundary import IDLE, Privacy


def privacy_on(writer: Writer, configuration: LiveConfiguration) -> Privacy:
    """On the database of an open Satchel."""
    store = TokenStore(writer, sealer_of(configuration.current), IDLE)
    return Privacy(lambda: configuration.now.settings, store=store)


@asynccontextmanager
async def open_tokens(paths: Paths) -> AsyncGenerator[TokenStore | None]:
    """The tokens that a project keeps, without its servers; None where it has no database yet."""
    configuration = read_configuration(paths)
    if configuration.settings.database is None and not paths.database.exists():
        yield None
        return
    writer = Writer(database_of(configuration))
    try:
        yield TokenStore(writer, sealer_of(lambda: configuration), IDLE)
    finally:
        await writer.aclose()

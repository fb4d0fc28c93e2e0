"""A journal in each of the two databases. Fixtures have another name than their function, to be imported."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.store.postgresql import Server, find_programs, running_server
from tests.store.values import StoredJournal, open_journal

_running: list[Server] = []  # a fixture that is imported elsewhere is another fixture, but one server will do


@pytest.fixture(name="postgresql", scope="session")
def postgresql_fixture() -> Generator[Server]:
    if _running:
        yield _running[0]
        return
    programs = find_programs()
    if programs is None:
        pytest.skip("PostgreSQL's server programs are not here")
    with running_server(programs) as server:
        _running.append(server)
        yield server
        _running.clear()


@pytest.fixture(name="location", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def location_fixture(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Where nothing is yet."""
    if request.param == "sqlite":
        return tmp_path / "state" / "satchel.db"
    server: Server = request.getfixturevalue("postgresql")
    return server.empty_url()


@pytest.fixture(name="store")
def store_fixture(location: Path | str) -> Generator[StoredJournal]:
    store = open_journal(location)
    yield store
    store.close()


@pytest.fixture(name="file_store")
def file_store_fixture(tmp_path: Path) -> Generator[StoredJournal]:
    """For what only SQLite does, or does the same everywhere."""
    store = open_journal(tmp_path / "satchel.db")
    yield store
    store.close()

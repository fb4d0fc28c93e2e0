"""What was recorded in a project, read without its servers; and whether its database answers."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from satchel.config import read_configuration
from satchel.config.database import database_of
from satchel.errors import JournalError, NotFoundError
from satchel.model import Call, Caller
from satchel.store.journal import Journal
from satchel.store.writer import Writer
from satchel.verbs.journal import check_database, open_journal
from tests.catalog import Project, command, listing, tool
from tests.fakes import make_tool
from tests.store.conftest import postgresql_fixture
from tests.store.postgresql import Server

pytestmark = pytest.mark.anyio
__all__ = ["postgresql_fixture"]  # the fixture `postgresql`


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    catalog = project.catalog({"google-drive": command()})
    catalog.record(project.entries()["google-drive"], listing(tool("get-document"), tool("delete")))
    return project


async def record(project: Project) -> None:
    """One execution with a call, and a call of a server that is gone."""
    journal = Journal(Writer(database_of(read_configuration(project.paths))))
    await journal.begin_execution(id="3f2a", agent="mail", language="python", program="print(1)")
    tool = make_tool({"name": "get-document"}, server="google-drive")
    made = Call(what=tool, caller=Caller(execution="3f2a"))
    journal.complete(await journal.begin(made), "ok", ms=1)
    await journal.begin(Call(what=make_tool({"name": "post"}, server="gone")))
    await journal.aclose()


async def test_reading_makes_no_database(project: Project) -> None:
    async with open_journal(project.paths) as journal:
        assert await journal.executions() == []
        assert await journal.calls(server="google-drive") == []
        with pytest.raises(NotFoundError, match="unknown execution '3f2a'"):
            await journal.execution("3f2a")

    assert not project.paths.database.exists()


async def test_executions_are_found_by_agent_time_and_the_beginning_of_their_id(project: Project) -> None:
    await record(project)
    tomorrow = datetime.now(UTC) + timedelta(days=1)

    async with open_journal(project.paths) as journal:
        assert [found.id for found in await journal.executions(agent="mail")] == ["3f2a"]
        assert await journal.executions(agent="other") == []
        assert await journal.executions(since=tomorrow) == []
        assert [call.tool for call in (await journal.execution("3f")).calls] == ["get-document"]
        with pytest.raises(NotFoundError) as raised:
            await journal.execution("4")

    assert raised.value.hint == "satchel executions lists them"


async def test_calls_are_found_by_any_name_of_their_server_and_tool(project: Project) -> None:
    await record(project)

    async with open_journal(project.paths) as journal:

        async def found(server: str | None = None, tool: str | None = None) -> list[str]:
            return [call.tool for call in await journal.calls(server=server, tool=tool)]

        assert await found() == ["post", "get-document"]
        assert await found("google-drive") == await found("google_drive") == ["get-document"]
        assert await found(tool="google-drive.get-document") == ["get-document"]
        assert await found(tool="google_drive__get_document") == ["get-document"]
        assert await found("gone") == ["post"]  # the catalog no longer has it
        assert await found("gone", "post") == ["post"]
        assert await found(tool="google-drive.delete") == []


def configure(project: Project, database: str) -> None:
    (project.directory / "satchel.yaml").write_text(f"database: {database}\n")


def test_no_database_is_checked_where_none_is_named(project: Project) -> None:
    assert check_database(read_configuration(project.paths)) is None
    assert not project.paths.database.exists()


def test_a_file_that_is_named_is_left_alone(project: Project, tmp_path: Path) -> None:
    configure(project, f"sqlite:///{tmp_path}/journal.db")

    assert check_database(read_configuration(project.paths)) == f"sqlite:///{tmp_path}/journal.db"
    assert not (tmp_path / "journal.db").exists()


def test_a_variable_that_is_not_set_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DB_PASSWORD", raising=False)
    configure(project, "postgresql://user:${DB_PASSWORD}@host/satchel")

    with pytest.raises(JournalError, match="refers to DB_PASSWORD, which is not set"):
        check_database(read_configuration(project.paths))


def test_a_server_that_does_not_answer_is_told(project: Project) -> None:
    configure(project, "postgresql://user:hunter2@127.0.0.1:1/db")

    with pytest.raises(JournalError, match=r"user@127\.0\.0\.1:1/db"):
        check_database(read_configuration(project.paths))


@pytest.mark.slow
def test_a_server_that_answers_is_told_and_nothing_is_made_there(
    project: Project, postgresql: Server
) -> None:
    url = postgresql.empty_url()
    configure(project, url)

    assert check_database(read_configuration(project.paths)) == "postgresql://satchel@/postgres answers"
    with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT * FROM calls")

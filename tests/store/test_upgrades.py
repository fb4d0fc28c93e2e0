"""Databases of other versions: older ones are upgraded, newer ones refused."""

import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import inspect

from satchel.cli.main import main
from satchel.errors import JournalError
from satchel.model import CallRecord, ToldMemory
from satchel.store import journal_queries, journal_rows
from satchel.store.databases import _PREPARING, find_database
from satchel.store.schema import SCHEMA
from satchel.store.store import open_store
from tests.projects import Project
from tests.store.values import AS_LOCATION, location_arguments, new_call, open_journal

ROOT = Path(__file__).parents[2]
WAIT = 60  # seconds; only a hang reaches it

# What Satchel 0.1.0 made, with some rows.
VERSION_1 = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (1);

CREATE TABLE executions (
    number {number} NOT NULL,
    id TEXT NOT NULL,
    agent TEXT NOT NULL,
    language TEXT NOT NULL,
    program TEXT NOT NULL,
    description TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at TEXT NOT NULL,
    outcome TEXT,
    owner TEXT NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (id)
);
CREATE INDEX executions_running ON executions (owner) WHERE state = 'running';

CREATE TABLE calls (
    id {number} NOT NULL,
    execution TEXT,
    agent TEXT NOT NULL,
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at TEXT NOT NULL,
    duration_ms {double},
    arguments_digest TEXT NOT NULL,
    arguments_size BIGINT NOT NULL,
    result_digest TEXT,
    result_size BIGINT,
    error TEXT,
    owner TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX calls_sent ON calls (owner) WHERE status = 'sent';
CREATE INDEX calls_of_execution ON calls (execution);

INSERT INTO executions
    (id, agent, language, program, description, state, started_at, outcome, owner)
VALUES
    ('0a1b2c3d4e5f', 'default', 'python', 'print(1)', 'count', 'done', '2026-03-01T12:00:00.000+00:00',
     '{{"exit_code": 0, "duration_ms": 41.5}}', '["elsewhere", 7, 1, "b"]'),
    ('5f4e3d2c1b0a', 'mail', 'typescript', 'x', '', 'running', '2026-03-02T12:00:00.000+00:00',
     NULL, '["elsewhere", 7, 1, "b"]');
INSERT INTO calls
    (execution, agent, server, tool, status, started_at, duration_ms, arguments_digest, arguments_size,
     result_digest, result_size, error, owner)
VALUES
    ('0a1b2c3d4e5f', 'default', 'drive', 'get', 'ok', '2026-03-01T12:00:00.010+00:00', 12.5, 'aa', 2,
     'bb', 9, NULL, '["elsewhere", 7, 1, "b"]'),
    (NULL, 'mail', 'mail', 'send', 'error', '2026-03-02T12:00:00.010+00:00', 3.0, 'cc', 4,
     NULL, NULL, 'no', '["elsewhere", 7, 1, "b"]');
"""
OLD_CALL = CallRecord(
    id=1,
    execution="0a1b2c3d4e5f",
    agent="default",
    server="drive",
    tool="get",
    status="ok",
    started_at="2026-03-01T12:00:00.010+00:00",
    duration_ms=12.5,
    arguments_digest="aa",
    arguments_size=2,
    result_digest="bb",
    result_size=9,
)


@pytest.fixture(name="old")
def old_fixture(location: Path | str) -> Path | str:
    """A database of version 1."""
    if isinstance(location, Path):
        location.parent.mkdir(mode=0o700)
        file = sqlite3.connect(location)
        file.execute("PRAGMA journal_mode = WAL")
        file.executescript(VERSION_1.format(number="INTEGER", double="DOUBLE"))
        file.close()
    else:
        with psycopg.connect(location) as server:
            server.execute(VERSION_1.format(number="BIGSERIAL", double="DOUBLE PRECISION").encode())
    return location


def execute(location: Path | str, statement: str) -> list[tuple[object, ...]]:
    """As somebody else does it."""
    if isinstance(location, Path):
        file = sqlite3.connect(location, isolation_level=None)
        rows = file.execute(statement).fetchall()
        file.close()
        return rows
    with psycopg.connect(location) as server:
        done = server.execute(statement.encode())
        return done.fetchall() if done.description else []


def columns(location: Path | str) -> dict[str, list[tuple[str, str, bool]]]:
    """The tables with the name, the type and the freedom to be null of every column, in order."""
    database = find_database(location)
    found = inspect(database.engine)
    tables = {
        table: [
            (column["name"], str(column["type"]), column["nullable"]) for column in found.get_columns(table)
        ]
        for table in found.get_table_names()
    }
    indexes = {
        index["name"]: [(str(name), "", True) for name in index["column_names"]]
        for table in found.get_table_names()
        for index in found.get_indexes(table)
        if index["name"]
    }
    database.engine.dispose()
    return tables | indexes


def test_a_database_of_the_first_version_is_upgraded_with_its_rows(old: Path | str) -> None:
    journal = open_journal(old)
    number = journal.begin_call(new_call(conversation="c1"))
    new, error, ok = journal.calls()
    running, done = journal.executions()
    journal.close()

    assert execute(old, "SELECT version FROM schema_version") == [(SCHEMA.version,)]
    assert ok == OLD_CALL
    assert (error.id, error.error, error.conversation) == (2, "no", None)
    assert (new.id, new.conversation) == (number, "c1")
    assert (done.outcome, done.call_count, done.conversation) == (
        {"exit_code": 0, "duration_ms": 41.5},
        1,
        None,
    )
    assert (running.agent, running.state) == ("mail", "running")


def test_an_upgraded_database_is_like_a_new_one(old: Path | str, tmp_path: Path) -> None:
    if isinstance(old, Path):
        new: Path | str = tmp_path / "new.db"
    else:
        new = old.replace("search_path%3D", "search_path%3Dnew_")
        name = new.rpartition("search_path%3D")[2]
        execute(old, f"CREATE SCHEMA {name}")
    open_journal(old).close()
    open_journal(new).close()

    assert columns(old) == columns(new)


def test_an_upgraded_database_is_only_opened_the_next_time(old: Path | str) -> None:
    open_journal(old).close()
    journal = open_journal(old)

    assert journal.calls()[1] == OLD_CALL
    journal.close()


def test_an_upgraded_database_takes_what_the_first_version_had_no_table_for(old: Path | str) -> None:
    store = open_store(old)
    store.commit([journal_rows.told_memory(ToldMemory(text="a", entries=1, tokens=2), agent="mail")])
    (told,) = store.read(journal_queries.find_told_memories)
    store.close()

    assert (told.agent, told.entries, told.tokens) == ("mail", 1, 2)


@contextmanager
def held(location: Path | str) -> Generator[None]:
    """As if another process prepared the tables all the while."""
    if isinstance(location, Path):
        file = sqlite3.connect(location, isolation_level=None)
        file.execute("BEGIN IMMEDIATE")
        yield
        file.close()
    else:
        with psycopg.connect(location) as server:
            server.execute(f"SELECT pg_advisory_xact_lock({_PREPARING})".encode())
            yield


OPEN = f"""
import sys
{AS_LOCATION}
from tests.store.values import new_call, open_journal
print("ready", flush=True)
journal = open_journal(location)
journal.begin_call(new_call(conversation="c1"))
journal.close()
"""
CRASH = f"""
import os, sys
{AS_LOCATION}
from sqlalchemy import Engine, event
from satchel.store.store import open_store
@event.listens_for(Engine, "before_cursor_execute")
def crash(connection, cursor, statement, *more):
    if statement.startswith("UPDATE schema_version"):
        os._exit(9)
open_store(location)
"""


def start(script: str, location: Path | str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script, *location_arguments(location)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_of_processes_that_open_an_old_database_at_once_one_upgrades_it_and_all_succeed(
    old: Path | str,
) -> None:
    with held(old):
        processes = [start(OPEN, old) for _ in range(4)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
    for process in processes:
        with process:
            assert process.wait(WAIT) == 0

    journal = open_journal(old)
    assert [call.conversation for call in journal.calls()] == ["c1"] * 4 + [None] * 2
    journal.close()


@pytest.mark.slow
def test_a_crash_in_the_middle_of_an_upgrade_leaves_the_old_version_whole(old: Path | str) -> None:
    before = columns(old)
    with start(CRASH, old) as process:
        assert process.wait(WAIT) == 9

    assert columns(old) == before
    assert execute(old, "SELECT version FROM schema_version") == [(1,)]
    journal = open_journal(old)
    assert journal.calls()[1] == OLD_CALL
    journal.close()


def test_an_upgrade_that_fails_leaves_the_old_version_whole(old: Path | str) -> None:
    before = columns(old)
    statements = (*SCHEMA.upgrades[2], "ALTER TABLE nobody ADD COLUMN nothing TEXT")
    with pytest.raises(JournalError, match="nobody"):
        open_store(old, replace(SCHEMA, upgrades={2: statements}))

    assert columns(old) == before
    assert execute(old, "SELECT version FROM schema_version") == [(1,)]
    open_journal(old).close()


def test_versions_are_taken_in_order(old: Path | str) -> None:
    last = SCHEMA.version
    later = replace(
        SCHEMA,
        upgrades={
            last + 2: ("UPDATE calls SET error = conversation || ' and then' WHERE id = 1",),
            last + 1: ("UPDATE calls SET conversation = 'first' WHERE id = 1",),
            **SCHEMA.upgrades,
        },
    )
    store = open_store(old, later)
    store.close()

    assert execute(old, "SELECT error FROM calls WHERE id = 1") == [("first and then",)]
    assert execute(old, "SELECT version FROM schema_version") == [(last + 2,)]


@pytest.mark.parametrize("statement", ["SELECT 1", "CREATE TABLE others (id TEXT)"])
def test_a_newer_database_is_refused_with_what_to_do_and_left_alone(
    location: Path | str, statement: str
) -> None:
    open_journal(location).close()
    execute(location, "UPDATE schema_version SET version = 77")
    execute(location, statement)
    before = columns(location)

    with pytest.raises(JournalError) as raised:
        open_journal(location)

    known = f"this one knows up to {SCHEMA.version}"
    assert f"was written by a newer Satchel (schema 77); {known}" in raised.value.message
    assert raised.value.hint is not None
    assert "update Satchel" in raised.value.hint
    assert "name another database" in raised.value.hint
    assert columns(location) == before
    assert execute(location, "SELECT version FROM schema_version") == [(77,)]


@pytest.mark.parametrize("version", ["seven", 0, b"\xff"])
def test_a_file_of_a_version_that_there_never_was_is_refused(
    tmp_path: Path, version: str | int | bytes
) -> None:
    open_journal(tmp_path / "satchel.db").close()
    with sqlite3.connect(tmp_path / "satchel.db") as file:
        file.execute("UPDATE schema_version SET version = ?", (version,))
    file.close()

    with pytest.raises(JournalError, match="newer Satchel"):
        open_journal(tmp_path / "satchel.db")


def test_commands_that_read_upgrade_an_old_database(
    old: Path | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path / "project", {})
    url = f"sqlite:///{old}" if isinstance(old, Path) else old
    (project.directory / "satchel.yaml").write_text(f"database: {url}\n")
    monkeypatch.chdir(project.directory)

    assert main(["executions"]) == 0
    out, err = capsys.readouterr()

    assert "0a1b2c3d4e5f" in out
    assert err == ""
    assert execute(old, "SELECT version FROM schema_version") == [(SCHEMA.version,)]

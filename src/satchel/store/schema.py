"""Which tables a database has, how an older one gets them, and which databases are refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Integer, MetaData, Table, insert, select, update

from satchel.errors import JournalError
from satchel.store import approval_tables, journal_tables
from satchel.store.conversations import tables as conversation_tables
from satchel.store.privacy.tables import privacy_tokens

_version = Table("schema_version", MetaData(), Column("version", Integer, nullable=False))


@dataclass(frozen=True, kw_only=True)
class Schema:
    tables: Sequence[Table]  # as they are after all upgrades
    upgrades: Mapping[int, Sequence[str]]  # what makes each version of the one before it, in both databases

    @property
    def version(self) -> int:
        return max(self.upgrades, default=1)


# A new table is an entry in each. Statements that were released are never changed: they have run elsewhere.
SCHEMA = Schema(
    tables=(
        journal_tables.executions,
        journal_tables.calls,
        journal_tables.told_memories,
        approval_tables.approvals,
        conversation_tables.conversations,
        conversation_tables.messages,
        approval_tables.suspensions,
        privacy_tokens,
    ),
    upgrades={
        2: (
            "ALTER TABLE executions ADD COLUMN conversation TEXT",
            "ALTER TABLE calls ADD COLUMN conversation TEXT",
        ),
        3: (
            "CREATE TABLE told_memories (id TEXT NOT NULL, conversation TEXT, agent TEXT NOT NULL,"
            " digest TEXT NOT NULL, tokens BIGINT NOT NULL, entries BIGINT NOT NULL, told_at TEXT NOT NULL,"
            " PRIMARY KEY (id))",
        ),
        4: (
            "CREATE TABLE approvals (id TEXT NOT NULL, state TEXT NOT NULL, agent TEXT NOT NULL,"
            " conversation TEXT, execution TEXT, session TEXT, occurrence BIGINT NOT NULL,"
            " server TEXT NOT NULL, tool TEXT NOT NULL, definition_digest TEXT NOT NULL,"
            " arguments_digest TEXT NOT NULL, arguments TEXT, edited TEXT, questions TEXT NOT NULL,"
            " reads TEXT NOT NULL, summary TEXT NOT NULL, client TEXT NOT NULL, requested_at TEXT NOT NULL,"
            " expires_at TEXT NOT NULL, owner TEXT NOT NULL, decided_at TEXT, decided_by TEXT,"
            " scope TEXT NOT NULL, used_at TEXT, call BIGINT, PRIMARY KEY (id))",
            "CREATE INDEX approvals_waiting ON approvals (requested_at) WHERE state = 'waiting'",
            "CREATE INDEX approvals_of_execution ON approvals (execution)",
            "CREATE INDEX approvals_of_call ON approvals (arguments_digest)",
            "CREATE INDEX calls_begun ON calls (owner) WHERE status = 'begun'",
        ),
        5: (
            "CREATE TABLE conversations (id TEXT NOT NULL, agent TEXT NOT NULL, title TEXT NOT NULL,"
            " state TEXT NOT NULL, version BIGINT NOT NULL, started_at TEXT NOT NULL,"
            " changed_at TEXT NOT NULL,"
            " memory TEXT NOT NULL, usage TEXT NOT NULL, reads TEXT NOT NULL, owner TEXT NOT NULL,"
            " PRIMARY KEY (id))",
            "CREATE TABLE messages (conversation TEXT NOT NULL, number BIGINT NOT NULL, role TEXT NOT NULL,"
            " content TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (conversation, number))",
        ),
        6: (
            "CREATE TABLE suspensions (execution TEXT NOT NULL, agent TEXT NOT NULL, state TEXT NOT NULL,"
            " request TEXT, answers TEXT, reads TEXT NOT NULL, problem TEXT, resumed_as TEXT,"
            " owner TEXT NOT NULL, expires_at TEXT NOT NULL, PRIMARY KEY (execution))",
        ),
        7: (
            "CREATE TABLE privacy_tokens (agent TEXT NOT NULL, conversation TEXT NOT NULL,"
            " letters TEXT NOT NULL, kind TEXT NOT NULL, sealed TEXT NOT NULL, created_at TEXT NOT NULL,"
            " used_at TEXT NOT NULL, PRIMARY KEY (agent, conversation, letters))",
        ),
    },
)


def check_tables(connection: Connection, schema: Schema, place: str) -> None:
    """Refuse an SQLite file with anything in it that we don't make: it would act when we write."""
    found = connection.exec_driver_sql("SELECT type, name, rootpage FROM sqlite_master").all()
    if any(kind == "table" and name == _version.name and page for kind, name, page in found):
        _refuse_unknown(_read_version(connection), schema, place)  # which may have tables we don't know
    ours = {_version.name, *(table.name for table in schema.tables)}
    for kind, name, page in found:
        known = kind == "index" or name in ours or name.startswith("sqlite_")
        if not page or not known:  # triggers, views and virtual tables have no page
            raise JournalError(
                f"the journal {place} has a {kind} '{name}', which Satchel doesn't make",
                hint=f"a new one is made after: mv {place} {place}.other",
            )


def prepare_tables(connection: Connection, schema: Schema, place: str) -> None:
    """Make what is missing, and upgrade what is older.

    The transaction has to keep out everyone else who prepares. It is all done or, if it fails, nothing is.
    """
    _version.create(connection, checkfirst=True)
    version = _read_version(connection)
    if version is None:
        for table in schema.tables:
            table.create(connection, checkfirst=True)
        connection.execute(insert(_version).values(version=schema.version))
        return
    _refuse_unknown(version, schema, place)
    if version < schema.version:
        for number in range(version + 1, schema.version + 1):
            for statement in schema.upgrades[number]:
                connection.exec_driver_sql(statement)
        connection.execute(update(_version).values(version=schema.version))


def _read_version(connection: Connection) -> Any:
    """None in a new database. In an SQLite file that another program wrote to, it may be anything."""
    return connection.scalar(select(_version.c.version))


def _refuse_unknown(version: Any, schema: Schema, place: str) -> None:
    if version is not None and not (isinstance(version, int) and 1 <= version <= schema.version):
        raise JournalError(
            f"the journal {place} was written by a newer Satchel (schema {version});"
            f" this one knows up to {schema.version}",
            hint="update Satchel, or name another database in satchel.yaml",
        )

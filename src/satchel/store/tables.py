"""The tables. Columns are named as the fields of the records in `satchel.model`; `owner` is the process."""

import re
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    insert,
    select,
)

from satchel.errors import JournalError

SCHEMA_VERSION = 1

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class SafeText(TypeDecorator[str]):
    """Text of any origin. PostgreSQL takes no NUL, SQLite no lone surrogate: they become U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        return None if value is None else _UNSTORABLE.sub("\ufffd", value)

    def process_result_value(self, value: Any, dialect: Any) -> str | None:
        return value.decode(errors="replace") if isinstance(value, bytes) else value  # SQLite keeps any kind


_NUMBER = BigInteger().with_variant(Integer, "sqlite")  # only an INTEGER counts up by itself there

metadata = MetaData()

schema_version = Table("schema_version", metadata, Column("version", Integer, nullable=False))

executions = Table(
    "executions",
    metadata,
    Column("number", _NUMBER, primary_key=True),  # their order, whatever the clock does
    Column("id", SafeText, nullable=False, unique=True),
    Column("agent", SafeText, nullable=False),
    Column("language", SafeText, nullable=False),
    Column("program", SafeText, nullable=False),
    Column("description", SafeText, nullable=False),
    Column("state", SafeText, nullable=False),
    Column("started_at", SafeText, nullable=False),
    Column("outcome", SafeText),  # JSON
    Column("owner", SafeText, nullable=False),
)

calls = Table(
    "calls",
    metadata,
    Column("id", _NUMBER, primary_key=True),
    Column("execution", SafeText),
    Column("agent", SafeText, nullable=False),
    Column("server", SafeText, nullable=False),
    Column("tool", SafeText, nullable=False),
    Column("status", SafeText, nullable=False),
    Column("started_at", SafeText, nullable=False),
    Column("duration_ms", Double),
    Column("arguments_digest", SafeText, nullable=False),
    Column("arguments_size", BigInteger, nullable=False),
    Column("result_digest", SafeText),
    Column("result_size", BigInteger),
    Column("error", SafeText),
    Column("owner", SafeText, nullable=False),
)

Index("calls_of_execution", calls.c.execution)
# Only what is under way, so that whoever opens the journal finds at once what the dead left.
_running = executions.c.state == "running"
Index("executions_running", executions.c.owner, sqlite_where=_running, postgresql_where=_running)
_sent = calls.c.status == "sent"
Index("calls_sent", calls.c.owner, sqlite_where=_sent, postgresql_where=_sent)


def check_tables(connection: Connection, place: str) -> None:
    """Refuse an SQLite file with anything in it that we don't make: it would act when we write."""
    for kind, name, page in connection.exec_driver_sql(
        "SELECT type, name, rootpage FROM sqlite_master"
    ).all():
        ours = kind == "index" or name in metadata.tables or name.startswith("sqlite_")
        if not page or not ours:  # triggers, views and virtual tables have no page
            raise JournalError(
                f"the journal {place} has a {kind} '{name}', which Satchel doesn't make",
                hint=f"a new one is made after: mv {place} {place}.other",
            )


def prepare_tables(connection: Connection, place: str) -> None:
    """Make what is missing. The transaction has to keep out everyone else who prepares."""
    schema_version.create(connection, checkfirst=True)
    version = connection.scalar(select(schema_version.c.version))
    if version is None:
        metadata.create_all(connection)
        connection.execute(insert(schema_version).values(version=SCHEMA_VERSION))
    elif version > SCHEMA_VERSION:
        raise JournalError(
            f"the journal {place} is of version {version}, and this Satchel reads up to {SCHEMA_VERSION}",
            hint="a newer Satchel wrote it: pip install --upgrade satchel",
        )

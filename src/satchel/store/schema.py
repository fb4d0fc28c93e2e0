"""Which tables a database has, how they are made, and which databases are refused."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Column, Connection, Integer, MetaData, Table, insert, select

from satchel.errors import JournalError
from satchel.store import journal_tables

_version = Table("schema_version", MetaData(), Column("version", Integer, nullable=False))


@dataclass(frozen=True, kw_only=True)
class Schema:
    tables: Sequence[Table]
    version: int


SCHEMA = Schema(tables=(journal_tables.executions, journal_tables.calls), version=1)


def check_tables(connection: Connection, schema: Schema, place: str) -> None:
    """Refuse an SQLite file with anything in it that we don't make: it would act when we write."""
    ours = {_version.name, *(table.name for table in schema.tables)}
    for kind, name, page in connection.exec_driver_sql(
        "SELECT type, name, rootpage FROM sqlite_master"
    ).all():
        known = kind == "index" or name in ours or name.startswith("sqlite_")
        if not page or not known:  # triggers, views and virtual tables have no page
            raise JournalError(
                f"the journal {place} has a {kind} '{name}', which Satchel doesn't make",
                hint=f"a new one is made after: mv {place} {place}.other",
            )


def prepare_tables(connection: Connection, schema: Schema, place: str) -> None:
    """Make what is missing. The transaction has to keep out everyone else who prepares."""
    _version.create(connection, checkfirst=True)
    version = connection.scalar(select(_version.c.version))
    if version is None:
        for table in schema.tables:
            table.create(connection, checkfirst=True)
        connection.execute(insert(_version).values(version=schema.version))
    elif version > schema.version:
        raise JournalError(
            f"the journal {place} is of version {version}, and this Satchel reads up to {schema.version}",
            hint="a newer Satchel wrote it: pip install --upgrade satchel",
        )

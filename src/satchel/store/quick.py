"""One statement on one connection, without what SQLAlchemy does around it: for what every call needs.

On SQLite only. It is the statement that SQLAlchemy has compiled, on a connection of its pool; where anything
is out of the ordinary, it gives up, and the ordinary way tells why.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Insert, PoolProxiedConnection, Update

from satchel.store.databases import Database


class Quick:
    """A statement that is sent with one row after the other. Not for two threads at once."""

    def __init__(self, database: Database, statement: Insert | Update) -> None:
        self._database = database
        self._statement = statement
        self._connection: PoolProxiedConnection | None = None
        self._text = ""
        self._order: list[tuple[str, Callable[[Any], Any] | None]] = []

    def commit(self, rows: Sequence[Mapping[str, Any]]) -> int | None:
        """Do it for all rows or none, and give the key of the last; None where that did not work at once."""
        dbapi: Any = self._database.engine.dialect.dbapi
        try:
            if self._connection is None:
                self._connection = self._prepare(rows[0])
            values = [
                [process(row[key]) if process else row[key] for key, process in self._order] for row in rows
            ]
            cursor: Any = self._connection.cursor()
            if len(rows) == 1:
                cursor.execute(self._text, values[0])
            else:
                cursor.execute("BEGIN IMMEDIATE")
                cursor.executemany(self._text, values)
                cursor.execute("COMMIT")
            key = cursor.lastrowid or 0
            cursor.close()
        except dbapi.Error:
            self.close()  # what had begun is rolled back with it
            return None
        return key

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it is given up in any case
                connection.close()

    def _prepare(self, row: Mapping[str, Any]) -> PoolProxiedConnection:
        dialect = self._database.engine.dialect
        keys = list(row) if isinstance(self._statement, Insert) else None
        compiled: Any = self._statement.compile(dialect=dialect, column_keys=keys)
        self._text = compiled.string
        self._order = [
            (name, compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
            for name in compiled.positiontup
        ]
        return self._database.engine.raw_connection()

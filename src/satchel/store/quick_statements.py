"""Commit without what SQLAlchemy does around a statement: for what every call needs.

On SQLite only. Statements are compiled by SQLAlchemy, and sent on a connection of its pool. Where anything is
out of the ordinary, it gives up; the ordinary way then raises the reason.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Insert, PoolProxiedConnection, Update

from satchel.store.databases import Database
from satchel.store.row_changes import Unmatched
from satchel.store.statements import Step

_Order = list[tuple[str, Callable[[Any], Any] | None]]


class Quick:
    """Not for two threads at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: PoolProxiedConnection | None = None
        self._cursor: Any = None
        self._compiled: dict[Insert | Update, tuple[str, _Order]] = {}

    def commit(self, steps: Sequence[Step]) -> int | None:
        """Commit all steps or none. The number of the last row, or None where it did not work at once."""
        dbapi: Any = self._database.engine.dialect.dbapi
        try:
            if self._connection is None:
                self._connection = self._database.engine.raw_connection()
                self._cursor = self._connection.cursor()
            if len(steps) == 1 and len(steps[0].rows) == 1:
                number = self._send(steps[0])
            else:
                self._cursor.execute("BEGIN IMMEDIATE")
                number = [self._send(step) for step in steps][-1]
                self._cursor.execute("COMMIT")
        except dbapi.Error:
            self.close()  # rolls back what had begun
            return None
        except Unmatched:
            self.close()
            raise
        return number

    def close(self) -> None:
        connection, self._connection, self._cursor = self._connection, None, None
        if connection is not None:
            with suppress(Exception):  # it is given up in any case
                connection.close()

    def _send(self, step: Step) -> int:
        compiled = self._compiled.get(step.statement)
        if compiled is None:
            compiled = self._compiled[step.statement] = self._compile(step)
        text, order = compiled
        rows = [[process(row[key]) if process else row[key] for key, process in order] for row in step.rows]
        cursor = self._cursor
        if len(rows) == 1:
            cursor.execute(text, rows[0])
        else:
            cursor.executemany(text, rows)
        if step.required and cursor.rowcount != len(rows):
            raise Unmatched
        return cursor.lastrowid or 0

    def _compile(self, step: Step) -> tuple[str, _Order]:
        dialect = self._database.engine.dialect
        keys = list(step.rows[0]) if step.adds else None
        compiled: Any = step.statement.compile(dialect=dialect, column_keys=keys)
        return compiled.string, [
            (name, compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
            for name in compiled.positiontup
        ]

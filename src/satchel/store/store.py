"""An open database: what every table needs of it, and nothing of any one table.

Everything here waits for the disk or the network, and may be called from any thread; `writer.py` is for those
who must not wait. After a fork, a child opens a store of its own.
"""

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from satchel.errors import JournalError
from satchel.store.databases import Database, find_database
from satchel.store.failures import is_busy, journal_errors
from satchel.store.quick_statements import Quick
from satchel.store.row_changes import Change, Unmatched
from satchel.store.schema import SCHEMA, Schema, check_tables, prepare_tables
from satchel.store.statements import Statements, Step

Result = TypeVar("Result")

_PATIENCE = 30.0  # seconds to wait for other writers
_LITTLE_PATIENCE = 0.05
_PAUSE = 1.0  # seconds for which the quick way is not tried again: each try may take the little patience


def open_store(location: Path | str, schema: Schema = SCHEMA) -> "Store":
    """Open an SQLite file (a path) or a PostgreSQL database (a URL); make its tables if need be."""
    store = Store(find_database(location), schema)
    try:
        store.prepare()
    except BaseException:
        store.close()
        raise
    return store


class Store:
    """Rows are committed when the method returns."""

    def __init__(self, database: Database, schema: Schema) -> None:
        self._database = database
        self._schema = schema
        # SQLite has one writer at a time, and who waits for it sleeps and asks again. Here threads don't.
        self._turn = threading.Semaphore(database.writers)
        self._statements = Statements(schema.tables)
        self._quick = Quick(database)
        self._quick_from = 0.0  # when the quick way may be tried again

    def prepare(self) -> None:
        """Make the tables, even if another process does so at the same moment."""

        def work(connection: Connection) -> None:
            if not self._database.remote:
                check_tables(connection, self._schema, self._database.place)
            self._database.set_up(connection)
            self._database.begin_alone(connection)
            prepare_tables(connection, self._schema, self._database.place)

        with self._its_turn(_PATIENCE) as deadline:
            self._attempt(work, deadline=deadline)

    def close(self) -> None:
        with journal_errors(self._database.place):
            self._quick.close()
            self._database.engine.dispose()

    def commit(self, changes: Sequence[Change], *, patience: float = _PATIENCE) -> int:
        """Write all changes or none, of any tables.

        Returns the number of the last of them, if that is a new row of a table that the database numbers.
        """
        if not changes:
            return 0
        steps = self._statements.steps(changes)
        with self._its_turn(patience) as deadline:
            number = None if self._database.remote else self._commit_quickly(steps)
            if number is not None:
                return number
            return self._attempt(lambda connection: self._send(connection, steps), deadline=deadline)

    def try_commit(self, changes: Sequence[Change]) -> int | None:
        """The same, or None where it takes longer than a moment: others write, or a network lies between."""
        if self._database.remote or time.monotonic() < self._quick_from:
            return None
        number = None
        if self._turn.acquire(timeout=_LITTLE_PATIENCE):
            try:
                with journal_errors(self._database.place):
                    number = self._commit_quickly(self._statements.steps(changes))
            finally:
                self._turn.release()
        if number is None:
            self._quick_from = time.monotonic() + _PAUSE
        return number

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Do what is more than changing rows by their values, in one transaction."""

        def whole(connection: Connection) -> Result:
            self._database.begin(connection)
            return work(connection)

        with self._its_turn(_PATIENCE) as deadline:
            return self._attempt(whole, deadline=deadline)

    def read(self, work: Callable[[Connection], Result]) -> Result:
        with journal_errors(self._database.place):
            return self._attempt(work, deadline=time.monotonic() + _PATIENCE)

    @contextmanager
    def _its_turn(self, patience: float) -> Generator[float]:
        """The turn to write, with the time until which to try it."""
        deadline = time.monotonic() + patience
        if not self._turn.acquire(timeout=patience):
            raise JournalError(
                f"the journal {self._database.place} has been busy for {patience:g} s",
                hint="another process may hold it, or its disk may be slow",
            )
        try:
            with journal_errors(self._database.place):
                yield deadline
        finally:
            self._turn.release()

    def _commit_quickly(self, steps: Sequence[Step]) -> int | None:
        self._check(steps)
        return self._quick.commit(steps)

    def _send(self, connection: Connection, steps: Sequence[Step]) -> int:
        self._check(steps)
        if len(steps) > 1 or len(steps[0].rows) > 1:
            self._database.begin(connection)
        return [_send_step(connection, step) for step in steps][-1]

    def _check(self, steps: Sequence[Step]) -> None:
        """New rows go only where they are found again; a change goes where its row is."""
        if any(step.adds for step in steps):
            self._database.check()

    def _attempt(self, work: Callable[[Connection], Result], *, deadline: float) -> Result:
        """Again while another process writes, and once more where the connection was lost meanwhile."""
        reconnected = False
        while True:
            try:
                with self._database.engine.begin() as connection:
                    return work(connection)
            except DBAPIError as error:
                if error.connection_invalidated and not reconnected:
                    reconnected = True
                elif not is_busy(error) or time.monotonic() >= deadline:
                    raise


def _send_step(connection: Connection, step: Step) -> int:
    """The number of its row, where it adds a single one."""
    sent = connection.execute(step.statement, step.rows if len(step.rows) > 1 else step.rows[0])
    if step.required and sent.rowcount != len(step.rows):
        raise Unmatched
    key = sent.inserted_primary_key if step.adds and len(step.rows) == 1 else None
    return key[0] if key else 0

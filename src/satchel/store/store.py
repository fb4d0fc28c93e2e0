"""The journal in a database: what is written of executions and calls, and how it is read again.

Everything here waits for the disk or the network, and may be called from any thread; `journal.py` is the
journal for those who must not wait. After a fork, a child opens a store of its own.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from satchel.errors import JournalError, NotFoundError
from satchel.model import CallRecord, CallStatus, ExecutionRecord, Json, is_object
from satchel.store import statements
from satchel.store.databases import Database, find_database
from satchel.store.failures import is_busy, journal_errors
from satchel.store.owners import current_owner, is_gone_by_text
from satchel.store.quick import Quick
from satchel.store.rows import FinishedCall, NewCall
from satchel.store.tables import calls, check_tables, executions, prepare_tables

Result = TypeVar("Result")

_PATIENCE = 30.0  # seconds to wait for other writers
_LITTLE_PATIENCE = 0.05
_PAUSE = 1.0  # seconds for which the quick way is not tried again: each try may take the little patience
_ERROR_LIMIT = 2_000  # characters, as the next one
_PROGRAM_LIMIT = 1024 * 1024
_CLOSEST = 5


def open_store(location: Path | str) -> "Store":
    """Open the journal in an SQLite file (a path) or a PostgreSQL database (a URL); make it if need be."""
    store = Store(find_database(location))
    try:
        store.prepare()
    except BaseException:
        store.close()
        raise
    return store


class Store:
    """What was written is committed when the method returns."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # SQLite has one writer at a time, and who waits for it sleeps and asks again. Here threads don't.
        self._turn = threading.Semaphore(database.writers)
        self._quick_begin = Quick(database, statements.INSERT_CALL)
        self._quick_finish = Quick(database, statements.FINISH_CALL)
        self._quick_execution = Quick(database, statements.INSERT_EXECUTION)
        self._quick_outcome = Quick(database, statements.FINISH_EXECUTION)
        self._quick_from = 0.0  # when the quick way may be tried again

    def prepare(self) -> None:
        """Make the tables, whoever else does so at the same moment."""

        def work(connection: Connection) -> None:
            if not self._database.remote:
                check_tables(connection, self._database.place)
            self._database.set_up(connection)
            self._database.begin_alone(connection)
            prepare_tables(connection, self._database.place)

        self._write(work)

    def close(self) -> None:
        with journal_errors(self._database.place):
            for quick in (
                self._quick_begin,
                self._quick_finish,
                self._quick_execution,
                self._quick_outcome,
            ):
                quick.close()
            self._database.engine.dispose()

    def begin_execution(
        self, *, id: str, agent: str, language: str, program: str, description: str = ""
    ) -> None:
        row = _execution_row(id, agent, language, program, description)
        self._begin(lambda connection: connection.execute(statements.INSERT_EXECUTION, row))

    def try_begin_execution(
        self, *, id: str, agent: str, language: str, program: str, description: str = ""
    ) -> bool:
        """The same, or false where it takes longer than a moment."""
        row = _execution_row(id, agent, language, program, description)
        return self._try(self._quick_execution, row) is not None

    def finish_execution(self, id: str, outcome: Json) -> None:
        """It is done, also where it was taken for interrupted: who did it knows better."""
        row = _outcome_row(id, outcome)
        self._write(lambda connection: connection.execute(statements.FINISH_EXECUTION, row))

    def try_finish_execution(self, id: str, outcome: Json) -> bool:
        """The same, or false where it takes longer than a moment."""
        return self._try(self._quick_outcome, _outcome_row(id, outcome)) is not None

    def begin_call(self, call: NewCall) -> int:
        """Record that a call is about to be sent. Its number is what `finish_calls` wants."""
        return self._begin_call(call)

    def try_begin_call(self, call: NewCall) -> int | None:
        """The same, or None where it takes longer than a moment: others write, or a network lies between."""
        return self._try(self._quick_begin, _call_row(call, "sent"))

    def _try(self, quick: Quick, row: Mapping[str, Any]) -> int | None:
        if self._database.remote or time.monotonic() < self._quick_from:
            return None
        number = None
        if self._turn.acquire(timeout=_LITTLE_PATIENCE):
            try:
                with journal_errors(self._database.place):
                    self._database.check()
                    number = quick.commit([row])
            finally:
                self._turn.release()
        if number is None:
            self._quick_from = time.monotonic() + _PAUSE
        return number

    def finish_calls(self, finished: Sequence[FinishedCall]) -> None:
        """Record how calls ended, all of them or none."""
        rows = [_finished_row(call) for call in finished]
        if rows and not self._finish_quickly(rows):
            self._write_together(lambda connection: connection.execute(statements.FINISH_CALL, rows))

    def _finish_quickly(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        if self._database.remote:
            return False
        with self._turn, journal_errors(self._database.place):
            return self._quick_finish.commit(rows) is not None

    def record_denied(self, denied: Sequence[NewCall]) -> None:
        """Record calls that were refused, all of them or none."""

        def work(connection: Connection) -> None:
            self._database.check()
            connection.execute(statements.INSERT_CALL, rows)

        rows = [_call_row(call, "denied") for call in denied]
        if rows:
            self._write_together(work)

    def mark_interrupted(self) -> int:
        """Mark what was under way in processes that are gone, and tell how many rows that were."""
        owners = self._read(lambda connection: connection.scalars(statements.OWNERS_UNDER_WAY).all())
        gone = [owner for owner in owners if is_gone_by_text(owner)]
        if not gone:
            return 0

        def work(connection: Connection) -> int:
            marks = (statements.INTERRUPT_EXECUTIONS, statements.INTERRUPT_CALLS)
            return sum(connection.execute(mark, {"gone": gone}).rowcount for mark in marks)

        return self._write_together(work)

    def executions(
        self, *, agent: str | None = None, since: datetime | None = None, limit: int = 50
    ) -> list[ExecutionRecord]:
        """The newest first, without their calls."""
        query = statements.narrow(statements.SELECT_EXECUTIONS, executions, agent=agent, since=since)
        query = query.order_by(executions.c.number.desc()).limit(limit)
        rows = self._read(lambda connection: connection.execute(query).mappings().all())
        return [_execution_record(row) for row in rows]

    def execution(self, id: str) -> ExecutionRecord | None:
        """The execution of that id, or the only one whose id begins like that; with its calls in order."""
        return self._read(lambda connection: _find_execution(connection, id))

    def calls(
        self,
        *,
        server: str | None = None,
        tool: str | None = None,
        agent: str | None = None,
        since: datetime | None = None,
        execution: str | None = None,
        limit: int = 100,
    ) -> list[CallRecord]:
        """The newest first."""
        query = statements.narrow(
            statements.SELECT_CALLS,
            calls,
            server=server,
            tool=tool,
            agent=agent,
            execution=execution,
            since=since,
        )
        query = query.order_by(calls.c.id.desc()).limit(limit)
        rows = self._read(lambda connection: connection.execute(query).mappings().all())
        return [CallRecord(**row) for row in rows]

    def _begin_call(self, call: NewCall, patience: float = _PATIENCE) -> int:
        def work(connection: Connection) -> int:
            key = connection.execute(statements.INSERT_CALL, row).inserted_primary_key
            assert key is not None
            return key[0]

        row = _call_row(call, "sent")
        return self._begin(work, patience=patience)

    def _begin(self, work: Callable[[Connection], Result], *, patience: float = _PATIENCE) -> Result:
        def checked(connection: Connection) -> Result:
            self._database.check()
            return work(connection)

        return self._write(checked, patience=patience)

    def _read(self, work: Callable[[Connection], Result]) -> Result:
        with journal_errors(self._database.place):
            return self._attempt(work, deadline=time.monotonic() + _PATIENCE)

    def _write(self, work: Callable[[Connection], Result], *, patience: float = _PATIENCE) -> Result:
        deadline = time.monotonic() + patience
        if not self._turn.acquire(timeout=patience):
            raise JournalError(
                f"the journal {self._database.place} has been busy for {patience:g} s",
                hint="another process may hold it, or its disk may be slow",
            )
        try:
            with journal_errors(self._database.place):
                return self._attempt(work, deadline=deadline)
        finally:
            self._turn.release()

    def _write_together(self, work: Callable[[Connection], Result]) -> Result:
        """Several rows or statements, all of them or none."""

        def whole(connection: Connection) -> Result:
            self._database.begin(connection)
            return work(connection)

        return self._write(whole)

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


def _stamp() -> dict[str, str]:
    return {"started_at": statements.as_text(datetime.now(UTC)), "owner": current_owner().text}


def _execution_row(id: str, agent: str, language: str, program: str, description: str) -> dict[str, Any]:
    return {
        "id": id,
        "agent": agent,
        "language": language,
        "program": _cut_program(program),
        "description": description,
        "state": "running",
        **_stamp(),
    }


def _outcome_row(id: str, outcome: Json) -> dict[str, Any]:
    return {"execution": id, "state": "done", "outcome": json.dumps(outcome)}


def _call_row(call: NewCall, status: CallStatus) -> dict[str, Any]:
    return {**vars(call), "status": status, **_stamp()}


def _finished_row(call: FinishedCall) -> dict[str, Any]:
    row = {**vars(call)}
    row["number"] = row.pop("id")
    if call.error is not None and len(call.error) > _ERROR_LIMIT:
        row["error"] = call.error[: _ERROR_LIMIT - 1] + "…"
    return row


def _cut_program(program: str) -> str:
    left_out = len(program) - _PROGRAM_LIMIT
    return program if left_out <= 0 else f"{program[:_PROGRAM_LIMIT]}\n… {left_out} characters left out"


def _find_execution(connection: Connection, id: str) -> ExecutionRecord | None:
    query = statements.narrow(statements.SELECT_EXECUTIONS, executions, id=id)
    row = connection.execute(query).mappings().first()
    if row is None:
        ids = connection.scalars(statements.ids_beginning_with(id, _CLOSEST)).all() if id else ()
        if len(ids) > 1:
            raise NotFoundError("execution", id, closest=ids)
        return _find_execution(connection, ids[0]) if ids else None
    query = statements.narrow(statements.SELECT_CALLS, calls, execution=row["id"]).order_by(calls.c.id)
    made = tuple(CallRecord(**call) for call in connection.execute(query).mappings())
    return replace(_execution_record(row), calls=made)


def _execution_record(row: Any) -> ExecutionRecord:
    values: Json = {**row, "outcome": _read_outcome(row["outcome"])}
    return ExecutionRecord(**values)


def _read_outcome(text: str | None) -> Json | None:
    """What Satchel did not write like that is given as it is."""
    if text is None:
        return None
    try:
        outcome = json.loads(text)
    except (ValueError, RecursionError):
        outcome = None
    return outcome if is_object(outcome) else {"malformed": text}

"""The journal by the thread that asks, and rows that are tedious to write."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from satchel.model import Call, CallRecord, CallStatus, ExecutionRecord, Json
from satchel.store import journal_queries as queries
from satchel.store import journal_rows as rows
from satchel.store.row_changes import ChangedRow, NewRow
from satchel.store.store import Store, open_store
from tests.fakes import make_tool

AS_LOCATION = "from pathlib import Path; location = (Path if sys.argv[1] == 'file' else str)(sys.argv[2])"
CALL = Call(what=make_tool({"name": "get"}, server="drive"))


@dataclass(frozen=True)
class StoredJournal:
    """What `satchel.store.journal.Journal` does, without its writer."""

    store: Store

    def begin_call(self, row: NewRow) -> int:
        return self.store.commit([row])

    def try_begin_call(self, row: NewRow) -> int | None:
        return self.store.try_commit([row])

    def record_denied(self, calls: Sequence[NewRow]) -> None:
        self.store.commit([replace(row, values={**row.values, "status": "denied"}) for row in calls])

    def finish_calls(self, ended: Sequence[ChangedRow]) -> None:
        self.store.commit(ended)

    def begin_execution(self, id: str, **changes: Any) -> None:
        values = {"agent": "default", "language": "python", "program": "print(1)", "description": ""}
        self.store.commit([rows.new_execution(id=id, **{**values, **changes})])

    def finish_execution(self, id: str, outcome: Json) -> None:
        self.store.commit([rows.ended_execution(id, outcome)])

    def mark_interrupted(self) -> int:
        return queries.mark_interrupted(self.store)

    def executions(self, **wanted: Any) -> list[ExecutionRecord]:
        return self.store.read(lambda connection: queries.find_executions(connection, **wanted))

    def execution(self, id: str) -> ExecutionRecord | None:
        return self.store.read(lambda connection: queries.find_execution(connection, id))

    def calls(self, **wanted: Any) -> list[CallRecord]:
        return self.store.read(lambda connection: queries.find_calls(connection, **wanted))

    def close(self) -> None:
        self.store.close()


def open_journal(location: Path | str) -> StoredJournal:
    return StoredJournal(open_store(location))


def new_call(**changes: Any) -> NewRow:
    row = rows.sent_call(CALL)
    return replace(row, values={**row.values, "arguments_digest": "0" * 64, "arguments_size": 2, **changes})


def finished(
    number: int, status: CallStatus = "ok", *, error: str | None = None, **changes: Any
) -> ChangedRow:
    row = rows.ended_call(number, status, ms=1.5, error=error)
    return replace(row, values={**row.values, **changes})


def location_arguments(location: Path | str) -> list[str]:
    """A location as the arguments of a child process, which has `AS_LOCATION` read them."""
    return ["file" if isinstance(location, Path) else "url", str(location)]


def is_writing(store: Store) -> bool:
    """Whether a thread is at it, or waits for another process that is."""
    free = store._turn.acquire(blocking=False)
    if free:
        store._turn.release()
    return not free


async def until(condition: Callable[[], bool]) -> None:
    """What happens in another thread or process is noticed by looking. The caller bounds it."""
    while not condition():  # noqa: ASYNC110
        await anyio.sleep(0.005)

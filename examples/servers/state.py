"""Where the example services keep their records: one SQLite file a service, seeded on first use.

Nothing is held in memory, because a server process may live for one call only and several may run at
once. Changes are immediate transactions with a busy time-out, so two processes wait for each other.

The clock is made up, like the data: it starts on 2 November 2026 and every change moves it on by one
minute, so that the same calls give the same answers on any day. This is not a database layer:
records are JSON objects found by kind and id, and a listing reads all of a kind.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

CLOCK_START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
BUSY_TIMEOUT_SECONDS = 30
SEEDED = 1

TABLES = (
    """CREATE TABLE records (
        position INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL,
        UNIQUE (kind, id)
    )""",
    "CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
)

Record = dict[str, Any]


class Records:
    """The records of one service, inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def get(self, kind: str, id: str) -> Record | None:
        row = self._connection.execute(
            "SELECT body FROM records WHERE kind = ? AND id = ?", (kind, id)
        ).fetchone()
        return json.loads(row[0]) if row else None

    def all(self, kind: str) -> list[Record]:
        """Every record of a kind, oldest first."""
        rows = self._connection.execute("SELECT body FROM records WHERE kind = ? ORDER BY position", (kind,))
        return [json.loads(body) for (body,) in rows]

    def put(self, kind: str, id: str, record: Record) -> None:
        self._connection.execute(
            "INSERT INTO records (kind, id, body) VALUES (?, ?, ?)"
            " ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body",
            (kind, id, json.dumps(record, ensure_ascii=False)),
        )

    def delete(self, kind: str, id: str) -> None:
        self._connection.execute("DELETE FROM records WHERE kind = ? AND id = ?", (kind, id))

    def next_number(self, counter: str) -> int:
        """1, 2, 3 …; a number is never given out twice, also not after a deletion."""
        row = self._connection.execute(
            "INSERT INTO counters VALUES (?, 1)"
            " ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value",
            (counter,),
        ).fetchone()
        return row[0]

    def next_time(self) -> datetime:
        """The time of a change, by the made-up clock."""
        return CLOCK_START + timedelta(minutes=self.next_number("clock"))


class State:
    """The file of one service; `seed` fills it when it's new."""

    def __init__(self, service: str, seed: Callable[[Records], None]) -> None:
        self._service = service
        self._seed = seed

    @contextmanager
    def reading(self) -> Generator[Records]:
        with closing(self._open()) as connection:
            connection.execute("BEGIN")
            yield Records(connection)

    @contextmanager
    def changing(self) -> Generator[Records]:
        """All changes made inside are kept together, or none if it raises."""
        with closing(self._open()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield Records(connection)
            connection.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        directory = state_directory()
        try:
            directory.mkdir(parents=True, exist_ok=True)
            path = directory / f"{self._service}.sqlite3"
            with ExitStack() as stack:
                connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None)
                stack.callback(connection.close)
                self._seed_once(connection)
                stack.pop_all()  # the caller closes it from here on
                return connection
        except (OSError, sqlite3.OperationalError) as error:
            raise ToolError(
                f"The example data can't be kept in {directory}: {error}."
                " Set SATCHEL_EXAMPLES_STATE to a directory that can be written to."
            ) from error

    def _seed_once(self, connection: sqlite3.Connection) -> None:
        if is_seeded(connection):
            return
        connection.execute("BEGIN IMMEDIATE")
        if not is_seeded(connection):  # another process may have been first while this one waited
            for statement in TABLES:
                connection.execute(statement)
            self._seed(Records(connection))
            connection.execute(f"PRAGMA user_version = {SEEDED}")
        connection.execute("COMMIT")


def is_seeded(connection: sqlite3.Connection) -> bool:
    return connection.execute("PRAGMA user_version").fetchone()[0] == SEEDED


def state_directory() -> Path:
    """SATCHEL_EXAMPLES_STATE, or .examples under the current directory."""
    return Path(os.environ.get("SATCHEL_EXAMPLES_STATE") or ".examples")


def as_text(moment: datetime) -> str:
    """2026-11-02T09:01:00Z, which also sorts by time."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

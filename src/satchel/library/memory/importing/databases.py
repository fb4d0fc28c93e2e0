"""A table of an SQLite database that another program may be using, or that anyone may have made.

The database is copied, and the copy is opened: the original is never locked, recovered or written, and no
file is made beside it. A rollback journal is never copied: SQLite deletes a file that a journal names.
"""

import errno
import os
import sqlite3
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from stat import S_ISREG
from tempfile import TemporaryDirectory
from typing import Any

from satchel.errors import SatchelError
from satchel.support.text import label

MAGIC = b"SQLite format 3\x00"
LARGEST = 1024 * 1024 * 1024  # bytes of a database
_PATIENCE = 5.0  # seconds for a write by another program to end
_STEPS = 1_000_000_000  # of SQLite's machine; a million rows take about twenty million
_STEPS_AT_ONCE = 1_000_000
_MAIN = "database.sqlite"


@contextmanager
def opened(folder: int, name: str, shown: Path) -> Generator["Database"]:
    """A copy of the database `name` in an open folder, for reading; `shown` is what people call it."""
    with TemporaryDirectory(prefix="satchel-import-") as aside:
        try:
            _copy_at_rest(folder, name, Path(aside), shown)
        except OSError as error:
            raise SatchelError(
                f"{shown} can't be copied to {aside}: {error.strerror}",
                hint="set TMPDIR to a folder with enough space",
            ) from None
        try:
            with closing(sqlite3.connect(Path(aside) / _MAIN)) as connection:
                _restrict(connection)
                yield Database(connection)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # what SQLite says may quote what is not text
            raise SatchelError(
                f"{shown} can't be read as an SQLite database: {label(str(error))}",
                hint="export the memories as JSON and import that",
            ) from None


class Database:
    """The tables of one database, and nothing else that is in it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def has_table(self, name: str) -> bool:
        """Whether there is an ordinary table of that name, one of our own.

        A view, a virtual table and a column that is computed do what somebody has written there.
        """
        statement = "SELECT type, sql FROM sqlite_master WHERE name = ?"
        found = self._connection.execute(statement, (name,)).fetchall()
        if [kind for kind, _ in found] != ["table"] or not str(found[0][1]).startswith("CREATE TABLE "):
            return False
        columns = self._connection.execute(f"PRAGMA table_xinfo({name})").fetchall()
        return not any(is_hidden for *_, is_hidden in columns)

    def rows(self, table: str, columns: Sequence[str], *, largest: int) -> Iterator[tuple[Any, ...]]:
        """The number of each row and its values, in the order in which rows were made.

        `table` and `columns` are names from our own source. A value that is longer than `largest` is None.
        """
        values = ", ".join(f"CASE WHEN length({column}) <= {largest} THEN {column} END" for column in columns)
        statement = f"SELECT rowid, {values} FROM {table} ORDER BY rowid"  # noqa: S608
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2 * largest)
        return iter(self._connection.execute(statement))


def _restrict(connection: sqlite3.Connection) -> None:
    """Have the connection read tables, and do nothing else that a database could ask for."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.text_factory = _text
    connection.set_authorizer(_authorize)
    steps = 0

    def is_enough() -> bool:
        nonlocal steps
        steps += _STEPS_AT_ONCE
        return steps > _STEPS

    connection.set_progress_handler(is_enough, _STEPS_AT_ONCE)


def _authorize(
    action: int, first: str | None, second: str | None, database: str | None, within: str | None
) -> int:
    """Allow what `Database` does."""
    if action == sqlite3.SQLITE_FUNCTION:
        is_allowed = second == "length"
    elif action == sqlite3.SQLITE_PRAGMA:
        is_allowed = first == "table_xinfo"
    else:
        is_allowed = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ) and within is None
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _copy_at_rest(folder: int, name: str, aside: Path, shown: Path) -> None:
    """Copy the database, and the log of changes beside it, at a time when nothing writes to them."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        before = _stamps(folder, name)
        if not before[1]:  # a rollback journal: a write is under way
            _copy(folder, name, aside / _MAIN, shown)
            if before[2]:
                _copy(folder, f"{name}-wal", aside / f"{_MAIN}-wal", shown)
            if _stamps(folder, name) == before:
                return
        if time.monotonic() > deadline:
            raise SatchelError(
                f"{shown} is being written, or a write to it was cut short",
                hint="wait until mem0 is done with it, or open it with mem0 once; then try again",
            )
        time.sleep(0.1)


def _stamps(folder: int, name: str) -> tuple[tuple[int, int, int] | None, ...]:
    """What changes when the database, its rollback journal or its log does; None for what has nothing."""
    found: list[tuple[int, int, int] | None] = []
    for ending in ("", "-journal", "-wal"):
        status = None
        with suppress(OSError):
            status = os.stat(name + ending, dir_fd=folder, follow_symlinks=False)
        found.append(
            (status.st_ino, status.st_size, status.st_mtime_ns) if status and status.st_size else None
        )
    return tuple(found)


def _copy(folder: int, name: str, target: Path, shown: Path) -> None:
    with open_file(folder, name, shown) as source, target.open("wb") as copy:
        left = LARGEST
        while left and (some := source.read(min(left, 1024 * 1024))):
            copy.write(some)
            left -= len(some)
        if source.read(1):
            raise SatchelError(
                f"{shown} has more than {LARGEST:,} bytes", hint="export the memories as JSON and import that"
            )


@contextmanager
def open_file(folder: int, name: str, shown: Path) -> Generator[Any]:
    """A regular file of an open folder. Not a link: nobody knows whose file that would be."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
    try:
        descriptor = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        reason = "is a link, and links are not followed" if is_link else f"can't be read: {error.strerror}"
        raise SatchelError(f"{shown} {reason}") from None
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SatchelError(f"{shown} is not a file")
    with os.fdopen(descriptor, "rb") as stream:
        yield stream


@contextmanager
def open_folder(name: str | Path, shown: Path, *, within: int | None = None) -> Generator[int]:
    """An open folder; one within another is not entered through a link."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | (0 if within is None else os.O_NOFOLLOW)
    try:
        descriptor = os.open(name, flags, dir_fd=within)
    except OSError as error:
        raise SatchelError(f"{shown} can't be entered: {error.strerror}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)

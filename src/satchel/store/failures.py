"""The one place where a failure of a database becomes a JournalError."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from satchel.errors import JournalError

_OF_FILES = {  # by SQLite's primary code: what happened, and what to do
    sqlite3.SQLITE_BUSY: ("has been locked by another process for too long", "find it with: fuser {place}"),
    sqlite3.SQLITE_FULL: ("can't be written: the disk is full", "make room on the disk of {place}"),
    sqlite3.SQLITE_IOERR: ("can't be read or written", "check the disk of {place}"),
    sqlite3.SQLITE_READONLY: ("can't be written", "check the permissions of {place} and of its folder"),
    sqlite3.SQLITE_CANTOPEN: ("can't be opened", "check the permissions of {place} and of its folder"),
    sqlite3.SQLITE_CORRUPT: ("is damaged", "a new one is made after: mv {place} {place}.damaged"),
    sqlite3.SQLITE_NOTADB: ("is damaged", "a new one is made after: mv {place} {place}.damaged"),
}
_OF_SERVERS = {  # by the beginning of PostgreSQL's code
    "53": "make room on the server, or allow it more connections",
    "28": "check the user and the password of the URL",
    "3D": "create the database, or name another in the URL",
    "42501": "let the user create tables in the database, and write to them",
}


@contextmanager
def journal_errors(place: str) -> Generator[None]:
    """Turn any error of the database into a JournalError."""
    try:
        yield
    except SQLAlchemyError as error:
        raise classify(error, place) from error
    except OSError as error:
        raise JournalError(
            f"the journal {place} can't be used: {error.strerror or error}",
            hint="check its permissions, and the space on its disk",
        ) from error


def is_busy(error: DBAPIError) -> bool:
    """Whether another process was writing, and the same may succeed a moment later."""
    return _sqlite_code(error.orig) == sqlite3.SQLITE_BUSY


def classify(error: SQLAlchemyError, place: str) -> JournalError:
    cause = error.orig if isinstance(error, DBAPIError) else error
    what = str(cause).strip().partition("\n")[0]
    code = _sqlite_code(cause)
    if code is not None:
        told, hint = _OF_FILES.get(code, ("can't be used", "check {place}"))
        return JournalError(f"the journal {place} {told} ({what})", hint=hint.format(place=place))
    state = getattr(cause, "sqlstate", None) or ""
    hints = (hint for start, hint in _OF_SERVERS.items() if state.startswith(start))
    return JournalError(
        f"the journal {place} can't be used: {what}",
        hint=next(hints, "check the URL of the journal, and that the server runs"),
    )


def _sqlite_code(cause: object) -> int | None:
    """SQLite's primary code. The rest of the number says where exactly it happened."""
    if not isinstance(cause, sqlite3.Error):
        return None
    return getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF

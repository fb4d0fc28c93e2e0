"""How each of the two databases is reached: an SQLite file, or a PostgreSQL server by its URL.

What differs between them is here and in `failures.py`; what is done with them is the same, in `store.py`.
"""

import os
import sqlite3
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISLNK, S_ISREG
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from satchel.errors import JournalError
from satchel.support.files import private_directory
from satchel.support.installing import how_to_install

_BUSY = 0.05  # seconds for which SQLite itself waits for another writer; the store then asks again
_LIMITS = {"connect_timeout": 10, "tcp_user_timeout": 30_000}  # seconds and milliseconds, as libpq has them
_STATEMENT_LIMIT = "SET statement_timeout = '30s'"
_WRITERS, _READERS = 4, 4  # connections that one process has to a server at most
_PREPARING = 5_812_640_731  # our number among the advisory locks of the database
_WRITE_AS = "write it as postgresql://user:password@host/database"

_creating = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Database:
    engine: Engine  # in autocommit: a single statement is a transaction by itself, at the least cost
    place: str  # for people; without the password
    remote: bool  # behind a network: who must not wait may not ask it
    writers: int  # how many may write at a time
    file: "JournalFile | None" = None

    def check(self) -> None:
        """Before the first write: data written to a file that nobody finds again is lost."""
        if self.file is not None:
            self.file.check()

    def set_up(self, connection: Connection) -> None:
        """Once at opening, after it is known that the file is ours."""
        if self.file is None or connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal":
            return
        # Without a rollback journal even for this moment: others who open would have to refuse it.
        connection.exec_driver_sql("PRAGMA journal_mode = MEMORY")
        if connection.exec_driver_sql("PRAGMA journal_mode = WAL").scalar() != "wal":
            raise JournalError(
                f"the journal {self.place} can't be written ahead", hint="keep it on a disk of this machine"
            )

    def begin(self, connection: Connection) -> None:
        """Begin a transaction that writes.

        SQLite is told so at once: one that began by reading could not become a writer after another wrote.
        """
        connection.exec_driver_sql("BEGIN" if self.remote else "BEGIN IMMEDIATE")

    def begin_alone(self, connection: Connection) -> None:
        """Begin a transaction that keeps out every other that began like this."""
        self.begin(connection)
        if self.remote:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_PREPARING})")


@dataclass(frozen=True, kw_only=True)
class JournalFile:
    path: Path
    identity: tuple[int, int]  # device and inode, which a file in its place does not have

    def connect(self) -> sqlite3.Connection:
        """To the file that is there; none is created."""
        self.check()
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw", uri=True, timeout=_BUSY, check_same_thread=False
        )
        try:
            self.check()  # again: it may have been replaced just before it was opened
            connection.text_factory = _as_text
            connection.execute("PRAGMA trusted_schema = OFF")
            # What is written survives the end of any process, not of the power.
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def check(self) -> None:
        try:
            found = _identify(self.path)
        except (FileNotFoundError, NotADirectoryError):
            found = None
        if found != self.identity:
            raise JournalError(
                f"the journal {self.path} has been moved or removed since it was opened",
                hint="put it back, or start with a new one",
            )


def find_database(location: Path | str) -> Database:
    """The database at a path or a URL. A file is created; a server is not connected to yet."""
    if isinstance(location, Path):
        return _find_file(location)
    url = _read_url(location)
    if url.drivername == "sqlite" and url.database:
        return _find_file(Path(url.database))
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return _find_server(url)
    raise JournalError(f"a journal can't be kept in '{url.drivername}'", hint=_WRITE_AS)


def _find_file(path: Path) -> Database:
    path = path.absolute()
    try:
        file = _create_file(path)
    except OSError as error:
        raise JournalError(
            f"the journal {path} can't be created: {error.strerror}",
            hint=f"check the permissions of {path.parent}, and the space on its disk",
        ) from error
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        isolation_level="AUTOCOMMIT",
        hide_parameters=True,
        creator=file.connect,
    )
    return Database(engine=engine, place=str(path), remote=False, writers=1, file=file)


def _create_file(path: Path) -> JournalFile:
    """Have a file that only its owner can read, before SQLite makes one that all can.

    One that exists is not even opened: closing it would take away the locks that this process has on it.
    """
    private_directory(path.parent)
    with _creating, suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    mode = path.lstat().st_mode
    if S_ISLNK(mode):
        raise JournalError(
            f"the journal {path} is a symbolic link, and would be written to where it leads",
            hint="remove it",
        )
    if not S_ISREG(mode):
        raise JournalError(f"the journal {path} is not a file", hint="move it away")
    rollback = f"{path}-journal"
    if os.path.lexists(rollback):  # we make none, and SQLite would write what it says into the file
        raise JournalError(
            f"the journal {path} has a rollback journal beside it, which Satchel doesn't make",
            hint=f"move {rollback} away",
        )
    return JournalFile(path=path, identity=_identify(path))


def _identify(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def _as_text(data: bytes) -> str:
    """Bytes that are not UTF-8 must not keep us from reading the rest."""
    return data.decode(errors="replace")


def _read_url(text: str) -> URL:
    """An unescaped password would be taken for a host, and shown in the error."""
    if text.count("@") > 1:
        raise JournalError(
            "the URL of the journal has more than one @", hint="write those in a password as %40"
        )
    try:
        return make_url(text)
    except (ArgumentError, ValueError):
        raise JournalError("the URL of the journal can't be understood", hint=_WRITE_AS) from None


def _find_server(url: URL) -> Database:
    try:
        engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,
            pool_size=_WRITERS,
            max_overflow=_READERS,
            connect_args={name: value for name, value in _LIMITS.items() if name not in url.query},
        )
    except ImportError as error:
        raise JournalError(
            f"a journal in PostgreSQL needs psycopg: {error}", hint=how_to_install("postgresql")
        ) from error
    event.listen(engine, "connect", _set_up_session)
    shown = URL.create(
        "postgresql", username=url.username, host=url.host, port=url.port, database=url.database
    )
    return Database(engine=engine, place=shown.render_as_string(), remote=True, writers=_WRITERS)


def _set_up_session(connection: Any, record: object) -> None:
    connection.execute(_STATEMENT_LIMIT)
    connection.commit()

"""How a journal is found, made and refused, and what is said when it can't be used."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from satchel.errors import JournalError
from satchel.store.databases import find_database
from satchel.support.installing import how_to_install
from tests.store.postgresql import Server
from tests.store.values import StoredJournal, is_writing, new_call, open_journal

WAIT = 30


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refusal(location: Path | str) -> JournalError:
    with pytest.raises(JournalError) as raised:
        open_journal(location)
    assert raised.value.hint
    return raised.value


def test_a_new_file_and_its_folder_are_only_for_their_owner(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "satchel.db"
    previous = os.umask(0)
    try:
        store = open_journal(path)
        store.begin_call(new_call())
        modes = {file.name: mode_of(file) for file in path.parent.iterdir()}
    finally:
        os.umask(previous)

    assert mode_of(path.parent) == 0o700
    assert modes == {"satchel.db": 0o600, "satchel.db-wal": 0o600, "satchel.db-shm": 0o600}
    store.close()


def test_a_file_is_in_wal_mode_and_synced_at_checkpoints_only(tmp_path: Path) -> None:
    store = open_journal(tmp_path / "satchel.db")
    with store.store._database.engine.connect() as connection:
        journal, synchronous, trusted = (
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "trusted_schema")
        )
    store.close()

    assert (journal, synchronous, trusted) == ("wal", 1, 0)


def execute(path: Path, *statements: str) -> None:
    """As somebody else does it."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER odd AFTER INSERT ON calls BEGIN DELETE FROM calls; END",
        "CREATE VIEW odd AS SELECT 1",
        "CREATE TABLE odd (a)",
        "CREATE VIRTUAL TABLE odd USING fts5(a)",
    ],
)
def test_a_file_with_something_in_it_that_is_not_ours_is_refused_and_left_alone(
    tmp_path: Path, statement: str
) -> None:
    path = tmp_path / "satchel.db"
    open_journal(path).close()
    execute(path, "PRAGMA journal_mode = DELETE", statement)
    before = path.read_bytes()

    error = refusal(path)

    assert "'odd'" in error.message
    assert error.hint is not None
    assert f"mv {path}" in error.hint
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["VIEW calls AS SELECT 1", "VIRTUAL TABLE calls USING fts5(a)"])
def test_something_else_that_has_the_name_of_a_table_is_refused(tmp_path: Path, kind: str) -> None:
    execute(tmp_path / "satchel.db", f"CREATE {kind}")

    assert "'calls'" in refusal(tmp_path / "satchel.db").message


def test_what_sqlite_itself_keeps_in_a_file_is_no_reason_to_refuse_it(tmp_path: Path) -> None:
    path = tmp_path / "satchel.db"
    open_journal(path).close()
    execute(path, "ANALYZE")

    open_journal(path).close()


def test_a_rollback_journal_beside_the_file_is_refused_and_not_played_back(tmp_path: Path) -> None:
    path, beside = tmp_path / "satchel.db", tmp_path / "satchel.db-journal"
    open_journal(path).close()
    beside.write_bytes(b"hot")

    error = refusal(path)

    assert "rollback journal" in error.message
    assert error.hint == f"move {beside} away"
    assert beside.read_bytes() == b"hot"


def test_a_file_in_another_mode_is_written_ahead_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "satchel.db"
    open_journal(path).close()
    execute(path, "PRAGMA journal_mode = DELETE")

    store = open_journal(path)

    assert (tmp_path / "satchel.db-wal").exists()
    store.close()


def begin_each_way(store: StoredJournal) -> None:
    """Every way in which something begins says that the file is not there any more."""
    for begin in (
        lambda: store.try_begin_call(new_call()),
        lambda: store.begin_call(new_call()),
        lambda: store.begin_execution("e1"),
        lambda: store.record_denied([new_call()]),
    ):
        with pytest.raises(JournalError, match="moved or removed since it was opened") as raised:
            begin()
        assert raised.value.hint == "put it back, or start with a new one"


@pytest.mark.parametrize("connected", [True, False])
def test_nothing_begins_in_a_file_that_was_moved_until_it_is_back(
    file_store: StoredJournal, tmp_path: Path, connected: bool
) -> None:
    path = tmp_path / "satchel.db"
    number = file_store.try_begin_call(new_call())
    if not connected:
        file_store.close()  # the next use connects anew

    path.rename(tmp_path / "elsewhere")
    begin_each_way(file_store)
    assert not path.exists()
    (tmp_path / "elsewhere").rename(path)

    assert file_store.try_begin_call(new_call()) is not None
    assert len(file_store.calls()) == 2
    assert file_store.calls()[1].id == number


def test_nothing_begins_in_a_file_or_folder_that_was_replaced_or_removed(tmp_path: Path) -> None:
    path = tmp_path / "state" / "satchel.db"
    store = open_journal(path)
    store.try_begin_call(new_call())

    path.unlink()
    begin_each_way(store)
    path.write_bytes(b"")
    begin_each_way(store)
    assert path.read_bytes() == b""
    shutil.rmtree(path.parent)
    begin_each_way(store)
    path.parent.write_text("a file")
    begin_each_way(store)
    store.close()


def test_what_the_system_refuses_is_told_as_a_failure_of_the_journal(tmp_path: Path) -> None:
    """Here a folder that leads to itself."""
    path = tmp_path / "state" / "satchel.db"
    store = open_journal(path)
    store.begin_call(new_call())
    path.parent.rename(tmp_path / "elsewhere")
    path.parent.symlink_to(path.parent)

    for begin in (store.try_begin_call, store.begin_call):
        with pytest.raises(JournalError, match="symbolic links") as raised:
            begin(new_call())
        assert isinstance(raised.value.__cause__, OSError)
    store.close()


def test_a_link_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "satchel.db"
    link.symlink_to(victim)

    assert "symbolic link" in refusal(link).message
    victim.write_bytes(b"")
    assert "symbolic link" in refusal(link).message
    assert victim.read_bytes() == b""


def test_something_else_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()

    assert "is not a file" in refusal(tmp_path / "pipe").message
    assert "is not a file" in refusal(tmp_path / "folder").message


def test_a_place_that_can_not_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert str(tmp_path / "file" / "satchel.db") in refusal(tmp_path / "file" / "satchel.db").message


def test_a_path_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "what? #%20 'é" / ":memory:"
    store = open_journal(path)
    store.begin_call(new_call())

    assert path.stat().st_size > 0
    store.close()


def test_a_url_can_name_a_file(tmp_path: Path) -> None:
    store = open_journal(f"sqlite:///{tmp_path}/satchel.db")
    store.begin_call(new_call())

    assert mode_of(tmp_path / "satchel.db") == 0o600
    store.close()


def test_opening_twice_in_a_process_keeps_both_working(tmp_path: Path) -> None:
    """To open and close the file by itself would take away the locks of whoever has it open."""
    first = open_journal(tmp_path / "satchel.db")
    first.begin_call(new_call())
    second = open_journal(tmp_path / "satchel.db")
    check = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM calls").fetchone()
connection.close()  # the last one to close removes the log
"""
    subprocess.run([sys.executable, "-c", check, tmp_path / "satchel.db"], check=True, timeout=WAIT)

    assert (tmp_path / "satchel.db-wal").exists()
    second.begin_call(new_call())
    assert len(first.calls()) == 2
    first.close()
    second.close()


@pytest.mark.parametrize("content", [b"this is not a database, but a text. " * 40, b"\0" * 5000])
def test_a_damaged_file_is_told_and_can_be_moved_away(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "satchel.db"
    path.write_bytes(content)

    error = refusal(path)

    assert f"{path} is damaged" in error.message
    assert error.hint is not None
    assert f"mv {path}" in error.hint
    assert path.read_bytes() == content


def test_a_file_that_is_damaged_later_is_told_by_whoever_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "satchel.db"
    store = open_journal(path)
    for _ in range(200):
        store.begin_call(new_call())
    store.close()
    with path.open("r+b") as stream:
        stream.seek(4096)
        stream.write(b"\xff" * (path.stat().st_size - 4096))

    with pytest.raises(JournalError, match="is damaged"):
        store = open_journal(path)
        store.calls(limit=1000)
    store.close()


@contextmanager
def held(path: Path) -> Generator[None]:
    """As if another process wrote to the file all the while."""
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    yield
    holder.close()


def test_a_file_that_is_held_is_tried_only_briefly_by_who_must_not_wait(
    file_store: StoredJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause = 60.0  # more than the rest of this takes
    monkeypatch.setattr("satchel.store.store._PAUSE", pause)
    with held(tmp_path / "satchel.db"):
        started = time.monotonic()
        assert file_store.try_begin_call(new_call()) is None
        assert time.monotonic() - started < 30  # others wait for as long
        assert file_store.calls() == []  # reading is not held up

        tried: list[object] = []
        with monkeypatch.context() as patched:
            patched.setattr(file_store.store._quick, "commit", tried.append)
            assert {file_store.try_begin_call(new_call()) for _ in range(50)} == {None}
        assert tried == []

    file_store.store._quick_from -= pause  # as if it were over
    assert file_store.try_begin_call(new_call()) is not None


def test_a_file_that_is_held_is_waited_for(file_store: StoredJournal, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        with held(tmp_path / "satchel.db"):
            waiting = pool.submit(file_store.begin_call, new_call())
            deadline = time.monotonic() + WAIT
            while not is_writing(file_store.store):
                assert time.monotonic() < deadline
                time.sleep(0.005)
            assert not waiting.done()

        assert waiting.result(WAIT) == 1


def test_a_file_that_is_held_for_too_long_is_told(file_store: StoredJournal, tmp_path: Path) -> None:
    with (
        held(tmp_path / "satchel.db"),
        pytest.raises(JournalError, match="locked by another process") as raised,
    ):
        file_store.store.commit([new_call()], patience=0.01)

    assert raised.value.hint == f"find it with: fuser {tmp_path / 'satchel.db'}"


@pytest.mark.slow
def test_a_server_is_never_asked_by_who_must_not_wait(postgresql: Server) -> None:
    store = open_journal(postgresql.empty_url())

    assert store.try_begin_call(new_call()) is None
    assert store.calls() == []
    store.close()


def test_a_server_may_take_only_so_long(postgresql: Server) -> None:
    database = find_database(postgresql.url())
    with database.engine.connect() as connection:
        limit = connection.exec_driver_sql("SHOW statement_timeout").scalar()
    database.engine.dispose()

    assert limit == "30s"


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_every_spelling_of_postgresql_is_understood(postgresql: Server, scheme: str) -> None:
    store = open_journal(scheme + postgresql.empty_url().removeprefix("postgresql"))

    assert store.calls() == []
    store.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:hunter2@127.0.0.1:1/db",
        "postgresql://user:hunter2@/db?host=/nowhere",
        "postgresql://user@127.0.0.1:1/db?password=hunter2",
        "postgresql://user:p@hunter2@127.0.0.1:1/db",
        "postgresql://user:p@hunter2/x@127.0.0.1:1/db",
        "postgresql://user:x@127.0.0.1:hunter2/db",
        "postgresql:user:hunter2@127.0.0.1/db",
        "mysql://user:hunter2@127.0.0.1/db",
    ],
)
def test_no_password_is_in_an_error(url: str) -> None:
    error = refusal(url)

    told = [error.message, error.hint, repr(error)]
    cause = error.__cause__
    while cause is not None:
        told += [str(cause), repr(cause)]
        cause = cause.__cause__
    assert "hunter2" not in "\n".join(map(str, told))


def test_a_server_that_does_not_answer_is_named_with_what_to_do() -> None:
    error = refusal("postgresql://user:hunter2@127.0.0.1:1/db")

    assert "postgresql://user@127.0.0.1:1/db" in error.message
    assert "refused" in error.message
    assert error.hint == "check the URL of the journal, and that the server runs"


def test_a_database_that_is_not_there_is_told(postgresql: Server) -> None:
    error = refusal(postgresql.url().replace("/postgres?", "/nothing?"))

    assert '"nothing" does not exist' in error.message


def test_a_database_where_no_tables_can_be_made_is_told(postgresql: Server) -> None:
    postgresql.execute("CREATE ROLE guest LOGIN")
    error = refusal(postgresql.url(options="-csearch_path=public").replace("satchel@", "guest@"))

    assert "permission denied" in error.message
    assert error.hint is not None
    assert "create tables" in error.hint


def test_a_missing_driver_is_told_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules, "psycopg", None
    )  # it can then be imported as little as where it is absent

    error = refusal("postgresql://user:hunter2@localhost/db")

    assert "psycopg" in error.message
    assert error.hint == how_to_install("postgresql")


@pytest.mark.slow
def test_a_full_disk_is_told_and_what_was_committed_stays(tmp_path: Path) -> None:
    """On a file system of half a megabyte, mounted for one process."""
    mount = f"mount -t tmpfs -o size=512k none {tmp_path}"
    namespace = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*namespace, mount], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    script = f"""
from pathlib import Path
from satchel.errors import JournalError
from tests.store.values import StoredJournal, new_call, open_journal
path = Path({str(tmp_path)!r}) / "satchel.db"
store = open_journal(path)
number = store.begin_call(new_call())
try:
    store.begin_execution("e1", program="p" * 1000_000)
except JournalError as error:
    print(error.message, error.hint, sep="|")
store.close()
store = open_journal(path)
print([call.id for call in store.calls()] == [number], store.executions())
store.close()
"""
    done = subprocess.run(
        [*namespace, f'{mount} && exec "$0" -c "$1"', sys.executable, script],
        capture_output=True,
        text=True,
        timeout=WAIT,
        cwd=Path(__file__).parents[2],
    )

    assert done.returncode == 0, done.stderr
    told, after = done.stdout.splitlines()
    assert "the disk is full" in told
    assert "make room" in told
    assert after == "True []"

"""Databases of others are copied, and nothing in them but ordinary tables is read."""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from satchel.errors import SatchelError
from satchel.library.memory.importing import databases as module
from satchel.library.memory.importing.reading import read_import
from satchel.model import ImportPlan
from tests.library.memory.importing.points import make_collection, pickled_point

CREATE = "CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)"


def plan_of(path: Path) -> ImportPlan:
    return read_import(path, agents=("default",), default_agent="default", today=date(2026, 11, 19))


def contents(plan: ImportPlan) -> list[str]:
    return [item["content"] for item in plan.items.get("default", ())]


def make(folder: Path, *statements: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / "storage.sqlite")) as storage:
        for statement in statements:
            storage.execute(statement)
        storage.commit()
    return folder


@pytest.fixture
def tea(monkeypatch: pytest.MonkeyPatch) -> bytes:
    return pickled_point(monkeypatch, "a", [0.5], {"data": "Tea is at four."})


def listing(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_ino, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_original_is_neither_changed_nor_locked_while_its_owner_writes(
    tmp_path: Path, tea: bytes
) -> None:
    folder = make_collection(tmp_path / "collection" / "mem0", [tea])
    with closing(sqlite3.connect(folder / "storage.sqlite", timeout=0)) as owner:
        before = listing(tmp_path)
        assert contents(plan_of(tmp_path)) == ["Tea is at four."]
        assert listing(tmp_path) == before

        owner.execute("BEGIN EXCLUSIVE")  # and a lock of the owner's keeps nobody from reading
        assert contents(plan_of(tmp_path)) == ["Tea is at four."]
        owner.execute("DELETE FROM points")
        owner.rollback()


def test_what_is_only_in_the_log_of_a_database_is_read(tmp_path: Path, tea: bytes) -> None:
    folder = make_collection(tmp_path / "mem0", [])
    with closing(sqlite3.connect(folder / "storage.sqlite")) as owner:
        owner.execute("PRAGMA journal_mode = WAL")
        owner.execute("INSERT INTO points VALUES ('a', ?)", (tea,))
        owner.commit()
        before = listing(tmp_path)
        assert contents(plan_of(folder)) == ["Tea is at four."]
        assert listing(tmp_path) == before


def test_a_write_that_was_cut_short_is_told_and_its_journal_is_not_followed(
    tmp_path: Path, tea: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite would delete the file that such a journal names at its end."""
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    folder = make_collection(tmp_path / "mem0", [tea])
    named = tmp_path / "named"
    named.write_text("keep me")
    journal = folder / "storage.sqlite-journal"
    journal.write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(504) + str(named).encode())

    with pytest.raises(SatchelError, match="is being written, or a write to it was cut short"):
        plan_of(folder)
    assert named.read_text() == "keep me"
    assert journal.exists()


@pytest.mark.parametrize("name", ["storage.sqlite", "storage.sqlite-wal"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_no_link_is_followed_and_no_pipe_is_waited_for(
    tmp_path: Path, tea: bytes, name: str, kind: str
) -> None:
    elsewhere = make_collection(tmp_path / "elsewhere", [tea])
    folder = make_collection(tmp_path / "collection" / "mem0", [tea])
    (folder / name).unlink(missing_ok=True)
    if kind == "link":
        (folder / name).symlink_to(elsewhere / "storage.sqlite")
    elif kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).mkdir()

    if name.endswith("-wal") and kind == "pipe":  # it has no content, as far as anybody can tell
        assert contents(plan_of(tmp_path)) == ["Tea is at four."]
        return
    with pytest.raises(SatchelError, match=r"is a link|is not a file"):
        plan_of(tmp_path)


def test_no_folder_is_entered_through_a_link(tmp_path: Path, tea: bytes) -> None:
    elsewhere = make_collection(tmp_path / "elsewhere" / "mem0", [tea])
    (tmp_path / "one" / "collection").mkdir(parents=True)
    (tmp_path / "one" / "collection" / "mem0").symlink_to(elsewhere)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "collection").symlink_to(elsewhere.parent)

    for path in ("one", "two"):
        with pytest.raises(SatchelError, match="can't be entered"):
            plan_of(tmp_path / path)


def test_the_path_that_a_person_gives_may_be_a_link(tmp_path: Path, tea: bytes) -> None:
    make_collection(tmp_path / "real" / "collection" / "mem0", [tea])
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").symlink_to("real/collection/mem0/storage.sqlite")

    assert contents(plan_of(tmp_path / "link")) == contents(plan_of(tmp_path / "file")) == ["Tea is at four."]


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE secret (id, point)", "CREATE VIEW points AS SELECT * FROM secret"),
        (
            "CREATE VIEW points (id, point) AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n) "
            "SELECT i, i FROM n",
        ),
        ("CREATE VIRTUAL TABLE points USING fts5 (id, point)",),
        ("CREATE VIRTUAL TABLE points USING rtree (id, a, b)",),
        ("CREATE TABLE points (id TEXT, point BLOB GENERATED ALWAYS AS (zeroblob(900000000)))",),
        ("CREATE TABLE points (id TEXT, point BLOB AS (hex(zeroblob(90000000))) STORED)",),
        ("CREATE TABLE other (a)",),
    ],
    ids=["view", "endless view", "full text", "rtree", "computed", "computed and stored", "no such table"],
)
def test_only_an_ordinary_table_is_read(tmp_path: Path, statements: tuple[str, ...]) -> None:
    folder = make(tmp_path / "collection" / "mem0", *statements)

    plan = plan_of(tmp_path)
    assert plan.items == {}
    assert [(one.where, one.reason) for one in plan.left_out] == [("collection mem0", "unreadable")]
    with pytest.raises(SatchelError, match="is a database, but not one of mem0"):
        plan_of(folder / "storage.sqlite")


def test_triggers_and_indexes_make_no_difference(tmp_path: Path, tea: bytes) -> None:
    folder = make(
        tmp_path / "mem0",
        CREATE,
        "CREATE TABLE touched (a)",
        "CREATE INDEX by_length ON points (length(point))",
        "CREATE TRIGGER t AFTER INSERT ON points BEGIN INSERT INTO touched VALUES (1); END",
    )
    with closing(sqlite3.connect(folder / "storage.sqlite")) as storage:
        storage.execute("INSERT INTO points VALUES ('a', ?)", (tea,))
        storage.commit()

    assert contents(plan_of(folder)) == ["Tea is at four."]


def test_values_of_other_types_are_left_out_by_their_rows(tmp_path: Path, tea: bytes) -> None:
    folder = make_collection(tmp_path / "mem0", ["text", 7, None, b"", bytes(5 * 1024 * 1024), tea])
    plan = plan_of(folder)

    assert contents(plan) == ["Tea is at four."]
    assert [one.where for one in plan.left_out] == [f"collection mem0, row {n}" for n in range(1, 6)]
    assert {one.reason for one in plan.left_out} == {"unreadable"}


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _scribble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100:4000] = b"\xff" * 3900
    path.write_bytes(data)


def _replace(path: Path) -> None:
    path.write_bytes(b"text " * 1000)


@pytest.mark.parametrize("damage", [_cut, _scribble, _replace])
def test_a_damaged_database_is_told(tmp_path: Path, tea: bytes, damage: Callable[[Path], None]) -> None:
    folder = make_collection(tmp_path / "collection" / "mem0", [tea] * 50)
    damage(folder / "storage.sqlite")

    with pytest.raises(SatchelError, match=r"storage\.sqlite can't be read as an SQLite database") as told:
        plan_of(tmp_path)
    assert "JSON" in str(told.value.hint)


@pytest.mark.slow
def test_databases_that_are_changed_at_random_are_read_or_refused(tmp_path: Path, tea: bytes) -> None:
    folder = make_collection(tmp_path / "mem0", [tea] * 20)
    file = folder / "storage.sqlite"
    data = file.read_bytes()
    chance = random.Random(7)
    refused: list[str] = []
    for _ in range(200):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 3, 30))):
            changed[chance.randrange(100, 600 if chance.random() < 0.5 else len(changed))] = chance.randrange(
                256
            )
        file.write_bytes(changed)
        try:
            plan_of(folder)
        except SatchelError as error:
            refused.append(error.message)
    assert refused


def test_a_schema_that_is_not_text_is_refused(tmp_path: Path, tea: bytes) -> None:
    file = make_collection(tmp_path / "mem0", [tea]) / "storage.sqlite"
    file.write_bytes(file.read_bytes().replace(b"CREATE TABLE points", b"CREATE TABLE \xa8\xff\xfe("))

    with pytest.raises(SatchelError, match="can't be read as an SQLite database"):
        plan_of(file.parent)


def test_a_database_that_is_too_large_is_refused_and_nothing_stays(
    tmp_path: Path, tea: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST", 4096)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "aside"))
    (tmp_path / "aside").mkdir()
    folder = make_collection(tmp_path / "mem0", [tea] * 50)

    with pytest.raises(SatchelError, match="more than 4,096 bytes"):
        plan_of(folder)
    assert list((tmp_path / "aside").iterdir()) == []


def test_work_without_end_is_stopped(tmp_path: Path, tea: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STEPS", 100)
    monkeypatch.setattr(module, "_STEPS_AT_ONCE", 100)
    folder = make_collection(tmp_path / "mem0", [tea] * 500)

    with pytest.raises(SatchelError, match="can't be read as an SQLite database: interrupted"):
        plan_of(folder)


def test_a_store_of_an_older_client_is_told(tmp_path: Path, tea: bytes) -> None:
    folder = make_collection(tmp_path / "collection" / "mem0", [tea])
    shutil.move(folder / "storage.sqlite", folder / "storage.dbm.dat")

    with pytest.raises(SatchelError, match=r"a qdrant-client before 1\.1\.7"):
        plan_of(tmp_path)

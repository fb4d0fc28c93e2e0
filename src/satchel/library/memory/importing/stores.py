"""mem0's own stores on this machine: the folder of a local Qdrant, and the history of all changes."""

import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from satchel.errors import SatchelError
from satchel.library.memory.importing.databases import Database, open_folder, opened
from satchel.library.memory.importing.pickles import LARGEST, read_point
from satchel.library.memory.importing.rows import Row, row_of
from satchel.model.imports import LeftOut
from satchel.support.text import label

COLLECTIONS = "collection"
STORAGE = "storage.sqlite"
OLD_STORAGE = "storage.dbm"  # of qdrant-client before 1.1.7
HISTORY = "history.db"
POINTS = "points"
EVENTS = "history"
_MOST_COLLECTIONS = 1_000
_EVENT = ("memory_id", "new_memory", "event", "created_at", "updated_at")
Found = Iterator[Row | LeftOut]


def read_collections(path: Path, today: date) -> Found:
    """The memories in all collections of a local Qdrant."""
    parent = path / COLLECTIONS
    with open_folder(path, path) as top, open_folder(COLLECTIONS, parent, within=top) as collections:
        with os.scandir(collections) as entries:
            names = sorted(entry.name for entry in entries if not entry.is_file(follow_symlinks=False))
        if len(names) > _MOST_COLLECTIONS:
            raise SatchelError(f"{parent} has more than {_MOST_COLLECTIONS:,} collections")
        for name in names:
            with open_folder(name, parent / name, within=collections) as folder:
                yield from read_collection(folder, parent / name, today)


def read_collection(folder: int, path: Path, today: date) -> Found:
    if STORAGE not in (files := os.listdir(folder)):
        if any(file.startswith(OLD_STORAGE) for file in files):
            raise SatchelError(
                f"{path} was written by a qdrant-client before 1.1.7",
                hint="open it once with a qdrant-client of 1.1.7 or later, which converts it",
            )
        return
    where = f"collection {label(path.name, 80)}"
    with opened(folder, STORAGE, path / STORAGE) as database:
        if database.has_table(POINTS):
            yield from points_in(database, f"{where}, row", today)
        else:
            yield LeftOut(where=where, reason="unreadable", detail=f"it has no table '{POINTS}'")


def points_in(database: Database, where: str, today: date) -> Found:
    for row, point in database.rows(POINTS, ("point",), largest=LARGEST):
        place = f"{where} {label(str(row), 20)}"
        try:
            if not isinstance(point, bytes):
                raise ValueError(f"it is not bytes, at most {LARGEST:,}")
            id, payload = read_point(point)
        except ValueError as error:
            yield LeftOut(where=place, reason="unreadable", detail=str(error))
        else:
            yield row_of({**payload, "id": id}, place, today)


def events_in(database: Database, today: date) -> Found:
    """Each memory as its last event left it. It is not told there whose memory it is, or when it expires."""
    last: dict[object, tuple[object, ...]] = {}
    for event in database.rows(EVENTS, _EVENT, largest=LARGEST):
        last.pop(event[1], None)
        last[event[1]] = event
    for row, id, text, kind, created_at, updated_at in last.values():
        where = f"history, row {label(str(row), 20)}"
        if kind == "DELETE":
            yield LeftOut(where=where, reason="deleted")
        else:
            values = {"id": id, "memory": text, "created_at": created_at, "updated_at": updated_at}
            yield row_of(values, where, today)

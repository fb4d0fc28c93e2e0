"""What an import would do: whatever mem0 left at a path, sorted by agent. Nothing is written here."""

import os
from collections.abc import Collection, Iterable
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path

from satchel.errors import SatchelError
from satchel.library.memory.importing.databases import MAGIC, open_file, open_folder, opened
from satchel.library.memory.importing.exports import read_export
from satchel.library.memory.importing.rows import Row, digest_of
from satchel.library.memory.importing.stores import (
    COLLECTIONS,
    EVENTS,
    HISTORY,
    POINTS,
    STORAGE,
    events_in,
    points_in,
    read_collection,
    read_collections,
)
from satchel.library.memory.importing.values import is_disguised
from satchel.model import UNTRUSTED, Json, Source
from satchel.model.imports import ImportKind, ImportPlan, LeftOut
from satchel.support.text import label

MOST = 200_000  # memories
_MOST_NAMED = 10
_ACCEPTED = "a JSON export, the folder of a local Qdrant, or history.db of mem0; or a JSON export of Satchel"


def read_import(
    path: Path, *, agents: Collection[str], default_agent: str, today: date | None = None
) -> ImportPlan:
    """What is at `path`, as memories of `agents`; those of nobody, and of others, go to `default_agent`.

    The path itself may be a link, but nothing below it.
    """
    today = today or datetime.now(UTC).date()
    try:
        path = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SatchelError(f"{path} can't be read: {reason}", hint=f"give {_ACCEPTED}") from None
    kind, found, notes = _read_folder(path, today) if path.is_dir() else _read_file(path, today)
    rows, left_out = _sorted_out(found)
    items, missing = _by_agent(rows, agents, default_agent)
    return ImportPlan(
        kind=kind,
        items=items,
        left_out=left_out,
        notes=(*notes, *missing, *_disguised(rows)),
        source=Source(what=f"import: {kind}", labels=frozenset((UNTRUSTED,))),
    )


_Read = tuple[ImportKind, list[Row | LeftOut], list[str]]


def _read_folder(path: Path, today: date) -> _Read:
    with open_folder(path, path) as folder:
        names = set(os.listdir(folder))
        if COLLECTIONS in names:
            note = f"{HISTORY} beside the collections is not read, because they know more"
            notes = [note] if HISTORY in names else []
            return "Qdrant folder", _bounded(read_collections(path, today), path), notes
        if STORAGE in names:
            return "Qdrant folder", _bounded(read_collection(folder, path, today), path), []
        if HISTORY in names:
            return _read_database(folder, HISTORY, path / HISTORY, today)
    raise SatchelError(f"nothing of mem0 is in {path}", hint=f"give {_ACCEPTED}")


def _read_file(path: Path, today: date) -> _Read:
    with open_folder(path.parent, path.parent) as folder:
        with open_file(folder, path.name, path) as stream:
            head = stream.read(len(MAGIC))
        if head == MAGIC:
            return _read_database(folder, path.name, path, today)
    export = read_export(path, today)
    return export.kind, _at_most(export.found, path), list(export.notes)


def _read_database(folder: int, name: str, path: Path, today: date) -> _Read:
    with opened(folder, name, path) as database:
        if database.has_table(POINTS):
            return "Qdrant folder", _bounded(points_in(database, "row", today), path), []
        if database.has_table(EVENTS):
            notes = ["the history does not tell whose memories these are, or when they expire"]
            return "history of mem0", _bounded(events_in(database, today), path), notes
    raise SatchelError(f"{path} is a database, but not one of mem0", hint=f"give {_ACCEPTED}")


def _bounded(found: Iterable[Row | LeftOut], path: Path) -> list[Row | LeftOut]:
    return _at_most(list(islice(found, MOST + 1)), path)


def _at_most(found: list[Row | LeftOut], path: Path) -> list[Row | LeftOut]:
    if len(found) > MOST:
        raise SatchelError(
            f"{path} has more than {MOST:,} memories", hint="export those of one agent at a time"
        )
    return found


def _sorted_out(found: Iterable[Row | LeftOut]) -> tuple[list[Row], tuple[LeftOut, ...]]:
    """Each memory once, as it was changed last: pages overlap, and a Qdrant may have kept older copies."""
    rows: dict[str, Row] = {}
    left_out: list[LeftOut] = []
    for one in found:
        if isinstance(one, LeftOut):
            left_out.append(one)
            continue
        other = rows.get(one.id)
        if other is not None:
            older, one = sorted((other, one), key=lambda row: row.updated_at or "")
            left_out.append(LeftOut(where=older.where, reason="listed twice", detail=f"also {one.where}"))
        rows[one.id] = one
    return list(rows.values()), tuple(left_out)


def _by_agent(
    rows: Iterable[Row], agents: Collection[str], default_agent: str
) -> tuple[dict[str, tuple[Json, ...]], list[str]]:
    """Items for the memory of each agent, and a note for each agent of mem0 that does not exist here."""
    items: dict[str, list[Json]] = {}
    missing: dict[str, int] = {}
    for row in sorted(rows, key=lambda row: row.created_at or ""):
        if row.agent and row.agent not in agents:
            missing[row.agent] = missing.get(row.agent, 0) + 1
        items.setdefault(row.agent if row.agent in agents else default_agent, []).append(_item(row))
    notes = [
        f"there is no agent '{label(name, 80)}' here: what it remembers ({number}) goes to '{default_agent}'"
        for name, number in list(missing.items())[:_MOST_NAMED]
    ]
    if len(missing) > _MOST_NAMED:
        notes.append(f"the same with {len(missing) - _MOST_NAMED} agents more")
    return {agent: tuple(own) for agent, own in items.items()}, notes


def _item(row: Row) -> Json:
    """The memory as `core_memories.json` has it: `imported` tells later whether it was changed here."""
    item: Json = {"topic": row.topic, "content": row.content, "id": row.id}
    for key, at in (("created_at", row.created_at), ("updated_at", row.updated_at)):
        if at is not None:
            item[key] = datetime.fromisoformat(at).isoformat(timespec="seconds")
    return {**item, "source": row.source, "imported": digest_of(row.content), **row.more}


def _disguised(rows: Iterable[Row]) -> list[str]:
    ids = [row.id for row in rows if is_disguised(row.content)]
    named = ", ".join(ids[:_MOST_NAMED]) + (", …" if len(ids) > _MOST_NAMED else "")
    return [f"characters that are not seen are in the text of {named}"] if ids else []

"""Entries as they are written for people and by Satchel itself: with an id, times and a source."""

import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime

from satchel.errors import ArgumentError, ConflictError
from satchel.library.memory import files
from satchel.library.memory.changing import Held
from satchel.library.memory.contents import Parsed, parse
from satchel.library.memory.formats import json_items, markdown, yaml_keys
from satchel.library.memory.formats.formats import JSON, YAML, format_of
from satchel.library.memory.formats.pieces import Piece, digest_of
from satchel.library.memory.places import HISTORY
from satchel.model import Entry, Json, Writer
from satchel.support.text import whole_characters

MOST_TASKS = 500
"""In `task_history.json`; the older ones are in the file below."""
OLDER_TASKS = "task_history.1.json"
_MOST_OLDER = 5_000


def added(
    text: str, before: Parsed, content: str, topic: str | None, writer: Writer, *, read_only: bool
) -> str:
    """A file's text with one more entry."""
    if format_of(before.path) is JSON:
        item = new_item({"topic": topic or "general", "content": content}, writer)
        return json_items.add(text, [{**item, "read_only": True} if read_only else item])
    if format_of(before.path) is YAML:
        return yaml_keys.add(text, _new_key(topic, before), _typed(content))
    return markdown.add(text, topic, content)


def with_content(text: str, path: str, piece: Piece, content: str) -> str:
    """A file's text in which one entry says something else."""
    if format_of(path) is JSON:
        item = dict(piece.value or {})
        item |= {json_items.content_key(item): content, "updated_at": now()}
        return json_items.replace(text, piece, item)
    if format_of(path) is YAML:
        return yaml_keys.replace(text, piece, _typed(content))
    return markdown.replace(text, piece, content)


def new_item(item: Json, writer: Writer) -> Json:
    """An item of the core memories, its topic first."""
    at = now()
    known = {
        "topic": "general",
        "content": "",
        "id": secrets.token_hex(6),
        "created_at": at,
        "updated_at": at,
    }
    return {**known, "source": writer.kind, **item}


def unknown(items: Iterable[Json], before: Parsed, writer: Writer) -> list[Json]:
    """The items that a file does not have: by their ids, or by what they say where they have none."""
    there = [piece.value or {} for piece in before.pieces]
    known = {_identity(item) for item in there} | {json_items.text_of(item) for item in there}
    new: list[Json] = []
    for given in items:
        item = {"topic": "general", "content": "", **given}
        identity = _identity(item)
        if identity not in known:
            known.add(identity)
            new.append(new_item(item, writer))
    return new


def _identity(item: Json) -> str | tuple[str]:
    named = item.get("id")
    return json_items.text_of(item) if named in (None, "") else (str(named),)


def still(before: Parsed, entry: Entry) -> Piece:
    """The piece of a file that is an entry; an error where it is another one by now."""
    piece = before.by_digest.get(entry.digest)
    if piece is None:
        raise ConflictError(
            f"'{entry.key}' in {entry.file} has changed meanwhile", name=entry.key, hint="look at it again"
        )
    return piece


def _new_key(topic: str | None, before: Parsed) -> str:
    if not topic:
        raise ArgumentError(f"an entry of {before.path} needs a key", argument="topic")
    if any(topic in piece.names for piece in before.pieces):
        raise ConflictError(f"'{topic}' is in {before.path} already", name=topic, hint="edit it instead")
    return topic


def _typed(content: str) -> object:
    """A value of a preference: numbers and truth values as such."""
    written = content.strip()
    if written in ("true", "false"):
        return written == "true"
    if re.fullmatch(r"-?(?:0|[1-9][0-9]{0,14})", written):
        return int(written)
    return whole_characters(content)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def move_older(held: Held) -> None:
    """Move the oldest of too many tasks to another file: first they are there, then they go from here."""
    data, _ = files.read(held.root, HISTORY)
    older = parse(HISTORY, data).pieces[:-MOST_TASKS]
    if not older:
        return
    for piece in older:
        held.standing.carry(
            OLDER_TASKS, digest_of(HISTORY, piece.canonical), digest_of(OLDER_TASKS, piece.canonical)
        )

    def keep(text: str, before: Parsed) -> str:
        known = {piece.canonical for piece in before.pieces}
        kept = json_items.add(text, [piece.value or {} for piece in older if piece.canonical not in known])
        pieces = list(json_items.read(kept))
        return json_items.remove(kept, pieces[:-_MOST_OLDER]) if len(pieces) > _MOST_OLDER else kept

    def cut(text: str, before: Parsed) -> str:
        moved = {piece.canonical for piece in older}
        return json_items.remove(text, [piece for piece in before.pieces if piece.canonical in moved])

    writer = Writer(kind="satchel")
    held.edit(OLDER_TASKS, keep, writer, anew=False)
    held.edit(HISTORY, cut, writer, anew=False)

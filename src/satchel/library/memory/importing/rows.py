"""One memory of mem0, from wherever: an export, a payload and an event have the same fields."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from hashlib import sha256

from satchel.library.memory.importing.values import moment, plain, written
from satchel.library.memory.places import HISTORY
from satchel.model import Json, is_list, is_object
from satchel.model.imports import LeftOut
from satchel.support.text import label

LONGEST = 20_000  # characters of one memory
TOPIC = "imported"
_LONGEST_TOPIC = 80
_LONGEST_METADATA = 4_000  # characters, as JSON
_TASKS = HISTORY.removesuffix(".json")  # also of the files with older ones
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
_TEXTS = ("data", "memory", "content", "text")  # as payloads, exports, and other programs call it
_ABOUT = ("user_id", "run_id", "actor_id")
_OWN_FIELDS = frozenset(
    ("file", "topic", "content", "id", "created_at", "updated_at", "source", "waiting")
)  # of an entry of ours; whether it waits here is decided here
# What a payload has beside the metadata that somebody gave.
_FIELDS = frozenset(
    (
        *("id", "hash", "created_at", "updated_at", "deleted_at", "is_deleted", "expiration_date"),
        *("agent_id", "role", "attributed_to", "categories", "metadata", "text_lemmatized"),
        *_TEXTS,
        *_ABOUT,
    )
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A memory that can be imported."""

    where: str
    id: str  # of its entry: the same whenever and from wherever it is read again
    content: str
    agent: str = ""  # as mem0 calls it; empty if it is no agent's
    topic: str = TOPIC
    source: str = "mem0"
    created_at: str | None = None
    updated_at: str | None = None
    more: Mapping[str, object] = field(default_factory=dict[str, object])


def has_text(values: Json) -> bool:
    return any(isinstance(values.get(key), str) for key in _TEXTS)


def row_of(values: Json, where: str, today: date) -> Row | LeftOut:
    """What mem0 has of one memory: an item of an export, or a payload with the id of its point."""
    others = {key: value for key, value in values.items() if key not in _FIELDS}
    metadata = values.get("metadata", others)  # an export has it apart
    metadata = metadata if is_object(metadata) else {}
    if "linked_memory_ids" in metadata or metadata.get("type") == "user_identity":
        return LeftOut(where=where, reason="not a memory", detail="mem0 keeps it for itself")
    if values.get("deleted_at") or values.get("is_deleted"):
        return LeftOut(where=where, reason="deleted")
    expires = moment(values.get("expiration_date"))
    if expires is not None and date.fromisoformat(expires[:10]) < today:
        return LeftOut(where=where, reason="expired", detail=f"on {expires[:10]}")
    text = next((values[key] for key in _TEXTS if isinstance(values.get(key), str)), "")
    content = _content(text, where)
    if isinstance(content, LeftOut):
        return content
    agent, about = _name(values.get("agent_id")), {key: _name(values.get(key)) for key in _ABOUT}
    created_at, updated_at = moment(values.get("created_at")), moment(values.get("updated_at"))
    rest = {key: value for key, value in metadata.items() if key not in ("category", "categories")}
    return Row(
        where=where,
        id=id_of(values.get("id"), agent, about["user_id"], content),
        content=content,
        agent=agent,
        topic=_topic(metadata.get("category"), values.get("categories"), metadata.get("categories")),
        created_at=created_at,
        updated_at=updated_at or created_at,
        more={key: value for key, value in (*about.items(), ("metadata", _short(rest))) if value},
    )


def own_row_of(entry: Json, where: str) -> Row | LeftOut:
    """An entry of an export of Satchel: an object of `core_memories.json`, with the name of its file."""
    if str(entry.get("file")).startswith(_TASKS):
        return LeftOut(where=where, reason="not a memory", detail="it is a task that was done elsewhere")
    content = _content(entry.get("content"), where)
    if isinstance(content, LeftOut):
        return content
    given, source, topic = entry.get("id"), entry.get("source"), entry.get("topic")
    is_id = isinstance(given, str) and _ID.fullmatch(given)
    created_at, updated_at = moment(entry.get("created_at")), moment(entry.get("updated_at"))
    return Row(
        where=where,
        id=str(given) if is_id else f"satchel-{_digest(json.dumps([given, content], default=str), 32)}",
        content=content,
        topic=_topic(topic, entry.get("file")),
        source=_name(source) or "satchel",
        created_at=created_at,
        updated_at=updated_at or created_at,
        more=_short({key: value for key, value in entry.items() if key not in _OWN_FIELDS}),
    )


def id_of(given: object, *described: str) -> str:
    """An id that begins with `mem0-`, so that no import changes an entry that was made here.

    What mem0 has without an id is known by what describes it.
    """
    own = str(plain(given)) if isinstance(given, str | int) and given != "" else json.dumps(described)
    return f"mem0-{own if _ID.fullmatch(own) else _digest(own, 32)}"


def digest_of(content: str) -> str:
    """A digest that shows whether an entry is still as it was imported."""
    return _digest(content, 16)


def _digest(text: str, digits: int) -> str:
    return sha256(text.encode()).hexdigest()[:digits]


def _content(text: object, where: str) -> str | LeftOut:
    if not isinstance(text, str) or not text.strip():
        return LeftOut(where=where, reason="empty")
    if len(text) > LONGEST:
        detail = f"{len(text):,} characters, of at most {LONGEST:,}"
        return LeftOut(where=where, reason="too long", detail=detail)
    return written(text.strip())


def _topic(*candidates: object) -> str:
    """The first that is a text, or a list with a text at its beginning."""
    for candidate in candidates:
        first: object = candidate[0] if is_list(candidate) and candidate else candidate
        if isinstance(first, str) and first.strip():
            return label(first.strip(), _LONGEST_TOPIC)
    return TOPIC


def _short(values: Json) -> Json:
    """The values, if they are few: nobody reads long metadata, and it would cost tokens."""
    try:
        values = plain(values)
    except ValueError:
        return {}
    return values if len(json.dumps(values)) <= _LONGEST_METADATA else {}


def _name(value: object) -> str:
    return label(value, 200) if isinstance(value, str) else str(plain(value)) if type(value) is int else ""

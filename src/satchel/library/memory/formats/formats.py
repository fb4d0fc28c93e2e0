"""Which format a file has, by its name; each takes a text apart, and changes it without touching the rest."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from satchel.library.memory.formats import json_items, markdown, yaml_keys
from satchel.library.memory.formats.pieces import Piece
from satchel.library.memory.places import CORE, HISTORY, PATTERNS, PREFERENCES
from satchel.model import EntryKind

_KINDS: dict[str, EntryKind] = {CORE: "core", HISTORY: "task", PATTERNS: "pattern", PREFERENCES: "preference"}


@dataclass(frozen=True, kw_only=True)
class Format:
    """How the entries of a file are read, taken out, and put back as they were."""

    read: Callable[[str], Iterator[Piece]]
    remove: Callable[[str, Iterable[Piece]], str]
    put: Callable[[str, str], str]


JSON = Format(read=json_items.read, remove=json_items.remove, put=json_items.put)
YAML = Format(read=yaml_keys.read, remove=yaml_keys.remove, put=yaml_keys.put)
MARKDOWN = Format(read=markdown.read, remove=markdown.remove, put=markdown.put)
TEXT = Format(read=markdown.read_whole, remove=markdown.remove, put=markdown.put_whole)
_FORMATS = {".json": JSON, ".yaml": YAML, ".yml": YAML, ".md": MARKDOWN, ".markdown": MARKDOWN}


def format_of(path: str) -> Format:
    return _FORMATS.get(path[path.rfind(".") :].lower() if "." in path else "", TEXT)


def kind_of(path: str) -> EntryKind:
    return _KINDS.get(path, "other")

"""Texts that are too long for a wrapper: the wrapper has their beginning, a file beside it has all of them.

The file is plain text for a reader, and the same for all languages. It is named after the tool's own file.
"""

import re
from collections.abc import Iterator
from itertools import repeat
from typing import Any, NamedTuple

from satchel.codegen.text import one_line, readable
from satchel.model import Json, Tool, is_list, is_object

# Characters of all texts in one wrapper, if the lowest limits allow it; fewer where types take much room.
_MOST, _LEAST, _EACH = 3_200, 1_600, 25
_DEEPEST = 60
_VALUES = frozenset(["examples", "enum", "example", "default", "const"])  # never schemas
_NOT_PLACES = frozenset(
    ["properties", "$defs", "definitions", "anyOf", "oneOf", "allOf", "items", "prefixItems"]
)
_SENTENCE = re.compile(r"[.!?](?=\s)")


class Limits(NamedTuple):
    """How many characters a wrapper has of a description, and of each text within the schemas."""

    text: int
    part: int


_LIMITS = tuple(
    Limits(text, part)
    for text, part in (
        *((1600, 400), (1200, 300), (1000, 240), (800, 190)),
        *((600, 150), (450, 115), (300, 80)),
    )
)


def limits_of(tool: Tool) -> Limits | None:
    """Where to cut a tool's texts; None if they can stay as they are."""
    parts = _lengths(tool)
    texts = [len(tool.description), *parts]

    def shown(limits: Limits) -> int:
        return sum(min(text, limit) for text, limit in zip(texts, _each(limits), strict=False))

    most = max(_LEAST, _MOST - _EACH * len(parts))
    if sum(texts) <= most:
        return None
    limits = next((limits for limits in _LIMITS if shown(limits) <= most), _LIMITS[-1])
    return limits if shown(limits) < sum(texts) else None  # many short texts can't be cut


def _lengths(tool: Tool) -> list[int]:
    """How long each text within the schemas is. Asked of every tool, so it looks no closer than it must."""
    lengths: list[int] = []
    waiting: list[Any] = [tool.definition.get("inputSchema"), tool.definition.get("outputSchema")]
    while waiting:
        schema = waiting.pop()
        if is_object(schema):
            for key, part in schema.items():
                if isinstance(part, str):
                    if key == "description":
                        lengths.append(len(part))
                elif part.__class__ in (dict, list) and key not in _VALUES:
                    waiting.append(part)
        elif is_list(schema):
            waiting += schema
    return lengths


def _each(limits: Limits) -> Iterator[int]:
    """The limit of the description, then those of the other texts."""
    yield limits.text
    yield from repeat(limits.part)


def manual_of(tool: Tool, limits: Limits) -> str:
    """All of a tool's texts that are longer than that."""
    parts = [f"# {one_line(tool.name)}", readable(tool.description)]
    for place, text in _texts(tool):
        if len(text) > limits.part:
            parts += [f"## {one_line(place)}", readable(text)]
    return "\n\n".join(filter(None, parts)) + "\n"


def shortened(text: str, limit: int) -> str:
    """The beginning of a long text, to the end of a paragraph, a line or a sentence, marked as such."""
    if len(text) <= limit:
        return text
    start = text[:limit]
    ends = [match.end() for match in _SENTENCE.finditer(start)]
    places = (start.rfind("\n\n"), start.rfind("\n"), ends[-1] if ends else -1, start.rfind(" "))
    kept = start[: next((place for place in places if place > limit // 2), limit)].rstrip()
    return f"{kept}\n```\n…" if kept.count("```") % 2 else f"{kept} …"


def with_short_texts(schema: object, limit: int, depth: int = 0) -> object:
    """A schema with the beginnings of its long texts."""
    if depth > _DEEPEST:
        return schema
    if is_list(schema):
        return [with_short_texts(part, limit, depth + 1) for part in schema]
    if not is_object(schema):
        return schema
    short: Json = {}
    for key, part in schema.items():
        if key in _VALUES:
            short[key] = part
        elif key == "description" and isinstance(part, str):
            short[key] = shortened(readable(part), limit)
        else:
            short[key] = with_short_texts(part, limit, depth + 1)
    return short


def _texts(tool: Tool) -> Iterator[tuple[str, str]]:
    """The texts within a tool's schemas, each with its place."""
    definition = tool.definition
    waiting: list[tuple[str, Any, int]] = [
        ("result", definition.get("outputSchema"), 0),
        ("", definition.get("inputSchema"), 0),
    ]
    while waiting:
        place, schema, depth = waiting.pop()
        if depth > _DEEPEST:
            continue
        if is_object(schema):
            text = schema.get("description")
            if isinstance(text, str):
                yield place or "input", text
            inner = [(key, part) for key, part in schema.items() if key not in _VALUES]
            waiting += [(_below(place, key), part, depth + 1) for key, part in reversed(inner)]
        elif is_list(schema):
            waiting += [(place, part, depth + 1) for part in reversed(schema)]


def _below(place: str, key: str) -> str:
    """The place of a part, in words of the values and not of the schema."""
    if key in _NOT_PLACES:
        return place
    return f"{place}.{key[:60]}" if place else key[:60]

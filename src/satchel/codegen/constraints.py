"""The demands of a schema beyond types: descriptions, limits and conditions, in words."""

import json
from typing import Any

from satchel.codegen.text import is_prose, one_line
from satchel.codegen.types import Array, Map, Tuple, Type, Unknown
from satchel.model import Json, is_list, is_object

_TELLS_NOTHING = {"int32", "int64", "uint", "uint32", "uint64", "float", "double", "decimal"}
_ABOUT_REQUIRED = frozenset(["required", "not", "title", "description", "type", "properties"])
_SAYS_IT_ALL = frozenset(["type", "title", "description", "properties", "required", "enum", "const"])


def describe(schema: object, kind: Type, name: str) -> str:
    """A line about a property: its description, then in brackets what its type can't say."""
    notes = constraints(schema)
    unknown = unknown_note(kind)
    if unknown:
        notes.append(f"schema not understood: {unknown}")
    text = ""
    if is_object(schema):
        given, title = schema.get("description"), schema.get("title")
        if isinstance(given, str) and given.strip():
            text = given
        elif isinstance(title, str) and _letters(title) != _letters(name):
            text = title
    text = one_line(text) if len(text) < 200 or is_prose(text) else text.strip()
    notes = [note for note in dict.fromkeys(notes) if not _says(text, note)]
    return f"{text} ({', '.join(notes)})".strip() if notes else text


def _says(text: str, note: str) -> bool:
    """Whether a description has told the default already."""
    word, _, value = note.partition(" ")
    value = value.strip('"')
    return word == "default" and bool(value) and word in text.lower() and value.lower() in text.lower()


def constraints(schema: object) -> list[str]:
    """The demands of a schema beyond its type, in a few words each."""
    if not is_object(schema) or _SAYS_IT_ALL.issuperset(schema):
        return []
    notes: list[str] = []
    if "default" in schema and schema["default"] is not None:
        notes.append(f"default {_short(schema['default'])}")
    notes += _own_constraints(schema)
    for key in ("anyOf", "oneOf", "allOf"):
        found = schema.get(key)
        parts = [
            part
            for part in (found if is_list(found) else ())
            if is_object(part) and part.get("type") != "null"
        ]
        if len(parts) == 1:
            notes += _own_constraints(parts[0])
    if schema.get("deprecated") is True:
        notes.append("deprecated")
    return notes


_BOUNDS = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", "character"),
    ("minItems", "maxItems", "item"),
    ("minProperties", "maxProperties", "entr"),
)
_WORTH_A_LOOK = {key for low, high, _ in _BOUNDS for key in (low, high)} | {
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "format", "contentEncoding",
    "uniqueItems", "items", "examples", "propertyNames", "patternProperties",
}  # fmt: skip


def _own_constraints(schema: Json) -> list[str]:
    notes: list[str] = []
    if _WORTH_A_LOOK.isdisjoint(schema):
        return notes
    for low, high, unit in _BOUNDS:
        note = _bounds(schema.get(low), schema.get(high), unit)
        if note:
            notes.append(note)
    for key, sign in (("exclusiveMinimum", ">"), ("exclusiveMaximum", "<")):
        if _is_number(schema.get(key)):
            notes.append(f"{sign} {schema[key]}")
    if _is_number(schema.get("multipleOf")):
        notes.append(f"a multiple of {schema['multipleOf']}")
    for key in ("format", "contentEncoding"):
        word = schema.get(key)
        if isinstance(word, str) and word not in _TELLS_NOTHING:
            notes.append(one_line(word[:60]))
    if isinstance(schema.get("pattern"), str):
        notes.append(f"pattern {_short(schema['pattern'], 120)}")
    for key in ("patternProperties", "propertyNames"):
        part = schema.get(key)
        patterns = list(part) if key == "patternProperties" and is_object(part) else []
        if key == "propertyNames" and is_object(part) and isinstance(part.get("pattern"), str):
            patterns = [part["pattern"]]
        notes += [f"keys match {_short(pattern, 120)}" for pattern in patterns[:3]]
    if schema.get("uniqueItems") is True:
        notes.append("no repetitions")
    examples = schema.get("examples")
    if is_list(examples) and examples:
        notes.append(f"e.g. {_short(examples[0])}")
    items = schema.get("items")
    if is_object(items):
        notes += [f"each: {note}" for note in _own_constraints(items) if not note.startswith("each: ")]
    return notes


def _bounds(low: object, high: object, unit: str) -> str:
    low = low if _is_number(low) else None
    high = high if _is_number(high) else None
    if low == 0 and unit:
        low = None
    if low is None and high is None:
        return ""
    number = f"{low} to {high}" if low is not None and high is not None else f"{high if low is None else low}"
    if low == high:
        number = f"{low}"
    relation = "" if low is not None and high is not None else "at least " if high is None else "at most "
    if not unit:
        return f"{relation}{number}"
    one = (high if high is not None else low) == 1
    plural = ("y" if one else "ies") if unit == "entr" else ("" if one else "s")
    return f"{relation}{number} {unit}{plural}"


def conditions(schema: object) -> list[str]:
    """Which properties have to be given instead of each other, in words."""
    notes: list[str] = []
    if not is_object(schema):
        return notes
    for key, word in (("anyOf", "Give one of"), ("oneOf", "Give exactly one of")):
        parts = schema.get(key)
        if not is_list(parts) or not only_about_required(parts):
            continue
        groups = dict.fromkeys(
            " and ".join(name for name in part["required"] if isinstance(name, str))
            for part in parts
            if is_list(part["required"])
        )
        if len(groups) > 1:
            notes.append(one_line(f"{word}: {'; '.join(groups)}."))
    return notes


def only_about_required(parts: list[Any]) -> bool:
    """Whether alternatives only say which properties belong together."""
    return all(
        is_object(part)
        and "required" in part
        and _ABOUT_REQUIRED.issuperset(part)
        and not part.get("properties")
        for part in parts
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def unknown_note(kind: Type) -> str:
    """Why something in a type is not known, where there is a reason."""
    if isinstance(kind, Unknown):
        return kind.note
    if isinstance(kind, Array):
        return unknown_note(kind.items)
    if isinstance(kind, Map):
        return unknown_note(kind.values)
    if isinstance(kind, Tuple):
        return next((note for item in kind.items if (note := unknown_note(item))), "")
    return ""


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _short(value: object, limit: int = 60) -> str:
    text = one_line(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= limit else text[: limit - 1] + "…"

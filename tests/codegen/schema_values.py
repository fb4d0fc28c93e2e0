"""JSON values that a schema describes, made up from a source of randomness.

What a value must look like for a wrapper to carry it is all that counts here: types, properties, choices and
references are followed; patterns, formats and most limits are not.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from satchel.model import Json, is_list, is_object

TEXTS = (
    *("", "a", "omit", "None", "name", "2026-01-31", "https://example.com/?q=1&r=%20", "ada@example.com"),
    *('"""', "'", "\\", "\\N{BULLET}", "${x}", "`", "*/", "<b>", "\0", "\r\n", "\t", "\x85", "\u2028"),
    *("é", "e\u0301", "名前", "\u202eabc", "\u200b", "😀", "\ufeff", "word " * 30),
)
# None that JSON escapes: V8 15.0's JSON.parse sometimes takes the key "\t" of an object for "\\".
KEYS = (
    "a",
    "omit",
    "None",
    "",
    "two words",
    "$x",
    "'",
    "*/",
    "${x}",
    "é",
    "名前",
    "\u202eabc",
    "😀",
    "__proto__",
)
NUMBERS = (0, 1, -1, 7, 100, 2**31, 2**53 - 1, -(2**53) + 1)
FRACTIONS = (0.5, -1.25, 1e-7, 1e21, 3.0)
_DEEPEST = 6
_NOTHING = object()


def draw(schema: object, random: Random) -> Any:
    """A value of the schema."""
    return _Drawing(schema, random).value(schema, 0)


def fill(schema: object, *, everything: bool) -> Any:
    """What a model would write for the schema: all that it names, or only what it needs; no odd texts."""
    return _Filling(schema, _First(everything=everything)).value(schema, 0)


class _First(Random):
    """No chance at all: the first of several, and always the same answer to whether."""

    def __init__(self, *, everything: bool) -> None:
        super().__init__(0)
        self._number = 0.0 if everything else 1.0

    def random(self) -> float:
        return self._number

    def choice(self, seq: Any) -> Any:
        return seq[0]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return 1


def draw_anything(random: Random, depth: int = 0) -> Any:
    """Any JSON value."""
    kind = random.randrange(7 if depth < 3 else 5)
    if kind == 5:
        return [draw_anything(random, depth + 1) for _ in range(random.randrange(4))]
    if kind == 6:
        return {random.choice(KEYS): draw_anything(random, depth + 1) for _ in range(random.randrange(4))}
    return (None, random.random() < 0.5, *map(random.choice, (TEXTS, NUMBERS, FRACTIONS)))[kind]


def draw_misfit(value: Any, random: Random) -> Any:
    """The value with other things in some places of it."""
    if random.random() < 0.2:
        return draw_anything(random)
    if is_object(value):
        kept = {key: draw_misfit(part, random) for key, part in value.items() if random.random() < 0.9}
        return kept | ({"unknown": draw_anything(random)} if random.random() < 0.3 else {})
    if is_list(value):
        return [draw_misfit(part, random) for part in value for _ in range(random.choice((0, 1, 1, 2)))]
    return value


class _Drawing:
    def __init__(self, root: object, random: Random) -> None:
        self._root = root
        self._random = random

    def value(self, schema: object, depth: int) -> Any:
        schema = self._plain(schema)
        if not schema:
            return draw_anything(self._random, depth)
        if "const" in schema:
            return schema["const"]
        if is_list(schema.get("enum")):
            return self._random.choice(schema["enum"])
        kind = schema.get("type")
        if is_list(kind):
            kind = self._random.choice(kind)
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, depth)
        if kind == "array" or (kind is None and "items" in schema):
            return self._array(schema, depth)
        return self._scalar(kind, depth)

    def _scalar(self, kind: object, depth: int) -> Any:
        if kind == "string":
            return self._random.choice(TEXTS)
        if kind == "integer":
            return self._random.choice(NUMBERS)
        if kind == "number":
            return self._random.choice((*NUMBERS, *FRACTIONS))
        if kind == "boolean":
            return self._random.random() < 0.5
        return None if kind == "null" else draw_anything(self._random, depth)

    def _plain(self, schema: object) -> Json:
        """The schema with its references followed, its parts put together and its alternatives decided."""
        for _ in range(_DEEPEST):
            if not is_object(schema):
                return {}
            found = self._composed(schema)
            if found is schema:
                break
            schema = found
        return schema if is_object(schema) else {}

    def _composed(self, schema: Json) -> Json:
        if isinstance(schema.get("$ref"), str):
            rest = {key: part for key, part in schema.items() if key != "$ref"}
            return _merged([self._target(schema["$ref"]), rest])
        if is_list(schema.get("allOf")):
            rest = {key: part for key, part in schema.items() if key != "allOf"}
            return _merged([*schema["allOf"], rest])
        for key in ("anyOf", "oneOf"):
            if is_list(schema.get(key)) and schema[key]:
                rest = {name: part for name, part in schema.items() if name != key}
                return _merged([rest, self._random.choice(schema[key])])
        return schema

    def _target(self, reference: str) -> object:
        place: object = self._root
        for step in reference.removeprefix("#").removeprefix("/").split("/") if reference != "#" else []:
            key = step.replace("~1", "/").replace("~0", "~")
            if is_list(place) and key.isdecimal():
                place = place[int(key)]
            else:
                place = place.get(key) if is_object(place) else None
        return place

    def _object(self, schema: Json, depth: int) -> Json:
        properties: Mapping[str, Any] = schema.get("properties") or {}
        needed: Sequence[str] = schema.get("required") or ()
        often = 0.6 if depth < _DEEPEST else 0.0
        value = {
            key: self.value(part, depth + 1)
            for key, part in properties.items()
            if key in needed or self._random.random() < often
        }
        more = schema.get("additionalProperties", _NOTHING if properties else True)
        if more is not _NOTHING and more is not False and depth < _DEEPEST:
            for _ in range(self._random.randrange(3)):
                value.setdefault(self._random.choice(KEYS), self.value(more, depth + 1))
        return value

    def _array(self, schema: Json, depth: int) -> list[Any]:
        items = schema.get("items")
        places = schema.get("prefixItems", items if is_list(items) else ())
        value = [self.value(part, depth + 1) for part in places]
        if places or depth >= _DEEPEST + 2:
            return value
        least = schema.get("minItems", 0)
        return [self.value(items, depth + 1) for _ in range(max(least, self._random.randrange(4)))]


class _Filling(_Drawing):
    def _scalar(self, kind: object, depth: int) -> Any:
        return {"string": "text", "integer": 3, "number": 2.5, "boolean": True}.get(str(kind))

    def value(self, schema: object, depth: int) -> Any:
        return super().value(schema, depth) if self._plain(schema) else "anything"

    def _object(self, schema: Json, depth: int) -> Json:
        return super()._object({"additionalProperties": False, **schema}, depth)  # none are made up


def _merged(parts: Sequence[object]) -> Json:
    merged: Json = {}
    for part in parts:
        for key, value in part.items() if is_object(part) else ():
            if key == "properties" and is_object(value) and is_object(merged.get(key)):
                value = merged[key] | value
            elif key == "required" and is_list(value) and is_list(merged.get(key)):
                value = [*merged[key], *value]
            merged[key] = value
    return merged

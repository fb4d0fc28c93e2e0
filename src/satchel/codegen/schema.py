"""JSON Schema, drafts 7 and 2020-12 as servers really write them, into the type tree.

Reading never fails: what is contradictory, invalid or without end becomes `Unknown` with a note. Nothing is
fetched, and a page of schema can't become a book of types: what is referred to keeps its name, and there is
a budget.
"""

import json
from typing import Any
from urllib.parse import unquote

from satchel.codegen.constraints import conditions, describe, only_about_required
from satchel.codegen.merge import Merger, is_writable, union
from satchel.codegen.naming import name_types
from satchel.codegen.samples import FORMATS
from satchel.codegen.text import one_line
from satchel.codegen.types import (
    ANY,
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    STRING,
    Array,
    Choice,
    Field,
    Map,
    Object,
    Reference,
    Shape,
    Tuple,
    Type,
    Union,
    Unknown,
)
from satchel.model import Json, is_list, is_object
from satchel.names import type_name

_DEEPEST = 30
_MOST_NODES = 3_000
_MOST_WRITTEN = 60_000  # nodes and values of one type; real ones have a few hundred
_INLINE = 40  # nodes of a referenced type that may be repeated where it is used
_SCALARS = {"string": STRING, "integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN, "null": NULL}
_COMPOSING = frozenset(["$ref", "allOf", "anyOf", "oneOf", "nullable"])
_OBJECT_KEYS = ("properties", "patternProperties", "additionalProperties", "required", "propertyNames")
_ARRAY_KEYS = ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains")
_IRREGULAR = {"children": "child", "people": "person", "series": "series", "statuses": "status"}
_SAMPLES = frozenset(["examples", "enum", "example", "default", "const", "format"])


def read_schema(schema: object, name: str, root: object = None) -> Shape:
    """The shape of a schema; `name` is what to call it where it needs a name.

    `root` is the document that it is a part of, where references look things up.
    """
    reader = _Reader(schema if root is None else root)
    try:
        kind = reader.read(schema, name, 0)
    except RecursionError:
        return Shape(Unknown("nested too deeply"))
    definitions = {reader.names[pointer]: kind for pointer, kind in reader.defined.items()}
    if not all(is_writable(part, _MOST_WRITTEN) for part in [kind, *definitions.values()]):
        return Shape(Unknown("too large to be written out"))
    return name_types(Shape(kind, definitions, tuple(reader.conditions(schema))))


class _Reader:
    def __init__(self, root: object) -> None:
        self._root = root
        self._left = _MOST_NODES
        self._open: set[str] = set()  # pointers that are being read
        self._met_again: set[str] = set()  # those that were met while they were
        self._inline: dict[str, Type] = {}
        self._taken: dict[str, int] = {}  # names of definitions, with how often each is wanted
        self._marked: dict[str, object] | None = None
        self._merger = Merger(self._known)
        self.names: dict[str, str] = {}
        self.defined: dict[str, Type] = {}
        self._by_name: dict[str, Type] = {}

    def read(self, schema: object, name: str, depth: int) -> Type:
        self._left -= 1
        if schema is True or schema == {}:
            return ANY
        if not is_object(schema):
            return Unknown("no value is valid" if schema is False else "not a schema")
        if depth > _DEEPEST or self._left < 0:
            return Unknown("nested too deeply" if depth > _DEEPEST else "too large to be written out")
        kind = self._own(schema, name, depth)
        if _COMPOSING.isdisjoint(schema):
            return kind
        reference = schema.get("$ref")
        if reference is not None:
            kind = self._merger.both(self._follow(reference, depth), kind)
        for part in _parts(schema, "allOf"):
            kind = self._merger.both(kind, self.read(part, name, depth + 1))
        for key in ("anyOf", "oneOf"):
            parts = _parts(schema, key)
            if parts and not only_about_required(parts):
                options = [self.read(part, _option_name(part, name), depth + 1) for part in parts]
                kind = self._merger.both(kind, union(options))
        if schema.get("nullable") is True:
            kind = union([kind, NULL])
        return kind

    def conditions(self, schema: object) -> list[str]:
        seen = 0
        while is_object(schema) and isinstance(schema.get("$ref"), str) and seen < _DEEPEST:
            schema, seen = self._target(schema["$ref"]), seen + 1
        return conditions(schema)

    def _own(self, schema: Json, name: str, depth: int) -> Type:
        """The schema's own keywords, without those it refers to or is composed of."""
        if "const" in schema:
            return _choice([schema["const"]])
        values = schema.get("enum")
        if "enum" in schema:
            if not is_list(values) or not values:
                return Unknown("its enum is not a list of values")
            return _choice(values)
        kind = schema.get("type")
        if isinstance(kind, str):
            return self._typed(kind, schema, name, depth)
        if is_list(kind) and kind:
            words = {json.dumps(word): word for word in kind}
            return union([self._typed(word, schema, name, depth) for word in list(words.values())[:10]])
        if kind is not None:
            return Unknown(f"type {json.dumps(kind)[:40]} is not known")
        if any(key in schema for key in _OBJECT_KEYS):
            return self._object(schema, name, depth)
        if any(key in schema for key in _ARRAY_KEYS):
            return self._array(schema, name, depth)
        return ANY

    def _typed(self, word: object, schema: Json, name: str, depth: int) -> Type:
        if word == "object":
            return self._object(schema, name, depth)
        if word == "array":
            return self._array(schema, name, depth)
        scalar = _SCALARS.get(word) if isinstance(word, str) else None
        return scalar or Unknown(one_line(f"type {json.dumps(word)[:40]} is not known"))

    def _object(self, schema: Json, place: str, depth: int) -> Type:
        properties = schema.get("properties")
        if properties is not None and not is_object(properties):
            return Map(Unknown("its properties are not an object"))
        required = schema.get("required")
        needed = {key for key in required if isinstance(key, str)} if is_list(required) else set[str]()
        extra = self._extra(schema, place, depth)
        properties = properties or {}
        if not properties and not needed:
            return Map(extra or ANY)
        fields: list[Field] = []
        for key, part in properties.items():
            kind = self.read(part, key, depth + 1)
            if isinstance(kind, Object) and kind.text:  # the field says the same
                kind = Object(kind.name, kind.fields, kind.extra)
            fields.append(Field(key, kind, key in needed, describe(part, kind, key), _sample(part)))
        # Required and yet not described: it exists, and nothing more is known.
        fields += [Field(key, ANY, True) for key in sorted(needed - properties.keys())]
        text = schema.get("description")
        text = text if depth and isinstance(text, str) else ""
        name = _title(schema) if depth else ""
        return Object(type_name(name or place) or "Value", tuple(fields), extra, text)

    def _extra(self, schema: Json, name: str, depth: int) -> Type | None:
        """The type of properties that have no name in the schema; None where it does not speak of any."""
        more = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
        options: list[Type] = []
        patterns = schema.get("patternProperties")
        if is_object(patterns):
            options += [self.read(part, f"{name}Value", depth + 1) for part in patterns.values()]
        if more is not None and more is not False:
            options.append(self.read(more, f"{name}Value", depth + 1))
        return union(options) if options else None

    def _array(self, schema: Json, name: str, depth: int) -> Type:
        items = schema.get("items")
        places = schema.get("prefixItems", items if is_list(items) else None)
        rest = schema.get("additionalItems") if is_list(items) else items
        if is_list(places) and places:
            kinds = [self.read(part, name, depth + 1) for part in places]
            closed = rest is False or schema.get("maxItems") == len(places)
            if closed and schema.get("minItems", len(places)) == len(places):
                return Tuple(tuple(kinds))
            if not closed:
                kinds.append(self.read(True if rest is None else rest, name, depth + 1))
            return Array(union(kinds))
        if items is None or is_list(items):
            return Array(ANY)
        return Array(self.read(items, _singular(name), depth + 1))

    def _follow(self, reference: object, depth: int) -> Type:
        if not isinstance(reference, str):
            return Unknown("its $ref is not a text")
        if reference in self._open:
            self._met_again.add(reference)
            return Reference(self._name(reference))
        if reference in self.defined:
            return Reference(self._name(reference))
        if reference in self._inline:
            return self._inline[reference]
        target = self._target(reference)
        if target is None:
            return Unknown(one_line(f"$ref {reference[:80]} leads nowhere in the schema"))
        self._open.add(reference)
        kind = self.read(target, _last_step(reference), depth + 1)
        self._open.discard(reference)
        if isinstance(kind, Reference) and reference not in self._met_again:
            return kind  # a definition that only leads to another
        if isinstance(kind, Object) or reference in self._met_again or not is_writable(kind, _INLINE):
            name = self._name(reference)
            kind = _without(name, kind)
            if isinstance(kind, Unknown):
                self._inline[reference] = kind
                return kind
            self.defined[reference] = self._by_name[name] = kind
            return Reference(name)
        self._inline[reference] = kind
        return kind

    def _name(self, reference: str) -> str:
        if reference not in self.names:
            plain = type_name(_last_step(reference)) or "Value"
            number = self._taken.get(plain, 0) + 1
            while number > 1 and f"{plain}{number}" in self._taken:
                number += 1
            self._taken[plain] = number
            name = plain if number == 1 else f"{plain}{number}"
            self._taken.setdefault(name, 1)
            self.names[reference] = name
        return self.names[reference]

    def _known(self, name: str) -> Type | None:
        return self._by_name.get(name)

    def _target(self, reference: str) -> object:
        """The schema that a reference within the document names, by its place, its `$anchor` or its `$id`."""
        if reference == "#":
            return self._root
        if reference.startswith("#/"):
            place = self._root
            for step in reference[2:].split("/"):
                key = unquote(step).replace("~1", "/").replace("~0", "~")
                if is_object(place) and key in place:
                    place = place[key]
                elif is_list(place) and key.isdecimal() and len(key) < 6 and int(key) < len(place):
                    place = place[int(key)]
                else:
                    return None
            return place if is_object(place) or isinstance(place, bool) else None
        if self._marked is None:
            self._marked = _marked(self._root)
        return self._marked.get(reference)


def _parts(schema: Json, key: str) -> list[Any]:
    parts = schema.get(key)
    return parts if is_list(parts) else []


def _choice(values: list[Any]) -> Type:
    scalars = tuple(value for value in values if value is None or isinstance(value, str | int | float))
    if len(scalars) < len(values):
        others: set[Type] = {
            Map(ANY) if is_object(value) else Array(ANY) for value in values if not _is_scalar(value)
        }
        return union([*([Choice(scalars)] if scalars else []), *others])
    if scalars == (None,):
        return NULL
    return union([Choice(scalars)])


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _without(name: str, kind: Type) -> Type:
    """A definition without itself as an alternative, which says nothing."""
    options = kind.options if isinstance(kind, Union) else (kind,)
    others = [option for option in options if option != Reference(name)]
    return union(others) if others else Unknown("a reference to itself")


def _marked(root: object) -> dict[str, object]:
    """The subschemas that have a `$anchor` or an `$id`, by what refers to them."""
    found: dict[str, object] = {}
    waiting, seen = [root], 0
    while waiting and seen < _MOST_NODES:
        place = waiting.pop()
        seen += 1
        if is_object(place):
            for key in ("$id", "id"):
                if isinstance(place.get(key), str):
                    found.setdefault(place[key], place)
            if isinstance(place.get("$anchor"), str):
                found.setdefault(f"#{place['$anchor']}", place)
            waiting += place.values()
        elif is_list(place):
            waiting += place
    return found


def _sample(schema: object) -> Any:
    """A value that the schema offers, or one of the format that it demands."""
    if not is_object(schema) or _SAMPLES.isdisjoint(schema):
        return None
    for key in ("examples", "enum"):
        values = schema.get(key)
        if is_list(values) and values:
            return values[0]
    for key in ("example", "default", "const"):
        if schema.get(key) is not None:
            return schema[key]
    word = schema.get("format")
    return FORMATS.get(word) if isinstance(word, str) else None


def _option_name(schema: object, name: str) -> str:
    """What to call one of several: by its title, or by the constant that tells it from the others."""
    if not is_object(schema):
        return name
    if title := _title(schema):
        return title
    properties = schema.get("properties")
    for part in properties.values() if is_object(properties) else ():
        value = part.get("const") if is_object(part) else None
        if isinstance(value, str) and len(value) <= 40 and type_name(value):
            return f"{value}_{name}"
    return name


def _title(schema: Json) -> str:
    """Its title, where that can be the name of a type."""
    title = schema.get("title")
    return title if isinstance(title, str) and len(title) <= 40 and type_name(title) else ""


def _singular(name: str) -> str:
    lower = name.lower()
    for many, one in _IRREGULAR.items():
        if lower.endswith(many):
            return name[: len(name) - len(many) + 1] + one[1:]
    if name.endswith("ies") and len(name) > 4:
        return name[:-3] + "y"
    if lower.endswith(("sses", "xes", "shes", "tches")):
        return name[:-2]
    if name.endswith("s") and not name.endswith(("ss", "us", "is")) and len(name) > 2:
        return name[:-1]
    return f"{name}Item"


def _last_step(reference: str) -> str:
    steps = [
        step
        for step in reference.split("/")
        if step not in ("#", "items", "properties") and not step.isdecimal()
    ]
    return unquote(steps[-1]).replace("~1", "/").replace("~0", "~") if steps else "Value"

"""Schemas by chance: made of what JSON Schema has, with names that languages keep for themselves."""

from random import Random
from typing import Any

from satchel.model import Json

_NAMES = [
    "", "a b", "id", "from", "class", "_id", "user-id", "none", "true", "list", "str", "Any", "call", "omit",
    "Record", "locals", "self", "cls", "items", "get", "type", "名前", "1st", "__x__", "dict", "value",
    "import", "Literal", "tuple", "int", "kind", "metaclass", "extra", "arguments", "input", "then",
    "Promise", "float", "bool", "eq", "init", "order", "_", "x", "X", "tool", "Output", "match", "print",
    "async", "names", "fields", "TypeAlias", "annotations", "number",
]  # fmt: skip
_DEFINITIONS = ["A", "B", "node", "none", "Record", "Any", "str", "Tool"]
_TOOLS = [
    "tool",
    "get_x",
    "list",
    "call",
    "Any",
    "str",
    "omit",
    "_hidden",
    "then",
    "locals",
    "None",
    "dict",
    "A",
]
_TEXTS = ["text", "type: ignore", 'ends in """', "*/", "a\nb", "pyright: basic", "\\", "# noqa"]
_ENUM = ["a", "b", 1, 2, True, False, None, 1.5, -3, "None", {"a": 1}, [1], 1e300, 10**30]
_DEFAULTS = ["x", 1, 2.5, True, None, [1], ["a"], {"a": 1}, {}]
_LEAVES = [
    {}, True, False, {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"},
    {"type": "null"}, {"type": "wat"}, {"$ref": "#/nowhere"}, {"type": "string", "nullable": True},
]  # fmt: skip
_DEEPEST = 5


def chance_definition(random: Random) -> Json:
    """A tool's definition."""
    definition: Json = {"name": random.choice(_TOOLS), "inputSchema": chance_schema(random)}
    if random.random() < 0.5:
        definition["description"] = random.choice(_TEXTS)
    if random.random() < 0.7:
        definition["outputSchema"] = chance_schema(random)
    return definition


def chance_schema(random: Random) -> Any:
    """A whole schema with its definitions; mostly that of an object."""
    schema = _object(random, 1) if random.random() < 0.7 else _part(random, 0)
    if not isinstance(schema, dict):
        return schema
    return {**schema, "$defs": {name: _part(random, 1) for name in _DEFINITIONS}}


def _part(random: Random, depth: int) -> Any:
    if depth >= _DEEPEST or random.random() < 0.15:
        return dict(leaf) if isinstance(leaf := random.choice(_LEAVES), dict) else leaf
    write = random.choice(
        [_object, _object, _array, _choice, _composed, _composed, _reference, _several, _described]
    )
    return write(random, depth + 1)


def _object(random: Random, depth: int) -> Json:
    properties = {random.choice(_NAMES): _part(random, depth) for _ in range(random.randint(0, 4))}
    schema: Json = {"type": "object", "properties": properties}
    if random.random() < 0.7:
        schema["required"] = random.sample(list(properties), random.randint(0, len(properties)))
    if random.random() < 0.3:
        schema["additionalProperties"] = random.choice([True, False, _part(random, depth)])
    if random.random() < 0.1:
        schema["patternProperties"] = {"^x": _part(random, depth)}
    if random.random() < 0.2:
        schema["description"] = random.choice(_TEXTS)
    return schema


def _array(random: Random, depth: int) -> Json:
    if random.random() < 0.6:
        return {"type": "array", "items": _part(random, depth)}
    places = [_part(random, depth) for _ in range(random.randint(1, 3))]
    return {"type": "array", "prefixItems": places, **random.choice([{}, {"items": False}, {"maxItems": 2}])}


def _choice(random: Random, depth: int) -> Json:
    if random.random() < 0.3:
        return {"const": random.choice(_ENUM)}
    return {"enum": random.sample(_ENUM, random.randint(1, 4))}


def _composed(random: Random, depth: int) -> Json:
    parts = [_part(random, depth) for _ in range(random.randint(1, 3))]
    return {random.choice(["anyOf", "oneOf", "allOf"]): parts}


def _reference(random: Random, depth: int) -> Json:
    return {"$ref": random.choice([f"#/$defs/{name}" for name in _DEFINITIONS] + ["#"])}


def _several(random: Random, depth: int) -> Json:
    kinds = random.sample(["string", "integer", "object", "array", "null", "boolean", "number"], 2)
    return {
        "type": kinds,
        "properties": {random.choice(_NAMES): _part(random, depth)},
        "items": _part(random, depth),
    }


def _described(random: Random, depth: int) -> Json:
    return {
        "type": random.choice(["string", "integer", "array", "object"]),
        "description": random.choice(_TEXTS),
        "default": random.choice(_DEFAULTS),
        "format": "date",
    }

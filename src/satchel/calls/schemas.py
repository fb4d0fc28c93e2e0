"""Schemas as servers write them: walked only where schemas can stand, and made safe to check against."""

from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import unquote

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import extend as _untyped_extend  # pyright: ignore[reportUnknownVariableType]
from jsonschema.validators import validator_for

from satchel.model import Json, is_list, is_object

_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_SINGLE = (
    "items", "additionalItems", "contains", "additionalProperties", "unevaluatedProperties",
    "unevaluatedItems", "propertyNames", "not", "if", "then", "else",
)  # fmt: skip
# A regular expression from a server could keep us busy for ever, and formats are regular expressions too.
# What depends on which names a pattern matched can't be checked without it. Unique items are compared each
# with each other.
_LEFT_TO_THE_SERVER = ("pattern", "patternProperties", "format", "uniqueItems")
_DEPENDING = ("additionalProperties", "unevaluatedProperties")
_DEEPEST = 100
_MOST_STEPS = 20_000  # a tenth of a second or so
_steps = 0
_extend: Any = cast("Any", _untyped_extend)


def checkable(schema: object, depth: int = 0) -> Any:
    """The schema without what is left to the server to check."""
    if not is_object(schema) or depth > _DEEPEST:
        return schema
    safe: Json = {}
    for key, value in schema.items():
        if key in _LEFT_TO_THE_SERVER or (key in _DEPENDING and "patternProperties" in schema):
            continue
        if key in _MAPS and is_object(value):
            safe[key] = {name: checkable(part, depth + 1) for name, part in value.items()}
        elif key in _LISTS and is_list(value):
            safe[key] = [checkable(part, depth + 1) for part in value]
        elif key in _SINGLE:
            safe[key] = checkable(value, depth + 1)
        else:
            safe[key] = value
    return safe


def validator_class(schema: object) -> Any:
    """The draft that a schema names, or the newest where it names none that is known."""
    try:
        return validator_for(schema if is_object(schema) else True, default=Draft202012Validator)
    except (TypeError, ValueError):
        return Draft202012Validator


class TooMuchWorkError(Exception):
    """A schema of a page can mean years of checking, and arguments of a megabyte seconds."""


def start_work() -> None:
    """Begin to count the steps of one check."""
    global _steps
    _steps = 0


def bounded(kind: Any) -> Any:
    """A validator class that gives up after a number of steps; see TooMuchWorkError."""

    def count(check: Any) -> Any:
        def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            global _steps
            _steps += 1
            if _steps > _MOST_STEPS:
                raise TooMuchWorkError
            return check(validator, value, instance, schema)

        return counted

    return _extend(kind, {keyword: count(check) for keyword, check in kind.VALIDATORS.items()})


def schema_problem(schema: object) -> str | None:
    """Why a schema is not valid JSON Schema, or None."""
    if not is_object(schema) and not isinstance(schema, bool):
        return "is not an object"
    try:
        validator_class(schema).check_schema(checkable(schema))
        return _lost_reference(schema)
    except SchemaError as error:
        place = "/".join(str(part) for part in error.absolute_path)
        return f"{error.message[:200]}" + (f" at {place}" if place else "")
    except RecursionError:
        return "is nested too deeply"
    except Exception as error:  # noqa: BLE001  the metaschema's own machinery stumbles over some oddities
        return f"can't be read: {type(error).__name__}"


def _lost_reference(root: Json | bool) -> str | None:
    """A local $ref that leads nowhere."""
    for schema in _subschemas(root):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/") and follow(reference, root) is None:
            return f"$ref {reference} leads nowhere"
    return None


def follow(reference: object, root: object) -> Json | bool | None:
    """The schema that a local $ref names; None when there is none."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    place = root
    for step in reference[2:].split("/"):
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if is_object(place) and key in place:
            place = place[key]
        elif is_list(place) and key.isascii() and key.isdecimal() and int(key) < len(place):
            place = place[int(key)]
        else:
            return None
    return place if is_object(place) or isinstance(place, bool) else None


def _subschemas(schema: object, depth: int = 0) -> Iterator[Json]:
    if not is_object(schema) or depth > _DEEPEST:
        return
    yield schema
    for key in _MAPS:
        parts = schema.get(key)
        for part in parts.values() if is_object(parts) else ():
            yield from _subschemas(part, depth + 1)
    for key in {*_LISTS, *_SINGLE}:
        parts = schema.get(key)
        for part in parts if is_list(parts) else [parts]:
            yield from _subschemas(part, depth + 1)

"""Arguments against a tool's schema, with messages that say which, what was expected, and the closest name.

A schema that is itself faulty never blocks a call: what can't be checked here is left to the server. Patterns
are left to it as well, because a regular expression from a server could keep us busy for ever.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend as _untyped_extend  # pyright: ignore[reportUnknownVariableType]
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from satchel.errors import ArgumentError
from satchel.model import Json, Tool, is_list, is_object
from satchel.names import closest

_CACHE_SIZE = 512
_extend: Any = cast("Any", _untyped_extend)
_validators: OrderedDict[str, Any] = OrderedDict()
_TYPES = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_COMPOSED = ("anyOf", "oneOf", "allOf", "$ref", "patternProperties", "if", "dependentSchemas", "$dynamicRef")


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> None:
    """Raise ArgumentError for the first thing that is wrong."""
    for error in _errors(tool, arguments):
        raise error


def schema_problem(schema: object) -> str | None:
    """Why a schema is not valid JSON Schema, or None."""
    if not is_object(schema) and not isinstance(schema, bool):
        return "is not an object"
    kind: Any = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        place = "/".join(str(part) for part in error.absolute_path)
        return f"{error.message[:200]}" + (f" at {place}" if place else "")
    except RecursionError:
        return "is nested too deeply"
    return _lost_reference(schema, schema)


def describe_parameter(schema: object) -> str:
    """What a parameter takes, in a few words."""
    if not is_object(schema):
        return "any value"
    options = schema.get("enum")
    if is_list(options):
        return "one of " + ", ".join(str(value) for value in options)
    if "const" in schema:
        return str(schema["const"])
    for key in ("anyOf", "oneOf"):
        parts = schema.get(key)
        if is_list(parts):
            return " or ".join(dict.fromkeys(describe_parameter(part) for part in parts))
    kind, items = schema.get("type"), schema.get("items")
    if is_list(kind):
        return " or ".join(_TYPES.get(str(word), str(word)) for word in kind)
    if kind == "array" and is_object(items) and "type" in items:
        return f"a list of {items['type']}"
    return _TYPES.get(str(kind), "any value") if kind else "any value"


def _errors(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[ArgumentError]:
    schema = tool.input_schema
    properties = schema.get("properties")
    known = properties if is_object(properties) else {}
    yield from _unknown(schema, known, arguments)
    validator = _validator(tool)
    if validator is None:
        return
    try:
        for error in validator.iter_errors(dict(arguments)):
            yield _worded(error, known)
    except (Unresolvable, RecursionError, TypeError, ValueError, AttributeError):
        return  # the schema is at fault, not the arguments


def _unknown(
    schema: Mapping[str, Any], known: Mapping[str, Any], arguments: Mapping[str, Any]
) -> Iterator[ArgumentError]:
    """A name the tool does not have. Strictly, JSON Schema lets it pass; in practice it is a typing error."""
    if (
        not known
        or any(key in schema for key in _COMPOSED)
        or schema.get("additionalProperties") not in (None, False)
    ):
        return
    for name in arguments:
        if name not in known:
            near = closest(name, known, limit=1)
            hint = f"did you mean '{near[0]}'?" if near else "it takes " + ", ".join(known)
            yield ArgumentError(f"unknown argument '{name}'", argument=name, hint=hint)


def _worded(error: ValidationError, known: Mapping[str, Any]) -> ArgumentError:
    path = [str(part) for part in error.absolute_path]
    name = ".".join(path)
    value: Any = error.instance
    if error.validator == "required":
        missing = next(key for key in cast("list[str]", error.validator_value) if key not in value)
        full = ".".join([*path, missing])
        parameter = known.get(missing) if not path else None
        hint = f"it is {describe_parameter(parameter)}" if parameter is not None else None
        text = parameter.get("description") if is_object(parameter) else None
        if hint and isinstance(text, str) and text.strip():
            hint += f": {text.strip().splitlines()[0][:160]}"
        return ArgumentError(f"missing argument '{full}'", argument=full, hint=hint)
    if error.validator == "enum":
        options = [str(option) for option in cast("list[Any]", error.validator_value)]
        near = closest(str(value), options, limit=1)
        hint = f"did you mean '{near[0]}'?" if near else None
        listed = ", ".join(options[:20]) + (", …" if len(options) > 20 else "")
        return ArgumentError(
            f"argument '{name}' is {_shown(value)}; it can be {listed}", argument=name, hint=hint
        )
    if error.validator in ("type", "anyOf", "oneOf"):
        expected = describe_parameter(error.schema)
        return ArgumentError(f"argument '{name}' must be {expected}, not {_shown(value)}", argument=name)
    where = f"argument '{name}'" if name else "arguments"
    return ArgumentError(f"{where}: {error.message[:300]}", argument=name or None)


def _validator(tool: Tool) -> Any | None:
    """The compiled schema, kept by the definition's digest; None when the schema is faulty."""
    if tool.digest in _validators:
        _validators.move_to_end(tool.digest)
        return _validators[tool.digest]
    schema = tool.input_schema
    validator: Any = None
    if schema_problem(schema) is None:
        lenient: Any = _extend(
            validator_for(schema, default=Draft202012Validator),
            {"pattern": _pass, "patternProperties": _pass, "format": _pass},
        )
        nothing: Any = Registry[Any]()  # nothing is ever fetched for a $ref
        validator = lenient(schema, registry=nothing)
    _validators[tool.digest] = validator
    if len(_validators) > _CACHE_SIZE:
        _validators.popitem(last=False)
    return validator


def _pass(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    return iter(())


def _lost_reference(schema: object, root: Json | bool, depth: int = 0) -> str | None:
    """A local $ref that leads nowhere."""
    if depth > 60:
        return None
    if is_object(schema):
        reference = schema.get("$ref")
        if (
            isinstance(reference, str)
            and reference.startswith("#/")
            and not _leads_somewhere(reference, root)
        ):
            return f"$ref {reference} leads nowhere"
    parts = schema.values() if is_object(schema) else schema if is_list(schema) else ()
    return next((lost for part in parts if (lost := _lost_reference(part, root, depth + 1))), None)


def _leads_somewhere(reference: str, place: object) -> bool:
    for step in reference[2:].split("/"):
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if is_object(place) and key in place:
            place = place[key]
        elif is_list(place) and key.isdigit() and int(key) < len(place):
            place = place[int(key)]
        else:
            return False
    return True


def _shown(value: object) -> str:
    text = (
        "true" if value is True else "false" if value is False else "null" if value is None else repr(value)
    )
    return text if len(text) <= 60 else text[:57] + "..."

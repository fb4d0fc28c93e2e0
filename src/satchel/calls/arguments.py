"""Arguments against a tool's schema, with messages that say which, what was expected, and the closest name.

A schema that is itself faulty never blocks a call: what can't be checked here is left to the server.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, cast

from jsonschema.exceptions import (
    ValidationError,
    best_match,  # pyright: ignore[reportUnknownVariableType]
)
from referencing import Registry

from satchel.calls.schemas import bounded, checkable, follow, schema_problem, start_work, validator_class
from satchel.errors import ArgumentError
from satchel.model import (
    Call,
    Caller,
    CallResult,
    CallTool,
    Json,
    Link,
    Prompt,
    Resource,
    Tool,
    is_list,
    is_object,
)
from satchel.names import closest
from satchel.support.text import label

MOST = 1_000
"""The maximum number of arguments of a prompt or a completion; each one is sent on."""
_CACHE_SIZE = 512
_MOST_ERRORS = 50  # among which the one to tell is chosen
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
_MANY = {
    "string": "strings",
    "integer": "whole numbers",
    "number": "numbers",
    "boolean": "true or false",
    "array": "lists",
    "object": "objects",
}
_NOTES = {"title", "description", "default", "examples"}
_PLAIN_KEYS = {"type", "properties", "required", "additionalProperties", "$schema"} | _NOTES
_PLAIN_PART_KEYS = {"type"} | _NOTES
_PLAIN_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_plain: dict[str, tuple[dict[str, tuple[type, ...]], frozenset[str]] | None] = {}
_COMPOSED = ("anyOf", "oneOf", "allOf", "$ref", "patternProperties", "if", "dependentSchemas", "$dynamicRef")


StandsFor = Callable[[object], bool]
"""Whether a value has a token of privacy in it, whose real value is checked before it is sent."""


def check_arguments(tokens_of: Callable[[Caller], StandsFor | None] = lambda caller: None) -> Link:
    """Refuse arguments that don't fit before a server is even started."""

    def link(call_next: CallTool) -> CallTool:
        async def check(call: Call) -> CallResult:
            if call.action == "use":
                check_call(call.what, call.arguments, tokens_of(call.caller))
            return await call_next(call)

        return check

    return link


def check_call(
    what: Tool | Resource | Prompt, arguments: Mapping[str, Any], is_token: StandsFor | None = None
) -> None:
    """Raise ArgumentError for what is most clearly wrong. A resource takes none.

    Of a value that has a token in it, formats, patterns and types are not looked at.
    """
    if isinstance(what, Tool):
        _check_tool(what, arguments, is_token)
    elif isinstance(what, Prompt):
        _check_prompt(what, arguments)


def check_count(arguments: Mapping[str, Any]) -> None:
    """Raise ArgumentError for more than a prompt or a completion may have, before each is looked at."""
    if len(arguments) > MOST:
        raise ArgumentError(f"{len(arguments):,} arguments; at most {MOST:,} can be given")


def _check_prompt(prompt: Prompt, arguments: Mapping[str, Any]) -> None:
    """By what the server has listed; a prompt that lists no arguments is left to it."""
    known = [argument.name for argument in prompt.arguments]
    for name, value in arguments.items():
        if known and name not in known:
            near = closest(name, known, limit=1)
            hint = f"did you mean '{near[0]}'?" if near else "it takes " + ", ".join(known)
            raise ArgumentError(f"unknown argument '{label(name)}'", argument=name, hint=hint)
        if not isinstance(value, str):
            raise ArgumentError(f"argument '{name}' must be a string, not {_shown(value)}", argument=name)
    for argument in prompt.arguments:
        if argument.required and argument.name not in arguments:
            text = argument.description.strip()
            hint = f"it is a string: {text.splitlines()[0][:160]}" if text else None
            raise ArgumentError(f"missing argument '{argument.name}'", argument=argument.name, hint=hint)


def _check_tool(tool: Tool, arguments: Mapping[str, Any], is_token: StandsFor | None = None) -> None:
    if _is_plainly_fit(tool, arguments):
        return
    validator = _validator(tool)
    if validator is None:
        return
    schema = tool.input_schema
    properties = schema.get("properties")
    known = properties if is_object(properties) else {}
    for error in _unknown(schema, known, arguments):
        raise error
    try:
        start_work()
        errors: Any = validator.iter_errors(dict(arguments))
        if is_token is not None:
            errors = (one for one in errors if not is_token(one.instance))
        errors = islice(errors, _MOST_ERRORS)
        error = cast("ValidationError | None", best_match(errors))
    except Exception:  # noqa: BLE001  any failure here is the schema's, not the arguments'
        return
    if error is not None:
        raise _worded(error, schema)


def _is_plainly_fit(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Whether a glance is enough, as for most calls: a flat schema of plain types, and values of them."""
    if tool.digest not in _plain:
        if len(_plain) >= _CACHE_SIZE:
            _plain.clear()
        _plain[tool.digest] = _plain_types(tool.input_schema)
    kinds, required = _plain[tool.digest] or ({}, frozenset({""}))
    return required <= arguments.keys() and all(
        name in kinds and type(value) in kinds[name] for name, value in arguments.items()
    )


def _plain_types(schema: Json) -> tuple[dict[str, tuple[type, ...]], frozenset[str]] | None:
    """(the Python types of each parameter, those that are required) of a schema that says nothing else."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if schema.get("type") != "object" or not schema.keys() <= _PLAIN_KEYS or not is_object(properties):
        return None
    if not is_list(required) or not all(isinstance(name, str) for name in required):
        return None
    kinds: dict[str, tuple[type, ...]] = {}
    for name, part in properties.items():
        kind = str(part.get("type")) if is_object(part) else ""
        if not is_object(part) or not part.keys() <= _PLAIN_PART_KEYS or kind not in _PLAIN_TYPES:
            return None
        kinds[name] = _PLAIN_TYPES[kind]
    return kinds, frozenset(required)


def argument_problem(tool: Tool, name: str, value: Any) -> str | None:
    """The problem with one argument, apart from the others; None if it is fine or can't be checked."""
    validator = _validator(tool)
    if validator is None:
        return None
    try:
        start_work()
        errors = [
            error for error in validator.iter_errors({name: value}) if list(error.absolute_path)[:1] == [name]
        ]
        error = cast("ValidationError | None", best_match(errors))
    except Exception:  # noqa: BLE001  as above
        return None
    return _worded(error, tool.input_schema).message if error is not None else None


def describe_parameter(schema: object, root: object = None, depth: int = 0) -> str:
    """The values that a parameter takes, in a few words."""
    target = follow(schema.get("$ref"), root) if is_object(schema) and "$ref" in schema else None
    if target is not None and depth < 10:
        return describe_parameter(target, root, depth + 1)
    if not is_object(schema):
        return "any value"
    options = schema.get("enum")
    if is_list(options):
        return "one of " + ", ".join(str(value) for value in options)
    if "const" in schema:
        return str(schema["const"])
    for key in ("anyOf", "oneOf"):
        parts = schema.get(key)
        if is_list(parts) and depth < 10:
            return " or ".join(dict.fromkeys(describe_parameter(part, root, depth + 1) for part in parts))
    kind, items = schema.get("type"), schema.get("items")
    if is_list(kind):
        return " or ".join(_TYPES.get(str(word), str(word)) for word in kind)
    if kind == "array" and is_object(items) and isinstance(items.get("type"), str):
        return f"a list of {_MANY.get(items['type'], items['type'])}"
    return _TYPES.get(str(kind), "any value") if kind else "any value"


def _unknown(schema: Json, known: Json, arguments: Mapping[str, Any]) -> Iterator[ArgumentError]:
    """A name the tool does not have. Strictly, JSON Schema lets it pass; in practice it is a typing error."""
    open_ended = schema.get("additionalProperties") not in (None, False)
    if not known or open_ended or any(key in schema for key in _COMPOSED):
        return
    for name in arguments:
        if name not in known:
            near = closest(name, known, limit=1)
            hint = f"did you mean '{near[0]}'?" if near else "it takes " + ", ".join(known)
            yield ArgumentError(f"unknown argument '{label(name)}'", argument=name, hint=hint)


def _worded(error: ValidationError, root: Json) -> ArgumentError:
    path = [str(part) for part in error.absolute_path]
    name = ".".join(path)
    value: Any = error.instance
    if error.validator == "required" and is_object(value):
        return _missing(error, path, value)
    if error.validator == "enum" and is_list(error.validator_value):
        options = [str(option) for option in error.validator_value]
        near = closest(str(value), options, limit=1)
        hint = f"did you mean '{near[0]}'?" if near else None
        listed = ", ".join(options[:20]) + (", …" if len(options) > 20 else "")
        return ArgumentError(
            f"argument '{name}' is {_shown(value)}; it can be {listed}", argument=name, hint=hint
        )
    if error.validator in ("anyOf", "oneOf") and not path:
        needed = [
            part.get("required") for part in cast("list[Any]", error.validator_value) if is_object(part)
        ]
        groups = [" and ".join(map(str, names)) for names in needed if is_list(names)]
        if groups:
            return ArgumentError(f"arguments: {' or '.join(groups)} must be given")
    expected = describe_parameter(_expected(error), root)
    if (
        error.validator in ("type", "anyOf", "oneOf")
        and name
        and expected != "any value"
        and not _is_fit(error)
    ):
        return ArgumentError(f"argument '{name}' must be {expected}, not {_shown(value)}", argument=name)
    where = f"argument '{name}'" if name else "arguments"
    return ArgumentError(f"{where}: {str(error.message)[:300]}", argument=name or None)


def _expected(error: ValidationError) -> object:
    """The schema to describe: of an alternative that failed by type, all alternatives."""
    parent = error.parent
    if error.validator == "type" and parent is not None and parent.validator in ("anyOf", "oneOf"):
        same = list(parent.absolute_path) == list(error.absolute_path)
        return cast("object", parent.schema) if same else cast("object", error.schema)
    return cast("object", error.schema)


def _is_fit(error: ValidationError) -> bool:
    """Whether oneOf failed because more than one alternative fits, which is not a matter of type."""
    return error.validator == "oneOf" and not error.context


def _missing(error: ValidationError, path: list[str], value: Json) -> ArgumentError:
    missing = next(str(key) for key in cast("list[Any]", error.validator_value) if key not in value)
    full = ".".join([*path, missing])
    properties = error.schema.get("properties") if is_object(error.schema) else None
    parameter = properties.get(missing) if is_object(properties) else None
    hint = f"it is {describe_parameter(parameter)}" if parameter is not None else None
    text = parameter.get("description") if is_object(parameter) else None
    if hint and isinstance(text, str) and text.strip():
        hint += f": {text.strip().splitlines()[0][:160]}"
    return ArgumentError(f"missing argument '{full}'", argument=full, hint=hint)


def _validator(tool: Tool) -> Any | None:
    """The compiled schema, kept by the definition's digest; None when the schema is faulty."""
    if tool.digest in _validators:
        _validators.move_to_end(tool.digest)
        return _validators[tool.digest]
    schema = tool.input_schema
    validator: Any = None
    if schema_problem(schema) is None:
        nothing: Any = Registry[Any]()  # nothing is ever fetched for a $ref
        validator = bounded(validator_class(schema))(checkable(schema), registry=nothing)
    _validators[tool.digest] = validator
    if len(_validators) > _CACHE_SIZE:
        _validators.popitem(last=False)
    return validator


def _shown(value: object) -> str:
    text = (
        "true" if value is True else "false" if value is False else "null" if value is None else repr(value)
    )
    return text if len(text) <= 60 else text[:57] + "..."

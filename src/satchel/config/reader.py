"""Plain data from a file into a frozen dataclass, with errors that name the key and the closest known one.

The dataclass is the schema: its fields are the known keys, their annotations the types, their defaults the
defaults. Annotations are a scalar, a Literal, a dataclass, `X | None`, `tuple[X, ...]` or `Mapping[str, X]`.
The metadata of a field may say how its key is spelled (`key`), and that a single value is a list of `one`.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from math import isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from satchel.errors import ConfigError
from satchel.names import closest

T = TypeVar("T")
Key = tuple[str | int, ...]
Locate = Callable[[Key], tuple[Path, int | None]]

_WORDS = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}


def read_dataclass(kind: type[T], data: object, locate: Locate, key: Key = ()) -> T:
    """Build `kind` from `data`, or raise ConfigError."""
    if data is None:
        data = {}
    if not isinstance(data, Mapping):
        raise _misfit(locate, key, "expected keys and values", f", found {_shown(data)}")
    known = {key_in_file(field): field for field in fields(cast(Any, kind))}
    values: dict[str, Any] = {}
    for name, value in cast("Mapping[Any, Any]", data).items():
        here = (*key, str(name))
        if name not in known:
            near = closest(str(name), known, limit=1)
            hint = f"did you mean '{near[0]}'?" if near else "known keys: " + ", ".join(known)
            raise _error(locate, here, f"unknown key '{_dotted(here)}'", hint=hint)
        field = known[name]
        if field.metadata.get("one") and isinstance(value, str):
            value = [value]
        values[field.name] = _read(field.type, value, locate, here)
        if field.metadata.get("positive") and values[field.name] == 0:
            raise _error(locate, here, f"'{_dotted(here)}' must be more than 0")
    missing = [name for name, field in known.items() if is_required(field) and field.name not in values]
    if missing:
        raise _error(locate, key, f"'{_dotted(key)}' has no '{missing[0]}'")
    return kind(**values)


def key_in_file(field: Field[Any]) -> str:
    """How a field is spelled in the file."""
    return field.metadata.get("key", field.name)


def is_required(field: Field[Any]) -> bool:
    """Whether the file has to say it."""
    return field.default is MISSING and field.default_factory is MISSING


def _read(kind: Any, value: object, locate: Locate, key: Key) -> Any:
    if isinstance(kind, UnionType) or get_origin(kind) is Union:  # the latter is what Literal | None is
        options = [option for option in get_args(kind) if option is not NoneType]
        if value is None and NoneType in get_args(kind):
            return None
        return _read(options[0], value, locate, key)
    origin = get_origin(kind)
    if origin is Literal:
        if value not in get_args(kind):
            allowed = ", ".join(str(option) for option in get_args(kind))
            raise _error(locate, key, f"'{_dotted(key)}' is {_shown(value)}; it can be {allowed}")
        return value
    if origin is tuple:
        if not isinstance(value, list):
            raise _misfit(locate, key, f"'{_dotted(key)}' must be a list", f", not {_shown(value)}")
        item = get_args(kind)[0]
        return tuple(_read(item, part, locate, (*key, i)) for i, part in enumerate(cast("list[Any]", value)))
    if origin is not None:  # Mapping[str, X]
        if not isinstance(value, Mapping):
            raise _misfit(locate, key, f"'{_dotted(key)}' must be keys and values", f", not {_shown(value)}")
        item = get_args(kind)[1]
        parts = cast("Mapping[Any, Any]", value).items()
        return {str(name): _read(item, part, locate, (*key, str(name))) for name, part in parts}
    if is_dataclass(kind):
        return read_dataclass(cast("type[Any]", kind), value, locate, key)
    return _read_scalar(kind, value, locate, key)


def _read_scalar(kind: Any, value: object, locate: Locate, key: Key) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _misfit(locate, key, f"'{_dotted(key)}' must be {_WORDS[kind]}", f", not {_shown(value)}")
    if kind is float and not isfinite(cast(float, value)):
        raise _error(locate, key, f"'{_dotted(key)}' must be a number, not {value}")
    if kind in (int, float) and cast(float, value) < 0:
        raise _error(locate, key, f"'{_dotted(key)}' must not be negative, found {value}")
    return value


def _misfit(locate: Locate, key: Key, expected: str, found: str) -> ConfigError:
    """The value found is shown to people only, because it may contain a secret."""
    file, line = locate(key)
    return ConfigError(expected + found, file=file, line=line, key=_dotted(key), brief=expected)


def _error(locate: Locate, key: Key, message: str, *, hint: str | None = None) -> ConfigError:
    file, line = locate(key)
    return ConfigError(message, file=file, line=line, key=_dotted(key), hint=hint)


def _dotted(key: Key) -> str:
    return ".".join(str(part) for part in key)


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    try:
        text = repr(value)
    except RecursionError:
        text = "something nested too deeply"
    return text if len(text) <= 60 else text[:57] + "..."

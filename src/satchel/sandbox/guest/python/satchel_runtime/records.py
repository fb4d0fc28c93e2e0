"""Records: JSON objects whose known keys are also attributes.

A record is a dict, so it prints, serialises and unpacks like one, keeps keys that its class does not know,
and holds whatever came even where that is not what the schema promised. It is a dataclass too: the
annotations in the class body are its fields, and `Document(title="…")` makes one.

    class Document(Record):
        title: str
        owner: Owner | None = None      # not sent by every server: None when absent

    class Filter(Record, from_="from"): # the attribute `from_` is the key "from"
        from_: str = omit               # not sent unless given

`Filter(from_="a")` and `Filter(**{"from": "a"})` are the same.
"""

import dataclasses
import sys
import typing
from types import UnionType
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin

JsonOrText: TypeAlias = Any
"""A result whose type the server does not declare: what its JSON says, or its text."""

Read = typing.Callable[[Any], Any]


class _Omit:
    """The default of arguments that are not sent unless given. None is a value, and is sent."""

    def __repr__(self) -> str:
        return "omit"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "omit"  # there is only one, also after copying or unpickling


omit: Any = _Omit()


class _Attribute:
    """One field as an attribute: the value lives in the dict, under the key that JSON has."""

    __slots__ = ("default", "key", "name")

    def __init__(self, name: str, key: str, default: Any) -> None:
        self.name, self.key, self.default = name, key, default

    def __get__(self, record: "Record | None", owner: type) -> Any:
        if record is None:
            return self
        try:
            return record[self.key]
        except KeyError:
            pass
        if self.default is dataclasses.MISSING:
            there = ", ".join(map(repr, record)) or "nothing"
            raise AttributeError(
                f"this {owner.__name__} has no {self.key!r}; it has {there}", name=self.name, obj=record
            )
        return self.default

    def __set__(self, record: "Record", value: Any) -> None:
        record[self.key] = value

    def __delete__(self, record: "Record") -> None:
        del record[self.key]


# Kept beside the classes, not in them: any name there may be a key of somebody's JSON.
_attributes: dict[type, dict[str, _Attribute]] = {}
_readers: dict[type, dict[str, Read]] = {}
_constants: dict[type, dict[str, tuple[Any, ...] | None]] = {}


@typing.dataclass_transform(kw_only_default=True)
class Record(dict[str, Any]):
    """Base of all records; see the module's text."""

    def __init_subclass__(cls, **keys: str) -> None:
        super().__init_subclass__()
        dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)
        _attributes[cls] = {
            field.name: _Attribute(field.name, keys.get(field.name, field.name), field.default)
            for field in dataclasses.fields(cast(Any, cls))
        }
        for name, attribute in _attributes[cls].items():
            setattr(cls, name, attribute)

    def __init__(self, /, **values: Any) -> None:
        attributes = _attributes[type(self)]
        keys = {attribute.key for attribute in attributes.values()}
        given: dict[str, Any] = {}
        for name, value in values.items():  # by the attribute's name or by the key
            key = attributes[name].key if name in attributes else name
            if key not in keys or key in given:
                trouble = f"no field {name!r}" if key not in keys else f"{key!r} was given twice"
                raise _misfit(type(self), trouble)
            given[key] = value
        for name, attribute in attributes.items():
            if attribute.key in given:
                if given[attribute.key] is attribute.default:
                    del given[attribute.key]
            elif attribute.default is dataclasses.MISSING:
                raise _misfit(type(self), f"{name!r} is missing")
        super().__init__(given)


def _misfit(record: type[Record], trouble: str) -> TypeError:
    return TypeError(f"{record.__name__}: {trouble}; its fields are {', '.join(_attributes[record])}")


def _read(record: type[Record], value: dict[str, Any]) -> Record:
    """The record of a JSON object, fit or not."""
    if record not in _readers:  # worked out when the first one comes
        hints = _hints(record)
        found = {a.key: reader_of(hints[name]) for name, a in _attributes[record].items()}
        _readers[record] = {key: read for key, read in found.items() if read is not None}
    made = record.__new__(record)
    made.update(value)
    for key, read in _readers[record].items():
        if key in made:
            made[key] = read(made[key])
    return made


def _fit(record: type[Record], value: dict[str, Any]) -> int:
    """How many keys of a JSON object the record knows; -1 if it lacks one, or has another constant."""
    if record not in _constants:
        hints = _hints(record)
        _constants[record] = {a.key: _constant(hints[name]) for name, a in _attributes[record].items()}
    known = 0
    for attribute in _attributes[record].values():
        if attribute.key not in value:
            if attribute.default is dataclasses.MISSING:
                return -1
            continue
        constants = _constants[record][attribute.key]
        if constants is not None and value[attribute.key] not in constants:
            return -1
        known += 1
    return known


def _constant(hint: Any) -> tuple[Any, ...] | None:
    """The values of a Literal, optional or not."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if not all(part is type(None) or get_origin(part) is Literal for part in parts):
        return None
    return tuple(value for part in parts for value in (get_args(part) or (None,)))


def read_as(shape: Any, value: Any) -> Any:
    """The value with records where `shape`, a type, has them. What does not fit stays as it is."""
    read = reader_of(shape)
    if read is None:
        return value
    try:
        return read(value)
    except RecursionError:
        return value


def reader_of(shape: Any) -> Read | None:
    """The function that puts records into a value of that type; None where there are none to put."""
    if isinstance(shape, type) and issubclass(shape, Record):
        return lambda value: _read(shape, cast(Any, value)) if isinstance(value, dict) else value
    origin, arguments = get_origin(shape), get_args(shape)
    if origin is list:
        return _each_item(reader_of(arguments[0]))
    if origin is dict:
        return _each_value(reader_of(arguments[1]))
    if origin is tuple:
        return _each_place([reader_of(argument) for argument in arguments])
    if origin is Union or origin is UnionType:
        return _first_fit(arguments)
    return None


def _each_item(read: Read | None) -> Read | None:
    if read is None:
        return None
    return lambda value: (
        [read(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value
    )


def _each_value(read: Read | None) -> Read | None:
    if read is None:
        return None

    def read_values(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: read(part) for key, part in cast("dict[str, Any]", value).items()}

    return read_values


def _each_place(reads: list[Read | None]) -> Read | None:
    if not any(reads):
        return None

    def read_places(value: Any) -> Any:
        parts = cast("list[Any]", value if isinstance(value, list) else [])
        if len(parts) != len(reads):
            return cast(Any, value)
        return [read(part) if read else part for read, part in zip(reads, parts, strict=True)]

    return read_places


def _first_fit(options: tuple[Any, ...]) -> Read | None:
    records = [option for option in options if isinstance(option, type) and issubclass(option, Record)]
    others = [
        (get_origin(option), read)
        for option in options
        if option not in records and (read := reader_of(option)) is not None
    ]
    if not records and not others:
        return None

    def read_option(value: Any) -> Any:
        if isinstance(value, dict):
            known = cast("dict[str, Any]", value)
            best = max(records, key=lambda record: _fit(record, known)) if records else None
            if best is not None and (len(records) == 1 or _fit(best, known) >= 0):
                return _read(best, known)
        for origin, read in others:
            if origin is not None and isinstance(value, list if origin is tuple else origin):
                return read(value)
        return cast(Any, value)

    return read_option


def _hints(record: type[Record]) -> dict[str, Any]:
    return typing.get_type_hints(record, vars(sys.modules[record.__module__]), {})

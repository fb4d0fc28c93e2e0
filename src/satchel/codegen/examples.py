"""Plausible arguments, so that an example shows real calls. What a schema offers itself comes first."""

import re
from collections.abc import Sequence
from math import isfinite
from typing import Any

from satchel.codegen.samples import sample_text
from satchel.codegen.signature import Signature, resolve
from satchel.codegen.types import (
    NULL,
    STRING,
    Array,
    Choice,
    Field,
    Map,
    Object,
    Reference,
    Scalar,
    Shape,
    Tuple,
    Type,
    Union,
    Unknown,
)
from satchel.model import is_list, is_object

_MOST = 3  # calls in one example
_DEEPEST = 8
_MOST_VALUES = 100
_OFFERED = re.compile(r"(?:such as|[Ee]\.g\.,?:?|[Ff]or example,?:?) [\"'`]?([A-Za-z0-9][\w./:@#+-]*\w)")


def choose(signatures: Sequence[Signature]) -> list[Signature]:
    """The tools to show: those that change nothing and ask for little come first."""

    def weight(signature: Signature) -> tuple[bool, bool, int, int]:
        needed = [field for field in signature.parameters.fields if field.required]
        return signature.destructive, not signature.read_only, abs(len(needed) - 1), len(needed)

    return sorted(signatures, key=weight)[:_MOST]


def example_input(signature: Signature) -> dict[str, Any] | None:
    """Values for what a call must have; None where nothing plausible can be made up."""
    kind = resolve(signature.input.type, signature.input)
    options = [resolve(option, signature.input) for option in kind.options] if isinstance(kind, Union) else []
    first = next((option for option in options if isinstance(option, Object)), signature.parameters)
    try:
        return _Maker(signature).object(first, 0)
    except _NoExampleError:
        return None


class _NoExampleError(Exception):
    pass


class _Maker:
    """Makes values of types. It gives up where an example would be longer than anyone reads."""

    def __init__(self, signature: Signature) -> None:
        self._shape = signature.input
        words = f"{signature.name} {signature.text[:300]} {signature.server}"
        self._around = words.replace("_", " ").replace("-", " ")
        self._left = _MOST_VALUES

    def object(self, kind: Object, depth: int) -> dict[str, Any]:
        return {field.name: self._value(field, depth + 1) for field in kind.fields if field.required}

    def _value(self, field: Field, depth: int) -> Any:
        if field.sample is not None and fits(field.type, field.sample, self._shape):
            return field.sample
        offered = _OFFERED.search(field.text)
        if offered and fits(field.type, offered.group(1), self._shape):
            return offered.group(1)
        return self._of(field.type, field.name, field.text, depth)

    def _of(self, kind: Type, name: str, about: str, depth: int) -> Any:
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            raise _NoExampleError
        kind = resolve(kind, self._shape)
        if isinstance(kind, Union):
            kind = next((option for option in kind.options if option != NULL), NULL)
            return self._of(kind, name, about, depth + 1)
        if isinstance(kind, Choice):
            if not fits(kind, kind.values[0], self._shape):
                raise _NoExampleError
            return kind.values[0]
        if isinstance(kind, Object):
            return self.object(kind, depth)
        if isinstance(kind, Array):
            return [self._of(kind.items, name.removesuffix("s"), about, depth + 1)]
        if isinstance(kind, Tuple):
            return [self._of(item, name, about, depth + 1) for item in kind.items]
        if isinstance(kind, Map):
            return {"key": self._of(kind.values, name, about, depth + 1)}
        if isinstance(kind, Unknown | Reference) or kind == STRING:
            return sample_text(name, about, self._around)
        return {"integer": 1, "number": 1, "boolean": True, "null": None}[kind.kind]


def fits(kind: Type, value: object, shape: Shape, depth: int = 0) -> bool:
    """Whether a value is surely of the type, and plain enough to be shown."""
    kind = resolve(kind, shape)
    if depth > _DEEPEST or (isinstance(value, float) and not isfinite(value)):
        return False
    if isinstance(kind, Union):
        return any(fits(option, value, shape, depth + 1) for option in kind.options)
    if isinstance(kind, Choice):
        return any(type(value) is type(known) and value == known for known in kind.values)
    if isinstance(kind, Array):
        return is_list(value) and all(fits(kind.items, item, shape, depth + 1) for item in value)
    if isinstance(kind, Tuple):
        if not is_list(value) or len(value) != len(kind.items):
            return False
        return all(fits(item, part, shape, depth + 1) for item, part in zip(kind.items, value, strict=True))
    if isinstance(kind, Map):
        return is_object(value) and all(fits(kind.values, part, shape, depth + 1) for part in value.values())
    if isinstance(kind, Object):
        types = {field.name: field.type for field in kind.fields}
        needed = {field.name for field in kind.fields if field.required}
        if not is_object(value) or not needed <= value.keys() or not value.keys() <= types.keys():
            return False
        return all(fits(types[name], part, shape, depth + 1) for name, part in value.items())
    if isinstance(kind, Scalar):
        accepted = {
            "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None),
        }[kind.kind]  # fmt: skip
        return isinstance(value, accepted) and (kind.kind == "boolean" or not isinstance(value, bool))
    return isinstance(kind, Unknown) and (value is None or isinstance(value, str | int | float))

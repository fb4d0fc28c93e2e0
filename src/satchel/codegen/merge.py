"""Putting types together: what satisfies either of several, and what satisfies two at once."""

from collections.abc import Mapping, Sequence

from satchel.codegen.types import (
    ANY,
    INTEGER,
    NULL,
    NUMBER,
    Array,
    Choice,
    Field,
    Map,
    Object,
    Reference,
    Scalar,
    Tuple,
    Type,
    Union,
    Unknown,
)

_MOST_COMBINATIONS = 100  # alternatives of alternatives grow without end


def union(options: Sequence[Type]) -> Type:
    """The options without repetition; choices are put together, and null comes last."""
    flat: dict[Type, None] = {}
    values: dict[tuple[type, object], str | int | float | bool | None] = {}
    for option in options:
        for part in _options(option):
            if isinstance(part, Unknown):
                return part
            if isinstance(part, Choice):
                values |= {(type(value), value): value for value in part.values}
                flat.setdefault(Choice(()))
            else:
                flat.setdefault(part)
    if (type(None), None) in values:
        del values[type(None), None]
        flat[NULL] = None
    kinds = [
        Choice(tuple(values.values())) if isinstance(kind, Choice) else kind
        for kind in flat
        if kind != NULL and (values or not isinstance(kind, Choice))
    ]
    if NUMBER in kinds and INTEGER in kinds:
        kinds.remove(INTEGER)
    if NULL in flat:
        kinds.append(NULL)
    if not kinds:
        return ANY
    return kinds[0] if len(kinds) == 1 else Union(tuple(kinds))


def both(one: Type, other: Type, known: Mapping[str, Type]) -> Type:
    """What satisfies both types. `known` are the definitions behind references, as far as they are read."""
    if isinstance(other, Unknown):
        return one if not isinstance(one, Unknown) or one.note else other
    if isinstance(one, Unknown) or one == other:
        return other
    if isinstance(one, Union) or isinstance(other, Union):
        if len(_options(one)) * len(_options(other)) > _MOST_COMBINATIONS:
            return one
        options = [
            kind
            for left in _options(one)
            for right in _options(other)
            if not isinstance(kind := both(left, right, known), Unknown) or not kind.note
        ]
        return union(options) if options else _contradictory()
    if isinstance(one, Reference) or isinstance(other, Reference):
        return _both_resolved(one, other, known)
    if isinstance(one, Choice | Scalar) and isinstance(other, Choice | Scalar):
        return _both_scalars(one, other)
    if isinstance(one, Object | Map) and isinstance(other, Object | Map):
        return _both_objects(one, other, known)
    if isinstance(one, Array | Tuple) and isinstance(other, Array | Tuple):
        if isinstance(one, Array) and isinstance(other, Array):
            return Array(both(one.items, other.items, known))
        return one if isinstance(one, Tuple) else other
    return _contradictory()


def _both_resolved(one: Type, other: Type, known: Mapping[str, Type]) -> Type:
    left = known.get(one.name) if isinstance(one, Reference) else one
    right = known.get(other.name) if isinstance(other, Reference) else other
    if left is None or right is None:  # still being read: it contains itself
        return one if isinstance(one, Reference) else other
    if right == Map(ANY):
        return one
    if left == Map(ANY):
        return other
    return both(left, right, known)


def _both_objects(one: Object | Map, other: Object | Map, known: Mapping[str, Type]) -> Type:
    if isinstance(one, Map) and isinstance(other, Map):
        return Map(both(one.values, other.values, known))
    if isinstance(one, Map):
        one, other = other, one
    assert isinstance(one, Object)
    if isinstance(other, Map):
        extra = one.extra if other.values == ANY else other.values
        return Object(one.name, one.fields, extra, one.text)
    fields = {field.name: field for field in one.fields}
    for field in other.fields:
        mine = fields.get(field.name)
        fields[field.name] = field if mine is None else _both_fields(mine, field, known)
    return Object(one.name, tuple(fields.values()), one.extra or other.extra, one.text or other.text)


def _both_fields(one: Field, other: Field, known: Mapping[str, Type]) -> Field:
    return Field(
        one.name,
        both(one.type, other.type, known),
        one.required or other.required,
        one.text if one.text == other.text or not other.text else f"{one.text} {other.text}".strip(),
        one.sample if one.sample is not None else other.sample,
    )


def _both_scalars(one: Choice | Scalar, other: Choice | Scalar) -> Type:
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        return INTEGER if {one, other} == {INTEGER, NUMBER} else _contradictory()
    if isinstance(one, Scalar):
        one, other = other, one
    assert isinstance(one, Choice)
    values = tuple(value for value in one.values if _belongs(value, other))
    return Choice(values) if values else _contradictory()


def _belongs(value: object, kind: Choice | Scalar) -> bool:
    if isinstance(kind, Choice):
        return any(type(value) is type(known) and value == known for known in kind.values)
    word = (
        "null" if value is None
        else "boolean" if isinstance(value, bool)
        else "string" if isinstance(value, str)
        else "integer" if isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        else "number"
    )  # fmt: skip
    return word == kind.kind or (word == "integer" and kind.kind == "number")


def _contradictory() -> Unknown:
    return Unknown("contradictory")


def _options(kind: Type) -> tuple[Type, ...]:
    return kind.options if isinstance(kind, Union) else (kind,)

"""Putting types together: what satisfies either of several, and what satisfies two at once."""

from collections.abc import Callable, Sequence

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

_MOST_COMBINATIONS = 100
_MOST_STEPS = 5_000


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


def is_writable(kind: Type, most: int = 1_000, deepest: int = 50) -> bool:
    """Whether a type, written out, has an end that is near enough."""
    waiting = [(kind, 0)]
    seen = 0
    while waiting:
        part, depth = waiting.pop()
        seen += len(part.values) if isinstance(part, Choice) else 1
        if seen > most or depth > deepest:
            return False
        waiting += [(inner, depth + 1) for inner in parts_of(part)]
    return True


def parts_of(kind: Type) -> tuple[Type, ...]:
    """The types that a type is made of."""
    if isinstance(kind, Array):
        return (kind.items,)
    if isinstance(kind, Map):
        return (kind.values,)
    if isinstance(kind, Tuple):
        return kind.items
    if isinstance(kind, Union):
        return kind.options
    if isinstance(kind, Object):
        return (*(field.type for field in kind.fields), *((kind.extra,) if kind.extra else ()))
    return ()


class Merger:
    """Finds what satisfies two types at once. `known` are the definitions that references name.

    There is an end to its work: alternatives of alternatives, and references to references, have none.
    """

    def __init__(self, known: Callable[[str], Type | None]) -> None:
        self._known = known
        self._left = _MOST_STEPS
        self._open: set[tuple[str, str]] = set()

    def both(self, one: Type, other: Type) -> Type:
        self._left -= 1
        if isinstance(other, Unknown):
            return one if not isinstance(one, Unknown) or one.note else other
        if isinstance(one, Unknown) or one == other:
            return other
        if self._left < 0:
            return one
        if isinstance(one, Union) or isinstance(other, Union):
            return self._options(one, other)
        if isinstance(one, Reference) or isinstance(other, Reference):
            return self._resolved(one, other)
        if isinstance(one, Choice | Scalar) and isinstance(other, Choice | Scalar):
            return _both_scalars(one, other)
        if isinstance(one, Object | Map) and isinstance(other, Object | Map):
            return self._objects(one, other)
        if isinstance(one, Array | Tuple) and isinstance(other, Array | Tuple):
            if isinstance(one, Array) and isinstance(other, Array):
                return Array(self.both(one.items, other.items))
            return one if isinstance(one, Tuple) else other
        return _contradictory()

    def _options(self, one: Type, other: Type) -> Type:
        if len(_options(one)) * len(_options(other)) > _MOST_COMBINATIONS:
            return one
        options = [self.both(left, right) for left in _options(one) for right in _options(other)]
        possible = [kind for kind in options if not isinstance(kind, Unknown) or not kind.note]
        return union(possible) if possible else _contradictory()

    def _resolved(self, one: Type, other: Type) -> Type:
        left = self._known(one.name) if isinstance(one, Reference) else one
        right = self._known(other.name) if isinstance(other, Reference) else other
        pair = (getattr(one, "name", ""), getattr(other, "name", ""))
        if left is None or right is None or pair in self._open:  # still being read, or within itself
            return one if isinstance(one, Reference) else other
        if right == Map(ANY):
            return one
        if left == Map(ANY):
            return other
        self._open.add(pair)
        kind = self.both(left, right)
        self._open.discard(pair)
        return kind

    def _objects(self, one: Object | Map, other: Object | Map) -> Type:
        if isinstance(one, Map) and isinstance(other, Map):
            return Map(self.both(one.values, other.values))
        if isinstance(one, Map):
            one, other = other, one
        assert isinstance(one, Object)
        if isinstance(other, Map):
            extra = one.extra if other.values == ANY else other.values
            return Object(one.name, one.fields, extra, one.text)
        fields = {field.name: field for field in one.fields}
        for field in other.fields:
            mine = fields.get(field.name)
            fields[field.name] = field if mine is None else self._fields(mine, field)
        kind = Object(one.name, tuple(fields.values()), one.extra or other.extra, one.text or other.text)
        return kind if is_writable(kind) else Unknown("too large to be written out")

    def _fields(self, one: Field, other: Field) -> Field:
        return Field(
            one.name,
            self.both(one.type, other.type),
            one.required or other.required,
            one.text or other.text,
            one.sample if one.sample is not None else other.sample,
        )


def _both_scalars(one: Choice | Scalar, other: Choice | Scalar) -> Type:
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        return INTEGER if {one, other} == {INTEGER, NUMBER} else _contradictory()
    if isinstance(one, Scalar):
        one, other = other, one
    assert isinstance(one, Choice)
    allowed = {(type(value), value) for value in other.values} if isinstance(other, Choice) else None
    values = tuple(
        value
        for value in one.values
        if ((type(value), value) in allowed if allowed is not None else _belongs(value, other))
    )
    return Choice(values) if values else _contradictory()


def _belongs(value: object, kind: Choice | Scalar) -> bool:
    assert isinstance(kind, Scalar)
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

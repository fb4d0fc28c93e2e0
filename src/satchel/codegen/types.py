"""The type tree: the little that both languages share of what JSON Schema can say.

Schemas are read into it (`schema.py`), and each language is written from it; it has no word of either.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Unknown:
    """Any value. `note` tells why nothing better is known, where there is a reason."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class Scalar:
    kind: str  # string, integer, number, boolean or null


@dataclass(frozen=True, slots=True)
class Choice:
    """One of these values: strings, numbers, booleans or null."""

    values: tuple[str | int | float | bool | None, ...]
    kinds: tuple[type, ...] = field(init=False, repr=False)  # for Python, 1 and True are equal

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", tuple(map(type, self.values)))


@dataclass(frozen=True, slots=True)
class Array:
    items: "Type"


@dataclass(frozen=True, slots=True)
class Tuple:
    """A list of fixed length with a type for each place."""

    items: "tuple[Type, ...]"


@dataclass(frozen=True, slots=True)
class Map:
    """An object whose keys are not known in advance."""

    values: "Type"


@dataclass(frozen=True, slots=True)
class Union:
    options: "tuple[Type, ...]"


@dataclass(frozen=True, slots=True)
class Reference:
    """A type that has a name of its own, because it contains itself or is used in several places."""

    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """One property. `sample` is a value the schema itself offers: a default or an example."""

    name: str
    type: "Type"
    required: bool
    text: str = ""
    sample: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Object:
    """An object with known properties. `extra` is the type of others, where the schema invites them."""

    name: str  # what to call it, if it needs a name
    fields: tuple[Field, ...]
    extra: "Type | None" = None
    text: str = ""


Type: TypeAlias = Unknown | Scalar | Choice | Array | Tuple | Map | Union | Reference | Object


@dataclass(frozen=True, slots=True)
class Shape:
    """A type with the definitions its references name. `notes` are conditions on the value as a whole."""

    type: Type
    definitions: Mapping[str, Type] = field(default_factory=dict[str, Type])
    notes: tuple[str, ...] = ()


STRING, INTEGER, NUMBER = Scalar("string"), Scalar("integer"), Scalar("number")
BOOLEAN, NULL = Scalar("boolean"), Scalar("null")
ANY = Unknown()

"""The documents of a search: a name and fields of text. Tools are documents; skills can be, too."""

from collections.abc import Mapping
from typing import NamedTuple


class Field(NamedTuple):
    """The weight of a word in a field, the field's usual length, and the weight for the whole sense."""

    weight: float
    length: float  # as a rule
    sense: float = 0.0


class Document(NamedTuple):
    key: str
    name: str
    fields: Mapping[str, str]


class Hit(NamedTuple):
    """One document that was found. `fit`, from 0 to 1, is how sure it is that this was asked for: 1 for one
    that was named."""

    group: str
    key: str
    score: float
    fit: float

    @property
    def is_match(self) -> bool:
        """Whether it fits; otherwise it is only nearer than the others."""
        return self.fit >= FITS

    @property
    def is_named(self) -> bool:
        return self.fit == 1


FITS = 0.41
"""Chosen on labelled queries and on requests that nothing fits: `bench/search/impossible.json`."""

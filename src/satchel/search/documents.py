"""What is searched: documents with a name and fields of text. Tools are some; skills can be others."""

from collections.abc import Mapping
from typing import NamedTuple


class Field(NamedTuple):
    """What a word counts that stands there, by itself and for the sense of the whole; how many there are."""

    weight: float
    length: float  # as a rule
    sense: float = 0.0


class Document(NamedTuple):
    key: str
    name: str
    fields: Mapping[str, str]


class Hit(NamedTuple):
    """One document that was found. `fit` is the share of the query, by weight of its words, that is in it."""

    group: str
    key: str
    score: float
    fit: float

"""The index: which terms are in which documents, and how much they count there (BM25F).

Documents come in groups, such as the tools of one server. A group's part of the index depends on nothing but
its own documents: fields are measured against lengths that are usual, not against the average of all. So a
group can be replaced, or kept on disk, by itself; all of them together are put together in a moment.
"""

import math
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from satchel.search.documents import Document, Field
from satchel.search.word_senses import senses
from satchel.search.words import joined, stem, terms_of

_SATURATION = 1.2  # k1: how soon more of the same word counts for less
_LENGTH = 0.2  # b: how much a field loses by being longer than usual
SCALE = 250
_MOST_TIMES = 2  # that a term counts in one field: who repeats it does not mean it more
_LONGEST_ENDING = 5
_ENOUGH_NAMES = 10
_MOST_NAMES = 0.7  # of a group: a word in more of them is the group's
_SHARED = (
    0.3  # what such a word counts in a name, to one that is its own: as much as in the name of the group
)
_MOST_FOR_SENSE = 40  # terms of one field: a longer text is not closer to anything


class Section(NamedTuple):
    """A group's part of the index, as plain values."""

    keys: list[str]
    names: list[str]
    senses: list[bytes]
    terms: dict[str, list[int]]
    """By term: the number of a document, what the term counts there, the next document …"""
    shared: list[str]
    """Words that most names of the group have: they tell which group it is, and not which document."""


class Postings(NamedTuple):
    """The documents of a term in all groups, its weight in each, up to `SCALE`, and its rarity."""

    documents: "array[int]"
    counts: "array[int]"
    rarity: float


_NOWHERE = (array("I"), array("B"))


def make_section(documents: Sequence[Document], fields: Mapping[str, Field]) -> Section:
    shared = _shared_words(documents)
    section = Section([], [], [], {}, sorted(shared))
    for number, document in enumerate(documents):
        counts, sense = _weigh(document, fields, shared)
        section.keys.append(document.key)
        section.names.append(document.name)
        section.senses.append(senses().of(sense))
        for term, count in counts.items():
            value = max(1, int(SCALE * count / (count + _SATURATION)))
            section.terms.setdefault(term, []).extend((number, value))
    return section


def _shared_words(documents: Sequence[Document]) -> set[str]:
    """The words that most names have, where there are enough to say so: `github` in `github_create_issue`."""
    if len(documents) < _ENOUGH_NAMES:
        return set()
    times = Counter(word for document in documents for word in set(terms_of(document.name)))
    return {word for word, count in times.items() if count > _MOST_NAMES * len(documents)}


def _weigh(
    document: Document, fields: Mapping[str, Field], shared: Container[str]
) -> tuple[dict[str, float], dict[str, float]]:
    """Each term's weight by itself, against the field's usual length, and for the sense of the whole."""
    counts: dict[str, float] = {}
    sense: dict[str, float] = {}
    for name, text in document.fields.items():
        field = fields[name]
        found = terms_of(text)
        once = field.weight / (1 - _LENGTH + _LENGTH * len(found) / field.length)
        for term, times in Counter(found).items():
            count = once * min(times, _MOST_TIMES)
            if name == "name" and term in shared:
                count *= _SHARED
            counts[term] = counts.get(term, 0.0) + count
        for term in found[:_MOST_FOR_SENSE] if field.sense else ():
            sense[term] = sense.get(term, 0.0) + field.sense
    whole = stem(joined(document.name)[:40])
    if whole and whole not in counts:
        counts[whole] = fields["name"].weight
    return counts, sense


class Index:
    """All groups together."""

    def __init__(self) -> None:
        self._sections: dict[str, Section] = {}
        self._starts: list[int] = []
        self._groups: list[str] = []
        self._merged: dict[str, tuple[array[int], array[int]]] | None = None
        self._surplus: dict[str, float] = {}  # by term: documents that don't count for its rarity
        self._whole = 0.0  # what all documents of all groups count for it
        self._vocabulary: dict[tuple[str, int], list[tuple[str, int]]] | None = None
        self._words_of_name: dict[int, dict[str, float]] = {}
        self._by_name: dict[str, list[int]] | None = None
        self.size = 0
        self.remembered: dict[tuple[str, bool], Any] = {}
        """Facts about terms, kept until the index changes."""

    def put(self, group: str, section: Section) -> None:
        """Add a group, or replace what was there of it."""
        self._sections[group] = section
        self._forget()

    def remove(self, group: str) -> None:
        if self._sections.pop(group, None) is not None:
            self._forget()

    def _forget(self) -> None:
        self._merged = None
        self.remembered.clear()
        self._words_of_name.clear()
        self._vocabulary = self._by_name = None
        self._groups, self._starts, self.size = [], [], 0
        for group, section in self._sections.items():
            self._groups.append(group)
            self._starts.append(self.size)
            self.size += len(section.keys)

    @property
    def groups(self) -> Sequence[str]:
        return self._groups

    def postings(self, term: str) -> Postings:
        if self._merged is None:
            self._merged = self._merge()
        documents, counts = self._merged.get(term, _NOWHERE)
        if not documents:
            return Postings(documents, counts, 0.0)
        return Postings(documents, counts, self._rarity(term, len(documents)))

    def _rarity(self, term: str, count: int) -> float:
        """What is rare is not said by many groups. One that has a term in n of its documents counts as the
        square root of n: its term is the group's subject rather than a common word."""
        spread = count - self._surplus.get(term, 0.0)
        return math.log(1 + (self._whole - spread + 0.5) / (spread + 0.5))

    def _merge(self) -> dict[str, tuple["array[int]", "array[int]"]]:
        merged: dict[str, tuple[array[int], array[int]]] = {}
        surplus: dict[str, float] = {}
        for start, section in zip(self._starts, self._sections.values(), strict=True):
            for term, pairs in section.terms.items():
                lists = merged.get(term)
                if lists is None:
                    lists = merged[term] = (array("I"), array("B"))
                if len(pairs) == 2:  # as most have
                    lists[0].append(start + pairs[0])
                    lists[1].append(pairs[1])
                else:
                    lists[0].extend([start + number for number in pairs[::2]])
                    lists[1].extend(pairs[1::2])
                    count = len(pairs) // 2
                    surplus[term] = surplus.get(term, 0.0) + count - math.sqrt(count)
        self._surplus = surplus
        self._whole = sum(math.sqrt(len(section.keys)) for section in self._sections.values())
        return merged

    def rarity_of_nothing(self) -> float:
        """The weight of a term that occurs nowhere."""
        return math.log(2 * self._whole + 2)

    def place(self, number: int) -> tuple[str, str]:
        """(group, key) of a document."""
        section, number, group = self._at(number)
        return group, section.keys[number]

    def sense(self, number: int) -> bytes:
        section, number, _ = self._at(number)
        return section.senses[number]

    def share_of_name(self, number: int, asked: Container[str]) -> float:
        """Which share of a document's name, by the rarity of its words, is among those that are asked for."""
        words = self._words_of_name.get(number)
        if words is None:
            section, place, _ = self._at(number)
            own = [word for word in terms_of(section.names[place]) if word not in section.shared]
            rarities = {word: self.postings(word).rarity for word in own or terms_of(section.names[place])}
            total = sum(rarities.values()) or 1.0
            words = self._words_of_name[number] = {word: each / total for word, each in rarities.items()}
        return sum([share for word, share in words.items() if word in asked])

    def _at(self, number: int) -> tuple[Section, int, str]:
        """(section, place in it, group) of a document."""
        at = bisect_right(self._starts, number) - 1
        group = self._groups[at]
        return self._sections[group], number - self._starts[at], group

    def number_of(self, group: str, key: str) -> int | None:
        section = self._sections.get(group)
        if section is None or key not in section.keys:
            return None
        return self._starts[self._groups.index(group)] + section.keys.index(key)

    def of_group(self, group: str) -> range:
        """The numbers of a group's documents."""
        if group not in self._sections:
            return range(0)
        start = self._starts[self._groups.index(group)]
        return range(start, start + len(self._sections[group].keys))

    def named(self, name: str) -> list[int]:
        """Documents by their name, or by their group's and theirs, however it is written."""
        if not name:
            return []
        if self._by_name is None:
            self._by_name = {}
            for start, (group, section) in zip(self._starts, self._sections.items(), strict=True):
                for number, each in enumerate(section.names, start):
                    self._by_name.setdefault(joined(each), []).append(number)
                    self._by_name.setdefault(joined(f"{group} {each}"), []).append(number)
        return self._by_name.get(name, [])

    def alike(self, word: str, most: int) -> Iterable[str]:
        """Terms that a misspelt one may be: that begin like it, are almost as long, and have such letters."""
        if self._vocabulary is None:
            self._vocabulary = {}
            for term in {term for section in self._sections.values() for term in section.terms}:
                if term.isascii() and term.isalpha():
                    self._vocabulary.setdefault((term[0], len(term)), []).append((term, _letters(term)))
        # A term has no ending, which the word may have; and its first two letters may be exchanged.
        for length in range(max(4, len(word) - _LONGEST_ENDING), len(word) + most + 1):
            letters = _letters(word[:length])
            wrong = 2 * most if length >= len(word) - most else 2
            for first in dict.fromkeys(word[:2]):
                for term, others in self._vocabulary.get((first, length), ()):
                    if (letters ^ others).bit_count() <= wrong:
                        yield term


def _letters(word: str) -> int:
    """Which letters are in a word, a bit for each."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) - ord("a"))
    return bits

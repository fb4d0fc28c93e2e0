"""Which entries of a memory fit a query: by words, by how rare they are, and by where they stand."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from satchel.library.memory.formats.pieces import Piece

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MOST_WORDS = 4_000  # of an entry, and
_MOST_ASKED = 32  # of a query
_LENGTH = 40  # words of a usual entry


def words(text: str) -> Iterator[str]:
    """The words of a text in small letters, each of their parts, and pairs where there are no spaces."""
    for found in _WORD.finditer(_CAMEL.sub(" ", text)):
        word = found[0].casefold()
        if _WIDE.search(word) and len(word) > 1:
            yield from (word[at : at + 2] for at in range(len(word) - 1))
        else:
            yield word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


@dataclass(frozen=True, kw_only=True)
class Index:
    """The words of a file's entries."""

    pieces: Sequence[Piece]

    @cached_property
    def places(self) -> dict[str, list[tuple[int, int]]]:
        """For each word the entries that have it, and how often."""
        found: dict[str, list[tuple[int, int]]] = {}
        for place, piece in enumerate(self.pieces):
            counted = Counter(word for word, _ in zip(words(piece.text), range(_MOST_WORDS), strict=False))
            for word, count in counted.items():
                found.setdefault(word, []).append((place, count))
        return found


def rank(query: str, indexes: Sequence[Index]) -> list[tuple[float, int, int]]:
    """(score, index, entry), the best first."""
    asked = list(dict.fromkeys(words(query)))[:_MOST_ASKED]
    total = sum(len(index.pieces) for index in indexes)
    scores: dict[tuple[int, int], float] = {}
    for word in asked:
        holders = [index.places.get(word, ()) for index in indexes]
        rarity = math.log(1 + total / (1 + sum(map(len, holders))))
        for number, places in enumerate(holders):
            for place, count in places:
                length = 1 + len(indexes[number].pieces[place].text) / (6 * _LENGTH)
                key = number, place
                scores[key] = scores.get(key, 0.0) + rarity * count / (count + 0.5 + 0.5 * length)
    phrase = " ".join(query.casefold().split())
    ranked = sorted(scores, key=lambda key: -scores[key])[:1_000]
    for number, place in ranked:
        piece = indexes[number].pieces[place]
        if len(asked) > 1 and phrase in piece.text.casefold():
            scores[number, place] *= 1.5
        named = set(words(" ".join((piece.key, *piece.names))))
        scores[number, place] *= 1 + 0.5 * sum(word in named for word in asked) / len(asked)
    ranked.sort(key=lambda key: (-scores[key], key))
    return [(scores[key], *key) for key in ranked]


def line_within(piece: Piece, query: str) -> tuple[int, str]:
    """The line of an entry, counted from its first, that fits a query best; and its text."""
    asked = set(words(query))
    lines = piece.text.split("\n")
    best = max(range(len(lines)), key=lambda place: (len(asked.intersection(words(lines[place]))), -place))
    return best, lines[best]

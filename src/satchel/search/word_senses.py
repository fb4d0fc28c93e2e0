"""What words mean, roughly: a vector for each of some thousand, by which a text is near one that says it in
other words. `scripts/word_vectors.py` has made them; `docs/search.md` says of what.

Plain Python does: only the few documents are compared that have words of the query, or of its kind.
"""

import math
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from operator import mul

SIZE = 64  # numbers of a vector
_FILE = "word_vectors.bin"


class Senses:
    """Vectors by term."""

    def __init__(self, data: bytes) -> None:
        names, _, numbers = zlib.decompress(data).partition(b"\0")
        self._places = {term: place for place, term in enumerate(names.decode().split("\n"))}
        self._numbers = memoryview(numbers).cast("b")

    def of(self, terms: Mapping[str, float]) -> bytes:
        """The direction of a text: of its terms, by what each counts; empty where none is known."""
        sums = [0.0] * SIZE
        for term, weight in terms.items():
            place = self._places.get(term)
            if place is not None:
                start = place * SIZE
                sums = [
                    total + weight * number
                    for total, number in zip(sums, self._numbers[start : start + SIZE], strict=True)
                ]
        length = math.sqrt(sum(map(mul, sums, sums)))
        return bytes(round(127 * total / length) & 0xFF for total in sums) if length else b""


def likeness(query: bytes, others: Iterable[bytes]) -> list[float]:
    """How near each is to the query: 1 for the same direction, 0 for nothing in common or nothing known."""
    if not query:
        return [0.0 for _ in others]
    wanted = memoryview(query).cast("b").tolist()
    scale = 1 / (127 * 127)
    return [max(0.0, sum(map(mul, wanted, memoryview(other).cast("b"))) * scale) for other in others]


@cache
def senses() -> Senses:
    return Senses((files("satchel.search") / _FILE).read_bytes())

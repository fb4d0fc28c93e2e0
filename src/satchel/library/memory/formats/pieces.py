"""A piece of a file: what becomes one entry. And the fault that keeps the rest of a file from being read."""

import json
from dataclasses import dataclass
from hashlib import blake2b

from satchel.model import Json

MOST_PIECES = 20_000
"""Of one file; what comes after them is not read."""
_DIGEST = 20  # bytes: nobody finds two contents that share one


class Fault(ValueError):
    """A file is not understood from a line on, counted from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """One item, section or key. `canonical` is the same however the file is laid out."""

    line: int
    key: str
    text: str
    canonical: str
    where: tuple[int | str, ...]  # keys and places from the top of JSON; else its lines
    names: tuple[str, ...] = ()  # what else it may be called
    value: Json | None = None


def canonical_of(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest_of(path: str, canonical: str) -> str:
    """What an entry's standing is known by: its file and its content."""
    content = f"{path}\0{canonical}".encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=_DIGEST).hexdigest()

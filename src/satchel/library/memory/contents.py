"""What is in a memory at a moment: its files, taken apart. What did not change is not taken apart again."""

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from satchel.library.memory import files
from satchel.library.memory.files import Found, Stamp, stamp_of
from satchel.library.memory.formats.formats import YAML, format_of
from satchel.library.memory.formats.pieces import Fault, Piece, digest_of
from satchel.library.memory.places import CORE, HISTORY, PATTERNS, PREFERENCES
from satchel.library.memory.ranking import Index
from satchel.model import MemoryProblem

MOST_ENTRIES = 20_000  # of all files, and
MOST_PROBLEMS = 100
MOST_BYTES = 8 * 1024 * 1024
_YAML_WEIGHT = 16
"""How often its bytes count: taking YAML apart takes so much longer, and everybody waits for it."""
_FIRST = {CORE: 0, HISTORY: 1, PATTERNS: 2, PREFERENCES: 3}
_MOST_KEPT = 64 * 1024 * 1024  # bytes of the files that are kept taken apart
_WORDLESS = 3  # bytes: `[]` or `{}` with its line end, as files are made for an agent
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """A file, taken apart as far as it is understood."""

    path: str
    pieces: tuple[Piece, ...] = ()
    problems: tuple[MemoryProblem, ...] = ()
    size: int = 0

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """Of each piece."""
        return tuple(digest_of(self.path, piece.canonical) for piece in self.pieces)

    @cached_property
    def index(self) -> Index:
        return Index(pieces=self.pieces)

    @cached_property
    def by_digest(self) -> dict[str, Piece]:
        return dict(zip(self.digests, self.pieces, strict=True))


@dataclass(frozen=True, kw_only=True)
class Contents:
    """A memory at a moment, file by file."""

    files: dict[str, Parsed]
    problems: tuple[MemoryProblem, ...]
    found: Found

    @cached_property
    def digests(self) -> frozenset[str]:
        return frozenset(digest for parsed in self.files.values() for digest in parsed.digests)


def decode(data: bytes) -> str:
    """The text of a file, with plain line ends. Fault where it is not UTF-8."""
    try:
        text = data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Fault("it is not UTF-8", line) from None
    return text.replace("\r\n", "\n") if _has_windows_lines(data) else text


def encode(text: str, before: bytes) -> bytes:
    """A changed text as bytes, marked as UTF-8 and with the line ends that the file had before."""
    if _has_windows_lines(before):
        text = text.replace("\n", "\r\n")
    return (_BOM if before.startswith(_BOM) else b"") + text.encode()


def _has_windows_lines(data: bytes) -> bool:
    return 0 < data.count(b"\n") == data.count(b"\r\n")


def parse(path: str, data: bytes) -> Parsed:
    """Take a file apart; what is not understood becomes a problem."""
    pieces: list[Piece] = []
    try:
        for piece in format_of(path).read(decode(data)):
            pieces.append(piece)  # those before a fault are kept
    except Fault as fault:
        return _parsed(path, pieces, data, MemoryProblem(file=path, line=fault.line, message=fault.message))
    return _parsed(path, pieces, data)


def _parsed(path: str, pieces: list[Piece], data: bytes, *problems: MemoryProblem) -> Parsed:
    return Parsed(path=path, pieces=tuple(pieces), problems=problems, size=len(data))


_Key = tuple[str, bytes | Stamp]
"""A path, with a digest of the content; or with the times of a file that is too small for a word."""


class _Kept:
    """The files that were taken apart last, of all memories of this process, by path and content.

    Not by their times: what a program writes to a file that it has mapped need not change them.
    """

    def __init__(self) -> None:
        self._parsed: OrderedDict[_Key, Parsed] = OrderedDict()
        self._size = 0
        self._changing = threading.Lock()

    def get(self, key: _Key) -> Parsed | None:
        with self._changing:
            if key in self._parsed:
                self._parsed.move_to_end(key)
            return self._parsed.get(key)

    def keep(self, key: _Key, parsed: Parsed) -> None:
        with self._changing:
            if key not in self._parsed:
                self._parsed[key] = parsed
                self._size += parsed.size
            while self._size > _MOST_KEPT:
                self._size -= self._parsed.popitem(last=False)[1].size


_kept = _Kept()


def look(root: int | None) -> Contents:
    """All that a memory has."""
    found = files.find(root) if root is not None else Found()
    parsed: dict[str, Parsed] = {}
    problems = list(found.problems)
    left, size = MOST_ENTRIES, 0
    for path in sorted(found.files, key=lambda path: (_FIRST.get(path, 4), path)):
        size += found.files[path].st_size * (_YAML_WEIGHT if format_of(path) is YAML else 1)
        if left <= 0 or size > MOST_BYTES:
            message = (
                f"there are more than {MOST_ENTRIES:,} entries or {MOST_BYTES >> 20} MiB, in which YAML "
                f"counts {_YAML_WEIGHT} times; it is not read"
            )
            problems.append(MemoryProblem(file=path, line=None, message=message))
            continue
        try:
            parsed[path] = one = _look(root or 0, path, found.files[path])
        except FileNotFoundError:
            continue  # it has gone meanwhile
        except OSError as error:
            problems.append(MemoryProblem(file=path, line=None, message=files.worded(error)))
            continue
        problems += one.problems
        left -= len(one.pieces)
    return Contents(files=parsed, problems=tuple(problems[:MOST_PROBLEMS]), found=found)


def _look(root: int, path: str, status: os.stat_result) -> Parsed:
    if status.st_size > _WORDLESS:
        return parse_kept(path, files.read(root, path)[0])
    key = path, stamp_of(status)
    parsed = _kept.get(key)
    if parsed is None:
        data, status = files.read(root, path)
        parsed = parse(path, data)
        if len(data) <= _WORDLESS:
            _kept.keep((path, stamp_of(status)), parsed)
    return parsed


def parse_kept(path: str, data: bytes) -> Parsed:
    """The same as `parse`, for a file that may have been taken apart before."""
    key = path, blake2b(data, digest_size=32).digest()
    parsed = _kept.get(key)
    if parsed is None:
        parsed = parse(path, data)
        _kept.keep(key, parsed)
    return parsed

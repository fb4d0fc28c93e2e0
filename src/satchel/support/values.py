"""The cost of reading a JSON text, estimated before it is parsed.

A value takes fifty bytes of memory and more once it is read, however small it was, and its share of the time
that the event loop spends on it. Whole numbers with thousands of digits take time with the square of their
length. Not a parser: of a text that is not JSON, what is said here means nothing.
"""

import re

MOST_VALUES = 300_000
"""Of one message."""
MOST_DIGITS = 100_000
"""Of one message, in numbers of more than 400 digits: which take 10 ms to read and write."""

_LONG_ZERO = b"0" * 401
_RUN = re.compile(rb"0++")
_ZEROS = bytes.maketrans(b"123456789", b"000000000")


_PIECE = 64 * 1024  # bytes: a larger text taken apart at once would keep the interpreter from other threads


class Outside:
    """Takes what is outside of the strings of a JSON text, piece by piece; it may end within one."""

    def __init__(self) -> None:
        self._in_text = False
        self._escaping = b""  # a backslash at the end of a piece belongs to the next one's beginning

    def feed(self, piece: bytes) -> bytes:
        piece = self._escaping + piece
        backslashes = len(piece) - len(piece.rstrip(b"\\"))
        end = len(piece) - backslashes % 2
        self._escaping, piece = piece[end:], piece[:end]
        # In turn what is outside and what is within. Regular expressions take four times as long.
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(parts[self._in_text :: 2])
        self._in_text = bool((self._in_text + len(parts) - 1) % 2)
        return outside


def without_strings(data: bytes) -> bytes:
    """The parts of a JSON text outside its strings; the text may end within one."""
    outside = Outside()
    return b"".join(outside.feed(data[at : at + _PIECE]) for at in range(0, len(data), _PIECE))


def has_too_many_digits(data: bytes) -> bool:
    """Whether the long numbers of a text take too long to be read. Digits in strings take no time."""
    return _has_too_many(data) and _has_too_many(without_strings(data))


def _has_too_many(data: bytes) -> bool:
    """In long numbers, which are searched for: a pattern that is tried everywhere takes much longer."""
    if len(data) <= MOST_DIGITS:
        return False
    zeros, digits, end = data.translate(_ZEROS), 0, 0
    while digits <= MOST_DIGITS and (start := zeros.find(_LONG_ZERO, end)) >= 0:
        run = _RUN.match(zeros, start)
        end = run.end() if run is not None else len(zeros)
        digits += end - start
    return digits > MOST_DIGITS


class ValueCounter:
    """Counts values piece by piece, in time that is linear in what it is fed."""

    def __init__(self) -> None:
        self.count = 0
        self._outside = Outside()

    def feed(self, piece: bytes) -> None:
        outside = self._outside.feed(piece)
        self.count += outside.count(b",") + outside.count(b"[") + outside.count(b"{")

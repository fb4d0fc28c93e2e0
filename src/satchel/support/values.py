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

# Tried only where a number begins: at every digit it would take 400 times as long.
_LONG_NUMBER = re.compile(rb"(?<![0-9])[0-9]{401,}+")
_LONG_ZERO = b"0" * 401
_ZEROS = bytes.maketrans(b"123456789", b"000000000")


def without_strings(data: bytes) -> bytes:
    """The parts of a JSON text outside its strings; the text may end within one."""
    return b"".join(_split(data)[::2])


def _split(data: bytes) -> list[bytes]:
    """In turn what is outside of strings and what is within. Regular expressions take four times as long."""
    return data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')


def has_too_many_digits(data: bytes) -> bool:
    """Whether the long numbers of a text take too long to be read. Digits in strings take no time."""
    if len(data) <= MOST_DIGITS or _LONG_ZERO not in data.translate(_ZEROS):  # as nearly all, and quickly so
        return False
    return _digits(data) > MOST_DIGITS and _digits(without_strings(data)) > MOST_DIGITS


def _digits(data: bytes) -> int:
    """In long numbers."""
    return sum(map(len, _LONG_NUMBER.findall(data)))


class ValueCounter:
    """Counts values piece by piece, in time that is linear in what it is fed."""

    def __init__(self) -> None:
        self.count = 0
        self._in_text = 0  # 1 where the next piece begins within a string
        self._escaping: bytes = b""  # a backslash at the end of the last piece

    def feed(self, piece: bytes) -> None:
        piece = self._escaping + piece
        backslashes = len(piece) - len(piece.rstrip(b"\\"))
        end = len(piece) - backslashes % 2
        self._escaping, piece = piece[end:], piece[:end]
        parts = _split(piece)
        outside = b"".join(parts[self._in_text :: 2])
        self.count += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
        self._in_text = (self._in_text + len(parts) - 1) % 2

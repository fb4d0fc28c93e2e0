"""How many values a JSON text has, counted piece by piece before it is parsed.

A value takes fifty bytes of memory and more once it is read, however small it was, and its share of the time
that the event loop spends on it. Not a parser: of a text that is not JSON, the count says nothing.
"""

MOST_VALUES = 300_000
"""Of one message."""


class ValueCounter:
    """Counts in time that is linear in what it is fed."""

    def __init__(self) -> None:
        self.count = 0
        self._in_text = 0  # 1 where the next piece begins within a string
        self._escaping: bytes = b""  # a backslash at the end of the last piece

    def feed(self, piece: bytes) -> None:
        piece = self._escaping + piece
        backslashes = len(piece) - len(piece.rstrip(b"\\"))
        end = len(piece) - backslashes % 2
        self._escaping, piece = piece[end:], piece[:end]
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(parts[self._in_text :: 2])
        self.count += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
        self._in_text = (self._in_text + len(parts) - 1) % 2

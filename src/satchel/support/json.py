"""JSON of others, made fit to be passed on.

Half a surrogate pair can't be written in any encoding, and few programs read what is nested without end.
"""

import re
from typing import Any

from satchel.model import is_list, is_object

DEEPEST = 200
"""Levels of a message. Pydantic reads no more than that, and writes no more than 255."""

_NESTS = (dict, list)
# Escaped backslashes are matched so that what follows them is not taken for an escape.
_SURROGATES = re.compile(
    rb"\\(?:\\|u[dD](?:[89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|([89a-fA-F][0-9a-fA-F]{2})))"
)
# As bytes, which UTF-8 forbids and some parsers read: Python's own, if it is given bytes.
_RAW_SURROGATES = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
# As much of a text as is mended in some milliseconds; it ends neither within an escape nor between halves.
_PIECE = re.compile(
    rb"(?:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[^\xed]"
    rb"|\xed[\xa0-\xbf][\x80-\xbf]|[^\\\xed]{1,4096}+|.){1,4000}+",
    re.DOTALL,
)


def mend_surrogates(data: bytes) -> bytes:
    """JSON in which each half of a surrogate pair, in texts and keys, is U+FFFD.

    Piece by piece: a thread that mends 16 MiB at once keeps the interpreter from all others for a second.
    """
    if b"\xed" not in data and b"\\ud" not in data and b"\\uD" not in data:
        return data
    return b"".join(_mended(piece[0]) for piece in _PIECE.finditer(data))


def _mended(data: bytes) -> bytes:
    if b"\xed" in data:
        data = _RAW_SURROGATES.sub("\ufffd".encode(), data)
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _SURROGATES.sub(lambda escape: rb"\ufffd" if escape[1] else escape[0], data)


def is_too_deep(value: object) -> bool:
    """Whether a JSON value has more levels than a message may have."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for part in level:
            values = part.values() if is_object(part) else part if is_list(part) else ()
            inner += [one for one in values if isinstance(one, _NESTS)]
        if not inner:
            return False
        level = inner
    return True

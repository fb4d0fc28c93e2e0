"""Text of others, made fit to be shown in one line."""

import re
import unicodedata
from collections.abc import Iterator

# Control characters, line breaks, marks that change the direction of text, and halves of surrogate pairs.
_ODD = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")

_WIDE = ("W", "F", "A")  # of the last, terminals differ


def label(text: str, most: int = 200) -> str:
    """At most `most` characters in one line: characters that do more than show text become U+FFFD."""
    clean = _ODD.sub("\ufffd", text[: most + 1])
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def folded(text: str, width: int) -> Iterator[str]:
    """A line in pieces that a terminal of more columns does not break; many characters take two."""
    begin = columns = 0
    for place, character in enumerate(text):
        needed = 2 if unicodedata.east_asian_width(character) in _WIDE else 1
        if columns + needed > width:
            yield text[begin:place]
            begin, columns = place, 0
        columns += needed
    yield text[begin:]


def whole_characters(text: str) -> str:
    """A text in which each half of a surrogate pair is U+FFFD, so that it can be written."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text) if not text.isascii() else text

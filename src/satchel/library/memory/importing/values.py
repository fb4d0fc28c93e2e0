"""Values that a stranger's file has, made plain: trees of JSON, texts that can be written, moments in UTC."""

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

from satchel.library.install.disguise import IGNORED
from satchel.model import is_list, is_object
from satchel.support.text import whole_characters

DEEPEST = 50
LARGEST = 1_000_000  # characters of a value with all its parts, and one for each part
_LARGEST_NUMBER = 1024  # bits
_LATEST = 100_000_000_000  # as seconds in the year 5138; a larger number counts milliseconds
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Emoji, and words of some scripts, are put together by one or two such characters.
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"
_INVISIBLE = re.compile(f"(?![{_JOINERS}])[{IGNORED}]|[{_JOINERS}]{{3}}")


def plain(value: object) -> Any:
    """A copy as JSON has it, or ValueError if it is too deep or too large; what JSON does not have is None.

    A part that is in several places is copied to each, and may have itself as a part.
    """
    room = LARGEST

    def copy(part: object, depth: int) -> object:
        nonlocal room
        room -= 1 + len(part) if isinstance(part, str) else 1
        if room < 0 or depth > DEEPEST:
            raise ValueError(f"it has more than {DEEPEST} levels, or {LARGEST:,} characters")
        if is_object(part):
            return {str(copy(key, depth)): copy(inner, depth + 1) for key, inner in part.items()}
        if is_list(part) or isinstance(part, tuple):
            return [copy(inner, depth + 1) for inner in cast("Sequence[object]", part)]
        return _leaf(part)

    return copy(value, 0)


def _leaf(part: object) -> object:
    if isinstance(part, str):
        return written(part)
    if isinstance(part, float):
        return part if math.isfinite(part) else None
    if isinstance(part, int):
        return part if part.bit_length() <= _LARGEST_NUMBER else None
    return None


def written(text: str) -> str:
    """The text, fit to be written and shown: without halves of surrogate pairs and control characters.

    Characters that are not seen stay, for many scripts need them; `is_disguised` tells people of them.
    """
    return _CONTROL.sub("\ufffd", whole_characters(text))


def is_disguised(text: str) -> bool:
    """Whether it has characters that are not seen, and that no script or emoji needs."""
    return not text.isascii() and _INVISIBLE.search(text) is not None


def moment(value: object) -> str | None:
    """A moment in UTC, so that texts compare like moments; without a zone it is in UTC already. Or None."""
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value[:64].strip())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value if value < _LATEST else value / 1000, UTC)
        else:
            return None
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return at.isoformat()

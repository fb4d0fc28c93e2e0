"""How a definition differs from the one that was accepted, for a person to read."""

import json
from collections.abc import Iterator
from difflib import unified_diff

from satchel.codegen.text import readable
from satchel.model import Difference

_UNSTABLE = "_meta"  # of it nothing is known, and nobody relies on it


def lines_of(difference: Difference) -> Iterator[str]:
    """Each field that differs, line by line; characters that are not seen are spelled out."""
    before, after = difference.before or {}, difference.after
    for key in dict.fromkeys((*after, *before)):
        if key == _UNSTABLE or before.get(key) == after.get(key):
            continue
        old, new = (_text(definition[key]) if key in definition else [] for definition in (before, after))
        yield f"{key}:"
        yield from (line for line in list(unified_diff(old, new, lineterm="", n=2))[2:])


def _text(value: object) -> list[str]:
    text = (
        value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    )
    return readable(text).split("\n")

"""How a definition differs from the one that was accepted, for a person to read."""

import json
from collections.abc import Iterator
from difflib import unified_diff

from satchel.codegen.text import readable
from satchel.model import Difference, Json

_UNSTABLE = "_meta"  # of it nothing is known, and nobody relies on it


def lines_of(difference: Difference) -> Iterator[str]:
    """Each field that differs, line by line; characters that are not seen are spelled out."""
    before, after = difference.before or {}, difference.after
    for key in dict.fromkeys((*after, *before)):
        if key == _UNSTABLE or _exact(before, key) == _exact(after, key):
            continue
        old, new = (_text(definition[key]) if key in definition else [] for definition in (before, after))
        if old == new:  # it differs in what is not shown, such as spaces
            old, new = _exact(before, key), _exact(after, key)
        yield f"{key}:"
        yield from list(unified_diff(old, new, lineterm="", n=2))[2:]


def _exact(definition: Json, key: str) -> list[str]:
    """A field as digests see it: 1 is not true, and a tab is not a space."""
    return [json.dumps(definition[key], sort_keys=True)] if key in definition else []


def _text(value: object) -> list[str]:
    text = (
        value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    )
    return readable(text).split("\n")

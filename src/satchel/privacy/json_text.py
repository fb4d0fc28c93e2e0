"""JSON that stands in a text, read with the places of its texts and numbers.

Broken JSON is read up to the break.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from satchel.model import is_object

_TOKEN = re.compile(
    r'\s*+(?:("(?:[^"\\]++|\\.)*+")|([{}\[\],:])|(-?\d[\d.eE+-]*+)|(true|false|null))', re.DOTALL
)
_BEGINS = re.compile(r"(?:\A|\n)[ \t]*+(?=[\[{])")
_DEEPEST = 200


class PlacedText(str):
    """A text of JSON, and where it stands, its quotes included."""

    start: int
    end: int


class PlacedNumber(int):
    """A whole number of JSON, and where it stands."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """A value that stands in a text from `start` up to `end`."""

    value: Any
    start: int
    end: int


def documents(text: str) -> Iterator[Document]:
    """The objects and lists that begin a line of a text, as far as they can be read."""
    if "{" not in text and "[" not in text:
        return
    at = 0
    failures = 0
    while failures < 50 and (found := _BEGINS.search(text, at)):
        value, end = _read(text, found.end())
        if value is not None and end - found.end() > 2:
            yield Document(value, found.end(), end)
            at = end
        else:
            failures += 1
            at = max(end, found.end() + 1)


def _placed(text: str, raw: str, start: int, end: int) -> PlacedText | None:
    try:
        value = PlacedText(json.loads(raw, strict=False) if "\\" in raw else raw[1:-1])
    except ValueError:
        return None
    value.start, value.end = start, end
    return value


def _read(text: str, at: int) -> tuple[Any, int]:
    """The value from `at` on, and where it ends; what was read before a mistake counts."""
    root: Any = None
    open_ones: list[Any] = []
    keys: list[Any] = []
    key: Any = None
    is_key = False
    while found := _TOKEN.match(text, at):
        kind = found.lastindex
        new: Any = None
        if kind == 1:
            new = _placed(text, found[1], found.start(1), found.end(1))
            if new is None:
                break
        elif kind == 2:
            sign = found[2]
            if sign in "}]":
                if not open_ones:
                    break
                open_ones.pop()
                key = keys.pop()
                is_key = False
                at = found.end()
                if not open_ones:
                    return root, at
                continue
            if sign == ":":
                is_key = False
                at = found.end()
                continue
            if sign == ",":
                is_key = bool(open_ones) and isinstance(open_ones[-1], dict)
                at = found.end()
                continue
            if len(open_ones) >= _DEEPEST:
                break
            new = {} if sign == "{" else []
        elif kind == 3:
            new = _number(found[3], found.start(3), found.end(3))
        at = found.end()
        if is_key:
            if not isinstance(new, PlacedText):
                break
            key = new
            continue
        if open_ones:
            inner = cast("object", open_ones[-1])
            if is_object(inner):
                inner[_unused(key, inner)] = new
            else:
                cast("list[Any]", inner).append(new)
        else:
            if kind != 2:
                break
            root = new
        if kind == 2:
            open_ones.append(new)
            keys.append(key)
            is_key = isinstance(new, dict)
    return root, at


def _unused(key: PlacedText, members: Mapping[str, Any]) -> PlacedText:
    """The key, made different from one that is there: of two with equal keys, parsers keep only one."""
    while key in members:
        again = PlacedText(key + "\0")
        again.start, again.end = key.start, key.end
        key = again
    return key


def _number(raw: str, start: int, end: int) -> Any:
    if not raw.isdigit() or len(raw) > 20:
        return None
    value = PlacedNumber(raw)
    value.start, value.end = start, end
    return value

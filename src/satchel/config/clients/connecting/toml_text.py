"""Changes one table in a TOML text and leaves every other character as it is.

A new table goes to the end of the text, where one can always stand. As with JSON, whoever calls this parses
the result and compares it with what was meant.
"""

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from satchel.config.clients.connecting.formats import NotParsedError
from satchel.model import Json, is_list, is_object

_EMPTY = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\r?\n|\Z)")
_STRINGS = r""""{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'"""
_TOKEN = re.compile(
    rf"(?P<string>{_STRINGS})|(?P<comment>#[^\n]*)|\n|[\[\]{{}}]|[^\"'#\n\[\]{{}}]+", re.DOTALL
)
_KEY = re.compile(r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^"'=\n])+""")
_NEWLINE_AT_END = re.compile(r"\r?\n\Z")
_HEADER = re.compile(r"[ \t]*\[")
_SPACE = re.compile(r"[ \t]*")
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def parse(text: str) -> Json:
    """The contents of the text. Fractions stay as written, because NaN is not equal to itself."""
    try:
        return tomllib.loads(text, parse_float=str)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line = (int(place[1]) if place[1] else text.count("\n") + 1) if place else None
        raise NotParsedError(f"not valid TOML: {_PLACE.sub('', str(error))}", line) from error
    except (ValueError, RecursionError) as error:  # a number or a nesting without end
        raise NotParsedError(f"not valid TOML: {str(error)[:200]}", None) from error


def read(text: str) -> Json:
    """The same with fractions as numbers, to be written again."""
    return tomllib.loads(text)


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The line on which `path` is first spoken of."""
    for statement in _statements(text):
        if statement.path[: len(path)] == tuple(path):
            return text.count("\n", 0, statement.start) + 1
    return None


def put(text: str, path: Sequence[str], value: object) -> str:
    """The text with `value` at `path`: a table that is not there yet, or another value of a key that is."""
    for statement in _statements(text):
        if statement.path == tuple(path) and statement.value is not None:
            start, end = statement.value
            return text[:start] + _encode(value) + text[end:]
    if not is_object(value):
        raise ValueError("no such key")
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = ["[" + ".".join(path) + "]", *(f"{key} = {_encode(item)}" for key, item in value.items())]
    # A text without an end of its last line stays one.
    complete = not text or text.endswith("\n")
    before = ("" if complete else newline) + (newline if text else "")
    return text + before + newline.join(lines) + (newline if complete else "")


def remove(text: str, path: Sequence[str]) -> str:
    """The text without the tables and keys at `path` and below; comments after them stay."""
    kept: list[str] = []
    position = 0
    for start, end in _runs(text, path):
        before = text[position:start]
        if re.search(r"\n\r?\n\Z", before):  # the empty line that set it apart goes, too
            before = _NEWLINE_AT_END.sub("", before)
        elif not start and text.startswith(("\n", "\r\n"), end):
            end = text.index("\n", end) + 1
        kept.append(before)
        position = end
    shorter = "".join(kept) + text[position:]
    return shorter if text.endswith("\n") or position < len(text) else _NEWLINE_AT_END.sub("", shorter)


def masked(text: str, path: Sequence[str], keys: Collection[str]) -> str:
    """The text for people's eyes: every text in it is `***`, but for keys, and these of what is at `path`.

    So are comments: people keep in them what was a value once.
    """
    open_to_all = {(*path, key) for key in keys}
    shown: list[str] = []
    position = 0
    for statement in _statements(text):
        shown.append(_without_comments(text[position : statement.start]))
        position = statement.end
        if statement.path in open_to_all or statement.value is None:
            shown.append(_without_comments(text[statement.start : statement.end]))
            continue
        start, end = statement.value
        value = _TOKEN.sub(lambda match: '"***"' if match["string"] else match[0], text[start:end])
        shown.append(text[statement.start : start] + _without_comments(value + text[end : statement.end]))
    return "".join(shown) + _without_comments(text[position:])


def _without_comments(text: str) -> str:
    return _TOKEN.sub(lambda match: "# ***" if match["comment"] else match[0], text)


@dataclass(frozen=True)
class _Statement:
    """A header, or a key with its value, with all of its lines."""

    path: tuple[str, ...]
    start: int
    end: int
    value: tuple[int, int] | None  # None for a header


def _statements(text: str) -> Iterator[_Statement]:
    """The statements of a valid text."""
    table: tuple[str, ...] = ()
    position = 0
    while position < len(text):
        if (empty := _EMPTY.match(text, position)) and empty.end() > position:
            position = empty.end()
            continue
        start = position
        if _HEADER.match(text, start):
            _, position = _end_of(text, start)
            table = _path(text[start:position])
            yield _Statement(table, start, position, None)
            continue
        key = _KEY.match(text, start)
        space = _SPACE.match(text, key.end() + 1) if key else None
        if key is None or space is None:
            raise ValueError("not valid TOML")
        end, position = _end_of(text, space.end())
        yield _Statement(table + _path(key[0] + "= 0"), start, position, (space.end(), end))


def _end_of(text: str, start: int) -> tuple[int, int]:
    """Where what begins at `start` ends, and where the line of that end does."""
    depth, end = 0, start
    for token in _TOKEN.finditer(text, start):
        if token[0] == "\n" and depth <= 0:
            return end, token.end()
        if token[0] in ("[", "{"):
            depth += 1
        elif token[0] in ("]", "}"):
            depth -= 1
        if not token["comment"] and token[0].strip():
            end = token.start() + len(token[0].rstrip())
    return end, len(text)


def _path(statement: str) -> tuple[str, ...]:
    """The keys of a header or of `key = 0`."""
    path: list[str] = []
    value: object = tomllib.loads(statement)
    while is_object(value) and value:
        key, value = next(iter(value.items()))
        value = value[0] if is_list(value) else value  # of [[key]]
        path.append(key)
    return tuple(path)


def _runs(text: str, path: Sequence[str]) -> list[tuple[int, int]]:
    """Where the statements at `path` are; those with nothing else between them as one."""
    runs: list[tuple[int, int]] = []
    follows = False
    for statement in _statements(text):
        ours = statement.path[: len(path)] == tuple(path)
        if ours and follows:
            runs[-1] = (runs[-1][0], statement.end)
        elif ours:
            runs.append((statement.start, statement.end))
        follows = ours
    return runs


def _encode(value: object) -> str:
    """A text or a list of texts."""
    if is_list(value):
        return "[" + ", ".join(map(_encode, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

"""Fields as people and programs write them in text: `Name: …`, `'email': '…'`, columns, elements of XML.

JSON is `json_text.py`'s. Each pattern takes time that is linear in the length of the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from satchel.privacy.fields import Around, hint_at
from satchel.privacy.key_names import Hint, hint_of

_QUOTED = re.compile(
    r"""(?<![\w\\])(["'])([^\W\d][\w .-]{0,60}+)\1\s{0,4}(?::|=>?)\s{0,4}(?:"((?:[^"\\\n]"
    r"|\\.){0,400}+)(?="|\Z|\n)|'((?:[^'\\\n]|\\.){0,400}+)(?='|\Z|\n)|([+]?\d[\d.+-]{0,30}+))"""
)
_ASSIGNED = re.compile(
    r"""(?<![\w'"\\-])([^\W\d][\w.-]{0,60}+)(?:=|: ?)(?:"((?:[^"\\\n]|\\.){0,400}+)""
    r"|'((?:[^'\\\n]|\\.){0,400}+)'|([^\s,;&<>"'()\[\]{}|]{1,200}+))"""
)
_LABELLED = re.compile(
    r"(?:\A|\n)[ \t>*\-•#]{0,8}+\*{0,2}([^\W\d_][\w ./'()-]{0,40}?)\*{0,2}[ \t]?"
    r"[:=：]\*{0,2}[ \t]{0,4}([^\n]{1,300})"
)
_ELEMENT = re.compile(r"<([^\W\d][\w:.-]{0,60}+)(?:\s[^<>]{0,200}+)?>([^<>\n]{1,300}+)</")
_SEPARATORS = ("\t", "|", ";", ",")
_CELL = {
    sign: re.compile(rf'[ ]*+("(?:[^"\n]|"")*+"|[^{re.escape(sign)}\n]*+)(?:{re.escape(sign)}|\Z)')
    for sign in _SEPARATORS
}
_MOST_COLUMNS = 200


@dataclass(frozen=True, slots=True)
class Region:
    """A value in a text, and what is told about it."""

    start: int
    end: int
    hint: Hint


def regions(text: str) -> list[Region]:
    """The values whose names are written beside or above them."""
    found = [*_columns(text), *_pairs(text)]
    found.sort(key=lambda region: (region.start, -region.end))
    return found


def _pairs(text: str) -> Iterator[Region]:
    if ":" in text or "=" in text or "：" in text:
        names = _names_in(text)
        for match in _QUOTED.finditer(text):
            yield from _region(match, 2, (3, 4, 5), names)
        for match in _ASSIGNED.finditer(text):
            yield from _region(match, 1, (2, 3, 4), None)
        for match in _LABELLED.finditer(text):
            yield from _region(match, 1, (2,), names)
    if "</" in text:
        for match in _ELEMENT.finditer(text):
            yield from _region(match, 1, (2,), None)


def _names_in(text: str) -> frozenset[str]:
    """The names of fields that a text has, of which some make `name` a person's."""
    if len(text) > 20_000:
        return frozenset()
    return frozenset(match[2] for match in _QUOTED.finditer(text)) | frozenset(
        match[1].strip() for match in _LABELLED.finditer(text)
    )


def _region(
    match: re.Match[str], name: int, values: tuple[int, ...], names: frozenset[str] | None
) -> Iterator[Region]:
    key = match[name].strip().rpartition(":")[2] if name != 2 else match[name]
    hint = hint_of(key)
    if hint.is_name and names and len(names) <= 60:
        hint = hint_at(key, Around(dict.fromkeys(names, "")))
    if not (hint.kind or hint.is_role or hint.is_adverse):
        return
    for value in values:
        if match[value] is not None:
            start = match.start(value)
            inner = match[value].strip().rstrip(",;").strip("\"'`")
            start += match[value].index(inner)
            yield Region(start, start + len(inner), hint)


def _columns(text: str) -> Iterator[Region]:
    """The cells of tables: lines of equal separators below a line of names."""
    lines: list[tuple[int, str]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        plain = line.rstrip("\r\n")
        if plain:
            lines.append((at, plain))
        at += len(line)
    header = 0
    while header < len(lines) - 1:
        sign, hints = _header(lines[header][1])
        if not sign:
            header += 1
            continue
        row = header + 1
        while row < len(lines) and lines[row][1].count(sign) >= max(1, len(hints) - 3):
            start, line = lines[row]
            yield from _cells(start, line, sign, hints)
            row += 1
        header = row if row > header + 1 else header + 1


def _cells(at: int, line: str, sign: str, hints: list[Hint]) -> Iterator[Region]:
    position = 0
    for hint in hints:
        match = _CELL[sign].match(line, position)
        if match is None:
            return
        raw = match[1]
        start = match.start(1)
        if hint.kind or hint.is_role or hint.is_adverse:
            inner = raw.strip()
            is_quoted = len(inner) > 1 and inner[0] == inner[-1] == '"'
            begin = start + raw.index(inner) + is_quoted if inner else start
            end = begin + len(inner) - 2 * is_quoted
            if end > begin:
                yield Region(at + begin, at + end, hint)
        position = match.end()
        if position >= len(line):
            return


def _header(line: str) -> tuple[str, list[Hint]]:
    """The separator of a line of names, and what they tell; "" for a line that is none."""
    if len(line) > 4000:
        return "", []
    for sign in _SEPARATORS:
        if sign not in line:
            continue
        names = [name.strip().strip('"*_` ') for name in line.split(sign)]
        if not 2 <= len(names) <= _MOST_COLUMNS or any(
            len(name) > 40 or len(name.split()) > 4 for name in names
        ):
            continue
        if any(len(name) and name[0].isdigit() for name in names) or not any(names):
            continue
        around = Around(dict.fromkeys(names, ""))
        hints = [hint_at(name, around) for name in names]
        if any(hint.kind or hint.is_role for hint in hints):
            return sign, hints
    return "", []

"""Markdown: a section is an entry, from its heading to the next one; so is text before the first heading.

Other text is one entry as a whole.
"""

import re
from collections.abc import Iterable, Iterator

from satchel.library.memory.formats.pieces import MOST_PIECES, Fault, Piece
from satchel.support.text import label

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LONGEST_KEY = 80


def read(text: str) -> Iterator[Piece]:
    """The sections of a text, in order."""
    lines = [line.rstrip() for line in text.split("\n")]
    starts = list(_headings(lines))
    if not starts or starts[0] > 0:
        starts.insert(0, 0)
    ends = [*starts[1:], len(lines)]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if number >= MOST_PIECES:
            raise Fault(f"it has more than {MOST_PIECES:,} sections; the others are not read", start + 1)
        section = lines[start:end]
        written = "\n".join(section).strip("\n")
        if not written:
            continue
        first = next(place for place, line in enumerate(section) if line)
        key = _title(section[first])
        yield Piece(
            line=start + first + 1,
            key=label(key, _LONGEST_KEY),
            names=(key,),
            text=written,
            canonical=written,
            where=(start, end),
        )


def read_whole(text: str) -> Iterator[Piece]:
    """The whole text as one piece; what people call it is the name of the file."""
    lines = [line.rstrip() for line in text.split("\n")]
    written = "\n".join(lines).strip("\n")
    if written:
        first = next(place for place, line in enumerate(lines) if line)
        yield Piece(line=first + 1, key="", text=written, canonical=written, where=(0, len(lines)))


def add(text: str, topic: str | None, content: str) -> str:
    """The text with a section at its end."""
    before = text.rstrip("\n") + "\n\n" if text.strip() else ""
    return before + section_of(topic, content)


def section_of(topic: str | None, content: str) -> str:
    body = content.strip("\n")
    return f"## {topic}\n\n{body}\n" if topic else f"{body}\n"


def remove(text: str, pieces: Iterable[Piece]) -> str:
    lines = text.split("\n")
    for start, end in sorted((_span(piece) for piece in pieces), reverse=True):
        del lines[start:end]
    return "\n".join(lines)


def replace(text: str, piece: Piece, content: str) -> str:
    """The text with another body below a heading; or with a section, where the content begins with one."""
    lines = text.split("\n")
    start, end = _span(piece)
    new = content.strip("\n").split("\n")
    if _HEADING.match(lines[start]) and not _HEADING.match(new[0]):
        new = [lines[start], "", *new]
    lines[start:end] = [*new, ""] if end >= len(lines) or new[-1] else new
    return "\n".join(lines)


def put(text: str, canonical: str) -> str:
    """The text with a section as it was, in the place of the one that has its heading now."""
    heading = canonical.split("\n")[0]
    now = next((piece for piece in read(text) if piece.text.split("\n")[0] == heading), None)
    if now is None or not _HEADING.match(heading):
        return add(text, None, canonical)
    return replace(text, now, canonical)


def put_whole(text: str, canonical: str) -> str:
    return canonical + "\n"


def _title(line: str) -> str:
    """What a heading says, or a line that is none."""
    heading = _HEADING.match(line)
    said = line[heading.end() :].strip() if heading else line.strip()
    if heading and said.rstrip("#").endswith((" ", "\t")):
        said = said.rstrip("#").rstrip()
    return said or "#"


def _headings(lines: list[str]) -> Iterator[int]:
    """The places of headings; what stands in a fence of code is none."""
    fence = ""
    for place, line in enumerate(lines):
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and line.strip() == found[1]:
            fence = ""
        elif not fence and _HEADING.match(line):
            yield place


def _span(piece: Piece) -> tuple[int, int]:
    start, end = piece.where
    return int(start), int(end)

"""Finds the examples, the shell commands, and the scripts with a `$1` of their own in a command's text."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal, NamedTuple

Kind = Literal["text", "example", "shell"]
_FENCE = re.compile(r"^[ \t>]*(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)
# A script between quotes, where it ends within a reasonable distance.
_SCRIPT = re.compile(r"""\b(?:[gmn]?awk|sed|perl)\b[^'"\n`]{0,80}(?:'[^']{0,2000}'|"[^"]{0,2000}")""")


class Span(NamedTuple):
    """A part of a text: what is around fences, a fenced example, or a fenced command for a shell."""

    kind: Kind
    start: int
    end: int


def spans_of(text: str) -> Iterator[Span]:
    """All parts, one after the other; a fence that is never closed reaches to the end."""
    at, opened = 0, None
    for found in _FENCE.finditer(text):
        mark, info = found["mark"], found["info"].strip()
        if opened is None:
            if mark[0] == "`" and "`" in info:  # code in a line, and no fence
                continue
            if found.start() > at:
                yield Span("text", at, found.start())
            at, opened = found.start(), (mark, "shell" if info.startswith("!") else "example")
        elif mark[0] == opened[0][0] and len(mark) >= len(opened[0]) and not info:
            yield Span("shell" if opened[1] == "shell" else "example", at, found.end())
            at, opened = found.end(), None
    if at < len(text):
        is_open = opened is not None
        yield Span(("shell" if opened[1] == "shell" else "example") if is_open else "text", at, len(text))


def scripts_in(text: str) -> list[tuple[int, int]]:
    """Where the scripts of awk, sed and Perl are: a `$1` in them is theirs."""
    return [found.span() for found in _SCRIPT.finditer(text)]


def is_in(position: int, spans: list[tuple[int, int]]) -> bool:
    """Whether a position is in one of these spans, which are in order."""
    number = bisect_right(spans, (position, position)) - 1
    return any(start <= position < end for start, end in spans[max(0, number) : number + 2])

"""TypeScript is checked by `deno check`: its options, its words, and which of its findings would fail."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from satchel.sandbox.checking.model import Checker, Finding, Places

_HEAD = re.compile(r"(?:TS(?P<code>\d{1,5}) \[ERROR\]|error): +(?P<text>.+)")
_AT = re.compile(r" +at (?P<file>\S+?):(?P<line>\d{1,9}):(?P<column>\d{1,9})")
_MARKS = re.compile(r" *[~^]+ *")
_FORGOTTEN_AWAIT = "TS2773"
_NO_PROPERTY = ("TS2339", "TS2551")
# Overloads, whose choice says little, and what only matters in strict mode: no type given, maybe no value.
_VAGUE_RULES = re.compile(r"TS(?:2769|2454|253[123]|2571|272[12]|1804[6789]|7\d{3})")
# Properties of an object that begins empty; a choice that went through a variable.
_VAGUE_TYPES = re.compile(
    r"on type '(?:\{\}|never|unknown|object)'|[Tt]ype 'string' is not assignable to .*type '\""
)
_WORD = re.compile(r"[\w$]{1,100}")
_ASSIGNMENT = re.compile(r" {0,9}(?:\?\?|\|\||[+*/-])?=(?![=>])")
_LONGEST_BLOCK = 40


def _read(output: Sequence[str]) -> Iterator[Finding]:
    """A message is about the first place that is named after it. Line 0: in another file."""
    for number, row in enumerate(output):
        head = _HEAD.fullmatch(row)
        if head is None:
            continue
        block = list(takewhile(bool, output[number + 1 : number + 1 + _LONGEST_BLOCK]))
        end = next((index for index, text in enumerate(block) if _AT.fullmatch(text)), None)
        place = _AT.fullmatch(block[end]) if end is not None else None
        if place is not None:
            yield Finding(
                line=int(place["line"]) if place["file"].endswith("/main.ts") else 0,
                column=int(place["column"]),
                message=" ".join([head["text"], *_last_reason(block[:end])]),
                rule=f"TS{head['code']}" if head["code"] else "",
            )


def _last_reason(block: Sequence[str]) -> list[str]:
    """The innermost of the indented reasons that follow a message; then come the line and its marks."""
    if len(block) < 3 or not _MARKS.fullmatch(block[-1]):
        return []
    return [text.strip() for text in block[:-2] if text.startswith("  ") and "|" not in text[:8]][-1:]


def _likely(findings: Sequence[Finding], lines: Sequence[str], local: Collection[str]) -> list[Finding]:
    assigned = {name for row in findings if (name := _assigned_property(lines, row))}
    likely: list[Finding] = []
    for row in findings:
        if row.rule == _FORGOTTEN_AWAIT:  # it follows what it explains
            if likely and (likely[-1].line, likely[-1].column) == (row.line, row.column):
                likely[-1] = replace(likely[-1], message=f"{likely[-1].message} {row.message}")
            continue
        is_vague = _VAGUE_RULES.fullmatch(row.rule) or _VAGUE_TYPES.search(row.message)
        is_added = row.rule in _NO_PROPERTY and _word_at(lines, row) in assigned
        if row.line and not is_vague and not is_added:
            likely.append(row)
    return likely


def _assigned_property(lines: Sequence[str], row: Finding) -> str:
    """The name of a property that the program adds to an object, which is allowed for any type."""
    if row.rule not in _NO_PROPERTY:
        return ""
    name = _word_at(lines, row)
    return name if name and _ASSIGNMENT.match(lines[row.line - 1], row.column - 1 + len(name)) else ""


def _word_at(lines: Sequence[str], row: Finding) -> str:
    if not 1 <= row.line <= len(lines):
        return ""
    match = _WORD.match(lines[row.line - 1], max(0, row.column - 1))
    return match[0] if match else ""


def _options(places: Places, python_version: str) -> list[str]:
    return ["--quiet", "--no-remote", "--no-npm", "--no-lock", f"--config={places.program}/deno.json"]


CHECKER = Checker(name="deno", file="main.ts", options=_options, read=_read, likely=_likely)

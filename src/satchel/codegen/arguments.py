"""Parameters that a description explains in a part of its own, such as "Args:" in a docstring.

They belong to the parameters: what a description and a schema say of one is put together, and told once.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from satchel.model import Json, is_object

_HEADING = re.compile(
    r"\s*(?:#{1,6} |\*\*|__)?\s*(?:(?:input|path|query|body|optional|required) )?"
    r"(?:args|arguments|parameters|params|inputs)\s*(:?)(?:\*\*|__)?\s*(:?)",
    re.IGNORECASE,
)
_ENTRY = re.compile(
    r"(?:[-*•+]\s+)?[`*\"']{0,3}(?P<name>[^\s`*\"'():]{1,200})[`*\"']{0,3}"
    r"\s*(?:\((?P<kind>[^()]{0,200})\))?[`*]{0,3}\s*(?::|\s[-–—])[`*]{0,3}(?:\s+(?P<text>.*))?$"
)
_CONTEXT = "ctx"  # the parameter by which a server's library hands its own things to a function
_WORD = re.compile(r"\w+")
# Words about the kind of a parameter, which its type tells already.
_KINDS = frozenset(
    re.findall(
        r"\w+",
        "str string int integer float number bool boolean list array dict dictionary object of any none null "
        "optional required a an or and the json type path union literal",
    )
)
_SMALL = frozenset(
    re.findall(r"\w+", "a an the of to for in on at by is be or and this that it if as with use")
)


@dataclass(kw_only=True)
class _Entry:
    """A parameter in a description: the lines that it takes, and what they say."""

    name: str
    lines: list[int]
    texts: list[str] = field(default_factory=list[str])


def split_arguments(text: str, schema: object) -> tuple[str, object]:
    """A description without what it says of parameters, and the schema with that."""
    properties = schema.get("properties") if is_object(schema) else None
    if not is_object(schema) or not is_object(properties) or ":" not in text:
        return text, schema
    described = {name for name, part in properties.items() if is_object(part)}
    lines = text.split("\n")
    gone: set[int] = set()
    told: dict[str, str] = {}
    for heading, entries in _parts(lines):
        foreign = [entry for entry in entries if entry.name == _CONTEXT and _CONTEXT not in properties]
        found = [entry for entry in entries if entry.name in described and entry.name not in told]
        for entry in found:
            told[entry.name] = "\n".join(entry.texts).strip()
            gone.update(entry.lines)
        for entry in foreign:
            gone.update(entry.lines)
        if entries and len(found) + len(foreign) == len(entries):
            gone.add(heading)
    if not gone:
        return text, schema
    merged: Json = dict(properties)
    for name, more in told.items():
        part = properties[name]
        merged[name] = {**part, "description": _together(part.get("description"), more)}
    kept = "\n".join(line for number, line in enumerate(lines) if number not in gone)
    return re.sub(r"\n{3,}", "\n\n", kept).strip(), {**schema, "properties": merged}


def _parts(lines: Sequence[str]) -> Iterator[tuple[int, list[_Entry]]]:
    """The line of each heading, with the parameters below it. No line is below two of them."""
    end = 0
    for number, line in enumerate(lines):
        heading = _HEADING.fullmatch(line) if number >= end and len(line) < 60 else None
        if heading and (heading[1] or heading[2] or line.lstrip().startswith(("#", "*", "_"))):
            entries = _entries(lines, number)
            end = max((place + 1 for entry in entries for place in entry.lines), default=number + 1)
            yield number, entries


def _entries(lines: Sequence[str], heading: int) -> list[_Entry]:
    above = _indent(lines[heading])
    entries: list[_Entry] = []
    margin: int | None = None
    for number in range(heading + 1, len(lines)):
        line = lines[number]
        if not line.strip():
            if margin is not None and margin <= above:
                break  # below a heading of the same indentation, a paragraph is all there is
            if entries:
                entries[-1].texts.append("")
            continue
        indent = _indent(line)
        margin = indent if margin is None else margin
        if indent < margin:
            break
        entry = _ENTRY.match(line.strip()) if indent == margin else None
        if entry:
            entries.append(_Entry(name=entry["name"], lines=[], texts=[_first(entry)]))
        elif not entries:
            break
        else:
            entries[-1].texts.append(line[min(indent, margin + 2) :].rstrip())
        entries[-1].lines.append(number)
    return entries


def _first(entry: re.Match[str]) -> str:
    """What follows a name, with what stands in brackets unless the type tells it."""
    text, kind = entry["text"] or "", entry["kind"] or ""
    words = {word.lower() for word in _WORD.findall(kind)}
    return text if words <= _KINDS else f"{text} ({kind.strip()})".strip()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _together(schema: object, told: str) -> str:
    """The longer of two texts where it says most of what the shorter does; else both."""
    known = schema.strip() if isinstance(schema, str) else ""
    shorter, longer = sorted((known, told), key=len)
    words = _telling(shorter)
    if not words or len(words & _telling(longer)) >= len(words) / 2:
        return longer
    return f"{known}{'' if known.endswith(('.', '!', '?', ':')) else '.'} {told}"


def _telling(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - _SMALL

"""Changes one value in a JSON text and leaves every other character as it is, comments and all.

Places are found in the text without its comments, which has the same offsets (config/jsonc.py). Whoever calls
this parses the result and compares it with what was meant: nothing here has to be trusted.
"""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from satchel.config.clients.connecting.formats import NotParsedError
from satchel.config.jsonc import to_json
from satchel.config.positions import line_in_json
from satchel.model import Json, is_object

_SPACE = re.compile(r"\s*")
_COMMENT_OR_COMMA = re.compile(r"//[^\n]*|/\*.*?\*/|,", re.DOTALL)
_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\]|\\.)*+"', re.DOTALL)
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)


def parse(text: str) -> Json:
    """The contents of the text. Numbers stay as written: they are compared, never used."""

    def refuse(word: str) -> None:
        raise NotParsedError(f"not valid JSON: {word} is not a number", None)

    plain = to_json(text)
    try:
        document: object = json.loads(
            plain if plain.strip() else "{}", parse_int=str, parse_float=str, parse_constant=refuse
        )
    except json.JSONDecodeError as error:
        raise NotParsedError(f"not valid JSON: {error.msg}", error.lineno) from error
    except RecursionError as error:
        raise NotParsedError("not valid JSON: nested too deeply", None) from error
    if not is_object(document):
        raise NotParsedError("must be an object", 1)
    return document


def read(text: str) -> Json:
    """The same with numbers as numbers, to be written again."""
    return json.loads(to_json(text))


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The line on which the last part of `path` that exists stands."""
    return line_in_json(to_json(text), path)


def put(text: str, path: Sequence[str], value: object) -> str:
    """The text with `value` at `path`: in place of what is there, or as the last member of its object."""
    plain = to_json(text)
    if not plain.strip():
        head = text.rstrip() and text.rstrip() + _newline(text)
        return head + _encode(_nested(path, value), "", text) + _newline(text)
    if member := _find(plain, path):
        written = text[member.value : member.end]
        inline = written[0] in "[{" and "\n" not in written
        new = _encode(value, _indentation(text, member.start), text, inline=inline)
        return text[: member.value] + new + text[member.end :]
    depth, opening = 0, _skip(plain, 0)
    while outer := _find(plain, path[: depth + 1]):
        depth, opening = depth + 1, outer.value
    return _insert(text, plain, opening, path[depth], _nested(path[depth + 1 :], value))


def remove(text: str, path: Sequence[str]) -> str:
    """The text without what is at `path`, with the commas that are needed and no empty line in its place."""
    plain = to_json(text)
    outer = _find(plain, path[:-1])
    opening = outer.value if outer else _skip(plain, 0)
    members, closing = _members(plain, opening)
    index = max(number for number, member in enumerate(members) if member.key == path[-1])
    member, last = members[index], index == len(members) - 1
    comma = _comma(text, member.end, closing if last else members[index + 1].start)
    start, end = _with_its_lines(text, plain, member.start, member.end if comma is None else comma + 1)
    if len(members) == 1 and not text[opening + 1 : start].strip() and not text[end:closing].strip():
        return text[: opening + 1] + text[closing:]
    shorter = text[:start] + text[end:]
    if last and index and comma is None:  # the comma before it is one too many now
        before = _comma(text, members[index - 1].end, member.start)
        shorter = shorter if before is None else shorter[:before] + shorter[before + 1 :]
    return shorter


def masked(text: str, path: Sequence[str], keys: Collection[str]) -> str:
    """The text for people's eyes: every text in it is `***`, but for keys, and these of what is at `path`.

    So are comments: people keep in them what was a value once.
    """
    plain = to_json(text)
    members = [_find(plain, (*path, key)) for key in keys] if plain.strip() else []
    open_to_all = [range(member.start, member.end) for member in members if member]

    def mask(match: re.Match[str]) -> str:
        if not match[0].startswith('"'):
            return "// ***" if match[0].startswith("//") else "/* *** */"
        if any(match.start() in place for place in open_to_all):
            return match[0]
        return match[0] if plain.startswith(":", _skip(plain, match.end())) else '"***"'

    return _COMMENT_OR_STRING.sub(mask, text)


@dataclass(frozen=True)
class _Member:
    key: str
    start: int  # of the key
    value: int
    end: int


def _find(plain: str, path: Sequence[str]) -> _Member | None:
    """The member at `path`. Of two keys of the same name the last one counts."""
    opening, member = _skip(plain, 0), None
    for key in path:
        members = _members(plain, opening)[0] if plain.startswith("{", opening) else []
        found = [member for member in members if member.key == key]
        if not found:
            return None
        member = found[-1]
        opening = member.value
    return member


def _members(plain: str, opening: int) -> tuple[list[_Member], int]:
    """The members of the object that begins at `opening`, and where its closing brace is."""
    if plain[opening] != "{":
        raise ValueError("not an object")
    members: list[_Member] = []
    position = _skip(plain, opening + 1)
    while plain[position] != "}":
        start = position
        key, position = _value(plain, start)
        value = _skip(plain, _skip(plain, position) + 1)
        _, end = _value(plain, value)
        members.append(_Member(key, start, value, end))
        position = _skip(plain, end)
        if plain[position] == ",":
            position = _skip(plain, position + 1)
    return members, position


def _value(plain: str, position: int) -> tuple[Any, int]:
    return _DECODER.raw_decode(plain, position)


def _skip(plain: str, position: int) -> int:
    match = _SPACE.match(plain, position)
    return match.end() if match else position


def _insert(text: str, plain: str, opening: int, key: str, value: object) -> str:
    """A new last member, laid out as the one before it."""
    members, closing = _members(plain, opening)
    inside = members[-1].end if members else opening + 1
    gap = text[inside:closing]
    content = inside + len(gap.rstrip())  # comments after the last member stay with it
    if members:
        line = text.rfind("\n", 0, members[-1].start) + 1
        first = not text[line : members[-1].start].strip()
        indent = text[line : members[-1].start] if first else _indentation(text, opening) + _unit(text)
        lines = first or "\n" in gap
    else:
        indent = _indentation(text, opening) + _unit(text)
        lines = "\n" in text.strip() or not plain.strip()[1:-1].strip()
    member = (
        json.dumps(key, ensure_ascii=False) + _colon(text) + _encode(value, indent, text, inline=not lines)
    )
    trailing = _comma(text, inside, closing) if members else None
    space = " " if (members and not _is_tight(text)) or gap.strip() else ""
    between = _newline(text) + indent if lines else space
    after = "," if trailing is not None else ""
    if not members and lines and "\n" not in text[content:closing]:
        after += _newline(text) + _indentation(text, opening)
    comma = "," if members and trailing is None else ""
    return text[:inside] + comma + text[inside:content] + between + member + after + text[content:]


def _with_its_lines(text: str, plain: str, start: int, end: int) -> tuple[int, int]:
    """Where to cut so that neither an empty line nor a gap is left."""
    line = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    rest = text[end : len(text) if line_end < 0 else line_end]
    if line and not text[line:start].strip() and not rest.strip():
        return line - (2 if text[:line].endswith("\r\n") else 1), end + len(rest.rstrip("\r"))
    if text[end - 1] == "," and rest.strip():  # something follows on the same line
        return start, end + len(rest) - len(rest.lstrip())
    content = len(text[:start].rstrip())
    in_comment = plain[content - 1].isspace()
    return (start if in_comment else content), end


def _comma(text: str, start: int, end: int) -> int | None:
    """Where the comma is between two places with nothing but space and comments between them."""
    commas = (match.start() for match in _COMMENT_OR_COMMA.finditer(text, start, end) if match[0] == ",")
    return next(commas, None)


def _encode(value: object, indent: str, text: str, *, inline: bool = False) -> str:
    if inline:
        return json.dumps(
            value, ensure_ascii=False, separators=(("," if _is_tight(text) else ", "), _colon(text))
        )
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return (_newline(text) + indent).join(lines)


def _nested(path: Sequence[str], value: object) -> object:
    for key in reversed(path):
        value = {key: value}
    return value


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """How far a level is indented in this text."""
    match = re.search(r"^([ \t]+)\"", text, re.MULTILINE)
    return match[1] if match else "  "


def _indentation(text: str, position: int) -> str:
    """What the line of `position` begins with."""
    line = text.rfind("\n", 0, position) + 1
    match = re.compile(r"[ \t]*").match(text, line)
    return match[0] if match else ""


def _is_tight(text: str) -> bool:
    """Whether there are no spaces between keys and values: some programs write a file like this."""
    return '":' in text and '": ' not in text


def _colon(text: str) -> str:
    return ":" if _is_tight(text) else ": "

"""The YAML at the head of a Markdown file, read as leniently as it can be: people write it by hand.

What is mended is said. Only what can't be understood at all is an error, with its line.
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from satchel.model import Json

_HINT = "argument-hint"
MOST = 64 * 1024  # characters of front matter
_TEXTS = frozenset({"name", "description", "license", "when_to_use"})  # keys whose value can only be text
_RESPELLED = frozenset({"name", "description", "license", "allowed-tools"})
_BEFORE = re.compile(
    r"(?:\s*<!--.*?-->)*\s*(?:```+[a-z]*[ \t]*\n(?=---))?", re.DOTALL
)  # comments, a code block
_FOREIGN_COLON = re.compile(
    r"^([A-Za-z_][\w-]*)[ \t]*(?:\uff1a[ \t\xa0\u3000]*|:[\xa0\u3000][ \t\xa0\u3000]*)", re.MULTILINE
)
_HASH = re.compile(r"^[^:]*:\s+[^\s\"'|>].*?\s#\S")
_FENCE = re.compile(r"^---[ \t]*$")
_END = re.compile(r"^(---|\.\.\.)[ \t]*$")
_SPACED = r"allowed[ \xa0]tools|argument[ \xa0]hint|user[ \xa0]invocable"  # as some write these keys
_ENTRY = re.compile(rf"^({_SPACED}|[A-Za-z_][\w.-]*|\"[^\"]+\"|'[^']+')[ \t\xa0]*:(?:[ \t\xa0]+(.*)|)$")
_BLOCK = re.compile(r"[|>](?:[+-]?[1-9]?|[1-9][+-])(?:[ \t]+#.*|[ \t]+(?P<text>.*)|)$", re.DOTALL)
_UNWRITABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")  # in YAML


@dataclass(frozen=True, kw_only=True)
class Remark:
    """A remark about a line of a file."""

    text: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


@dataclass(frozen=True, kw_only=True)
class Document:
    """A file: what its front matter says, and what follows it."""

    values: Json = field(default_factory=dict[str, Any])
    written: Mapping[str, str] = field(default_factory=dict[str, str])  # where YAML makes no text of it
    body: str = ""
    body_line: int = 1  # where the body begins
    lines: Mapping[str, int] = field(default_factory=dict[str, int])  # where each key is
    warnings: tuple[Remark, ...] = ()
    error: Remark | None = None


def decode(data: bytes) -> tuple[str, str | None]:
    """The text of a file with line breaks as here, and what encoding had to be guessed."""
    text, guessed = _decoded(data)
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), guessed


def _decoded(data: bytes) -> tuple[str, str | None]:
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return data.decode("utf-32", "replace"), "UTF-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), "UTF-16"
    for order in ("utf-16-le", "utf-16-be"):
        if data.startswith("---".encode(order)):
            return data.decode(order, "replace"), "UTF-16"
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    faults = text.count("\ufffd")
    if sum(not character.isascii() for character in text) > 2 * faults:  # a few bad bytes in good text
        return text, "UTF-8"
    return data.decode("cp1252", "replace"), "Windows-1252"


def _guess_said(guessed: str) -> str:
    return "has bytes that are not UTF-8" if guessed == "UTF-8" else f"is not UTF-8; read as {guessed}"


def read_document(data: bytes) -> Document:
    """Read a file. Never raises: what is wrong is in the result."""
    text, guessed = decode(data)
    warnings = [Remark(text=_guess_said(guessed), line=1)] if guessed else []
    lines = text.split("\n")
    before = _BEFORE.match(text)
    start = text.count("\n", 0, before.end()) if before is not None else 0
    if not _FENCE.match(lines[start]):
        return Document(
            body=text, warnings=tuple(warnings), error=Remark(text="has no front matter ('---')", line=1)
        )
    if any(line.strip() for line in lines[:start]):
        warnings.append(Remark(text="the front matter should be at the very beginning", line=start + 1))
    end = next((number for number in range(start + 1, len(lines)) if _END.match(lines[number])), None)
    if end is None:
        return _without_end(text, lines, start, warnings)
    return _with_values(_document(lines, end, warnings), lines[start + 1 : end], start + 2)


def _document(lines: list[str], end: int, warnings: list[Remark]) -> Document:
    return Document(body="\n".join(lines[end + 1 :]), body_line=end + 2, warnings=tuple(warnings))


def _without_end(text: str, lines: list[str], start: int, warnings: list[Remark]) -> Document:
    """Take the first empty line for the end, if what is before it is a front matter."""
    wrong = Remark(text="its front matter has no end ('---')", line=start + 1)
    end = next((number for number in range(start + 1, len(lines)) if not lines[number].strip()), len(lines))
    found = _with_values(_document(lines, end, [*warnings, wrong]), lines[start + 1 : end], start + 2)
    if found.error is None and {"name", "description"} <= found.values.keys():
        return found
    return Document(body=text, warnings=tuple(warnings), error=wrong)


def _with_values(document: Document, head: list[str], first: int) -> Document:
    """`first` is the number of the head's first line in the file."""
    # YAML takes long to load, and what files said that have not changed is cached.
    from satchel.library.skills.bounded_yaml import load, plain

    text = "\n".join(head)
    if len(text) > MOST:
        error = Remark(text=f"its front matter has more than {MOST:,} characters", line=first)
        return replace(document, error=error)
    warnings = list(document.warnings)
    text, unwritable = _without_unwritable(text, first)
    warnings += unwritable
    if text[:1] in (" ", "\t"):
        warnings += [Remark(text="is indented with a tab", line=first)] if text[0] == "\t" else []
        text = textwrap.dedent(text)
    text, foreign = _with_colons(text, first)
    warnings += foreign
    head = text.split("\n")
    try:
        values, written = load(text)
    except ValueError as failure:
        mended, remarks = _mend(head, first)
        try:
            values, written = load("\n".join(mended))
        except ValueError:
            return replace(document, error=_worded(failure, first))
        warnings += remarks
    if not isinstance(values, dict):
        error = Remark(text="its front matter is not keys and values", line=first)
        return replace(document, error=error)
    places, doubled = _places(head, first)
    warnings += doubled
    try:
        read = cast("Json", plain(values))
    except (ValueError, RecursionError) as failure:
        return replace(document, error=_worded(failure, first))
    warnings += _make_texts(read, head, first)
    _keep_hint(read, head)
    warnings += _cut_short(head, first)
    warnings += _respell(read, written, places)
    return replace(document, values=read, written=written, lines=places, warnings=tuple(warnings))


def _without_unwritable(text: str, first: int) -> tuple[str, list[Remark]]:
    """Without characters that YAML forbids, such as U+007F: they must not make a file unreadable."""
    found = _UNWRITABLE.search(text)
    if found is None:
        return text, []
    remark = f"has U+{ord(found[0]):04X}, which YAML does not allow; it is left out"
    return _UNWRITABLE.sub("", text), [Remark(text=remark, line=first + text.count("\n", 0, found.start()))]


def _with_colons(text: str, first: int) -> tuple[str, list[Remark]]:
    """With a colon and a space after each key where somebody has typed others that look like them."""
    found = _FOREIGN_COLON.search(text)
    if found is None:
        return text, []
    line = first + text.count("\n", 0, found.start())
    remark = Remark(text=f"after '{found[1]}' there should be ': ', as it is read", line=line)
    return _FOREIGN_COLON.sub(r"\1: ", text), [remark]


def _mend(head: list[str], first: int, levels: int = 2) -> tuple[list[str], list[Remark]]:
    """Quote the values that YAML can't read by themselves: a colon, a bracket or a star in plain text."""
    mended: list[str] = []
    remarks: list[Remark] = []
    for number, lines in _entries(head):
        match = _ENTRY.match(lines[0])
        if match is None or _is_readable("\n".join(lines)):
            mended += lines
            continue
        inner = _mended_inside(match, lines, first + number, levels - 1) if levels > 1 else None
        if inner is not None:
            mended += inner[0]
            remarks += inner[1]
            continue
        mended.append(f"{match[1]}: {_quoted(_value_of(match, lines))}")
        mended += [""] * (len(lines) - 1)  # so that lines keep their numbers
        remarks.append(_unquoted_remark(_key_of(match), first + number))
    return mended, remarks


def _mended_inside(
    match: re.Match[str], lines: list[str], line: int, levels: int
) -> tuple[list[str], list[Remark]] | None:
    """The keys and values below a key, mended one by one, where that makes them readable."""
    below = textwrap.dedent("\n".join(lines[1:])).split("\n")
    if match[2] or _key_of(match) in _TEXTS or not below or not _ENTRY.match(below[0]):
        return None
    inner, remarks = _mend(below, line + 1, levels)
    mended = [lines[0], *(f"  {each}" if each else "" for each in inner)]
    return (mended, remarks) if remarks and _is_readable("\n".join(mended)) else None


def _value_of(match: re.Match[str], lines: list[str]) -> str:
    """The text of an entry, in one line; without the sign of a block that is not indented as one."""
    begin = match[2] or ""
    block = _BLOCK.match(begin)
    if block is not None:
        begin = block["text"] or ""
    return _unquoted(" ".join([begin, *(line.strip() for line in lines[1:])]).strip())


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _unquoted_remark(key: str, line: int) -> Remark:
    return Remark(text=f"'{key}' should be in quotes: it is read as text", line=line)


def _entries(head: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The keys at the left margin, each with the lines below that belong to it."""
    begin = 0
    for number in range(1, len(head) + 1):
        if number == len(head) or (_ENTRY.match(head[number]) and not head[number][:1].isspace()):
            yield begin, head[begin:number]
            begin = number


def _key_of(match: re.Match[str]) -> str:
    return match[1].strip("\"'")


def _is_readable(text: str) -> bool:
    from satchel.library.skills.bounded_yaml import load  # loaded already: it could not read the whole

    try:
        return isinstance(load(text)[0], Mapping)
    except ValueError:
        return False


def _unquoted(value: str) -> str:
    """Without the quotes of somebody who did quote it, and did not escape what is inside."""
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    is_open = value[:1] in ("'", '"') and value.count(value[0]) == 1  # and not a word in quotes
    return value[1:] if is_open else value


def _places(head: list[str], first: int) -> tuple[dict[str, int], list[Remark]]:
    places: dict[str, int] = {}
    doubled: list[Remark] = []
    for number, lines in _entries(head):
        match = _ENTRY.match(lines[0])
        if match is None:
            continue
        key = _key_of(match)
        if key in places:
            doubled.append(Remark(text=f"'{key}' is there twice; the last one counts", line=first + number))
        places[key] = first + number
    return places, doubled


def _make_texts(values: Json, head: list[str], first: int) -> list[Remark]:
    """Take a value as text if a colon or a bracket has made keys and values of it that can only be text."""
    if not any(isinstance(values.get(key), dict) for key in _TEXTS):
        return []
    remarks: list[Remark] = []
    for number, lines in _entries(head):
        match = _ENTRY.match(lines[0])
        key = _key_of(match) if match is not None else ""
        if match is not None and key in _TEXTS and isinstance(values.get(key), dict):
            values[key] = _value_of(match, lines)
            remarks.append(_unquoted_remark(key, first + number))
    return remarks


def _keep_hint(values: Json, head: list[str]) -> None:
    """`argument-hint: [file]` is a list in YAML, but its author meant text."""
    if not isinstance(values.get(_HINT), dict | list):
        return
    for _, lines in _entries(head):
        match = _ENTRY.match(lines[0])
        if match is not None and _key_of(match) == _HINT:
            values[_HINT] = _value_of(match, lines).partition(" #")[0].strip()


def _cut_short(head: list[str], first: int) -> list[Remark]:
    """Whether `#12` in a text has turned the rest of it into a comment."""
    return [
        Remark(text=f"'{_key_of(match)}' ends at ' #', where a comment begins: quote it", line=first + number)
        for number, lines in _entries(head)
        if (match := _ENTRY.match(lines[0])) is not None
        and _key_of(match) in _TEXTS
        and _HASH.search(lines[0])
    ]


def _respell(values: Json, written: dict[str, str], places: dict[str, int]) -> list[Remark]:
    """Read `Description` as `description`, where there is none: nobody can mean anything else by it."""
    remarks: list[Remark] = []
    for key in [key for key in values if key not in _RESPELLED]:
        meant = "-".join(key.lower().split())
        if meant in _RESPELLED and meant not in values:
            values[meant] = values.pop(key)
            places[meant] = places.get(key.strip(), 1)
            if key in written:
                written[meant] = written[key]
            remarks.append(Remark(text=f"'{key}' is read as '{meant}'", line=places[meant]))
    return remarks


def _worded(failure: Exception, first: int) -> Remark:
    problem = " ".join(str(failure).split())
    return Remark(text=f"not valid YAML: {problem}"[:300], line=first + getattr(failure, "line", 0))

"""YAML: a key at the top is an entry, with its value. What is changed are only the lines of that key.

What else the text says is an entry, too, so that nothing in it is read that nobody vouches for: its comments,
and the names of anchors and tags.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from satchel.library.memory.formats.pieces import MOST_PIECES, Fault, Piece, canonical_of
from satchel.library.skills.bounded_yaml import SyntaxFault, load, plain
from satchel.model import Json, is_list, is_object
from satchel.support.text import label, whole_characters

_yaml: Any = yaml  # its types are not known
_loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LONGEST_KEY = 80
_LARGEST = 256 * 1024  # characters
_REMARKS = "comments"
_NAMES = (yaml.AliasToken, yaml.AnchorToken, yaml.DirectiveToken, yaml.TagToken)
_TEXT_TAG = ("!!", "str")


def read(text: str) -> Iterator[Piece]:
    """The keys of a text with their values, in order."""
    values = _values(text)
    places = _places(text, values)
    for number, (name, (start, end)) in enumerate(places.items()):
        if name not in values:
            raise Fault(f"the key '{name[:_LONGEST_KEY]}' stands for something else", start + 1)
        if number >= MOST_PIECES:
            raise Fault(f"it has more than {MOST_PIECES:,} keys; the others are not read", start + 1)
        value = values.get(name)
        written = value if isinstance(value, str) else canonical_of(value)
        yield Piece(
            line=start + 1,
            key=label(name, _LONGEST_KEY),
            names=(name,),
            text=whole_characters(f"{name}: {written}"),
            canonical=canonical_of([name, value]),
            where=(start, end),
        )
    if remarks := _remarks(text):
        line, written = text[: text.find(remarks[0])].count("\n") + 1, "\n".join(remarks)
        canonical = canonical_of(written)
        yield Piece(line=line, key=_REMARKS, text=whole_characters(written), canonical=canonical, where=())


def add(text: str, key: str, content: object) -> str:
    if not _values(text):
        return _without_empty(text) + _pair(key, content)
    if _is_flow(text):
        return _dump({**_values(text), key: content})
    end = "" if text.endswith("\n") else "\n"
    return _checked(text + end + _pair(key, content), {**_values(text), key: content})


def remove(text: str, pieces: Iterable[Piece]) -> str:
    gone = list(pieces)
    names = {piece.names[0] for piece in gone if piece.where}
    values = {key: value for key, value in _values(text).items() if key not in names}
    if _is_flow(text) or any(not piece.where for piece in gone):
        return _dump(values)
    lines = text.split("\n")
    for start, end in sorted(((int(piece.where[0]), int(piece.where[1])) for piece in gone), reverse=True):
        del lines[start:end]
    left = "\n".join(lines)
    return _checked(left if values else left + "{}\n", values)


def replace(text: str, piece: Piece, content: object) -> str:
    if not piece.where:
        raise Fault("comments are changed in the file itself", piece.line)
    key = piece.names[0]
    if _is_flow(text):
        return _dump({**_values(text), key: content})
    lines = text.split("\n")
    start, end = int(piece.where[0]), int(piece.where[1])
    lines[start:end] = _pair(key, content).rstrip("\n").split("\n")
    return _checked("\n".join(lines), {**_values(text), key: content})


def put(text: str, canonical: str) -> str:
    """The text with a key as it was, in the place of what it has now."""
    key, value = json.loads(canonical)
    now = next((piece for piece in read(text) if piece.names[:1] == (key,)), None)
    return replace(text, now, value) if now is not None else add(text, key, value)


def _checked(text: str, values: Json) -> str:
    """A changed text, if it has these values; else all of them anew: one may have stood for another's."""
    try:
        if _values(text) == values:
            return text
    except Fault:
        pass
    return _dump(values)


def _values(text: str) -> Json:
    """The values by key, as JSON has them. Fault where there is something else."""
    if len(text) > _LARGEST:
        raise Fault(f"it has more than {_LARGEST:,} characters", 1)
    try:
        loaded, _ = load(text)
        values = plain(loaded)
    except SyntaxFault as error:
        raise Fault(str(error), error.line + 1) from None
    except (ValueError, RecursionError) as error:
        raise Fault(str(error)[:200], 1) from None
    if not is_object(values):
        raise Fault("it must be keys with values", 1)
    return values


def _places(text: str, values: Json) -> dict[str, tuple[int, int]]:
    """The lines of each key with its value. Comments before the next key are not of it.

    Fault where a value is less than what is written: a reader of the file would see what nobody vouches for.
    """
    node: Any = _yaml.compose(text, Loader=_loader)
    lines: list[str] = text.split("\n")
    found: dict[str, tuple[int, int]] = {}
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.tag.endswith(":merge"):
            raise Fault("'<<' is not read; write the keys that it stands for", key.start_mark.line + 1)
        name = _name(key)
        if name in found:
            raise Fault(f"the key '{name[:_LONGEST_KEY]}' is there twice", key.start_mark.line + 1)
        if _count_keys(value) != _count_keys_in(values.get(name)):
            raise Fault(
                f"'{name[:_LONGEST_KEY]}' has a key twice, or hides one with '<<'", key.start_mark.line + 1
            )
        start: int = key.start_mark.line
        end: int = value.end_mark.line + (value.end_mark.column > 0)
        while end > start + 1 and _is_between(lines[end - 1 : end]):
            end -= 1
        found[name] = (start, max(end, start + 1))
    return found


def _count_keys(node: Any) -> int:
    """How many keys are written in a value, those of aliases as often as they are used."""
    if isinstance(node, yaml.MappingNode):
        return sum((not key.tag.endswith(":merge")) + _count_keys(part) for key, part in node.value)
    return sum(map(_count_keys, node.value)) if isinstance(node, yaml.SequenceNode) else 0


def _count_keys_in(value: object) -> int:
    if is_object(value):
        return sum(1 + _count_keys_in(part) for part in value.values())
    return sum(map(_count_keys_in, value)) if is_list(value) else 0


def _remarks(text: str) -> list[str]:
    """What the text says beside its values, line by line."""
    said: list[str] = []
    at = 0
    for token in _yaml.scan(text, Loader=_loader):
        start, end = token.start_mark.index, token.end_mark.index
        said.append(text[at:start])
        if isinstance(token, yaml.TagToken) and token.value != _TEXT_TAG:
            raise Fault("tags are not read: they hide what a value says", token.start_mark.line + 1)
        if isinstance(token, _NAMES):
            said.append(text[start:end])
        elif isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
            said.append(text[start:end].split("\n", 1)[0].partition("#")[2])
        at = end
    said.append(text[at:])
    return [line for part in said for line in map(str.strip, part.split("\n")) if line]


def _is_between(line: list[str]) -> bool:
    """Whether a line, if there is one, belongs to no key."""
    return not line or not line[0].strip() or line[0].startswith("#")


def _name(key: Any) -> str:
    """A key as the values have it: `yes` is true."""
    if key.tag.endswith((":str", ":value")):  # the latter is `=`
        return str(key.value)
    try:
        return str(plain(_yaml.load(_yaml.serialize(key, Dumper=yaml.SafeDumper), Loader=_loader)))
    except (yaml.YAMLError, ValueError, ArithmeticError, LookupError, AttributeError, TypeError):
        raise Fault("a key is not understood", key.start_mark.line + 1) from None


def _is_flow(text: str) -> bool:
    return bool(getattr(_yaml.compose(text, Loader=_loader), "flow_style", False))


def _without_empty(text: str) -> str:
    """Comments of a text that has no values; `{}` goes."""
    lines = [line for line in text.split("\n") if line.lstrip().startswith("#")]
    return "".join(f"{line}\n" for line in lines)


def _pair(key: str, content: object) -> str:
    return _dump({key: content})


def _dump(values: Json) -> str:
    dumped: str = yaml.safe_dump(values, allow_unicode=True, width=1_000_000, sort_keys=False)
    return dumped

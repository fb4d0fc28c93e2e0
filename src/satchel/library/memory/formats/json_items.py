"""JSON: a list of items, an object with a list in it, or an object that has an item for each topic.

The items are read one by one, so that each has its line and a fault leaves those before it.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from satchel.library.memory.formats.pieces import MOST_PIECES, Fault, Piece, canonical_of
from satchel.model import Json, is_list, is_object
from satchel.support.json import is_too_deep
from satchel.support.text import label, whole_characters
from satchel.support.values import MOST_VALUES, ValueCounter, has_too_many_digits

_LISTS = frozenset(("data", "entries", "facts", "history", "items", "memories", "results", "tasks"))
_TOPICS = ("topic", "title", "name", "category", "key")
_CONTENTS = ("content", "memory", "text", "fact", "pattern", "note", "value")
_BOOKKEEPING = frozenset(("id", "created_at", "updated_at", "source", "read_only"))
_SPACE = re.compile(r"[ \t\r\n]*")
_SURROGATES = re.compile("[\ud800-\udfff]")
_LONGEST_KEY = 80
Where = tuple[int | str, ...]


def read(text: str) -> Iterator[Piece]:
    """The items of a text, in order. Fault where it goes on in a way that is not understood."""
    data = text.encode("utf-8", "replace")
    counter = ValueCounter()
    counter.feed(data)
    if counter.count > MOST_VALUES or has_too_many_digits(data):
        raise Fault("it has too many values, or numbers with too many digits", 1)
    for number, (line, where, value) in enumerate(_items(text)):
        if number >= MOST_PIECES:
            raise Fault(f"it has more than {MOST_PIECES:,} entries; the others are not read", line)
        item = _as_object(value, where)
        written = text_of(item)
        topic = _first(item, _TOPICS)
        description = item.get("description")
        names = [name for name in (item.get("id"), topic, description) if isinstance(name, str | int)]
        named = [whole_characters(str(name)) for name in names if name != ""]
        key = named[0] if named else _shortened(written)
        yield Piece(
            line=line,
            key=_shortened(key),
            names=tuple(named),
            text=written,
            canonical=canonical_of(item),
            where=where,
            value=item,
        )


def load(text: str) -> Any:
    """The whole document, to be changed and written again."""
    if not text.strip():
        return []
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Fault(error.msg, error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise Fault(str(error)[:200], 1) from None


def dump(document: object) -> str:
    text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    return _SURROGATES.sub(lambda half: f"\\u{ord(half[0]):04x}", text) + "\n"


def add(text: str, items: Iterable[Json]) -> str:
    document = load(text)
    into = document
    if is_object(document):
        inner = [value for key, value in document.items() if key in _LISTS and is_list(value)]
        if len(inner) != 1:
            raise Fault("it is an object; new entries are added to lists", 1)
        into = inner[0]
    into.extend(items)
    return dump(document)


def remove(text: str, pieces: Iterable[Piece]) -> str:
    document = load(text)
    for piece in sorted(pieces, key=_place, reverse=True):  # so that the places of the others stay
        del _holder(document, piece.where)[piece.where[-1]]
    return dump(document)


def replace(text: str, piece: Piece, item: Json) -> str:
    """The text with another item in the place of one; an item that was plain text stays so where it can."""
    document = load(text)
    last: Any = piece.where[-1]
    holder = _holder(document, piece.where)
    content = item.get("content")
    if isinstance(holder[last], str) and isinstance(content, str):
        holder[last] = content
    elif isinstance(last, str) and is_object(holder[last]) and "topic" not in holder[last]:
        holder[last] = {key: value for key, value in item.items() if key != "topic"}
    else:
        holder[last] = item
    return dump(document)


def put(text: str, canonical: str) -> str:
    """The text with an item as it was, in the place of the one that has its id now, or before all others."""
    item: Json = json.loads(canonical)
    identity = item.get("id")
    for piece in read(text):
        if identity is not None and piece.value is not None and piece.value.get("id") == identity:
            return replace(text, piece, item)
    document = load(text)
    if is_object(document):
        inner = [value for key, value in document.items() if key in _LISTS and is_list(value)]
        if len(inner) != 1:
            topic = _shortened(str(item.get("topic", identity)))
            return dump({topic: {key: value for key, value in item.items() if key != "topic"}, **document})
        inner[0].insert(0, item)
        return dump(document)
    document.insert(0, item)
    return dump(document)


def content_key(item: Json) -> str:
    """The key of an item's text."""
    if "description" in item and not any(key in item for key in _CONTENTS):
        return "description"
    return next((key for key in _CONTENTS if isinstance(item.get(key), str)), "content")


def text_of(item: Json) -> str:
    """The text of an item for a model."""
    topic, content, description = _first(item, _TOPICS), _first(item, _CONTENTS), item.get("description")
    if description is not None and content is None:
        status, outcome = item.get("status"), item.get("outcome")
        head = _plain(description) + (f" ({_plain(status)})" if status else "")
        return f"{head}: {_plain(outcome)}" if outcome else head
    if content is None:
        rest = {key: value for key, value in item.items() if key not in _BOOKKEEPING}
        return whole_characters(json.dumps(rest, ensure_ascii=False))
    return f"{_plain(topic)}: {_plain(content)}" if topic is not None else _plain(content)


def _items(text: str) -> Iterator[tuple[int, Where, object]]:
    scan = _Scan(text)
    if scan.at_end():
        return  # an empty file: a program may be about to write it
    if scan.take("["):
        yield from _list_items(scan, ())
    elif scan.take("{"):
        yield from _object_items(scan)
    else:
        raise Fault("it is neither a list nor an object", scan.line)
    if not scan.at_end():
        raise Fault("something follows after the end", scan.line)


def _list_items(scan: "_Scan", above: Where) -> Iterator[tuple[int, Where, object]]:
    if scan.take("]"):
        return
    number = 0
    while True:
        line, value = scan.value()
        yield line, (*above, number), value
        number += 1
        if scan.take("]"):
            return
        scan.expect(",", "',' or ']'")


def _object_items(scan: "_Scan") -> Iterator[tuple[int, Where, object]]:
    if scan.take("}"):
        return
    seen: set[str] = set()
    while True:
        line, key = scan.value()
        if not isinstance(key, str):
            raise Fault("a key must be a text", line)
        if key in seen:
            raise Fault(f"the key '{_shortened(key)}' is there twice", line)
        seen.add(key)
        scan.expect(":", "':'")
        if key in _LISTS and scan.take("["):
            yield from _list_items(scan, (key,))
        else:
            _, value = scan.value()
            yield line, (key,), value
        if scan.take("}"):
            return
        scan.expect(",", "',' or '}'")


class _Scan:
    """A place in a text, which moves on from value to value."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._counted = 0
        self.line = 1
        self._skip()

    def at_end(self) -> bool:
        return self._at >= len(self._text)

    def take(self, mark: str) -> bool:
        if self._text.startswith(mark, self._at):
            self._at += 1
            self._skip()
            return True
        return False

    def expect(self, mark: str, wanted: str) -> None:
        if not self.take(mark):
            raise Fault(f"{wanted} is expected here", self.line)

    def value(self) -> tuple[int, Any]:
        """The line of the next value, and the value."""
        line = self.line
        try:
            value, end = _DECODER.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            raise Fault(f"{error.msg[:1].lower()}{error.msg[1:]}", error.lineno) from None
        except RecursionError:
            raise Fault("it is nested too deeply", line) from None
        except ValueError as error:
            raise Fault(str(error)[:200], line) from None
        if is_too_deep(value):
            raise Fault("it is nested too deeply", line)
        self._at = end
        self._skip()
        return line, value

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        self.line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at


def _pairs(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has a key twice, of which others would read different ones")
    return found


def _number(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_float=_number, parse_constant=_constant)


def _as_object(value: object, where: Where) -> Json:
    """An item as all of them should be; what stands in an object by topic has that topic."""
    item: Json = value if is_object(value) else {"content": value}
    named = where[-1]
    return {"topic": named, **item} if isinstance(named, str) else item


def _first(item: Json, keys: Iterable[str]) -> object:
    return next((item[key] for key in keys if item.get(key) not in (None, "")), None)


def _plain(value: object) -> str:
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return whole_characters(written)


def _shortened(text: str) -> str:
    return label(" ".join(text[: 4 * _LONGEST_KEY].split()), _LONGEST_KEY)


def _place(piece: Piece) -> int:
    last = piece.where[-1]
    return last if isinstance(last, int) else 0


def _holder(document: Any, where: Where) -> Any:
    for step in where[:-1]:
        document = document[step]
    return document

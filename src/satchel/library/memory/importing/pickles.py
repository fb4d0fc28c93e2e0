"""The points that a local Qdrant has pickled, read without Python's `pickle`.

A pickle is a program that may call anything. This is a small machine for the operations that points need. It
imports nothing and calls nothing: where a pickle would make an object, it keeps the name of the class and the
state. Any other operation, and any other class, is refused. Nothing is allocated for a length that the data
does not have, and parts that a pickle shares are bounded where they are copied into a tree (`values.plain`).
"""

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from satchel.library.memory.importing.values import plain
from satchel.model import Json, is_list, is_object
from satchel.support.text import label

LARGEST = 4 * 1024 * 1024  # bytes of one point; a vector of 4,096 numbers has 37 KB
_DEEPEST = 200
_FLOATS = re.compile(rb"(?:G.{8})++", re.DOTALL)  # a vector, taken in one step


class _NotReadable(ValueError):
    """What keeps a pickle from being read as a point."""


@dataclass(frozen=True, slots=True)
class _Class:
    module: str
    name: str


_POINT = _Class("qdrant_client.http.models.models", "PointStruct")
_SPARSE_VECTOR = _Class("qdrant_client.http.models.models", "SparseVector")


@dataclass(slots=True)
class _Object:
    """What an object would be: the class that it names, and the state it would be given."""

    of: _Class
    state: object = None


def read_point(data: bytes) -> tuple[object, Json]:
    """The id and the payload of a pickled point. Raises ValueError, which says what is odd about it."""
    if len(data) > LARGEST:
        raise _NotReadable(f"it has more than {LARGEST:,} bytes")
    try:
        point = _Machine(data).run()
    except (IndexError, KeyError, UnicodeDecodeError) as error:
        raise _NotReadable("it is cut off, or not a pickle") from error
    if not isinstance(point, _Object) or point.of != _POINT:
        raise _NotReadable("it is not a point")
    fields = point.state.get("__dict__") if is_object(point.state) else None
    if not is_object(fields) or not is_object(fields.get("payload")):
        raise _NotReadable("it has no payload")
    return plain(fields.get("id")), plain(fields["payload"])


class _Machine:
    """Runs the operations of one pickle, each by the byte that it has in the data."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[object] = []
        self.below: list[list[object]] = []  # the stack under each mark
        self.memo: dict[int, object] = {}  # a list would be as long as the largest number that is named

    def run(self) -> object:
        while (operation := self.data[self.at]) != _STOP:
            if operation == _FLOAT:
                self.push_floats()
                continue
            self.at += 1
            if operation in _CONSTANTS:
                self.stack.append(_CONSTANTS[operation])
            elif operation in _EMPTY:
                self.stack.append(_EMPTY[operation]())
            elif operation in _SIZED:
                method, size = _SIZED[operation]
                method(self, size)
            elif operation in _OTHERS:
                _OTHERS[operation](self)
            else:
                raise _NotReadable(f"no point needs its operation {operation:#04x}")
        return self.stack.pop()

    def take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        if len(taken) < size:
            raise IndexError(size)
        self.at += size
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def push_floats(self) -> None:
        run = _FLOATS.match(self.data, self.at)
        if run is None:
            raise IndexError(self.at)
        self.at = run.end()
        self.stack += struct.unpack(">" + "xd" * (len(run[0]) // 9), run[0])

    def push_number(self, size: int) -> None:
        self.stack.append(self.number(size))

    def push_signed(self, size: int) -> None:
        self.stack.append(int.from_bytes(self.take(size), "little", signed=True))

    def push_long(self, size: int) -> None:
        self.push_signed(self.number(size))

    def push_text(self, size: int) -> None:
        self.stack.append(self.take(self.number(size)).decode("utf-8", "surrogatepass"))

    def mark(self) -> None:
        if len(self.below) == _DEEPEST:
            raise _NotReadable(f"it has more than {_DEEPEST} marks at once")
        self.below.append(self.stack)
        self.stack = []

    def marked(self) -> list[object]:
        """All that was pushed since the last mark."""
        marked, self.stack = self.stack, self.below.pop()
        return marked

    def append(self) -> None:
        self.add([self.stack.pop()])

    def append_marked(self) -> None:
        self.add(self.marked())

    def add(self, values: list[object]) -> None:
        target = self.stack[-1]
        if not is_list(target):
            raise _NotReadable("it adds to something that is not a list")
        target += values

    def set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.set([key, value])

    def set_marked(self) -> None:
        self.set(self.marked())

    def set(self, pairs: list[object]) -> None:
        target = self.stack[-1]
        if not is_object(target):
            raise _NotReadable("it sets keys of something that is not a dictionary")
        for key, value in zip(pairs[::2], pairs[1::2], strict=False):
            target[key if isinstance(key, str) else str(plain(key))] = value

    def push_tuple(self, size: int) -> None:
        parts = [self.stack.pop() for _ in range(size)]
        self.stack.append(tuple(reversed(parts)))

    def push_marked_tuple(self) -> None:
        self.stack.append(tuple(self.marked()))

    def push_class(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if not isinstance(module, str) or not isinstance(name, str):
            raise _NotReadable("the name of a class is not a text")
        named = _Class(module, name)
        if named not in (_POINT, _SPARSE_VECTOR):
            raise _NotReadable(f"it names {label(f'{module}.{name}', 80)}, which no point needs")
        self.stack.append(named)

    def make(self) -> None:
        """Keep the class of an object. Here a pickle calls its `__new__`, with these arguments."""
        _arguments, of = self.stack.pop(), self.stack.pop()
        if not isinstance(of, _Class):
            raise _NotReadable("it makes an object of something that is not a class")
        self.stack.append(_Object(of))

    def build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if not isinstance(target, _Object):
            raise _NotReadable("it gives a state to something that is not an object")
        target.state = state

    def memoize(self) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def remember(self, size: int) -> None:
        self.memo[self.number(size)] = self.stack[-1]

    def recall(self, size: int) -> None:
        self.stack.append(self.memo[self.number(size)])


_FLOAT = ord("G")
_STOP = ord(".")
_CONSTANTS: Mapping[int, object] = {ord("N"): None, 0x88: True, 0x89: False}
_EMPTY: Mapping[int, Callable[[], object]] = {
    ord("]"): list[object],
    ord("}"): dict[str, object],
    ord(")"): tuple[object, ...],
    0x8F: list[object],  # a set; nothing asks what is in it
}
_SIZED: Mapping[int, tuple[Callable[[_Machine, int], object], int]] = {
    0x80: (_Machine.take, 1),  # the protocol
    0x95: (_Machine.take, 8),  # the length of a frame
    ord("K"): (_Machine.push_number, 1),
    ord("M"): (_Machine.push_number, 2),
    ord("J"): (_Machine.push_signed, 4),
    0x8A: (_Machine.push_long, 1),
    0x8C: (_Machine.push_text, 1),
    ord("X"): (_Machine.push_text, 4),
    0x8D: (_Machine.push_text, 8),
    0x85: (_Machine.push_tuple, 1),
    0x86: (_Machine.push_tuple, 2),
    0x87: (_Machine.push_tuple, 3),
    ord("q"): (_Machine.remember, 1),
    ord("r"): (_Machine.remember, 4),
    ord("h"): (_Machine.recall, 1),
    ord("j"): (_Machine.recall, 4),
}
_OTHERS: Mapping[int, Callable[[_Machine], object]] = {
    ord("("): _Machine.mark,
    ord("a"): _Machine.append,
    ord("e"): _Machine.append_marked,
    0x90: _Machine.append_marked,
    ord("s"): _Machine.set_item,
    ord("u"): _Machine.set_marked,
    ord("t"): _Machine.push_marked_tuple,
    0x93: _Machine.push_class,
    0x81: _Machine.make,
    ord("b"): _Machine.build,
    0x94: _Machine.memoize,
}

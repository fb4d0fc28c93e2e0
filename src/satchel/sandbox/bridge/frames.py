"""The bridge's frames: four bytes of length, then JSON. What comes in is hostile until it is parsed."""

import json
import math
from collections.abc import Iterator
from typing import Any, NoReturn

from satchel.model import Json, is_object
from satchel.support.json import DEEPEST, is_too_deep
from satchel.support.values import MOST_DIGITS, MOST_VALUES, has_too_many_digits, without_strings

HEAD = 4
_VALUE = 100  # bytes that a value takes once it is read, however small it was


class FrameError(Exception):
    """Bytes that are not a frame. The message says which rule they break."""


class FrameReader:
    """Cuts a stream of bytes into frames, each at most `largest` bytes."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[Json, int]]:
        """The frames that are complete now, each with what it takes in memory, in bytes, at most."""
        self._data += data
        start = 0
        try:
            while len(self._data) - start >= HEAD:
                length = int.from_bytes(self._data[start : start + HEAD], "big")
                if length > self._largest:
                    raise FrameError(f"a frame of {length:,} bytes; at most {self._largest:,} are taken")
                end = start + HEAD + length
                if len(self._data) < end:
                    return
                body = bytes(self._data[start + HEAD : end])
                start = end
                yield decode(body), length + _VALUE * _values(body)
        finally:
            del self._data[:start]


def decode(body: bytes) -> Json:
    """The object of one frame, which is UTF-8: in another encoding its values could not be counted."""
    if _values(body) > MOST_VALUES and _has_too_many_values(body):
        raise FrameError(f"a frame with more than {MOST_VALUES:,} values")
    if has_too_many_digits(body):
        raise FrameError(f"a frame with more than {MOST_DIGITS:,} digits in long numbers")
    try:
        value: object = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise FrameError("a frame nested too deep") from None
    except ValueError as error:
        raise FrameError(f"a frame that is not JSON: {str(error)[:100]}") from None
    if not is_object(value):
        raise FrameError("a frame that is not an object")
    if body.count(b"[") + body.count(b"{") > DEEPEST and is_too_deep(value):
        raise FrameError("a frame nested too deep")
    return value


def encode(value: Any) -> bytes:
    """A frame with that value. Lone surrogates are escaped, so that any text can pass."""
    body = json.dumps(value, separators=(",", ":")).encode()
    return len(body).to_bytes(HEAD, "big") + body


def _has_too_many_values(body: bytes) -> bool:
    """What is in strings does not count. To leave millions of them out would take half a second."""
    quotes = body.count(b'"') - body.count(b'\\"')
    return quotes > 4 * MOST_VALUES or _values(without_strings(body)) > MOST_VALUES  # a key, and a value


def _values(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{")


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _finite(text: str) -> float:
    """`1e999` is read as infinity, which can't be written again."""
    value = float(text)
    return value if math.isfinite(value) else _refuse_constant(text[:40])

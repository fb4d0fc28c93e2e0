"""The output of a program: its beginning and end are kept, and the beginning is reported while it runs."""

import codecs
from collections import deque
from dataclasses import dataclass
from typing import Literal

from satchel.model import Output, Tell

_WIDEST = 4  # bytes of a character in UTF-8


@dataclass(frozen=True, kw_only=True)
class Captured:
    """Text of a stream, and how many characters or bytes of it were left out."""

    text: str = ""
    omitted: int = 0


class Capture:
    """Takes any number of bytes and holds a bounded part of them."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._room = max(kept, 1) * _WIDEST
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        missing = self._room - len(self._head)
        if missing > 0:
            self._head += data[:missing]
            data = data[missing:]
        if not data:
            return
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= self._room:
            self._tail_size -= len(self._tail.popleft())

    def captured(self) -> Captured:
        """As text. Bytes that are not UTF-8 become U+FFFD; nothing else is changed."""
        tail = b"".join(self._tail)
        gap = self.total - len(self._head) - len(tail)
        if not gap:
            text = (bytes(self._head) + tail).decode("utf-8", "replace")
            if len(text) <= self._kept:
                return Captured(text=text)
            head, end, omitted = text, text, len(text) - self._kept
        else:
            head = self._head.decode("utf-8", "replace")
            end = tail.decode("utf-8", "replace")
            omitted = gap + max(0, len(head) + len(end) - self._kept)
        front = self._kept * 2 // 3
        back = self._kept - front
        marker = f"\n… {omitted:,} characters left out …\n"
        return Captured(text=head[:front] + marker + (end[-back:] if back else ""), omitted=omitted)


class Telling:
    """Reports the text on a stream, up to a number of characters; no character is split."""

    def __init__(self, stream: Literal["stdout", "stderr"], most: int, tell: Tell) -> None:
        self._stream: Literal["stdout", "stderr"] = stream
        self._left = most
        self._tell = tell
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, data: bytes, *, final: bool = False) -> None:
        """With `final`, what is left of a character that was never completed is told as U+FFFD."""
        if self._left > 0 and (text := self._decoder.decode(data, final)[: self._left]):
            self._left -= len(text)
            self._tell(Output(stream=self._stream, text=text))

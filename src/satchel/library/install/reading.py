"""The text of a file for the scan: in blocks of whole lines, so that no file has to fit into memory.

How much is read is charged to an allowance that all files of a skill share.
"""

import io
import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

BLOCK = 256 * 1024  # characters that are looked at together
BREAKS = re.compile("[\n\u2028\u2029]")  # where a line ends, in JavaScript too
_CHUNK = 64 * 1024
_OVERLAP = 2_000  # characters of a line that is cut, which are looked at again with what follows
_MOST_TRIES = 20  # lines that are asked whether a block can end with them
_PRINTED = re.compile(rb"[\t\x20-\x7e]{6,}")
_LONGEST_RUN = 4_096  # bytes of printed text that are kept for the next chunk

GoesOn = Callable[[str, str], bool]
"""Whether the command in a line goes on in the line below."""


class Allowance:
    """How many bytes may still be looked at."""

    def __init__(self, most: int) -> None:
        self.left = most

    def take(self, size: int) -> int:
        """The number of these bytes that may still be read; they count as used."""
        taken = min(size, self.left)
        self.left -= taken
        return taken


class Reader:
    """A file, read once for each way in which its text can be taken."""

    def __init__(self, stream: BinaryIO, allowance: Allowance, unread: Allowance) -> None:
        self._stream = stream
        self._allowance = allowance  # for text
        self._unread = unread  # for what is passed over in search of text
        self.is_cut = False  # there is more than was looked at
        self.has_zeros = False

    def text(self, encoding: str, goes_on: GoesOn) -> Iterator[tuple[int, str]]:
        """Blocks of a text, each with the number of its first line."""
        return _blocks(_decoded(self._text_chunks(encoding), encoding), goes_on)

    def printed(self) -> Iterator[tuple[int, str]]:
        """The text in a binary file; there may be zeros between its letters or words."""
        between = {
            b"\n": b"",
            b"": b"",
        }  # what takes the place of zeros, and what may go on in the next chunk
        for chunk in self._chunks(self._unread):
            for instead, rest in between.items() if b"\0" in chunk else [(b"\n", between[b"\n"])]:
                found, between[instead] = _printed(rest + chunk.replace(b"\0", instead))
                yield from self._allowed(found)
        for rest in between.values():
            yield from self._allowed(rest)

    def _allowed(self, found: bytes) -> Iterator[tuple[int, str]]:
        taken = self._allowance.take(len(found))
        self.is_cut = self.is_cut or taken < len(found)
        if taken:
            yield 1, found[:taken].decode("ascii")

    def _text_chunks(self, encoding: str) -> Iterator[bytes]:
        is_plain = encoding.startswith("utf-8")  # of all others, zeros are part
        for chunk in self._chunks(self._allowance):
            self.has_zeros = self.has_zeros or (is_plain and b"\0" in chunk)
            yield chunk.replace(b"\0", b"") if is_plain else chunk  # shells and models read on behind a zero

    def _chunks(self, allowance: Allowance) -> Iterator[bytes]:
        self._stream.seek(0)
        while chunk := self._stream.read(_CHUNK):
            taken = allowance.take(len(chunk))
            if taken:
                yield chunk[:taken]
            if taken < len(chunk):
                self.is_cut = True
                return


def _printed(data: bytes) -> tuple[bytes, bytes]:
    """The runs of printed characters, a line each, and the last one, which may go on."""
    runs = [match.span() for match in _PRINTED.finditer(data)]
    rest = b""
    if runs and runs[-1][1] == len(data):
        start, end = runs[-1]
        if end - start <= _LONGEST_RUN:
            runs.pop()
        rest = data[max(start, end - _LONGEST_RUN) :]
    elif tail := re.search(rb"[\t\x20-\x7e]{1,5}\Z", data[-5:]):
        rest = tail[0]
    return b"\n".join(data[start:end] for start, end in runs), rest


def _decoded(chunks: Iterable[bytes], encoding: str) -> Iterator[str]:
    """The text, with line breaks as here; what can't be decoded is replaced."""
    decoder = io.IncrementalNewlineDecoder(getincrementaldecoder(encoding)("replace"), translate=True)
    for chunk in chunks:
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def _blocks(texts: Iterable[str], goes_on: GoesOn) -> Iterator[tuple[int, str]]:
    number, rest = 1, ""
    for text in texts:
        rest += text
        while len(rest) >= BLOCK:
            end, following = _cut(rest, goes_on)
            yield number, rest[:end]
            number += len(BREAKS.findall(rest, 0, following))
            rest = rest[following:]
    if rest:
        yield number, rest


def _cut(text: str, goes_on: GoesOn) -> tuple[int, int]:
    """Where a block ends, and where the next one begins: between two lines that don't belong together."""
    last = text.rfind("\n")  # what is behind it is not a whole line yet
    for _ in range(_MOST_TRIES):
        middle = text.rfind("\n", 0, max(last, 0))
        if middle < 0:
            break
        first = text.rfind("\n", 0, middle)
        if not goes_on(text[first + 1 : middle], text[middle + 1 : last]):
            return middle, middle + 1
        last = middle
    return len(text), len(text) - _OVERLAP  # one long line

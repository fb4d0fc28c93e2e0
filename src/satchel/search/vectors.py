"""Vectors on disk, so that a text is embedded once: one file for each embedder, found by what it was made of.

The file is a head and then records of one size, each with a checksum of its own: whoever is killed while
appending leaves at most one record that is cut, and that is dropped. It holds nothing that can't be computed
again, so a file that can't be used is forgotten and written anew.
"""

import os
import struct
import threading
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from satchel.support.files import locked, read_small, write_atomically

Stored = NDArray[np.float16]

_HEAD = struct.Struct("<8sII")  # magic, numbers in a vector, checksum of both
_MAGIC = b"satchel1"
_KEY = 16  # bytes
_CHECK = 4  # bytes, before the key
_DIMENSION_MAX = 65_536
_FILE_MAX = 1024 * 1024 * 1024  # larger ones are not ours
_SLACK = 16 * 1024 * 1024
_GROWTH = 4  # times as many records as are in use make a file worth cleaning
_SMALL = 20_000  # records; a file with fewer is never cleaned: other projects share it


def key_of(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:_KEY]


class VectorCache:
    """All vectors of one embedder, in memory and on disk. May be used from several threads and processes.

    They are kept as float16: half the size, and a cosine changes by less than 0.001. Vectors are expected
    to be of length 1; a file has vectors of one dimension, and one of another dimension starts it anew.
    """

    def __init__(self, directory: Path, identity: str) -> None:
        self._directory = directory
        self._file = directory / f"{sha256(identity.encode()).hexdigest()[:32]}.vectors"
        self._lock = threading.Lock()
        self._vectors: dict[bytes, Stored] = {}
        self._dimension = 0
        self._records = 0  # in the file, with those that were written twice
        self._read()

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def dimension(self) -> int:
        """How many numbers a vector has; 0 as long as there is none."""
        return self._dimension

    def get(self, key: bytes) -> Stored | None:
        return self._vectors.get(key)

    def add(self, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Remember vectors, and append them to the file; after an OSError they are only remembered."""
        if not vectors:
            return
        with self._lock:
            stored = {key: np.asarray(vector, np.float16) for key, vector in vectors.items()}
            (dimension,) = {vector.size for vector in stored.values()}
            if dimension != self._dimension:
                self._vectors, self._dimension = {}, dimension
            self._vectors.update(stored)
            with locked(self._directory):
                if not self._append(_records(stored)):
                    self._rewrite(self._vectors)

    def tidy(self, used: Iterable[bytes]) -> None:
        """Once the file has outgrown what is in use, keep that, and as much again of what is newest."""
        with self._lock:
            keys = [key for key in used if key in self._vectors]
            if self._records <= max(_GROWTH * len(keys), _SMALL):
                return
            with locked(self._directory):
                self._read()  # others may have added to it
                kept = {key: self._vectors[key] for key in keys}
                room = max(2 * len(kept), _SMALL // 2)
                for key in reversed(self._vectors):
                    if len(kept) >= room:
                        break
                    kept.setdefault(key, self._vectors[key])
                # Copied, since each is a view of all that was read, and would keep it in memory.
                self._vectors = {key: vector.copy() for key, vector in reversed(kept.items())}
                self._rewrite(self._vectors)

    def forget(self) -> None:
        """Drop all vectors: their model is not the one that answers now. The file follows with `add`."""
        with self._lock:
            self._vectors, self._dimension = {}, 0

    def _read(self) -> None:
        try:
            # Room for what another process appends meanwhile, but not for the largest file there may be.
            content = read_small(self._file, min(self._file.stat().st_size + _SLACK, _FILE_MAX))
        except OSError:
            return
        dimension = _dimension(content[: _HEAD.size])
        if not dimension or self._dimension not in (0, dimension):
            return
        self._dimension = dimension
        size = _record_size(dimension)
        self._records = (len(content) - _HEAD.size) // size
        view = memoryview(content)
        for start in range(_HEAD.size, _HEAD.size + self._records * size, size):
            record = view[start : start + size]
            if crc32(record[_CHECK:]) == int.from_bytes(record[:_CHECK], "little"):
                key = bytes(record[_CHECK : _CHECK + _KEY])
                self._vectors[key] = np.frombuffer(record[_CHECK + _KEY :], "<f2")

    def _append(self, records: bytes) -> bool:
        """Add to the file as it is now, which others may have replaced; False if it can't be used."""
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            stream = os.fdopen(os.open(self._file, flags), "r+b")
        except OSError:  # it is not there, or is a link or a pipe
            return False
        with stream:
            status = os.fstat(stream.fileno())
            if not S_ISREG(status.st_mode) or _dimension(stream.read(_HEAD.size)) != self._dimension:
                return False
            size = _record_size(self._dimension)
            whole = (status.st_size - _HEAD.size) // size
            end = _HEAD.size + whole * size
            if end + len(records) > _FILE_MAX:
                return False
            stream.seek(end)  # over what was cut when its writer died
            stream.write(records)
            self._records = whole + len(records) // size
        return True

    def _rewrite(self, vectors: Mapping[bytes, Stored]) -> None:
        write_atomically(self._file, _head(self._dimension) + _records(vectors))
        self._records = len(vectors)


def _head(dimension: int) -> bytes:
    return _HEAD.pack(_MAGIC, dimension, crc32(_MAGIC + dimension.to_bytes(4, "little")))


def _dimension(head: bytes) -> int:
    """The number of dimensions in a file's head; 0 if it is not a valid head."""
    if len(head) < _HEAD.size:
        return 0
    _, dimension, _ = _HEAD.unpack(head)
    return dimension if head == _head(dimension) and dimension <= _DIMENSION_MAX else 0


def _record_size(dimension: int) -> int:
    return _CHECK + _KEY + 2 * dimension


def _records(vectors: Mapping[bytes, Stored]) -> bytes:
    bodies = (key + vector.astype("<f2", copy=False).tobytes() for key, vector in vectors.items())
    return b"".join(crc32(body).to_bytes(_CHECK, "little") + body for body in bodies)

"""The digest of a plugin's folder: which files it has, and what is in them."""

import os
import stat
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from satchel.errors import SatchelError

MOST_FILES = 20_000
MOST_BYTES = 256 * 1024 * 1024
_CHUNK = 1024 * 1024
_known: dict[str, tuple[str, str]] = {}
"""By folder: how its files looked when its digest was computed, and the digest."""


def folder_digest(folder: Path) -> str:
    """SHA-256 over the names and contents of all files, in the order of their names.

    A link counts with where it leads, and is not followed. A folder with too many or too large files is
    refused while it is read.
    """
    files = sorted(_files(str(folder), ""))
    look = sha256(repr(files).encode("utf-8", "surrogateescape")).hexdigest()
    known = _known.get(str(folder))
    if known is not None and known[0] == look:
        return known[1]
    total = sha256()
    for name, content in _contents(folder, files):
        total.update(f"{len(os.fsencode(name))}:".encode() + os.fsencode(name) + content)
    _known[str(folder)] = look, total.hexdigest()
    return total.hexdigest()


def file_digests(folder: Path) -> dict[str, bytes]:
    """The digest of each file's content, by its path in the folder."""
    return dict(_contents(folder, sorted(_files(str(folder), ""))))


def _contents(folder: Path, files: Iterable[tuple[str, int, int, int, int]]) -> Iterator[tuple[str, bytes]]:
    room = MOST_BYTES
    for name, mode, *_ in files:
        content, room = _content(f"{folder}/{name}", mode, room)
        yield name, content


def _files(folder: str, below: str) -> list[tuple[str, int, int, int, int]]:
    found: list[tuple[str, int, int, int, int]] = []
    waiting = [below]
    while waiting:
        place = waiting.pop()
        with os.scandir(f"{folder}/{place}") as entries:
            for entry in entries:
                name = f"{place}/{entry.name}" if place else entry.name
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(name)
                found.append((name, status.st_mode, status.st_size, status.st_ctime_ns, status.st_ino))
                if len(found) > MOST_FILES:
                    raise SatchelError(f"{folder} has more than {MOST_FILES:,} files")
    return [row for row in found if not stat.S_ISDIR(row[1])]


def _content(path: str, mode: int, room: int) -> tuple[bytes, int]:
    """The digest of one file, and how many bytes the others may still have."""
    if stat.S_ISLNK(mode):
        return b"link:" + sha256(os.fsencode(os.readlink(path))).digest(), room
    if not stat.S_ISREG(mode):
        return b"special:", room
    content = sha256()
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            room -= len(chunk)
            if room < 0:
                raise SatchelError(f"the files beside {path} have more than {MOST_BYTES // 1024**2} MiB")
            content.update(chunk)
    return b"file:" + content.digest(), room

"""A group's part of the index, kept in the user's cache: most searches are in what was listed long ago."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from satchel.errors import SatchelError
from satchel.search.index import Section
from satchel.support.files import read_small, write_atomically

FORMAT = 4  # of the files; another one with every change of terms, weights or senses
_MOST_FILES = 5_000
_LARGEST = 256 * 1024 * 1024
_DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


def cached_section(directory: Path, identity: str, make: Callable[[], Section]) -> Section:
    """The section of that identity, which says everything that it is made of; made where there is none."""
    name = blake2b(f"{FORMAT}\0{identity}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    file = directory / f"{name}.json"
    with suppress(*_DAMAGED):
        return _read(read_small(file, _LARGEST))
    section = make()
    with suppress(OSError, SatchelError):  # a home that can't be written to costs time, and nothing else
        write_atomically(file, _write(section))
        _prune(directory)
    return section


def _write(section: Section) -> bytes:
    senses = [b64encode(sense).decode() for sense in section.senses]
    row = {"keys": section.keys, "names": section.names, "senses": senses, "terms": section.terms}
    row["shared"] = section.shared
    body = json.dumps(row, separators=(",", ":")).encode()
    return _check(body) + b"\n" + body


def _read(content: bytes) -> Section:
    check, _, body = content.partition(b"\n")
    if check != _check(body):
        raise ValueError("cut short, or changed")
    row = json.loads(body)
    senses = [b64decode(sense) for sense in row["senses"]]
    return Section(row["keys"], row["names"], senses, row["terms"], row["shared"])


def _check(body: bytes) -> bytes:
    return blake2b(body, digest_size=16).hexdigest().encode()


def _prune(directory: Path) -> None:
    """Leave out what has not been written for longest, where there is too much."""
    files = list(directory.glob("*.json"))
    if len(files) > _MOST_FILES:
        files.sort(key=lambda file: file.stat().st_mtime)
        for file in files[: len(files) // 2]:
            file.unlink(missing_ok=True)

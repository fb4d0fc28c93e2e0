"""Texts as documents: the files that an agent has written down, and the instructions of its skills.

Their writer may be hostile: no link is followed, nothing is waited for, and only so much is read.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from threading import Lock

from satchel.search.documents import Document, Field, Hit
from satchel.search.index import Index, make_section
from satchel.search.rank import search

FIELDS = {
    "name": Field(4.0, 3, sense=2.0),
    "first": Field(1.1, 40, sense=1.0),
    "rest": Field(0.5, 200, sense=0.2),
}
_MOST_FILES = 200
_MOST_READ = 16 * 1024  # bytes of a file
# Of all files together, also of those that turn out to be no text.
_MOST_ENTRIES = 10_000  # in all folders
_MOST_OPENED = 1_000
_MOST_BYTES = 4 * 1024 * 1024
_DEEPEST = 8
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FIRST = 400  # characters


def text_document(key: str, name: str, text: str, title: str | None = None) -> Document:
    """A text that is found by its title, its beginning, and less by the rest of it."""
    text = text[:_MOST_READ]
    fields = {"name": title or name, "first": text[:_FIRST], "rest": text[_FIRST:]}
    key = key.encode("utf-8", "replace").decode()  # a name need not be text
    return Document(key, name, fields)


def documents_in(directory: Path, shown: str) -> list[Document]:
    """The texts below a directory; `shown` is where programs find it."""
    documents: list[Document] = []
    for path, name, text in _texts(directory):
        key = f"{shown}/{path}/{name}" if path else f"{shown}/{name}"
        documents.append(text_document(key, name, text, title=f"{path} {name}"))
        if len(documents) == _MOST_FILES:
            break
    return documents


@dataclass
class _Left:
    """The number of files that may still be examined below a directory."""

    entries: int = _MOST_ENTRIES
    opened: int = _MOST_OPENED
    size: int = _MOST_BYTES


def _texts(directory: Path) -> Iterator[tuple[str, str, str]]:
    """(folder below the directory, file name, text) of each text."""
    try:
        descriptor = os.open(directory, _FOLDER)
    except OSError:
        return
    try:
        yield from _texts_in(descriptor, "", 1, _Left())
    finally:
        os.close(descriptor)


def _texts_in(directory: int, path: str, depth: int, left: _Left) -> Iterator[tuple[str, str, str]]:
    try:
        with os.scandir(directory) as entries:
            found = sorted(
                (entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, left.entries)
            )
    except OSError:
        return
    left.entries -= len(found)
    for name in [name for name, is_folder in found if not is_folder]:
        if (text := _read(name, directory, left)) is not None:
            yield path, name, text
    for name in [name for name, is_folder in found if is_folder and depth < _DEEPEST and left.entries > 0]:
        try:
            inner = os.open(name, _FOLDER, dir_fd=directory)
        except OSError:
            continue
        try:
            yield from _texts_in(inner, f"{path}/{name}" if path else name, depth + 1, left)
        finally:
            os.close(inner)


def _read(name: str, directory: int, left: _Left) -> str | None:
    if not left.opened or left.size <= 0:
        return None
    left.opened -= 1
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return None
    try:
        if not S_ISREG(os.fstat(file).st_mode):
            return None
        data = os.read(file, _MOST_READ)
    except OSError:
        return None
    finally:
        os.close(file)
    left.size -= len(data)
    return None if b"\0" in data else data.decode("utf-8", "replace")


class TextIndex:
    """One agent's texts by kind, indexed again when they have changed. May be used from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._places: Mapping[str, Sequence[Document]] = {}
        self._index = Index()

    def hits(self, places: Mapping[str, Sequence[Document]], query: str, limit: int) -> list[Hit]:
        """The best texts first. A hit's group is its kind."""
        with self._lock:
            if places != self._places:
                self._places, self._index = {}, Index()  # nothing of it counts if what follows fails
                for kind, documents in places.items():
                    self._index.put(kind, make_section(documents, FIELDS))
                self._places = places
            return search(self._index, query, limit=limit)

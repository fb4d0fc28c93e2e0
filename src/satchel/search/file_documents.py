"""Texts as documents: the files that an agent has written down, and the instructions of its skills.

Whoever wrote them may be hostile: no link is followed, nothing is waited for, and only so much is read.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG

from satchel.search.documents import Document, Field

FIELDS = {
    "name": Field(4.0, 3, sense=2.0),
    "first": Field(1.1, 40, sense=1.0),
    "rest": Field(0.5, 200, sense=0.2),
}
_MOST_FILES = 200
_MOST_READ = 16 * 1024  # bytes of a file
_DEEPEST = 8
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


def _texts(directory: Path) -> Iterator[tuple[str, str, str]]:
    """(folder below the directory, file name, text) of each text."""
    try:
        for place, folders, names, descriptor in os.fwalk(directory, follow_symlinks=False):
            path = os.path.relpath(place, directory)
            path = "" if path == "." else path
            folders.sort()
            if path.count("/") >= _DEEPEST - 1:
                folders.clear()
            for name in sorted(names):
                if (text := _read(name, descriptor)) is not None:
                    yield path, name, text
    except (OSError, RecursionError):
        return


def _read(name: str, directory: int) -> str | None:
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
    return None if b"\0" in data else data.decode("utf-8", "replace")

"""The files beside a server's file in the cache: its last failed listing, and the name of its latest file.

By the latter its tools stay known while a variable has no value. The note has the file's name and nothing of
the values.
"""

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from satchel.model import State
from satchel.support.files import read_small, write_atomically

_DIGITS = 20  # of the key in a name


@dataclass(frozen=True, kw_only=True)
class Failure:
    """How the last attempt to list a server ended."""

    state: State
    error: str
    at: str
    reason: str = ""  # the error in brief


def failure_file(file: Path) -> Path:
    return file.with_suffix(".failure.json")


def note_last(note: Path, file: Path) -> None:
    """Remember the file that the server was last listed to."""
    if last_noted(note) != file:
        write_atomically(note, json.dumps(file.name).encode())


def last_noted(note: Path) -> Path | None:
    """The file that was remembered, if it is one of the same server."""
    with suppress(OSError, ValueError, RecursionError):
        name: object = json.loads(read_small(note))
        slug = note.name.removesuffix(".last.json")[:-_DIGITS]
        if isinstance(name, str) and re.fullmatch(re.escape(slug) + r"[0-9a-f]{20}\.jsonl", name):
            return note.with_name(name)
    return None

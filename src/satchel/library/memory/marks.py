"""Marks: which of an agent's directories a program could write to that had read something untrusted.

What a later program finds there may be a stranger's words. A mark is a file beside these directories, where
no program sees it. It is made before such a program reads anything, so that a crash loses none, and it stays
until a person has the directory cleared.

What waits in a memory is known entry by entry. Of a memory it is only noted when such a program could last
write to it, for the sake of those that read it at that moment.
"""

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from satchel.errors import SatchelError
from satchel.support.files import private_directory

WORKSPACE = "workspace"
TASKS = "tasks"
_WRITERS = "writers"


def mark(own: Path, place: str, execution: str, sources: Sequence[str] = ()) -> None:
    """Mark one of an agent's directories, which are in `own`; the mark says which execution came first.

    SatchelError where that can't be noted: then nothing may be read.
    """
    file = _file(own, place)
    if os.path.lexists(file):
        return
    try:
        private_directory(own)
        # Whole or not at all is not needed: a mark counts whatever is in it.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as stream:
            json.dump({"execution": execution, "reads": list(sources)}, stream)
    except OSError as error:
        if is_marked(own, place):  # somebody else was quicker
            return
        raise _unmarked(file, error) from error


def is_marked(own: Path, place: str) -> bool:
    return os.path.lexists(_file(own, place))


def unmark(own: Path, place: str) -> None:
    """For a directory that has just been emptied."""
    with suppress(FileNotFoundError):
        os.unlink(_file(own, place))


def note_writer(own: Path) -> None:
    """Note when a program last could write to the memory of an agent that had read something untrusted."""
    file = _file(own, _WRITERS)
    try:
        private_directory(own)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            now = time.time_ns()  # finer than what the kernel would note
            os.utime(descriptor, ns=(now, now))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _unmarked(file, error) from error


def last_writer(own: Path) -> int | None:
    """When that was; None if it never was. For comparing only: clocks are set back."""
    try:
        return os.lstat(_file(own, _WRITERS)).st_mtime_ns
    except OSError:
        return None


def _unmarked(file: str, error: OSError) -> SatchelError:
    return SatchelError(
        f"it can't be noted in {file} that a program reads something untrusted: {error.strerror}",
        hint="programs can read only from trusted servers until that is possible",
    )


def _file(own: Path, place: str) -> str:
    return f"{own}/{place}.untrusted.json"

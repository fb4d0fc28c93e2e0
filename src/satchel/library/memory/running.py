"""Which programs that can write to a memory are running now, in any process.

Each has a file that its process holds the lock of. The kernel lets go of it however the process ends. What
another one meets is written to that file: what two programs wrote that ran at once can't be told apart.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from satchel.support.files import is_locked, private_directory, read_small

_LARGEST = 64 * 1024  # bytes
_MET = b"met"


@dataclass(frozen=True, kw_only=True, eq=False)
class Place:
    """A writer among those that are running: its file, and the stream that holds the lock of it."""

    file: Path
    stream: FileIO  # to be closed more than once does no harm


def enter(directory: Path, execution: str | None, box: str | None) -> Place:
    """Become one of those that are running. To be called under the memory's lock.

    `box` is that of its session: what runs there is one writer.
    """
    private_directory(directory)
    met = False
    for file in _files(directory):
        if not _is_held(file):
            file.unlink(missing_ok=True)
            met = True  # nobody has seen what it wrote last
        elif box is None or _facts(file).get("box") != box:
            _meet(file)
            met = True
    file = directory / f"{secrets.token_hex(8)}.json"
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_APPEND, 0o600)
    stream = FileIO(descriptor, "a+")
    fcntl.flock(stream, fcntl.LOCK_EX)
    stream.write(json.dumps({"execution": execution, "box": box}).encode() + b"\n")
    if met:
        stream.write(_MET + b"\n")
    return Place(file=file, stream=stream)


def was_alone(place: Place) -> bool:
    """Whether it was alone all the time. To be called under the memory's lock."""
    try:
        is_there = not place.stream.closed and os.fstat(place.stream.fileno()).st_nlink > 0
        return is_there and _MET not in read_small(place.file, _LARGEST).splitlines()
    except OSError:
        return False


def leave(place: Place) -> None:
    """Be no longer one of them. To be called under the memory's lock."""
    with suppress(OSError):
        place.file.unlink()
    place.stream.close()


def abandon(place: Place) -> None:
    """Let go of its file, and leave that for the next one to find."""
    place.stream.close()


def meet_all(directory: Path) -> None:
    """Let all that are running know that something came that nobody vouches for."""
    for file in _files(directory):
        _meet(file)


def is_anybody(directory: Path) -> bool:
    return any(_is_held(file) for file in _files(directory))


def _files(directory: Path) -> Iterator[Path]:
    with suppress(FileNotFoundError):
        yield from [directory / name for name in os.listdir(directory) if name.endswith(".json")]


def _facts(file: Path) -> dict[str, str | None]:
    with suppress(OSError, ValueError):
        return json.loads(read_small(file, _LARGEST).split(b"\n")[0])
    return {}


def _meet(file: Path) -> None:
    with suppress(OSError), open(file, "ab") as stream:
        if os.fstat(stream.fileno()).st_size < _LARGEST // 2:
            stream.write(_MET + b"\n")


def _is_held(file: Path) -> bool:
    with suppress(OSError):
        return is_locked(file)
    return False

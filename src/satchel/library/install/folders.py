"""Folders that are written as a whole: a reader finds the old one or the new one, and a kill leaves one.

Their files are read through no link: nobody who can put one there may show us a different file.
"""

import ctypes
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from satchel.library.skills.files import open_below

_ASIDE = ".saving-"
_FORGOTTEN = 3600.0  # seconds after which what is aside belongs to nobody any more
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE


def replace_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Replace the folder at this place with these files. One at a time for each place."""
    _sweep(path.parent)
    aside = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=path.parent))
    try:
        aside.chmod(0o755)
        for name, data in files.items():
            _write(aside / name, data)
        if os.path.lexists(path):
            exchange(aside, path)
        else:
            os.rename(aside, path)
    finally:
        _remove(aside)


def read_inside(folder: Path, path: str, limit: int) -> bytes:
    """A file of a folder; OSError where there is none, or none that is plain and within the limit."""
    with os.fdopen(open_below(folder, path.split("/"), single=False), "rb") as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise OSError(f"{folder / path} has more than {limit:,} bytes")
    return data


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with open(path, "xb") as stream:
        os.fchmod(stream.fileno(), 0o644)  # programs may run as another user
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def exchange(aside: Path, path: Path) -> None:
    """Let two folders change places in one step, where the system can; else one is away for a moment."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None, use_errno=True)
        if hasattr(library, "renameat2") and not library.renameat2(
            _HERE, os.fsencode(aside), _HERE, os.fsencode(path), _EXCHANGE
        ):
            return
    away = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=path.parent))
    try:
        os.rename(path, away / "old")
        os.rename(aside, path)
    finally:
        _remove(away)


def _sweep(folder: Path) -> None:
    """Take away what a process left that was killed."""
    with os.scandir(folder) as entries:
        old = [entry for entry in entries if entry.name.startswith(_ASIDE) and _is_old(entry)]
    for entry in old:
        _remove(Path(entry.path))


def _is_old(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > _FORGOTTEN
    return False


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)

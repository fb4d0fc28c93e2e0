"""The files of skills by the paths that programs know: /mnt/skills/<category>/<folder>/….

A path is never compared with another as text. It is walked from the folder of its category, one directory
after the other, each opened in the one before it and none through a link; what is read is what was opened.
So neither `..` nor a link, nor a directory that becomes a link meanwhile, leads out.
"""

import os
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import TYPE_CHECKING

from satchel.errors import NotFoundError
from satchel.library.install.members import RECORD
from satchel.model import Skill

if TYPE_CHECKING:
    from collections.abc import Generator

BASE = "/mnt/skills"
LARGEST = 8 * 1024 * 1024  # bytes of a file that is read
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_virtual(path: str, skills: Iterable[Skill], *, base: str = BASE, limit: int = LARGEST) -> bytes:
    """The content of a file of one of these skills."""
    descriptor = open_virtual(path, skills, base=base)
    with os.fdopen(descriptor, "rb") as stream:
        if os.fstat(descriptor).st_size > limit:
            raise _unknown(path, f"it has more than {limit // 1024:,} KiB")
        return stream.read(limit)


def open_virtual(path: str, skills: Iterable[Skill], *, base: str = BASE) -> int:
    """A descriptor of a file of one of these skills, to read from; the caller closes it."""
    root, parts = _located(path, skills, base)
    try:
        return open_below(root, parts)
    except OSError as error:
        raise _unknown(path, _worded(error)) from None


def open_below(root: Path, parts: Sequence[str], *, single: bool = True) -> int:
    """Open a regular file below `root`, which may itself be reached by links; OSError where there is none.

    With `single`, one that has a second name somewhere else is not opened: it could be anybody's file.
    """
    *folders, name = parts
    with _walked(root, folders) as directory:
        _check_file(os.stat(name, dir_fd=directory, follow_symlinks=False), single)  # a device is not touched
        descriptor = os.open(name, _FILE, dir_fd=directory)
    try:
        _check_file(os.fstat(descriptor), single)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def _walked(root: Path, parts: Sequence[str]) -> "Generator[int]":
    """A descriptor of the directory at the end of the way."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            _check_part(part)
            following = os.open(part, _DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = following
        yield descriptor
    finally:
        os.close(descriptor)


def _check_part(part: str) -> None:
    if part in ("", ".", "..") or "/" in part or "\0" in part:
        raise OSError("it is not a plain path")


def _check_file(status: os.stat_result, single: bool) -> None:
    if not S_ISREG(status.st_mode):
        raise OSError("it is not a regular file")
    if single and status.st_nlink != 1:
        raise OSError("it has a second name, by a hard link")


def _located(path: str, skills: Iterable[Skill], base: str) -> tuple[Path, list[str]]:
    """The folder of the category, and the way from there. It must lead into one of the skills."""
    prefix, parts = base.rstrip("/").split("/"), path.split("/")
    if "\0" in path or parts[: len(prefix)] != prefix:
        raise _unknown(path, f"the files of skills are below {base}")
    category, *rest = parts[len(prefix) :] or [""]
    if rest and rest[-1] == "":  # a folder may be written with a slash at its end
        rest.pop()
    if any(part in ("", ".", "..") for part in rest):
        raise _unknown(path, "it is not a plain path")
    if is_record(rest[-1:]):
        raise _unknown(path, "it is not a file of the skill")
    for skill in skills:
        own = PurePosixPath(skill.relative).parts
        if skill.category == category and rest[: len(own)] == list(own):
            return skill.folder.parents[len(own) - 1], rest
    raise _unknown(path, "it is in none of the skills that can be read here")


def is_record(parts: Sequence[str]) -> bool:
    """Whether this is what Satchel keeps of an installation: it names places of this machine."""
    return bool(parts) and parts[-1].casefold() == RECORD


def _worded(error: OSError) -> str:
    """Why not, without a path of this machine."""
    return error.strerror.lower() if error.strerror else str(error)


def _unknown(path: str, reason: str) -> NotFoundError:
    return NotFoundError("file", path, hint=reason)

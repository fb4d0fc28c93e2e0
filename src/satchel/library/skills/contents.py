"""The files of one skill by their paths from its folder. No link on the way there is followed."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from errno import ENOENT
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from satchel.errors import NotFoundError
from satchel.library.skills.files import is_record, open_below
from satchel.library.skills.front_matter import read_document
from satchel.model import Skill

MOST_FILES = 512  # of a skill that are told one by one
_LARGEST = 16 * 1024 * 1024  # bytes of a file
_DEEPEST = 64  # folders of a skill that are looked into; one that is installed has fewer
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class File(NamedTuple):
    """A file of a skill."""

    path: str  # from the skill's folder
    size: int
    stamp: int  # when it was last changed


def files_of(skill: Skill) -> list[File]:
    """All regular files in its folder, by their paths from there. What can't be looked into has none."""
    found: list[File] = []
    with suppress(OSError), _opened(skill) as folder:
        for place, folders, names, descriptor in os.fwalk(".", dir_fd=folder, follow_symlinks=False):
            folders[:] = sorted(folders) if place.count("/") < _DEEPEST else []
            for name in sorted(names):
                if is_record([name]):
                    continue
                path = os.path.normpath(os.path.join(place, name))
                with suppress(OSError):  # it has gone meanwhile
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    if S_ISREG(status.st_mode) and status.st_nlink == 1:
                        found.append(File(path, status.st_size, status.st_mtime_ns))
            if len(found) > MOST_FILES:
                break
    return found


def read_of(skill: Skill, path: str) -> bytes:
    """A file of a skill by its path from the skill's folder; no link leads out of it."""
    root, parts = _way(skill)
    inside = path.split("/")
    try:
        if is_record(inside):
            raise FileNotFoundError(ENOENT, "it is not a file of the skill")
        descriptor = open_below(root, [*parts, *inside])
    except (OSError, ValueError) as error:  # ValueError: what can't be a name of a file
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise NotFoundError("file", shown_path(f"{skill.name}/{path}")[:300], hint=reason.lower()) from None
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(_LARGEST)


def instructions_of(skill: Skill) -> str:
    """The text of its SKILL.md below the front matter."""
    document = read_document(read_of(skill, skill.file.name))
    if document.error is not None:
        raise NotFoundError("skill", skill.name, hint=str(document.error))
    return document.body.strip("\n")


def shown_path(path: str) -> str:
    """A path as text, even if it is not valid text."""
    return path.encode("utf-8", "backslashreplace").decode()


def _way(skill: Skill) -> tuple[Path, list[str]]:
    """The folder of its category, and the way from there, on which no link is followed."""
    parts = skill.relative.split("/") if skill.relative else []
    return skill.folder.parents[len(parts) - 1] if parts else skill.folder, parts


@contextmanager
def _opened(skill: Skill) -> Generator[int]:
    """A descriptor of its folder; OSError where a link is on the way."""
    root, parts = _way(skill)
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            following = os.open(part, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = following
        yield descriptor
    finally:
        os.close(descriptor)

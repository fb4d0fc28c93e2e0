"""The contents of a folder that may have skills: its SKILL.md, its folders, and lookalikes.

Paths are plain text here: there are thousands, and each listing walks past all of them.
"""

import os
import stat
from pathlib import Path
from typing import NamedTuple

FILE = "SKILL.md"
LINKED = "is a symbolic link, which is not followed"
STRAY = f"its {FILE} lies where folders of skills are: move it into a folder of its own"
_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv"})


class Directory(NamedTuple):
    """The contents of a folder."""

    file: os.DirEntry[str] | None  # SKILL.md, in whatever case
    folders: list[str]
    odd: list[tuple[str, str]]  # what is not a folder and may be meant as one, with why it isn't


def read_directory(folder: str) -> Directory:
    """OSError where it can't be read."""
    file: os.DirEntry[str] | None = None
    folders: list[str] = []
    odd: list[tuple[str, str]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name == FILE or (len(name) == len(FILE) and name.upper() == FILE.upper()):
                if file is None or name == FILE or name < file.name != FILE:
                    file = entry
            elif not name.startswith(".") and name not in _PASSED_OVER:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(name)
                    elif entry.is_symlink() and not os.path.isfile(entry.path):
                        odd.append((name, LINKED))
                except OSError as error:  # of this one; the others are there
                    odd.append((name, f"can't be read: {error.strerror}"))
    return Directory(file, folders, odd)


def has_file(folder: str) -> bool:
    try:
        return read_directory(folder).file is not None
    except OSError:
        return False


def names_in(folder: str | Path) -> list[str]:
    """The names of what is a folder in one, or looks like it."""
    try:
        inside = read_directory(str(folder))
    except OSError:
        return []
    return sorted([*inside.folders, *(name for name, _ in inside.odd)])


def folders_in(folder: str | Path) -> list[str]:
    """The names of the folders in one."""
    try:
        return sorted(read_directory(str(folder)).folders)
    except OSError:
        return []


def is_folder(path: Path) -> bool:
    """Whether this is a folder itself, and not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False

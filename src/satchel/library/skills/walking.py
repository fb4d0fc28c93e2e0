"""Where skills are: the folders with a SKILL.md, some levels deep. No link is followed, or passed over.

Paths are plain text here: there are thousands, and each listing walks past all of them.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

FILE = "SKILL.md"
DEPTH = 6
PUBLIC, CUSTOM, COMMUNITY, USER = "public", "custom", "community", "user"
MOST_ALONE = 250  # each has to be shown to programs by itself, which takes its time
_CATEGORIES = frozenset({PUBLIC, CUSTOM, COMMUNITY, "default"})  # whatever is in them
_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_HEAD = 16 * 1024  # bytes of a file that have its name, and who saved it
_LINKED = "is a symbolic link, which is not followed"
_STRAY = f"its {FILE} lies where folders of skills are: move it into a folder of its own"
_MOVE = f"move it into the folder '{PUBLIC}'"


@dataclass(frozen=True, kw_only=True)
class Source:
    """A folder below which skills are. Without a category, each folder in it is one."""

    root: Path
    category: str = ""
    enabled: bool = False  # what they are unless it is said of them; of some categories it is known anyway
    agent: str = ""  # whose folder is a category, whatever is in it
    only_alone: bool = False  # only those that are in no category
    is_mounted: bool = False  # programs see it, and only so much of it
    problem: str | None = None  # why it is not looked into


class Found(NamedTuple):
    """A folder with a SKILL.md."""

    folder: str
    category: str
    relative: str
    status: os.stat_result | None  # of its file
    enabled: bool
    problem: str | None = None
    file: str = FILE


class _Inside(NamedTuple):
    """What is in a folder."""

    file: os.DirEntry[str] | None  # SKILL.md, in whatever case
    folders: list[str]
    odd: list[tuple[str, str]]  # what is no folder and may be meant as one, with why it isn't


def walk(source: Source) -> Iterator[Found]:
    """Every folder below a source that has a SKILL.md, and what can't be looked into."""
    root = str(source.root)
    if source.problem is not None:
        yield Found(root, source.category, "", None, False, source.problem)
    elif source.category:
        yield from _below(root, source.category, "", 0, source.enabled)
    else:
        yield from _categories(source)


def _categories(source: Source) -> Iterator[Found]:
    """What is in the folders of one, each of which is a category, or a public skill that stands alone."""
    root = str(source.root)
    try:
        inside = _look(root)
    except FileNotFoundError:
        return  # nobody has made that folder yet
    except OSError as error:
        yield Found(root, PUBLIC, "", None, False, f"can't be read: {error.strerror}")
        return
    alone = _alone(root, inside.folders, source.agent)
    for name in sorted(inside.folders):
        path = f"{root}/{name}"
        if name in alone:
            problem = alone[name] if source.is_mounted else None
            for found in _below(path, PUBLIC, name, 1, False):
                yield found._replace(problem=problem) if problem else found
        elif not source.only_alone:
            yield from _below(path, name, "", 0, source.enabled)
    if source.only_alone:
        return
    if inside.file is not None:
        yield Found(root, PUBLIC, "", _status(inside.file), False, _STRAY, inside.file.name)
    for name, problem in inside.odd:
        yield Found(f"{root}/{name}", name, name, None, False, f"the folder {problem}")


def alone_in(root: str, agent: str) -> list[str]:
    """The folders of skills that are in no category, and that programs see among the public ones."""
    try:
        folders = _look(root).folders
    except OSError:
        return []
    return [name for name, problem in _alone(root, folders, agent).items() if problem is None]


def _alone(root: str, folders: Iterable[str], agent: str) -> dict[str, str | None]:
    """The same, and those that programs can't see, with why not."""
    categories = {*_CATEGORIES, agent}
    names = [name for name in folders if name not in categories and _stands_alone(f"{root}/{name}")]
    public = set(folders_in(f"{root}/{PUBLIC}")) if names else set[str]()
    every = {*public, *names}
    are_shown = len(every) <= MOST_ALONE and all(map(is_plain, every))
    hidden = None if are_shown else f"is in no category, and can't be shown to programs: {_MOVE}"
    taken = f"the folder '{PUBLIC}' has another one of that name"
    return {name: taken if name in public else hidden for name in names}


def is_plain(name: str) -> bool:
    """Whether a folder can be shown to programs by itself; of mounts that root makes, `=` ends the name."""
    return "=" not in name and name.isprintable()


def _stands_alone(folder: str) -> bool:
    """Whether a folder is a skill: with others right in it, only if the folder's name is in its own.

    Else it is somebody's category, with a file in it that belongs elsewhere; so is one with saved skills.
    """
    try:
        inside = _look(folder)
    except OSError:
        return False
    if inside.file is None:
        return False
    inner = [name for name in inside.folders if _has_file(f"{folder}/{name}")]
    if not inner:
        return True
    name = re.escape(os.fsencode(os.path.basename(folder)))
    return _says(inside.file.path, rb"(?im)^name:.*" + name) and not any(
        _says(f"{folder}/{each}/{FILE}", rb"(?m)^ +\"?agent\"?: [\"']?" + name) for each in inner
    )


def _says(file: str, pattern: bytes) -> bool:
    """Whether something is in the head of a file."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return re.search(pattern, os.read(descriptor, _HEAD)) is not None
    except OSError:  # a folder, or a pipe
        return False
    finally:
        os.close(descriptor)


def _below(
    folder: str, category: str, relative: str, depth: int, enabled: bool, in_skill: bool = False
) -> Iterator[Found]:
    """The skill that a folder is, and those in it: a skill may have others in it."""
    try:
        inside = _look(folder)
    except OSError as error:
        if not relative and isinstance(error, FileNotFoundError):
            return  # nobody has made that folder yet
        yield Found(folder, category, relative, None, False, f"can't be read: {error.strerror}")
        return
    file = inside.file
    if file is not None and relative:
        in_skill = True
        yield Found(folder, category, relative, _status(file), enabled, None, file.name)
    elif file is not None:
        yield Found(folder, category, "", _status(file), False, _STRAY, file.name)
    if depth >= DEPTH:
        return
    for name in sorted(inside.folders):
        below = f"{relative}/{name}" if relative else name
        yield from _below(f"{folder}/{name}", category, below, depth + 1, enabled, in_skill)
    for name, problem in inside.odd:
        if not in_skill or os.path.exists(f"{folder}/{name}/{FILE}"):  # else it is a file of that skill
            below = f"{relative}/{name}" if relative else name
            yield Found(f"{folder}/{name}", category, below, None, False, problem)


def _look(folder: str) -> _Inside:
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
                        odd.append((name, _LINKED))
                except OSError as error:  # of this one; the others are there
                    odd.append((name, f"can't be read: {error.strerror}"))
    return _Inside(file, folders, odd)


def _has_file(folder: str) -> bool:
    try:
        return _look(folder).file is not None
    except OSError:
        return False


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def folders_in(folder: str) -> list[str]:
    """The names of what is a folder in one, or looks like it."""
    try:
        inside = _look(folder)
    except OSError:
        return []
    return sorted([*inside.folders, *(name for name, _ in inside.odd)])

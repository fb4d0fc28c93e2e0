"""The skills of a source: folders with a SKILL.md, some levels deep. No link is followed, or passed over."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from satchel.library.skills.directory import FILE, STRAY, read_directory
from satchel.library.sources import Source

DEPTH = 6


class Found(NamedTuple):
    """A folder with a SKILL.md."""

    folder: str
    category: str
    relative: str
    status: os.stat_result | None  # of its file
    enabled: bool
    problem: str | None = None
    file: str = FILE
    place: str | None = None  # where programs see it, if that is not below the skills


def walk(source: Source, at_folder: Callable[[str], None] = lambda folder: None) -> Iterator[Found]:
    """Every folder below a source that has a SKILL.md, and what can't be looked into.

    `at_folder` hears of each folder before it is read.
    """
    root = str(source.root)
    if source.problem is not None:
        return iter([Found(root, source.category, "", None, False, source.problem)])
    if source.folders is not None:
        return _named(source, source.folders, at_folder)
    return _below(source, root, "", 0, at_folder)


def _named(source: Source, folders: Iterable[str], at_folder: Callable[[str], None]) -> Iterator[Found]:
    """The skills of a source that says where they are; what lies in them are files of theirs."""
    for relative in folders:
        folder = f"{source.root}/{relative}" if relative else str(source.root)
        place = f"{source.place}/{relative}" if relative else source.place
        at_folder(folder)
        try:
            file = read_directory(folder).file
        except OSError:
            continue  # it has gone meanwhile
        if file is not None:
            yield Found(
                folder, source.category, relative, _status(file), source.enabled, None, file.name, place
            )


def _below(
    source: Source,
    folder: str,
    relative: str,
    depth: int,
    at_folder: Callable[[str], None],
    in_skill: bool = False,
) -> Iterator[Found]:
    """The skill that a folder is, and those in it: a skill may have others in it."""
    category = source.category
    at_folder(folder)
    try:
        inside = read_directory(folder)
    except OSError as error:
        if not relative and isinstance(error, FileNotFoundError):
            return  # nobody has made that folder yet
        yield Found(folder, category, relative, None, False, f"can't be read: {error.strerror}")
        return
    only = None if relative else source.only
    file = inside.file
    if file is not None and relative:
        in_skill = True
        yield Found(folder, category, relative, _status(file), source.enabled, None, file.name)
    elif file is not None and only is None:
        yield Found(folder, category, "", _status(file), False, STRAY, file.name)
    if depth >= DEPTH:
        return
    for name in sorted(inside.folders):
        if only is None or name in only:
            below = f"{relative}/{name}" if relative else name
            yield from _below(source, f"{folder}/{name}", below, depth + 1, at_folder, in_skill)
    for name, problem in inside.odd:
        if only is not None and name not in only:
            continue
        if not in_skill or os.path.exists(f"{folder}/{name}/{FILE}"):  # else it is a file of that skill
            below = f"{relative}/{name}" if relative else name
            yield Found(f"{folder}/{name}", category, below, None, False, problem)


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None

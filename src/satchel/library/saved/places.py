"""The folders that saved skills are written to, made when they are needed.

A box shows folders, not paths: one that is made after the box would be missing in it. So the folders of an
agent are there before its first program.
"""

import os
from contextlib import suppress
from pathlib import Path

from satchel.config import Paths
from satchel.errors import ArgumentError, SatchelError
from satchel.library.skills.directory import is_folder
from satchel.library.sources import COMMUNITY, can_save, saved_root
from satchel.support.files import private_directory

_OPEN = 0o755  # programs may run as another user, and read it


def make_places(paths: Paths, agent: str) -> None:
    """Make the folders for what this agent saves, and for what agents give to all."""
    for category in (agent, COMMUNITY) if can_save(agent) else (COMMUNITY,):
        place_of(paths, category)


def place_of(paths: Paths, category: str) -> Path:
    """The folder for what agents save under a category, made if there is none."""
    root = saved_root(paths)
    place = root / category
    with suppress(OSError):  # what is in the way is told below
        private_directory(root)
        if is_folder(root) and place.is_symlink():  # earlier versions left one to where they saved
            place.unlink()
    return make_place(place)


def make_place(place: Path) -> Path:
    """Make a folder that programs may be shown, and the one around it. No link is followed."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=_OPEN)
        if not is_folder(place.parent):
            raise SatchelError(f"{place.parent} is a symbolic link", hint="put a folder in its place")
        with suppress(FileExistsError):
            os.mkdir(place)
            place.chmod(_OPEN)
    except OSError as error:
        raise SatchelError(
            f"{place} can't be made: {error.strerror}", hint="make it, or let Satchel write there"
        ) from error
    if not is_folder(place):
        raise SatchelError(
            f"{place} is not a folder that skills can be saved to", hint="move the existing file away"
        )
    return place


def refuse_unfit(agent: str) -> None:
    if not can_save(agent):
        raise ArgumentError(
            f"agent '{agent[:64]}' can't have skills of its own: its name can't be that of their folder",
            hint="give it another name in satchel.yaml",
        )

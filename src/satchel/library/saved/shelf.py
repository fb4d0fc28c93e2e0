"""Which folders of skills an agent sees, and where its own are saved.

    skills/public, skills/custom      everybody's
    skills/<skill>                    a skill that stands alone, shown among the public ones
    skills/community                  saved by agents, promoted for all
    skills/<agent>                    saved by that agent; no other sees it
    ~/.config/satchel/skills          the person's own, shown as `user`

A box shows folders, not paths: one that is made after the box would be missing in it. So until there is
something to save, an empty folder in Satchel's state stands in, and is moved into place with the first skill.
"""

import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from satchel.errors import ArgumentError, SatchelError
from satchel.library.skills.walking import COMMUNITY, CUSTOM, PUBLIC, USER, alone_in, is_plain
from satchel.support.files import private_directory

SHARED = (PUBLIC, CUSTOM, COMMUNITY, USER)
_AGENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_OPEN = 0o755  # programs may run as another user, and read it


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """The folders of a project. `state` is Satchel's own, and never shown to a program as a whole."""

    root: Path
    user: Path
    state: Path
    others: Mapping[str, Path] = field(default_factory=dict[str, Path])  # from elsewhere, on request
    private: tuple[Path, ...] = ()  # what no category may be, wherever `root` is

    def visible(self, agent: str) -> dict[str, Path]:
        """What programs of an agent see, by category. A link in place of a folder is not followed."""
        found: dict[str, Path] = {}
        ours = self._own_folders() if self._is_usable() else set[str]()
        alone = [name for name in alone_in(str(self.root), agent) if name in ours]
        if alone:
            found = self._one_by_one(alone, with_public=PUBLIC in ours)
            ours.discard(PUBLIC)
        for category in (PUBLIC, CUSTOM, COMMUNITY, *([agent] if can_save(agent) else [])):
            path = self.root / category
            if category in ours:
                found[category] = path
            elif category in (COMMUNITY, agent) and not os.path.lexists(path):
                found[category] = self._stand_in(category)
        for category, path in {USER: self.user, **self.others}.items():
            if category not in found and _AGENT.fullmatch(category) and _is_folder(path):
                found[category] = path
        return found

    def _own_folders(self) -> set[str]:
        """The names of the folders in the root, but for those that have something in them that is private."""
        root = os.path.realpath(self.root)
        names = set(_folders_in(self.root))
        for private in map(os.path.realpath, self.private):
            if _is_in(root, private):
                return set()
            if _is_in(private, root):
                names.discard(private[len(root) :].strip("/").partition("/")[0])
        return names

    def _one_by_one(self, alone: list[str], *, with_public: bool) -> dict[str, Path]:
        """The skills in no category, and beside them every folder of the public ones.

        Nothing can be mounted into a folder that is mounted read-only, so then each is by itself.
        """
        places = {name: self.root / name for name in alone}
        if with_public:
            public = self.root / PUBLIC
            places |= {name: public / name for name in _folders_in(public) if is_plain(name)}
        return {f"{PUBLIC}/{name}": path for name, path in places.items()}

    def place(self, category: str) -> Path:
        """The folder of a category, made if there is none. Called under the lock of `state`."""
        path = self.root / category
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=_OPEN)
            if not self._is_usable():
                raise SatchelError(f"{self.root} is a symbolic link", hint="put a folder in its place")
            if not os.path.lexists(path):
                self._move_into(path)
            if not _is_folder(path):
                raise SatchelError(
                    f"{path} is not a folder that skills can be saved to", hint="move away what is there"
                )
        except OSError as error:
            raise SatchelError(
                f"{path} can't be made: {error.strerror}", hint="make it, or let Satchel write there"
            ) from error
        return path

    def _move_into(self, path: Path) -> None:
        """Make a folder of the one that stands in: boxes that show that one then show this one."""
        stand_in = self._stand_in(path.name)
        if not _is_folder(stand_in):
            path.mkdir(mode=_OPEN)
            return
        try:
            os.rename(stand_in, path)
        except OSError:  # it is on another file system
            path.mkdir(mode=_OPEN)
            return
        with suppress(OSError):  # for boxes that are being made of it
            os.symlink(path.absolute(), stand_in)

    def _stand_in(self, category: str) -> Path:
        path = self.state / category
        if path.is_symlink() and os.readlink(path) != str((self.root / category).absolute()):
            path.unlink(missing_ok=True)  # that of another project, of which this one is a copy
        if not path.is_dir():
            private_directory(self.state)
            with suppress(FileNotFoundError):
                path.unlink()  # a link to what was moved from here, and is gone
            with suppress(FileExistsError):
                path.mkdir()
                path.chmod(_OPEN)
        return path

    def _is_usable(self) -> bool:
        return _is_folder(self.root)


def overlap(one: Path, other: Path) -> bool:
    """Whether one of two folders is in the other, wherever links lead."""
    real, real_other = os.path.realpath(one), os.path.realpath(other)
    return _is_in(real, real_other) or _is_in(real_other, real)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def importable(visible: Mapping[str, Path], agent: str) -> dict[str, Path]:
    """Of what an agent sees, the folders whose modules its programs import: its own before the others'."""
    names = [agent, COMMUNITY] if can_save(agent) else [COMMUNITY]
    return {name: visible[name] for name in names if name in visible}


def can_save(agent: str) -> bool:
    """Whether an agent can have a folder of its own: none whose name is that of a folder for all."""
    return bool(_AGENT.fullmatch(agent)) and agent.casefold() not in SHARED


def refuse_unfit(agent: str) -> None:
    if not can_save(agent):
        raise ArgumentError(
            f"agent '{agent[:64]}' can't have skills of its own: its name can't be that of their folder",
            hint="give it another name in satchel.yaml",
        )


def _folders_in(path: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(path) if _is_folder(path / name))
    except OSError:
        return []


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False

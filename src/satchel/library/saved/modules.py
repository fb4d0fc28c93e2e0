"""The modules that an agent's programs import as `skills`: copies of those that it may, in its own folder.

A program sees the folder read-only, and first of all: `from skills.create_report import …` is a module that
Satchel has put there, whatever lies in the workspace. It is brought up to date before every program, and a
box that was made before shows it as it is now.

Each category has a folder besides, for `from skills.community import create_report`: what it has is the same
module. A skill of the community that one of the agent's own stands before is in neither place.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from satchel.errors import ArgumentError, SatchelError
from satchel.languages import LANGUAGES, Language
from satchel.library.saved.naming import LONGEST_CODE, Names, names_of
from satchel.library.skills.directory import FILE, is_folder
from satchel.library.sources import Source
from satchel.library.state import is_enabled, read_states
from satchel.model import Json
from satchel.support.files import locked, private_directory, write_atomically

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BESIDE: Mapping[Language, Mapping[str, bytes]] = {  # the modules
    "python": {"__init__.py": b'"""Skills that programs can import: one module each."""\n'},
    "typescript": {},
}
_SAME: Mapping[Language, str] = {  # a file of a category
    "python": "from skills.%s import *\n",
    "typescript": 'export * from "../%s.ts";\n',
}
_PACKAGE: Mapping[Language, Mapping[str, str]] = {  # what makes a category importable as a whole
    "python": {"__init__.py": "from satchel_runtime import lazy\n\nlazy(__name__, %s)\n"},
    "typescript": {},
}
_FOLDER = re.compile(r"[a-z]\w*", re.ASCII)
_Stamp = tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class _Found:
    name: str  # of the skill, which is its folder
    source: Source
    names: Names
    stamp: _Stamp

    @property
    def file(self) -> str:
        return self.names.file

    @property
    def folder(self) -> str:
        """Of its category, as programs spell it."""
        return _spelled(self.source.category)


class Modules:
    """Keeps those folders. One for a Satchel; several processes may keep the same ones."""

    def __init__(self, extensions_file: Path) -> None:
        self._extensions_file = extensions_file
        self._seen: dict[Path, _Stamp] = {}
        self._states: Json = {}

    def update(self, folder: Path, language: Language, sources: Sequence[Source]) -> Path:
        """Bring a folder up to date with the skills in `sources`; the first that has a name counts."""
        place = folder / language
        if self._seen.get(place) == self._look(place, language, sources):
            return place
        try:
            private_directory(folder)
            with locked(folder):
                place.mkdir(exist_ok=True)
                place.chmod(0o755)  # programs may run as another user
                seen = self._look(place, language, sources, without_place=True)
                self._write(place, language, sources)
                self._seen[place] = (*seen, _stamp(place))
        except OSError as error:
            raise SatchelError(
                f"{place} can't be written: {error.strerror}", hint="let Satchel write there"
            ) from error
        return place

    def _look(
        self, place: Path, language: Language, sources: Sequence[Source], *, without_place: bool = False
    ) -> _Stamp:
        """All that the folder depends on, and the folder itself."""
        found = tuple(found for found in _find(language, sources))
        seen = (found, _stamp(self._extensions_file))
        return seen if without_place else (*seen, _stamp(place))

    def _write(self, place: Path, language: Language, sources: Sequence[Source]) -> None:
        with suppress(SatchelError):  # else what it said last still counts, as for the servers in it
            self._states = read_states(self._extensions_file)
        wanted = dict(_BESIDE[language])
        categories: dict[str, list[_Found]] = {}
        for found in _find(language, sources):
            if found.file not in wanted and _is_enabled(found, self._states):
                code = _read(found)
                if code is not None:
                    wanted[found.file] = code
                    categories.setdefault(found.folder, []).append(found)
        for folder, inside in categories.items():
            is_taken = folder + LANGUAGES[language].ending in wanted  # by a skill of that name
            if not is_taken and _FOLDER.fullmatch(folder):
                wanted |= {f"{folder}/{file}": text for file, text in _category(language, inside).items()}
        _fill(place, language, wanted)


def _find(language: Language, sources: Sequence[Source]) -> Iterator[_Found]:
    """The skills that have a module in that language; neither links nor what only looks like one."""
    for source in sources:
        folder = source.root
        if not is_folder(folder):
            continue
        with suppress(OSError), os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
            for name in names if source.only is None else [name for name in names if name in source.only]:
                with suppress(OSError, ArgumentError):
                    called = names_of(name, language)
                    if "_" in name or not os.path.lexists(f"{folder}/{name}/{FILE}"):
                        continue
                    status = os.lstat(f"{folder}/{name}/{called.file}")
                    if stat.S_ISREG(status.st_mode) and status.st_size <= 4 * LONGEST_CODE:
                        yield _Found(name=name, source=source, names=called, stamp=_identity(status))


def _category(language: Language, inside: Sequence[_Found]) -> dict[str, bytes]:
    """The files of a category's folder."""
    functions = ", ".join(repr(found.names.function) for found in inside)
    files = {found.file: _SAME[language] % found.names.module for found in inside}
    files |= {name: text % functions for name, text in _PACKAGE[language].items()}
    return {name: text.encode() for name, text in files.items()}


def _fill(place: Path, language: Language, wanted: Mapping[str, bytes]) -> None:
    """Write what is wanted, and take away what was once."""
    folders = {name.partition("/")[0] for name in wanted if "/" in name}
    for entry in os.scandir(place):
        # What begins with a dot was left by a process that was killed while it wrote.
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in folders:
                shutil.rmtree(entry.path)
        elif entry.name not in wanted and (
            entry.name.endswith(LANGUAGES[language].ending) or entry.name.startswith(".")
        ):
            os.unlink(entry.path)
    for folder in folders:
        (place / folder).mkdir(exist_ok=True)
        (place / folder).chmod(0o755)
        for name in os.listdir(place / folder):
            if f"{folder}/{name}" not in wanted:
                os.unlink(place / folder / name)
    for name, code in wanted.items():
        if _content(place / name) != code:
            write_atomically(place / name, code, mode=0o644)


def _spelled(category: str) -> str:
    return re.sub(r"[-.]", "_", category)


def _read(found: _Found) -> bytes | None:
    """A module by descriptors: what is a link by now is left out."""
    try:
        place = os.open(found.source.root / found.name, _DIRECTORY)
        try:
            descriptor = os.open(found.file, _REGULAR, dir_fd=place)
        finally:
            os.close(place)
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            return stream.read(4 * LONGEST_CODE)
    except OSError:
        return None


def _is_enabled(found: _Found, states: Json) -> bool:
    """An agent's own is, unless it is switched off; one of the community once it was promoted."""
    identity = f"{found.source.category}:{found.name}"
    return is_enabled(states, identity, found.name, default=found.source.enabled)


def _content(path: Path) -> bytes | None:
    with suppress(OSError):
        descriptor = os.open(path, _REGULAR)
        with open(descriptor, "rb") as stream:
            return stream.read(4 * LONGEST_CODE + 1)
    return None


def _stamp(path: Path) -> _Stamp:
    try:
        return _identity(os.stat(path))
    except OSError:
        return ()


def _identity(status: os.stat_result) -> _Stamp:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size

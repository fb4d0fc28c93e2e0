"""Writing trees: only what changed, every file whole at any moment, nothing foreign touched.

A file is written aside, in `.satchel-new` at the root of the tree, and renamed to its place; a folder that
was not there is written aside as a whole. What Satchel wrote is recorded in the user's own data, not in the
tree: one that came with somebody's repository must not pass for ours, nor tell us what to delete. The record
has size and time of every file, so that a run that finds nothing changed reads none of them.
"""

import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

from satchel.errors import SatchelError
from satchel.model import is_list, is_object
from satchel.support.files import read_small, write_atomically

Files = Mapping[str, bytes]
_ASIDE = ".satchel-new"
_LEFT_BY_RUNNING = {"__pycache__"}
_LARGEST_RECORD = 256 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A folder that a tree should have. `make` is asked for its files only if `key` is not the known one."""

    path: str
    key: str
    names: Callable[[], Iterable[str]]  # of the files that `make` gives
    make: Callable[[], Files]
    server: str | None = None
    about: Callable[[], str] = str  # what the list of servers says of it
    tools: int = 0


@dataclass(kw_only=True)
class Written:
    """The changes to one tree."""

    directory: Path
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    foreign: list[str] = field(default_factory=list[str])


class Tree:
    """One tree while it is brought up to date; the caller holds the lock of `records`."""

    def __init__(self, root: Path, records: Path, *, adopt: bool = True) -> None:
        """`adopt` allows files in the way that are not known to be ours to be written over."""
        self.outcome = Written(directory=root)
        self._root = root
        self._file = records / f"{sha256(os.fsencode(root)).hexdigest()[:24]}.json"
        self._saved = _read_record(self._file)
        self._record = dict(self._saved)
        self._written_aside = 0
        _make_directory(root)
        self._may_write_over = adopt or bool(self._record)
        if os.path.lexists(root / _ASIDE):  # an interrupted run left it
            _remove(root / _ASIDE)

    @property
    def servers(self) -> dict[str, str]:
        """The folders of servers that are whole in the tree, each with the server's name."""
        return {
            path: known["server"]
            for path, known in self._record.items()
            if known["server"] is not None and known["key"] and self._is_real(path)
        }

    def remembered(self, path: str) -> tuple[str, int]:
        """The description of a folder's server and its number of tools, when the folder was written."""
        known = self._record[path]
        return known["about"], known["tools"]

    def stale(self, folders: Sequence[Folder]) -> list[Folder]:
        """Those that are not there as they should be."""
        return [folder for folder in folders if not self._is_current(folder)]

    def forget(self, staying: Collection[str | None]) -> None:
        """Remove every file that is ours, except those of servers that stay; None stands for no server."""
        for path in sorted(self._record, reverse=True):
            if self._record[path]["server"] not in staying:
                self._remove_folder(path)

    def announce(self, folders: Sequence[Folder]) -> None:
        """Record what is about to be written: if this run is interrupted, the next one knows it for ours."""
        for folder in folders:
            self._refuse_links(folder.path)
            self._refuse_strangers(folder)
        for folder in folders:
            known = self._record.get(folder.path, {"files": {}})
            files = {**dict.fromkeys(folder.names()), **known["files"]}
            self._record[folder.path] = _entry(folder, "", files)
        self._save()

    def write(self, folder: Folder) -> None:
        """Write a folder's files as far as they differ, and remove those it no longer has."""
        files = folder.make()
        place = self._root / folder.path
        known: Mapping[str, Any] = self._record.get(folder.path, {"files": {}})["files"]
        if os.path.lexists(place):
            self._update(place, files)
        else:
            self._create(place, files)
        for name in set(known) - set(files):
            self._remove_file(place / name)
        stamps = {name: _stamp(place / name) for name in files}
        self._record[folder.path] = _entry(folder, folder.key, stamps)

    def finish(self, wanted: Iterable[str]) -> Written:
        """Remove our folders that are not wanted, note what is foreign, and save the record."""
        stay = set(wanted)
        for path in sorted((path for path in self._record if path not in stay), reverse=True):
            self._remove_folder(path)  # what lies deeper comes first
        for path in self._record:
            if self._is_real(path):
                self._remove_leftovers(self._root / path)
        self._refuse_shadows()
        self.outcome.foreign = self._foreign()
        if _is_directory(self._root / _ASIDE):
            os.rmdir(self._root / _ASIDE)
        self._save()
        return self.outcome

    def _is_current(self, folder: Folder) -> bool:
        known = self._record.get(folder.path)
        if known is None or known["key"] != folder.key or not self._is_untouched(folder.path, known["files"]):
            return False
        self.outcome.unchanged += len(known["files"])
        return True

    def _is_untouched(self, path: str, files: Mapping[str, Any]) -> bool:
        """Whether every file is there with the size and time it was written with."""
        found = 0
        try:
            if not self._is_real(path):
                return False
            with os.scandir(self._root / path) as entries:
                for entry in entries:
                    if entry.name in files:
                        if _stamp_of(entry.stat(follow_symlinks=False)) != files[entry.name]:
                            return False
                        found += 1
        except OSError:
            return False
        return found == len(files)

    def _is_real(self, path: str) -> bool:
        """Whether a folder is there, and no link on the way to it leads out of the tree."""
        place = self._root
        for part in filter(None, path.split("/")):
            place = place / part
            if not _is_directory(place):
                return False
        return True

    def _refuse_links(self, path: str) -> None:
        place = self._root
        for part in filter(None, path.split("/")):
            place = place / part
            if os.path.lexists(place) and not _is_directory(place):
                raise _in_the_way(place)

    def _refuse_strangers(self, folder: Folder) -> None:
        if self._may_write_over:
            return
        for name in folder.names():
            place = self._root / folder.path / name
            if os.path.lexists(place):
                raise SatchelError(
                    f"{place} is there already, and Satchel did not write it",
                    hint="choose another place with --output, or write over such files with --clean",
                )

    def _create(self, place: Path, files: Files) -> None:
        aside = self._aside()
        os.mkdir(aside)
        for name, content in files.items():
            _write(aside / name, content)
        _make_directory(place.parent)
        os.rename(aside, place)
        self.outcome.written += len(files)

    def _update(self, place: Path, files: Files) -> None:
        _make_directory(place)
        for name, content in files.items():
            if _content(place / name, len(content)) == content:
                self.outcome.unchanged += 1
                continue
            aside = self._aside()
            _write(aside, content)
            os.replace(aside, place / name)
            self.outcome.written += 1

    def _aside(self) -> Path:
        if not self._written_aside:
            os.mkdir(self._root / _ASIDE)
        self._written_aside += 1
        return self._root / _ASIDE / str(self._written_aside)

    def _remove_folder(self, path: str) -> None:
        known = self._record.pop(path, None)
        place = self._root / path
        if known is None or not self._is_real(path):
            return
        for name in known["files"]:
            self._remove_file(place / name)
        self._remove_leftovers(place)
        if path:
            with suppress(OSError):  # something foreign is in it
                os.rmdir(place)

    def _remove_leftovers(self, place: Path) -> None:
        """Byte code counts for Python even where the source next to it says something else."""
        for name in _LEFT_BY_RUNNING:
            if os.path.lexists(place / name):
                _remove(place / name)

    def _refuse_shadows(self) -> None:
        """What Python would import instead of a file of ours, someone has laid there for that."""
        for path, known in self._record.items():
            ours = {name.removesuffix(".py") for name in known["files"] if name.endswith(".py")}
            with suppress(OSError), os.scandir(self._root / path) as entries:
                for entry in entries:
                    stem = entry.name.partition(".")[0]
                    binary = entry.name.endswith((".so", ".pyd", ".pyc"))
                    place = f"{path}/{entry.name}" if path else entry.name
                    if stem in ours and place not in self._record and (binary or entry.is_dir()):
                        raise SatchelError(
                            f"{self._root / place} would be imported instead of {stem}.py",
                            hint="remove it, if you did not put it there; else call it something else",
                        )

    def _remove_file(self, path: Path) -> None:
        if os.path.lexists(path) and not _is_directory(path):
            path.unlink()
            self.outcome.removed += 1

    def _foreign(self) -> list[str]:
        """Entries in our folders that are not ours."""
        above = {path.partition("/")[0] for path in self._record}
        ours = above | set(self._record)
        found: list[str] = []
        for path in {"", *ours}:
            files: Mapping[str, Any] = self._record.get(path, {}).get("files", {})
            with suppress(OSError), os.scandir(self._root / path) as entries:
                for entry in entries:
                    place = f"{path}/{entry.name}" if path else entry.name
                    if not (
                        entry.name in files or place in ours or entry.name in {_ASIDE, *_LEFT_BY_RUNNING}
                    ):
                        found.append(place)
        return sorted(found)

    def _save(self) -> None:
        if self._record != self._saved:
            content = json.dumps({"root": os.fspath(self._root), "folders": self._record})
            write_atomically(self._file, content.encode())
            self._saved = dict(self._record)


def _read_record(file: Path) -> dict[str, Any]:
    """Folder → key, server and files, each with its stamp; empty where there is none that can be used."""
    try:
        folders: object = json.loads(read_small(file, _LARGEST_RECORD))["folders"]
        if is_object(folders) and all(_is_entry(path, known) for path, known in folders.items()):
            return folders
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return {}


def _entry(folder: Folder, key: str, files: Mapping[str, Any]) -> dict[str, Any]:
    facts = {"server": folder.server, "about": folder.about(), "tools": folder.tools}
    return {"key": key, **facts, "files": files}


def _is_entry(path: str, known: object) -> bool:
    """Whether a row of the record is one that we write: nothing in it may lead out of the tree."""
    if not is_object(known) or not is_object(known.get("files")):
        return False
    server = known.get("server")
    return (
        isinstance(known.get("key"), str)
        and isinstance(known.get("about"), str)
        and type(known.get("tools")) is int
        and (server is None or isinstance(server, str))
        and (path == "" or all(map(_is_name, path.split("/"))))
        and all(_is_name(name) and _is_stamp(stamp) for name, stamp in known["files"].items())
    )


def _is_name(text: str) -> bool:
    return text not in ("", ".", "..") and text.isprintable() and "/" not in text


def _is_stamp(stamp: object) -> bool:
    return stamp is None or (is_list(stamp) and len(stamp) == 2 and all(type(part) is int for part in stamp))


def _stamp(path: Path) -> list[int] | None:
    try:
        return _stamp_of(path.lstat())
    except OSError:
        return None


def _stamp_of(status: os.stat_result) -> list[int] | None:
    return [status.st_size, status.st_mtime_ns] if S_ISREG(status.st_mode) else None


def _content(path: Path, size: int) -> bytes | None:
    """The contents of a regular file of that size, else None. A link is not followed."""
    try:
        status = path.lstat()
        if not S_ISREG(status.st_mode) or status.st_size != size:
            return None
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "rb") as stream:
            return stream.read()
    except OSError:
        return None


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)


def _is_directory(path: Path) -> bool:
    """A real one; a link to one leads who knows where."""
    try:
        return S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _make_directory(path: Path) -> None:
    if _is_directory(path):
        return
    if os.path.lexists(path):
        raise _in_the_way(path)
    _make_directory(path.parent)
    with suppress(FileExistsError):
        os.mkdir(path)


def _remove(path: Path) -> None:
    """Remove what lies there, or say that it can't be done: it must not stay."""
    try:
        if _is_directory(path):
            shutil.rmtree(path)
        else:
            path.unlink()
    except (OSError, RecursionError) as error:
        raise SatchelError(f"{path} can't be removed: {error}", hint=f"rm -r {path}") from error


def _in_the_way(path: Path) -> SatchelError:
    what = (
        "a link, and generated files would be written to its target"
        if path.is_symlink()
        else "not a directory"
    )
    return SatchelError(
        f"{path} is in the way: it is {what}", hint="move it, or choose another place with --output"
    )

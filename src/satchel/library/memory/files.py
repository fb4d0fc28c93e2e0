"""The files of a memory, reached by descriptors alone.

Programs write here as they like, at any moment: no link is followed, only plain files are opened, every name
and size is bounded. What Satchel writes is whole at any moment: a new file takes the place of the old one.
"""

import os
import secrets
import stat
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from errno import ELOOP
from pathlib import Path

from satchel.errors import ArgumentError
from satchel.library.memory.places import EMPTY
from satchel.model import MemoryProblem
from satchel.support.files import exchange_at

LARGEST = 4 * 1024 * 1024  # bytes of a file that is read
MOST_FILES = 64
DEEPEST = 4  # names in a path
_MOST_NAMES = 1_000  # in all directories, that are looked at
_LONGEST_NAME = 200  # bytes
_LEFT = ".satchel-"  # begins the name of a file that is being written
_MOST_EXCHANGES = 100  # of two names, while a program writes there as well
FORGOTTEN = 60.0
"""Seconds after which such a file belongs to nobody any more."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Stamp = tuple[int, int, int, int, int]


def stamp_of(status: os.stat_result) -> Stamp:
    """A mark that changes when a file is replaced or changed, as far as clocks tell."""
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size


@dataclass(kw_only=True)
class Found:
    """The plain files below a memory, by path, and what else is there."""

    files: dict[str, os.stat_result] = field(default_factory=dict[str, os.stat_result])
    folders: list[str] = field(default_factory=list[str])
    problems: list[MemoryProblem] = field(default_factory=list[MemoryProblem])
    has_hidden: bool = False  # names that begin with a dot, which are passed over
    names: int = 0


@contextmanager
def opened(directory: Path, *, make: bool = False, owner: int | None = None) -> Generator[int | None]:
    """A descriptor of a memory's directory; None where there is none, and none is to be made."""
    if make and not directory.is_dir():
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if owner is not None:
            os.chown(directory, owner, owner)
    try:
        root = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    try:
        yield root
    finally:
        os.close(root)


def find(root: int) -> Found:
    """What is there. The files that programs know by name come first, whatever else there is too much of."""
    found = Found()
    for name in EMPTY:
        with suppress(FileNotFoundError):
            _look(root, name, name, 1, found)
    _find(root, "", 1, found)
    return found


def read(root: int, path: str) -> tuple[bytes, os.stat_result]:
    """A plain file, and its status before it was read; OSError where there is none, or a larger one."""
    with _parent(root, path) as (parent, name):
        descriptor = os.open(name, _FILE, dir_fd=parent)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a plain file")
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(f"it has more than {LARGEST // 1024:,} KiB")
    return data, status


def status_of(root: int, path: str) -> os.stat_result | None:
    """What is at a path, be it a link; None where there is nothing."""
    try:
        with _parent(root, path) as (parent, name):
            return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def write(root: int, path: str, data: bytes, before: os.stat_result | None, owner: int | None) -> bool:
    """Put a whole file in the place of the one that was there `before`; False if that has changed."""
    with _parent(root, path, make=True, owner=owner) as (parent, name):
        temporary = f"{_LEFT}{secrets.token_hex(8)}"
        descriptor = os.open(temporary, _NEW, 0o600, dir_fd=parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                _give(descriptor, before, owner)
                stream.write(data)
                stream.flush()
                os.fsync(descriptor)
                ours = os.fstat(descriptor)
            is_done = _is_still(parent, name, before) and _take_place(parent, temporary, ours, name, before)
            os.fsync(parent)
        finally:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=parent)
    return is_done


def _take_place(
    parent: int, temporary: str, ours: os.stat_result, name: str, before: os.stat_result | None
) -> bool:
    """Put our file in the place of the one `before`, but give back what a program laid there meanwhile."""
    if before is None:
        try:
            os.link(temporary, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError:  # a file system without second names
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        return True
    if not exchange_at(parent, temporary, name):
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        return True
    old = os.stat(temporary, dir_fd=parent, follow_symlinks=False)
    if _same(old) == _same(before):
        return True
    for _ in range(_MOST_EXCHANGES):
        exchange_at(parent, temporary, name)
        if os.stat(temporary, dir_fd=parent, follow_symlinks=False).st_ino == ours.st_ino:
            break
    return False


def _same(status: os.stat_result) -> tuple[int, ...]:
    """A stamp without the time that a change of name sets, too."""
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def remove(root: int, path: str, before: os.stat_result) -> bool:
    """Remove a file, or an empty directory; False if it is another one now."""
    with _parent(root, path) as (parent, name):
        if not _is_still(parent, name, before):
            return False
        if stat.S_ISDIR(before.st_mode):
            os.rmdir(name, dir_fd=parent)
        else:
            os.unlink(name, dir_fd=parent)
    return True


def rename(root: int, old: str, new: str, owner: int | None) -> None:
    """Rename a file or directory to a name that nothing has."""
    with _parent(root, old) as (source, name), _parent(root, new, make=True, owner=owner) as (target, to):
        if _exists(target, to):
            raise FileExistsError(new)
        os.rename(name, to, src_dir_fd=source, dst_dir_fd=target)


def sweep(root: int) -> None:
    """Take away what a process left that was killed while it wrote, among as many names as are looked at."""
    for directory, name, status in _left(root, 1, iter(range(_MOST_NAMES))):
        if time.time() - status.st_mtime > FORGOTTEN:
            with suppress(OSError):
                os.unlink(name, dir_fd=directory)


def _left(directory: int, depth: int, room: Iterator[int]) -> Iterator[tuple[int, str, os.stat_result]]:
    for name, _ in zip(_listed(directory), room, strict=False):
        with suppress(OSError):
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if name.startswith(_LEFT):
                yield directory, name, status
            elif depth < DEEPEST and stat.S_ISDIR(status.st_mode):
                inner = os.open(name, _DIRECTORY, dir_fd=directory)
                try:
                    yield from _left(inner, depth + 1, room)
                finally:
                    os.close(inner)


def _find(directory: int, prefix: str, depth: int, found: Found) -> None:
    for name in sorted(_listed(directory)):
        path = prefix + name
        found.names += 1
        if found.names > _MOST_NAMES:
            found.problems.append(
                _problem(prefix, f"more than {_MOST_NAMES:,} names; the others are not read")
            )
            return
        if name.startswith("."):
            found.has_hidden = True
        elif not _is_fit(name):
            found.problems.append(_problem(path, "its name has characters that can't be shown, or too many"))
        elif path not in EMPTY:
            with suppress(FileNotFoundError):  # it has gone meanwhile
                _look(directory, name, path, depth, found)


def _look(directory: int, name: str, path: str, depth: int, found: Found) -> None:
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            _enter(directory, name, path, depth, found)
        elif not stat.S_ISREG(status.st_mode):
            is_link = stat.S_ISLNK(status.st_mode)
            raise OSError("it is a symbolic link" if is_link else "it is not a plain file")
        elif len(found.files) >= MOST_FILES:
            raise OSError(f"there are more than {MOST_FILES} files; it is not read")
        else:
            found.files[path] = status
    except FileNotFoundError:
        raise
    except OSError as error:
        found.problems.append(_problem(path, worded(error)))


def _enter(directory: int, name: str, path: str, depth: int, found: Found) -> None:
    if depth >= DEEPEST:
        raise OSError(f"it is more than {DEEPEST} levels deep")
    inner = os.open(name, _DIRECTORY, dir_fd=directory)
    found.folders.append(path)
    try:
        _find(inner, f"{path}/", depth + 1, found)
    finally:
        os.close(inner)


def _listed(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.name for entry, _ in zip(entries, range(_MOST_NAMES + 1), strict=False)]


def worded(error: OSError) -> str:
    """Why not, without a path of this machine."""
    if error.errno == ELOOP:
        return "it is a symbolic link"
    return error.strerror.lower() if error.strerror else str(error)


def check_path(path: str) -> None:
    """Refuse a path that no file of a memory may have."""
    names = path.split("/")
    if len(names) > DEEPEST:
        raise ArgumentError(f"{path} is more than {DEEPEST} levels deep", argument="path")
    for name in names:
        if name.startswith(".") or not _is_fit(name):
            raise ArgumentError(
                f"{path!r} can't be the path of a file in a memory",
                argument="path",
                hint="name it without '.' at the beginning, and with characters that can be seen",
            )


def _is_fit(name: str) -> bool:
    return bool(name) and name.isprintable() and len(name.encode("utf-8", "replace")) <= _LONGEST_NAME


@contextmanager
def _parent(
    root: int, path: str, *, make: bool = False, owner: int | None = None
) -> Generator[tuple[int, str]]:
    """The directory that a path is in, and its last name."""
    *folders, name = path.split("/")
    descriptor = os.dup(root)
    try:
        for folder in folders:
            if make:
                _make(descriptor, folder, owner)
            inner = os.open(folder, _DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor, name
    finally:
        os.close(descriptor)


def _make(parent: int, name: str, owner: int | None) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=parent)
        if owner is not None:
            os.chown(name, owner, owner, dir_fd=parent, follow_symlinks=False)


def _give(descriptor: int, before: os.stat_result | None, owner: int | None) -> None:
    """The owner and mode of the file that was there, or those of a new one."""
    now = os.fstat(descriptor)
    user, group = (before.st_uid, before.st_gid) if before else (owner, owner)
    if user is not None and group is not None and (user, group) != (now.st_uid, now.st_gid):
        with suppress(PermissionError):  # it stays ours, and is readable as it was
            os.fchown(descriptor, user, group)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777 if before else 0o600)


def _is_still(parent: int, name: str, before: os.stat_result | None) -> bool:
    try:
        now = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return before is None
    return before is not None and stamp_of(now) == stamp_of(before)


def _exists(parent: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _problem(path: str, message: str) -> MemoryProblem:
    shown = path.rstrip("/").encode("utf-8", "replace").decode()
    return MemoryProblem(
        file="".join(c if c.isprintable() else "?" for c in shown)[:300] or ".", line=None, message=message
    )

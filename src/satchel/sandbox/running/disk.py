"""The size of an agent's directories. The program that filled them may try to hide it.

The walk goes by descriptors: no link is followed, no path gets too long. What can't be walked counts as too
much, for nobody nests so deep, or closes a directory, but to hide something. So that a program can't lock
out the next one in this way, `tidy` opens what is closed and removes what is too deep.
"""

import errno
import fcntl
import os
import secrets
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from satchel.sandbox.running.processes import Deadline, TooMuchError, living, mappings

DEEPEST = 64
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TRASH = ".removed-"
_LONGEST_REMOVAL = 20.0  # seconds
_FEW = 100  # files that are measured in a moment
_FRESH = 0.1  # seconds for which what one execution has measured is good enough for another
_SHARED = 2  # times as long as a walk took: many programs in a large workspace do not all walk through it


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The size of directories. `whole` is false if not all of it could be seen."""

    size: int = 0
    files: int = 0
    whole: bool = True
    closed: int = 0  # directories that could not be walked: closed, or too deep


def measure(directories: Iterable[Path], most_files: int) -> Contents:
    """The space that directories take, and the number of files, as far as `most_files` of them."""
    walk = _Walk(most_files)
    for directory in directories:
        walk.enter(str(directory), None, 0)
    return Contents(size=walk.size, files=walk.files, whole=walk.whole, closed=walk.closed)


class SharedMeasure:
    """One walk at a time through the same directories, for all executions that want to know."""

    def __init__(self, directories: Sequence[Path], most_files: int, *, share: float = _SHARED) -> None:
        self._directories = directories
        self._share = share
        self._most_files = most_files
        self._walking = threading.Lock()
        self._contents = Contents()
        self._began = float("-inf")
        self._took = 0.0

    def measure(self) -> Contents:
        asked = time.monotonic()
        with self._walking:
            if self._began < asked - max(_FRESH, self._share * self._took):
                began = time.monotonic()
                self._contents = measure(self._directories, self._most_files)
                self._began, self._took = began, time.monotonic() - began
            return self._contents

    def measure_quickly(self) -> Contents | None:
        """The same where it takes no more than a moment, and nobody else is at it."""
        if not self._walking.acquire(blocking=False):
            return None
        try:
            asked = time.monotonic()
            if self._began < asked - _FRESH:
                contents = measure(self._directories, _FEW)
                if not contents.whole:
                    return None
                self._contents, self._began, self._took = contents, asked, 0.0
            return self._contents
        except OSError:
            return None
        finally:
            self._walking.release()

    def forget(self) -> None:
        self._began = float("-inf")


def tidy(directory: Path) -> None:
    """Make a directory one that can be walked. What lies too deep to be looked at is removed.

    Only for directories of an agent of which nothing runs: `alone` says so.
    """
    for left in directory.parent.glob(f"{_TRASH}*"):
        _remove(left)
    trash = Path(tempfile.mkdtemp(prefix=_TRASH, dir=directory.parent))
    descriptor = os.open(trash, _DIRECTORY)
    try:
        _Walk(sys.maxsize, trash=descriptor).enter(str(directory), None, 0)
    finally:
        os.close(descriptor)
        _remove(trash)


def empty(directory: Path) -> None:
    """Remove everything in a directory, which itself stays: boxes that are ready show it. Only as `tidy`."""
    trash = Path(tempfile.mkdtemp(prefix=_TRASH, dir=directory.parent))
    inside, away = os.open(directory, _DIRECTORY), os.open(trash, _DIRECTORY)
    try:
        for name in os.listdir(inside):
            _open_up(name, inside)  # one that is closed can't be moved
            os.rename(name, secrets.token_hex(8), src_dir_fd=inside, dst_dir_fd=away)
    finally:
        os.close(inside)
        os.close(away)
        _remove(trash)


def _remove(trash: Path) -> None:
    """Remove a directory however deep it is, and whoever still changes what is in it.

    Everything goes by descriptors, and no link is followed. What lies below a directory is moved beside it
    before it is removed, so that nothing is ever deep. What does not end is left for the next time.
    """
    until = time.monotonic() + _LONGEST_REMOVAL
    with suppress(OSError):
        descriptor = os.open(trash, _DIRECTORY)
        try:
            while (names := os.listdir(descriptor)) and time.monotonic() < until:
                for name in names:
                    _remove_one(name, descriptor)
        finally:
            os.close(descriptor)
        os.rmdir(trash)


def _remove_one(name: str, trash: int) -> None:
    with suppress(IsADirectoryError, PermissionError):  # for a directory it is either, by the system
        os.unlink(name, dir_fd=trash)
        return
    _open_up(name, trash)
    with suppress(OSError):
        directory = os.open(name, _DIRECTORY, dir_fd=trash)
        try:
            for below in os.listdir(directory):
                with suppress(OSError):
                    try:
                        os.unlink(below, dir_fd=directory)
                    except (IsADirectoryError, PermissionError):
                        os.rename(below, secrets.token_hex(8), src_dir_fd=directory, dst_dir_fd=trash)
        finally:
            os.close(directory)
        os.rmdir(name, dir_fd=trash)


@contextmanager
def alone(home: Path) -> Generator[bool]:
    """Whether no program of an agent runs, in any process, for as long as the block lasts."""
    with _locked(home, fcntl.LOCK_EX) as is_locked:
        yield is_locked


@contextmanager
def in_use(home: Path) -> Generator[bool]:
    """Say that a program of an agent runs; false while somebody wants to be alone."""
    with _locked(home, fcntl.LOCK_SH) as is_locked:
        yield is_locked


@contextmanager
def _locked(home: Path, kind: int) -> Generator[bool]:
    descriptor = os.open(home, _DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


class _Walk:
    """With `trash`, the descriptor of a directory, what can't be walked is put right or put there."""

    def __init__(self, most_files: int, trash: int | None = None) -> None:
        self._most_files = most_files
        self._trash = trash
        self._seen: set[tuple[int, int]] = set()  # files with several names
        self.size = self.files = self.closed = 0
        self.whole = True

    def enter(self, name: str, parent: int | None, depth: int) -> None:
        if depth > DEEPEST:
            self._pass_by()
            if self._trash is not None:
                with suppress(OSError):
                    os.rename(name, secrets.token_hex(8), src_dir_fd=parent, dst_dir_fd=self._trash)
            return
        if self._trash is not None:
            _open_up(name, parent)
        try:
            descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
        except FileNotFoundError:
            return
        except OSError as error:
            self._note(error)
            return
        try:
            for below in self._look(descriptor):
                self.enter(below, descriptor, depth + 1)
        except OSError as error:
            self._note(error)
        finally:
            os.close(descriptor)

    def _note(self, error: OSError) -> None:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise error  # that is our own trouble, and says nothing about the directory
        self._pass_by()

    def _pass_by(self) -> None:
        self.closed += 1
        self.whole = False

    def _look(self, descriptor: int) -> list[str]:
        """Count what is in a directory; the names of those below it, for which no descriptor is open now."""
        below: list[str] = []
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if self.files >= self._most_files:
                    self.whole = False
                    break
                self.files += 1
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        below.append(entry.name)
                        self.size += status.st_blocks * 512  # which it keeps when what was in it has gone
                    elif status.st_nlink == 1 or (status.st_dev, status.st_ino) not in self._seen:
                        self.size += status.st_blocks * 512
                        if status.st_nlink > 1:
                            self._seen.add((status.st_dev, status.st_ino))
        return below


def _open_up(name: str, parent: int | None) -> None:
    """Give a directory's owner all rights to it, and to nothing that was put in its place meanwhile."""
    with suppress(OSError):
        descriptor = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            if mode & 0o700 != 0o700:
                os.chmod(f"/proc/self/fd/{descriptor}", mode | 0o700)
        finally:
            os.close(descriptor)


def unlinked_size(processes: Iterable[int], directories: Iterable[Path], deadline: Deadline) -> int:
    """The space of files and directories that have no name any more and live on while a process holds them.

    TooMuchError where there is more to look at than the deadline has time for.
    """
    devices: set[int] = set()
    for directory in directories:
        with suppress(OSError):
            devices.add(os.stat(directory).st_dev)
    sizes: dict[tuple[int, int], int] = {}
    for process in processes:
        for identity, size in (*_held(process, deadline), *_mapped(process, deadline)):
            if identity[0] in devices:
                sizes[identity] = max(size, sizes.get(identity, 0))
    return sum(sizes.values())


def _held(process: int, deadline: Deadline) -> Iterator[tuple[tuple[int, int], int]]:
    """(device and inode, size) of what a process has open without a name, stands in or runs."""
    # Threads share their descriptors, but need not; and the first one may be gone.
    for thread in _names(f"/proc/{process}/task"):
        place = f"/proc/{process}/task/{thread}"
        for name in ("cwd", "exe", *(f"fd/{number}" for number in _names(f"{place}/fd"))):
            if deadline.has_passed():
                raise TooMuchError
            with suppress(OSError):
                status = os.stat(f"{place}/{name}")
                if status.st_nlink == 0 and stat.S_IFMT(status.st_mode) in (stat.S_IFREG, stat.S_IFDIR):
                    yield (status.st_dev, status.st_ino), status.st_blocks * 512


def _names(directory: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(directory)
    return []


def _mapped(process: int, deadline: Deadline) -> Iterator[tuple[tuple[int, int], int]]:
    """The same of what it has mapped. Only those that have lost their name are looked at one by one."""
    place = f"/proc/{process}"
    with suppress(OSError):  # a thread has a place of its own, though it is not listed
        place = f"/proc/{os.path.basename(living(process))}"
    for mapping in mappings(place, ["(deleted)"], deadline):
        try:
            status = os.stat(f"{place}/map_files/{mapping.start:x}-{mapping.end:x}")
        except PermissionError:  # only root may see more of a file than what is mapped of it
            yield mapping.identity, mapping.reach
        except OSError:
            pass  # it has gone meanwhile
        else:
            if status.st_nlink == 0:
                yield (status.st_dev, status.st_ino), status.st_blocks * 512


def temporary_files(processes: Iterable[int]) -> int:
    """How many files the box's /tmp has, by what one of its processes sees there."""
    for process in processes:
        with suppress(OSError):
            system = os.statvfs(Path(f"/proc/{process}/root", "tmp"))
            return system.f_files - system.f_ffree
    return 0

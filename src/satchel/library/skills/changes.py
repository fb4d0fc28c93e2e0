"""Whether anything has changed in folders that were looked at: told by the kernel, or seen by looking again.

On Linux, a change to a local file system is in the queue of an inotify watch when the call that made it
returns, in whatever process; so a listing is as fresh as one that was made anew, for the price of one read.
Elsewhere, and on file systems that others may write to unseen, each folder and each file is looked at again.
"""

import os
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from errno import EAGAIN, ENOSPC

_CLOSE_WRITE, _MODIFY, _ATTRIB = 0x8, 0x2, 0x4
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x40, 0x80, 0x100, 0x200, 0x400, 0x800
_ONLY_DIRECTORIES, _NO_LINKS = 0x1000000, 0x2000000
_MASK = (
    _CLOSE_WRITE | _MODIFY | _ATTRIB | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
) | (_ONLY_DIRECTORIES | _NO_LINKS)
# Where nobody writes past this kernel. Not overlay: a watch there misses what happens to its lower layer.
_LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "zfs", "f2fs", "bcachefs"})
_MOST_FOLDERS = 4_096  # some systems let a user watch 8,192 in all
_TICK = 50_000_000  # nanoseconds within which two changes may have one time
# Seconds after which a watch is not believed without a look. It misses writes to mapped memory, and those by
# a second name that a file got after it was listed. Only the list is old meanwhile: texts are read anew.
_REST = 10.0

Stamp = tuple[int, int, int, int]


class Watch:
    """A queue of the kernel for changes in folders. Once something has changed, it stays so."""

    def __init__(self) -> None:
        """OSError where there are none, or no more of them."""
        # Only who lists skills again and again needs it.
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        self._process = os.getpid()
        self._errno = ctypes.get_errno
        self._add: Callable[[int, bytes, int], int] = library.inotify_add_watch
        self._queue: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._queue < 0:
            raise OSError(self._errno(), "no inotify")
        self._folders = 0
        self._is_over = False
        self._close = weakref.finalize(self, os.close, self._queue)

    def add(self, folder: str) -> None:
        """OSError where it can't be watched, or is one too many: other programs watch folders, too."""
        if self._is_over:
            return
        self._folders += 1
        if self._folders > _MOST_FOLDERS:
            raise OSError(ENOSPC, "too many folders")
        if self._add(self._queue, os.fsencode(folder), _MASK) < 0:
            raise OSError(self._errno(), "not watched")

    def close(self) -> None:
        """Watch nothing any more: from now on, everything may have changed."""
        self._is_over = True
        self._close()

    def is_over(self) -> bool:
        """Whether anything has changed."""
        if self._process != os.getpid():
            return True  # after a fork, the queue is another process's
        if not self._is_over:
            try:
                self._is_over = bool(os.read(self._queue, 64 * 1024))
            except OSError as error:
                self._is_over = error.errno != EAGAIN
        return self._is_over


def open_watch() -> Watch | None:
    """A watch, where there can be one."""
    with suppress(OSError, AttributeError):
        return Watch() if sys.platform == "linux" else None
    return None


class Look:
    """The folders and files that one listing depends on, as they were just before it read them."""

    def __init__(self, watch: Watch | None, rest: float = _REST) -> None:
        self._watch = watch
        self._rest = rest
        self._local = _local_devices() if watch is not None else frozenset[int]()
        self._began = time.time_ns()
        self._stamps: dict[str, Stamp | None] = {}
        self._is_settled = True
        self._looked = time.monotonic()

    def at_folder(self, folder: str) -> None:
        """To be called before a folder is read."""
        if self._watch is not None:
            try:
                self._watch.add(folder)
            except FileNotFoundError:
                pass  # a root that nobody has made yet; every listing looks at the roots
            except OSError:  # there are no more watches, or it can't be read
                self._watch = None
        stamp = self._note(folder)
        if stamp is not None and stamp[0] not in self._local:
            self._watch = None

    def at_file(self, path: str, status: os.stat_result | None) -> None:
        """To be called with what was seen of a file, before it is read."""
        self._note(path, None if status is None else _stamp(status))
        if status is not None and status.st_nlink > 1:
            self._watch = None  # nobody tells of a write by its other name

    def is_same(self) -> bool:
        """Whether nothing has changed since."""
        if self._watch is None:
            return self._is_settled and self._looks_same()
        if self._watch.is_over():
            return False
        if time.monotonic() - self._looked < self._rest:
            return True
        self._looked = time.monotonic()
        return self._looks_same()

    def _looks_same(self) -> bool:
        return all(stamp_of(path) == stamp for path, stamp in self._stamps.items())

    def _note(self, path: str, stamp: Stamp | None = None) -> Stamp | None:
        stamp = stamp or stamp_of(path)
        self._stamps[path] = stamp
        if stamp is not None and stamp[2] > self._began - _TICK:
            self._is_settled = False  # another change may get the same time
        return stamp


def stamp_of(path: str) -> Stamp | None:
    """A mark that changes when a file or folder is replaced or changed; None if there is none."""
    try:
        return _stamp(os.lstat(path))
    except OSError:
        return None


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_dev, status.st_ino, status.st_ctime_ns, status.st_size  # nobody can set back a ctime


def _local_devices() -> frozenset[int]:
    """The devices whose file systems nobody writes to past this kernel."""
    found: set[int] = set()
    with suppress(OSError), open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            before, _, after = line.partition(" - ")
            major, _, minor = before.split()[2].partition(":")
            if after.split()[0] in _LOCAL:
                found.add(os.makedev(int(major), int(minor)))
    return frozenset(found)

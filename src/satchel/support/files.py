"""Writing files so that nothing is lost: atomic replacement, and a lock between processes."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from errno import EINVAL, ENOSYS
from pathlib import Path
from stat import S_ISREG

from satchel.errors import SatchelError

PATIENCE = 30.0
"""Seconds to wait for a lock."""
_EXCHANGE = 2  # RENAME_EXCHANGE


def write_atomically(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace `path` in one step. A reader sees the old file or the new one; a crash leaves one of them.

    An existing file keeps its mode. A symbolic link is replaced, not followed: a link that someone else laid
    must not lead the write elsewhere. Who wants to follow one resolves it first.
    """
    import tempfile  # not needed to read, and reading must be quick

    private_directory(path.parent)
    with suppress(FileNotFoundError):
        status = path.lstat()
        mode = status.st_mode & 0o777 if S_ISREG(status.st_mode) else mode
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


@contextmanager
def locked(directory: Path) -> Generator[None]:
    """Hold the one lock of `directory` against other threads and processes that ask for it.

    The directory itself is locked, so that no lock file is left behind and none can be deleted under us.
    """
    private_directory(directory)
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _lock(descriptor, directory)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def locked_by(file: Path, patience: float = PATIENCE) -> Generator[None]:
    """The same with a file of its own that holds the lock, where the directory's is for something else."""
    private_directory(file.parent)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _lock(descriptor, file, patience)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, place: Path, patience: float = PATIENCE) -> None:
    """Wait for the lock, but with a bound: anyone who may read a directory may hold its lock."""
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise SatchelError(
                    f"{place} has been locked by another process for {patience:g} s",
                    hint=f"find it with: fuser {place}",
                ) from None
            time.sleep(0.001 + os.getpid() % 10 / 1000)


def is_locked(file: Path) -> bool:
    """Whether somebody holds a lock of the file."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def private_directory(directory: Path) -> None:
    """Make a directory that only its owner can enter; one that exists stays as it is."""
    if not directory.is_dir():
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)


def exchange_at(directory: int, name: str, other: str) -> bool:
    """Let two names of a directory change places in one step; False where the system can't."""
    # Few commands need it, and all would pay for it.
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return False
    if not library.renameat2(directory, os.fsencode(name), directory, os.fsencode(other), _EXCHANGE):
        return True
    error = ctypes.get_errno()
    if error in (EINVAL, ENOSYS):
        return False
    raise OSError(error, os.strerror(error))


Stamp = tuple[int, int, int, int]


def stamp_of(path: str) -> Stamp | None:
    """A mark that changes when a file or folder is replaced or changed; None if there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def read_small(path: Path, limit: int = 4 * 1024 * 1024) -> bytes:
    """The content of a regular file, or OSError: a pipe would hang us, a device would never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(stream.fileno())
        if not S_ISREG(status.st_mode) or status.st_size > limit:
            raise OSError(f"{path} is not a file of at most {limit} bytes")
        return stream.read(limit)

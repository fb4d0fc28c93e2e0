"""Making the directories of an agent, and what is always in them: its memory's files, and links.

Whatever a program has put in the place of one of these stays there, and no link is ever followed.
"""

import os
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from satchel.errors import SandboxError

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_AS_USER = "Satchel runs as a root without all its rights, as in containers: run it as an ordinary user"


def make(directory: Path, owner: int | None) -> None:
    """A directory that only its owner can enter: Satchel's user, or the one that programs run as."""
    try:
        status = _status(directory)
        if status is None:
            with suppress(FileExistsError):
                os.mkdir(directory, 0o700)
        elif stat.S_ISDIR(status.st_mode) and status.st_mode & 0o700 != 0o700:
            os.chmod(directory, 0o700)  # a program has closed it to itself, and so to the next
        descriptor = os.open(directory, DIRECTORY)
    except OSError as error:
        is_link = directory.is_symlink()
        is_closed_to_root = isinstance(error, PermissionError) and os.geteuid() == 0
        raise SandboxError(
            f"{directory} can't be used: {'it is a symbolic link' if is_link else error.strerror}",
            hint=_AS_USER if is_closed_to_root else "remove it, or make it your own with chown -R",
        ) from error
    try:
        if owner is not None and os.fstat(descriptor).st_uid != owner:
            _give(directory, descriptor, owner)
    finally:
        os.close(descriptor)


def _give(directory: Path, descriptor: int, owner: int) -> None:
    """Make a directory that of programs' user, and take it back where it would be closed to us then."""
    try:
        os.fchown(descriptor, owner, owner)
        try:
            os.close(os.open(directory, DIRECTORY))
        except OSError:
            os.fchown(descriptor, os.geteuid(), os.getegid())  # or nobody here could even remove it
            raise
    except OSError as error:
        raise SandboxError(
            f"{directory} can't be given to the user of programs (uid {owner}): {error.strerror}",
            hint=_AS_USER,
        ) from error


def make_memory(agents: Path, directory: Path, kept: Mapping[str, bytes], owner: int | None) -> None:
    """A memory, below `agents` or where a person keeps it, with the files that are always there."""
    if directory.parent.parent == agents:
        make(directory.parent, None)
        make(directory, owner)
    else:
        _make_persons(directory, owner)
    with opened(directory) as memory:
        for name, content in kept.items():
            _keep(directory, name, content, memory, owner)


def _make_persons(directory: Path, owner: int | None) -> None:
    """A directory of a person's own. Nothing that Satchel has not made gets a new owner or other rights."""
    if not os.path.lexists(directory):
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(directory, f"{error.filename}: {error.strerror}") from error
        make(directory, owner)
    status = directory.lstat()
    if not stat.S_ISDIR(status.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a directory"
        raise _unusable(directory, f"it is {what}")
    if owner is None and not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        raise _unusable(directory, "you may not write to it")
    if owner is not None and status.st_uid != owner and status.st_mode & 0o007 != 0o007:
        raise SandboxError(
            f"memory.path: programs, which run as uid {owner}, can't write to {directory}",
            hint=f"run Satchel as an ordinary user, or give it to them: chown -R {owner} {directory}",
        )
    if os.path.lexists(directory / ".git"):
        raise SandboxError(
            f"memory.path: programs could change {directory / '.git'}, which names commands that git runs",
            hint="name a folder inside of the repository; remove .git if you don't know it",
        )


def _unusable(directory: Path, reason: str) -> SandboxError:
    return SandboxError(
        f"memory.path: {directory} can't be used: {reason}",
        hint="name a directory of your own in satchel.yaml",
    )


def _keep(directory: Path, name: str, content: bytes, memory: int, owner: int | None) -> None:
    if _status(name, memory) is not None:  # whatever it is
        return
    try:
        descriptor = os.open(name, NEW_FILE, 0o600, dir_fd=memory)
    except FileExistsError:  # by now
        return
    except OSError as error:
        raise SandboxError(
            f"{directory / name} can't be made: {error.strerror}", hint="make its directory writable"
        ) from error
    with open(descriptor, "wb") as stream:
        if owner is not None:
            os.fchown(descriptor, owner, owner)
        stream.write(content)


def make_folders(directory: Path, names: tuple[str, ...], owner: int | None) -> None:
    """Folders in a directory that programs write to."""
    with opened(directory) as inside:
        for name in names:
            if _status(name, inside) is not None:
                continue
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=inside)
                if owner is not None:
                    os.chown(name, owner, owner, dir_fd=inside, follow_symlinks=False)


def make_links(directory: Path, links: Mapping[str, str | None]) -> None:
    """Links by name, and no link where there is nothing to lead to.

    A program's own file, folder or relative link by such a name stays; an absolute link was ours.
    """
    with opened(directory) as inside:
        for name, target in links.items():
            with suppress(OSError):  # a program has put something else there, at this moment perhaps
                try:
                    led = os.readlink(name, dir_fd=inside)
                except FileNotFoundError:
                    led = None
                if led not in (None, target) and led.startswith("/"):
                    os.unlink(name, dir_fd=inside)
                    led = None
                if led is None and target is not None:
                    os.symlink(target, name, dir_fd=inside)


def _status(name: str | Path, directory: int | None = None) -> os.stat_result | None:
    """What is there already, as nearly always, is found more quickly than made in vain."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextmanager
def opened(directory: Path) -> Generator[int]:
    descriptor = os.open(directory, DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)

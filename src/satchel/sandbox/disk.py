"""How much an agent's directories hold. Whoever filled them may not want it to be known.

The walk goes by descriptors: no link is followed, no path gets too long. What can't be walked counts as too
much, for nobody nests a hundred levels deep, or closes a directory, but to hide something. So that a program
can't lock out the next one in this way, `tidy` opens what is closed and removes what is too deep.
"""

import os
import secrets
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_DEEPEST = 100
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What directories hold. `whole` is false where not all of it could be seen."""

    size: int = 0
    files: int = 0
    whole: bool = True


def measure(directories: Iterable[Path], most_files: int) -> Contents:
    """The space that directories take, and the number of files, as far as `most_files` of them."""
    walk = _Walk(most_files)
    for directory in directories:
        walk.enter(str(directory), None, 0)
    return Contents(size=walk.size, files=walk.files, whole=walk.whole)


def tidy(directory: Path) -> None:
    """Make a directory one that can be walked. What lies too deep to be looked at is removed."""
    trash = Path(tempfile.mkdtemp(prefix=".removed-", dir=directory.parent))
    descriptor = os.open(trash, _DIRECTORY)
    try:
        _Walk(sys.maxsize, trash=descriptor).enter(str(directory), None, 0)
    finally:
        os.close(descriptor)
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):  # these can go to any depth
            subprocess.run([*command, str(trash)], stderr=subprocess.DEVNULL, check=False)


class _Walk:
    """With `trash`, the descriptor of a directory, what can't be walked is put right or put there."""

    def __init__(self, most_files: int, trash: int | None = None) -> None:
        self._most_files = most_files
        self._trash = trash
        self._seen: set[tuple[int, int]] = set()  # files with several names
        self.size = self.files = 0
        self.whole = True

    def enter(self, name: str, parent: int | None, depth: int) -> None:
        if depth > _DEEPEST:
            self.whole = False
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
        except OSError:
            self.whole = False
            return
        try:
            self._look(descriptor, depth)
        except OSError:
            self.whole = False
        finally:
            os.close(descriptor)

    def _look(self, descriptor: int, depth: int) -> None:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if self.files >= self._most_files:
                    self.whole = False
                    return
                self.files += 1
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        self.enter(entry.name, descriptor, depth + 1)
                    elif status.st_nlink == 1 or (status.st_dev, status.st_ino) not in self._seen:
                        self._seen.add((status.st_dev, status.st_ino))
                        self.size += status.st_blocks * 512


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


def unlinked_size(processes: Iterable[int], directories: Iterable[Path]) -> int:
    """The space of files that have no name any more and live on while a process has them open or mapped."""
    devices: set[int] = set()
    for directory in directories:
        with suppress(OSError):
            devices.add(os.stat(directory).st_dev)
    sizes: dict[tuple[int, int], int] = {}
    for process in processes:
        for kind in ("fd", "map_files"):
            with suppress(OSError), os.scandir(f"/proc/{process}/{kind}") as entries:
                for entry in entries:
                    with suppress(OSError):
                        status = entry.stat()
                        if status.st_nlink == 0 and stat.S_ISREG(status.st_mode) and status.st_dev in devices:
                            sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())

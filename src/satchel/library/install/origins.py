"""The files of a folder, as members."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from satchel.library.install.members import RECORD, Member, is_left_out, refused
from satchel.library.install.trees import Node
from satchel.library.skills.files import open_below

_CHUNK = 64 * 1024
_MOST_ENTRIES = 100_000
_DEEPEST = 200  # folders; a skill that was installed has far fewer


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The entry at a path of a folder: a file, or something else."""

    path: str
    is_file: bool
    executable: bool = False
    size: int = 0


def entries_of(folder: Path, without: Callable[[str], bool] = lambda name: False) -> Iterator[Entry]:
    """Everything below a folder that is not a folder itself, but for our record; no link is followed.

    `without` says of a name whether what is called so is passed over. A folder that can't be read is refused,
    else it would be left out without a word.
    """
    try:
        yield from _entries_of(folder, without)
    except OSError as error:
        raise refused(f"{error.filename or folder} can't be read: {error.strerror}") from None


def _entries_of(folder: Path, without: Callable[[str], bool]) -> Iterator[Entry]:
    count = 0
    for root, names, files, directory in os.fwalk(folder, onerror=_raise, follow_symlinks=False):
        place = Path(root).relative_to(folder)
        if len(place.parts) > _DEEPEST:
            raise refused(f"{folder} is more than {_DEEPEST} folders deep")
        links = [name for name in names if not _is_folder(name, directory)]
        names[:] = sorted(name for name in names if name not in links and not without(name))
        for name in sorted([*files, *links]):
            count += 1
            if count > _MOST_ENTRIES:
                raise refused(f"{folder} has more than {_MOST_ENTRIES:,} files")
            path = (place / name).as_posix()
            if path == RECORD or without(name):
                continue
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            mode = status.st_mode
            is_file, executable = S_ISREG(mode), bool(mode & 0o111)
            yield Entry(path=path, is_file=is_file, executable=executable, size=status.st_size)


def _raise(error: OSError) -> None:
    raise error


def _is_folder(name: str, directory: int) -> bool:
    return S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)


def folder_members(folder: Path) -> list[Member]:
    """The files of a folder to be installed. Version control, caches and our records are left out."""
    members: list[Member] = []
    for entry in entries_of(folder, is_left_out):
        if not entry.is_file:
            raise refused(f"{entry.path!a} is a link, a device or a pipe; a skill has plain files only")
        read = file_reader(folder, entry.path)
        members.append(Member(path=entry.path, read=read, executable=entry.executable))
    return members


def folder_tree(folder: Path) -> dict[str, Node]:
    """All that a folder has. Version control, caches and our records are left out."""
    return {entry.path: _node(folder, entry) for entry in entries_of(folder, is_left_out)}


def _node(folder: Path, entry: Entry) -> Node:
    if entry.is_file:
        return Node(read=file_reader(folder, entry.path), executable=entry.executable)
    try:
        return Node(link=os.readlink(folder / entry.path))
    except OSError:  # not a link, or not one any more
        return Node(reason="is a device, a pipe or a socket")


def file_reader(folder: Path, path: str, *, single: bool = True) -> Callable[[], Iterator[bytes]]:
    """A way to read a file of a folder, which is opened when it is read and never through a link."""

    def read() -> Iterator[bytes]:
        try:
            descriptor = open_below(folder, path.split("/"), single=single)
        except OSError as error:
            raise refused(f"{path!a} can't be read: {error.strerror or error}") from None
        with os.fdopen(descriptor, "rb") as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk

    return read

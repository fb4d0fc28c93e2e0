"""Skills from a folder and from a local git repository, as members.

A repository may be somebody else's, with settings that name commands. So only objects are read from it, by
commands of git that start no other: nothing is checked out, filtered or fetched, and no hook runs.
"""

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from satchel.errors import SatchelError
from satchel.library.install.members import (
    LARGEST_FILE,
    LARGEST_TOTAL,
    MIB,
    RECORD,
    Member,
    is_left_out,
    refused,
)
from satchel.library.skills.files import open_below

_CHUNK = 64 * 1024
_MOST_ENTRIES = 100_000
_DEEPEST = 200  # folders; a skill that was installed has far fewer
_MOST_SAID = 64 * 1024  # bytes of what git complains about
_GIT_PATIENCE = 60.0  # seconds
_GIT_SETTINGS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "protocol.allow=never"),
    *("-c", "submodule.recurse=false"),
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a folder has at a path: a file, or something else that is none."""

    path: str
    is_file: bool
    executable: bool = False
    size: int = 0


def entries_of(folder: Path, without: Callable[[str], bool] = lambda name: False) -> Iterator[Entry]:
    """Everything below a folder that is not a folder itself, but for our record; no link is followed.

    `without` says of a name whether what is called so is passed over.
    """
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
    raise error  # else a folder that can't be read would be passed over


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


# Repositories


def is_repository(folder: Path) -> bool:
    """Whether this is where a repository is, with or without files checked out."""
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())


def commit_of(repository: Path, reference: str = "HEAD") -> str:
    """The commit that a branch, a tag or a beginning of an id stands for."""
    if reference.startswith("-"):
        raise refused(f"'{reference}' is no branch, tag or commit")
    said = _git(repository, "rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}", may_fail=True)
    if not said.strip():
        raise refused(f"{repository} has no commit '{reference}'", hint="--ref names a branch, tag or commit")
    return said.decode().strip()


def repository_members(repository: Path, commit: str, folder: str | None = None) -> list[Member]:
    """The files of a commit. `folder` alone is read where it is given."""
    arguments = ["ls-tree", "-r", "-z", "-l", "--full-tree", commit]
    listed = _git(repository, *arguments, *(["--", folder.strip("/") + "/"] if folder else []))
    members: list[Member] = []
    for line in listed.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        head, _, path = line.partition("\t")
        mode, kind, identity, size = head.split()
        if mode not in ("100644", "100755", "100664") or kind != "blob":
            what = "a submodule" if kind == "commit" else "a symbolic link"
            read = _refusing(f"{path!a} is {what}; a skill has plain files only")
        elif not size.isdecimal():
            read = _refusing(f"{path!a} can't be read by git: it is missing in the repository")
        elif int(size) > LARGEST_FILE:
            read = _refusing(f"{path!a} has more than {LARGEST_FILE // MIB} MiB")
        else:
            read = _blob_reader(repository, identity)
        members.append(Member(path=path, read=read, executable=mode == "100755"))
    return members


def _refusing(reason: str) -> Callable[[], Iterator[bytes]]:
    """What can't be installed matters only if it is in the folder of the skill."""

    def read() -> Iterator[bytes]:
        raise refused(reason)
        yield b""

    return read


def _blob_reader(repository: Path, identity: str) -> Callable[[], Iterator[bytes]]:
    def read() -> Iterator[bytes]:
        yield _git(repository, "cat-file", "blob", identity)

    return read


def _git(repository: Path, *arguments: str, may_fail: bool = False) -> bytes:
    command = ["git", *_GIT_SETTINGS, "-C", str(repository), *arguments]
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command,
                env=_environment(repository),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        except FileNotFoundError:
            raise SatchelError(
                "git is not installed", hint="install it, or name the folder of a skill"
            ) from None
        output, is_late = _output(process)
        if is_late:
            raise SatchelError(f"git did not answer within {_GIT_PATIENCE:g} s about {repository}")
        if len(output) > LARGEST_TOTAL:
            raise refused(f"{repository} has more than {LARGEST_TOTAL // MIB} MiB to read")
        if process.returncode and not may_fail:
            errors.seek(0)
            said = errors.read(_MOST_SAID).decode("utf-8", "replace").strip().splitlines()
            raise refused(f"{repository} can't be read by git: {said[-1] if said else process.returncode}")
    return output


def _output(process: "subprocess.Popen[bytes]") -> tuple[bytes, bool]:
    """(what it prints, no more than anybody takes; whether it took too long)."""
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(_GIT_PATIENCE, end)
    timer.start()
    try:
        assert process.stdout is not None
        with process.stdout as stream:
            output = stream.read(LARGEST_TOTAL + 1)
        if len(output) > LARGEST_TOTAL:
            process.kill()
        process.wait()
    finally:
        timer.cancel()
    return output, late.is_set()


def _environment(repository: Path) -> dict[str, str]:
    """Nothing of the user's that git could be led by, and nowhere for it to go."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(repository.parent),
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }

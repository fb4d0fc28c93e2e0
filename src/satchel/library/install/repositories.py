"""The files of a local git repository at a commit, as members.

A repository may be somebody else's, with settings that name commands. So only objects are read from it, by
commands of git that start no other: nothing is checked out, filtered or fetched, and no hook runs.
"""

import os
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from satchel.errors import SatchelError
from satchel.library.install.members import MIB, PLUGIN, SKILL, Limits, Member, refused
from satchel.library.install.trees import Node

_MOST_SAID = 64 * 1024  # bytes of what git complains about
_GIT_PATIENCE = 60.0  # seconds
_LONGEST_LINK = 4096
_MOST_PRINTED = PLUGIN.total  # bytes of one answer
GIT_SETTINGS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "submodule.recurse=false"),
)


def is_repository(folder: Path) -> bool:
    """Whether this is where a repository is, with or without files checked out."""
    places = folder / ".git", folder / "HEAD", folder / "objects"
    return os.path.exists(places[0]) or (os.path.isfile(places[1]) and os.path.isdir(places[2]))


def commit_of(repository: Path, reference: str = "HEAD") -> str:
    """The commit that a branch, a tag or a beginning of an id stands for."""
    if reference.startswith("-"):
        raise refused(f"'{reference}' is not a branch, tag or commit")
    said = _git(repository, "rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}", may_fail=True)
    if not said.strip():
        raise refused(f"{repository} has no commit '{reference}'", hint="--ref names a branch, tag or commit")
    return said.decode().strip()


def repository_members(repository: Path, commit: str, folder: str | None = None) -> list[Member]:
    """The files of a commit. `folder` alone is read where it is given."""
    tree = repository_tree(repository, commit, folder, SKILL)
    return [
        Member(path=path, read=node.read or _refusing(path, node), executable=node.executable)
        for path, node in tree.items()
    ]


def repository_tree(
    repository: Path, commit: str, folder: str | None = None, limits: Limits = PLUGIN
) -> dict[str, Node]:
    """All that a commit has. `folder` alone is read where it is given."""
    arguments = ["ls-tree", "-r", "-z", "-l", "--full-tree", commit]
    listed = _git(repository, *arguments, *(["--", folder.strip("/") + "/"] if folder else []))
    objects = _Objects(repository)
    tree: dict[str, Node] = {}
    for line in listed.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        head, _, path = line.partition("\t")
        mode, kind, identity, size = head.split()
        if kind != "blob":
            tree[path] = Node(reason="is a submodule")
        elif not size.isdecimal():
            tree[path] = Node(reason="can't be read by git: it is missing in the repository")
        elif mode == "120000":
            text = objects.read(identity) if int(size) <= _LONGEST_LINK else b"/"
            tree[path] = Node(link=text.decode("utf-8", "surrogateescape"))
        elif int(size) > limits.file:
            tree[path] = Node(reason=f"has more than {limits.file // MIB} MiB")
        else:
            tree[path] = Node(read=_blob_reader(objects, identity), executable=mode == "100755")
    return tree


def _refusing(path: str, node: Node) -> Callable[[], Iterator[bytes]]:
    """Entries that can't be installed matter only if they are in the skill's folder."""

    def read() -> Iterator[bytes]:
        what = "is a symbolic link" if node.link is not None else node.reason
        raise refused(f"{path!a} {what}; a skill has plain files only")
        yield b""

    return read


def _blob_reader(objects: "_Objects", identity: str) -> Callable[[], Iterator[bytes]]:
    def read() -> Iterator[bytes]:
        yield objects.read(identity)

    return read


class _Objects:
    """The objects of a repository, read by one git: one for each file would take minutes for thousands."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, identity: str) -> bytes:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(_GIT_PATIENCE, process.kill)
        timer.start()
        try:
            process.stdin.write(f"{identity}\n".encode())
            process.stdin.flush()
            said = process.stdout.readline(_MOST_SAID).split()
            if len(said) != 3 or said[1] != b"blob":
                raise refused(f"{self._repository} can't be read by git: {identity} is missing or damaged")
            data = process.stdout.read(int(said[2]) + 1)
        except OSError as error:
            raise refused(f"{self._repository} can't be read by git: {error.strerror}") from None
        finally:
            timer.cancel()
        if len(data) != int(said[2]) + 1:
            raise refused(f"{self._repository} can't be read by git: {identity} is cut off")
        return data[:-1]

    def _start(self) -> "subprocess.Popen[bytes]":
        process = self._process = _open_git(
            self._repository, "cat-file", "--batch", errors=subprocess.DEVNULL
        )
        weakref.finalize(self, _end, process)
        return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):  # what was written to one that had ended already
                stream.close()


def _open_git(repository: Path, *arguments: str, errors: int | IO[bytes]) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            ["git", *GIT_SETTINGS, "-c", "protocol.allow=never", "-C", str(repository), *arguments],
            env=git_environment(repository),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    except FileNotFoundError:
        raise SatchelError("git is not installed", hint="install it, or name a folder") from None


def _git(repository: Path, *arguments: str, may_fail: bool = False) -> bytes:
    with tempfile.TemporaryFile() as errors:
        process = _open_git(repository, *arguments, errors=errors)
        output, is_late = _output(process)
        if is_late:
            raise SatchelError(f"git did not answer within {_GIT_PATIENCE:g} s about {repository}")
        if len(output) > _MOST_PRINTED:
            raise refused(f"{repository} has more than {_MOST_PRINTED // MIB} MiB to read")
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
        assert process.stdin is not None
        process.stdin.close()
        with process.stdout as stream:
            output = stream.read(_MOST_PRINTED + 1)
        if len(output) > _MOST_PRINTED:
            process.kill()
        process.wait()
    finally:
        timer.cancel()
    return output, late.is_set()


def git_environment(repository: Path) -> dict[str, str]:
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

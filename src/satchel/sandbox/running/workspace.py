"""The directories of an agent on the host, and the few things Satchel does in them.

Everything below `files` was written by programs: no link there is ever followed, and no name is trusted.
"""

import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from satchel.errors import SandboxError
from satchel.model import Json
from satchel.sandbox.sandbox import SKILLS, Workspace

RESULTS = ".results"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_LINKS = {
    "servers": "/mnt/code-api/servers",
    "tools": "/mnt/code-api/tools",
    "memory": "/mnt/memory",
}
_SHOWN = re.compile(r"/mnt/[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_TAKEN = ("/mnt/code-api", "/mnt/memory", "/mnt/plugins")
_DEEPEST = 32
_MOST_SEEN = 20_000  # entries that are looked at for what has changed
_MOST_LISTED = 100
_LONGEST_PATH = 300
_AS_USER = "Satchel runs as a root without all its rights, as in containers: run it as an ordinary user"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def prepare_workspace(
    agents: Path,
    agent: str,
    code_api: Path,
    owner: int | None,
    *,
    isolated: bool = True,
    skills: str = SKILLS,
) -> Workspace:
    """Make an agent's directories. `owner` is the user that programs run as, where that is not us."""
    if not _NAME.fullmatch(agent):
        raise SandboxError(
            f"the agent's name {agent!r} can't be that of a directory",
            hint="use letters, digits, '_', '-' and '.', at most 64",
        )
    home = agents / agent
    for directory in (agents, home):
        _make(directory, None)
    files = home / "workspace"
    shown = "/workspace" if isolated else str(files)
    workspace = Workspace(
        files=files, memory=home / "memory", code_api=code_api, shown=shown, skills_shown=_below_mnt(skills)
    )
    for directory in (workspace.files, workspace.memory):
        _make(directory, owner)
    with _opened(workspace.files) as descriptor:
        for name, target in {**_LINKS, "skills": skills}.items():
            with suppress(FileExistsError):
                os.symlink(target, name, dir_fd=descriptor)
    return workspace


def _below_mnt(skills: str) -> str:
    """Where skills are shown: nowhere that the box has, or programs can write to, something else."""
    if not _SHOWN.fullmatch(skills) or skills in _TAKEN:
        raise SandboxError(
            f"skills.container_path is {skills[:100]!r}, where nothing can be shown to programs",
            hint="name a folder of /mnt that nothing else has, such as /mnt/skills",
        )
    return skills


def _make(directory: Path, owner: int | None) -> None:
    try:
        with suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        if stat.S_ISDIR(mode := directory.lstat().st_mode) and mode & 0o700 != 0o700:
            directory.chmod(0o700)  # a program has closed it to itself, and so to the next
        descriptor = os.open(directory, _DIRECTORY)
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
            os.close(os.open(directory, _DIRECTORY))
        except OSError:
            os.fchown(descriptor, os.geteuid(), os.getegid())  # or nobody here could even remove it
            raise
    except OSError as error:
        raise SandboxError(
            f"{directory} can't be given to the user of programs (uid {owner}): {error.strerror}",
            hint=_AS_USER,
        ) from error


def write_result(workspace: Workspace, name: str, content: bytes, owner: int | None) -> str:
    """Write part of a tool's result to a new file; the path is the program's."""
    with _opened(workspace.files) as files:
        with suppress(FileExistsError):
            os.mkdir(RESULTS, 0o700, dir_fd=files)
            if owner is not None:
                os.chown(RESULTS, owner, owner, dir_fd=files, follow_symlinks=False)
        results = os.open(RESULTS, _DIRECTORY, dir_fd=files)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(name, flags, 0o600, dir_fd=results)
            with open(descriptor, "wb") as stream:
                if owner is not None:
                    os.fchown(descriptor, owner, owner)
                stream.write(content)
        finally:
            os.close(results)
    return f"{workspace.shown}/{RESULTS}/{name}"


def changed_files(workspace: Workspace, since: float) -> tuple[Json, ...]:
    """{path, size} of the files that were written since then, as far as a short look finds them."""
    found: list[Json] = []
    seen = 0

    def look(descriptor: int, prefix: str, depth: int) -> None:
        nonlocal seen
        with os.scandir(descriptor) as entries:
            for entry in entries:
                seen += 1
                if seen > _MOST_SEEN or len(found) >= _MOST_LISTED:
                    return
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    path = f"{prefix}/{entry.name}"
                    if stat.S_ISREG(status.st_mode) and status.st_ctime >= since:
                        found.append({"path": _readable(path), "size": status.st_size})
                    elif stat.S_ISDIR(status.st_mode) and depth < _DEEPEST and entry.name != "__pycache__":
                        inner = os.open(entry.name, _DIRECTORY, dir_fd=descriptor)
                        try:
                            look(inner, path, depth + 1)
                        finally:
                            os.close(inner)

    with suppress(OSError), _opened(workspace.files) as files:
        look(files, workspace.shown, 0)
    return tuple(sorted(found, key=lambda file: file["path"]))


def _readable(path: str) -> str:
    text = path.encode("utf-8", "replace").decode()
    return text if len(text) <= _LONGEST_PATH else f"{text[:_LONGEST_PATH]}…"


@contextmanager
def _opened(directory: Path) -> Generator[int]:
    descriptor = os.open(directory, _DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)

"""Homes on this machine: the directories of an agent, and the few things Satchel does in them.

Everything below `files` was written by programs: no link there is ever followed, and no name is trusted.
"""

import itertools
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from satchel.errors import SandboxError
from satchel.model import Json
from satchel.sandbox.running.disk import alone, empty
from satchel.sandbox.sandbox import About, Home, Shown
from satchel.support.charging import apart

RESULTS = ".results"
_COARSE = 5  # CLOCK_REALTIME_COARSE, which the module `time` does not name
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_LINKS = {
    "servers": "/mnt/code-api/servers",
    "tools": "/mnt/code-api/tools",
    "memory": "/mnt/memory",
}
_SHOWN = re.compile(r"/mnt/[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_TAKEN = ("/mnt/code-api", "/mnt/memory")
_DEEPEST = 32
_MOST_SEEN = 20_000  # entries that are looked at for what has changed
_FEW_SEEN = 500  # of these the event loop looks at; what takes longer is for a thread
_MOST_LISTED = 100
_LONGEST_PATH = 300
_AS_USER = "Satchel runs as a root without all its rights, as in containers: run it as an ordinary user"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, kw_only=True)
class LocalHome:
    """An agent's directories on this machine, and what is shown beside them."""

    files: Path  # /workspace
    memory: Path  # /mnt/memory
    shown: Shown
    at: str = "/workspace"  # where programs find `files`
    owner: int | None = None  # of what programs write, where it is not the user that runs Satchel
    writable: bool = True  # else programs can write to nothing of this, nor to what grants would let them
    _mark: str = field(default_factory=lambda: secrets.token_hex(6), init=False, compare=False)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1), init=False, compare=False)

    @property
    def agent(self) -> str:
        return self.files.parent.name

    async def save(self, ending: str, content: bytes) -> str:
        name = f"{self._mark}-{next(self._numbers)}{ending}"  # of one execution: they count up
        return await apart(write_result, self, name, content)

    async def now(self) -> float:
        # On Linux that of the kernel's last tick.
        return time.clock_gettime(_COARSE) if sys.platform == "linux" else time.time() - 0.01

    async def changed_since(self, time: float) -> tuple[Json, ...]:
        files = changed_quickly(self, time)
        return await apart(changed_files, self, time) if files is None else files

    async def names(self) -> frozenset[str]:
        return frozenset(await apart(os.listdir, self.files))

    async def clear(self) -> None:
        await apart(clear, self)


def local(home: Home) -> LocalHome:
    """A home as the sandbox made it that is given it back."""
    if not isinstance(home, LocalHome):
        raise TypeError(f"{type(home).__name__} is not of this sandbox")
    return home


def make_home(agents: Path, agent: str, shown: Shown, about: About, *, writable: bool = True) -> LocalHome:
    """Make an agent's directories in `agents`, for the programs of a sandbox that is `about` that."""
    if not _NAME.fullmatch(agent):
        raise SandboxError(
            f"the agent's name {agent!r} can't be that of a directory",
            hint="use letters, digits, '_', '-' and '.', at most 64",
        )
    own = agents / agent
    files, memory = own / "workspace", own / "memory"
    for directory in (agents, own):
        _make(directory, None)
    _check_below_mnt("skills", shown.skills_at, shown.plugins_at)
    _check_below_mnt("plugins", shown.plugins_at, shown.skills_at)
    for directory in (files, memory):
        _make(directory, about.owner)
    with _opened(files) as descriptor:
        for name, target in {**_LINKS, "skills": shown.skills_at}.items():
            with suppress(FileExistsError):
                os.symlink(target, name, dir_fd=descriptor)
    at = "/workspace" if about.isolated else str(files)
    return LocalHome(files=files, memory=memory, shown=shown, at=at, owner=about.owner, writable=writable)


def _check_below_mnt(section: str, place: str, other: str) -> None:
    """Where skills and plugins are shown: not where the box has other files, or where programs write."""
    if not _SHOWN.fullmatch(place) or place in (*_TAKEN, other):
        raise SandboxError(
            f"{section}.container_path is {place[:100]!r}, where nothing can be shown to programs",
            hint=f"name a folder of /mnt that nothing else has, such as /mnt/{section}",
        )


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


def clear(home: LocalHome) -> None:
    """Remove all that is in the workspace. What Satchel puts there comes back with the next program."""
    with alone(home.files.parent) as is_alone:
        if not is_alone:
            raise SandboxError(
                f"programs of agent '{home.agent}' are running in {home.files}",
                hint="wait for them, or end their sessions, then try again",
            )
        empty(home.files)


def write_result(home: LocalHome, name: str, content: bytes) -> str:
    """Write part of a tool's result to a new file; the path is the program's."""
    owner = home.owner
    with _opened(home.files) as files:
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
    return f"{home.at}/{RESULTS}/{name}"


def changed_files(home: LocalHome, since: float) -> tuple[Json, ...]:
    """{path, size} of the files that were written since then, as far as a short look finds them."""
    return _changed_files(home, since, _MOST_SEEN)[0]


def changed_quickly(home: LocalHome, since: float) -> tuple[Json, ...] | None:
    """The same where there are so few files that the event loop can look at them; else None."""
    found, seen = _changed_files(home, since, _FEW_SEEN)
    return found if seen <= _FEW_SEEN else None


def _changed_files(home: LocalHome, since: float, most_seen: int) -> tuple[tuple[Json, ...], int]:
    """(these files, how many were looked at)."""
    found: list[Json] = []
    seen = 0

    def look(descriptor: int, prefix: str, depth: int) -> None:
        nonlocal seen
        with os.scandir(descriptor) as entries:
            for entry in entries:
                seen += 1
                if seen > most_seen or len(found) >= _MOST_LISTED:
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

    with suppress(OSError), _opened(home.files) as files:
        look(files, home.at, 0)
    return tuple(sorted(found, key=lambda file: file["path"])), seen


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

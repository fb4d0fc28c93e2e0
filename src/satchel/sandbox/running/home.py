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
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from satchel.errors import SandboxError
from satchel.model import Json
from satchel.sandbox.running.directories import (
    DIRECTORY,
    NEW_FILE,
    make,
    make_folders,
    make_links,
    make_memory,
    opened,
)
from satchel.sandbox.running.disk import alone, empty
from satchel.sandbox.sandbox import About, Home, Shown
from satchel.support.charging import apart
from satchel.support.files import write_atomically
from satchel.support.program_paths import AGENTS, CODE_API, MEMORY, TASKS

RESULTS = ".results"
_CLEARED = "cleared"
_COARSE = 5  # CLOCK_REALTIME_COARSE, which the module `time` does not name
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_SHOWN = re.compile(r"/mnt/[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_TAKEN = (CODE_API, MEMORY, TASKS, AGENTS)
_DEEPEST = 32
_MOST_SEEN = 20_000  # entries that are looked at for what has changed
_FEW_SEEN = 500  # of these the event loop looks at; what takes longer is for a thread
_MOST_LISTED = 100
_LONGEST_PATH = 300


@dataclass(frozen=True, kw_only=True)
class LocalHome:
    """An agent's directories on this machine, and what is shown beside them."""

    files: Path  # /workspace
    memory: Path | None  # /mnt/memory
    tasks: Path  # /mnt/tasks
    shown: Shown
    at: str = "/workspace"  # where programs find `files`
    owner: int | None = None  # of what programs write, where it is not the user that runs Satchel
    writable: bool = True  # else programs can write to nothing of this, nor to what grants would let them
    _mark: str = field(default_factory=lambda: secrets.token_hex(6), init=False, compare=False)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1), init=False, compare=False)

    @property
    def agent(self) -> str:
        return self.files.parent.name

    @property
    def own(self) -> tuple[Path, ...]:
        """The agent's directories, the workspace first."""
        return (self.files, self.tasks, *([self.memory] if self.memory is not None else []))

    @property
    def filled(self) -> tuple[Path, ...]:
        """The directories that its programs can fill, those of other agents too."""
        return (*self.own, *(other.path for other in self.shown.others.values() if other.writable))

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
    _check_below_mnt("skills", shown.skills_at, shown.plugins_at)
    _check_below_mnt("plugins", shown.plugins_at, shown.skills_at)
    own = agents / agent
    home = LocalHome(
        files=own / "workspace",
        memory=shown.memory,
        tasks=own / "tasks",
        shown=shown,
        at="/workspace" if about.isolated else str(own / "workspace"),
        owner=about.owner,
        writable=writable,
    )
    for directory in (agents, own):
        make(directory, None)
    for directory in (home.files, home.tasks):
        make(directory, about.owner)
    for memory in (shown.memory, *(other.path for other in shown.others.values())):
        if memory is not None:
            make_memory(agents, memory, shown.kept, about.owner)
    make_folders(home.tasks, shown.task_folders, about.owner)
    make_links(home.files, _links_of(home) if about.isolated else _links_outside(home))
    return home


def _links_of(home: LocalHome) -> dict[str, str | None]:
    """The links in a workspace, by where they lead in a box."""
    return {
        "servers": f"{CODE_API}/servers",
        "tools": f"{CODE_API}/tools",
        "skills": home.shown.skills_at,
        "memory": MEMORY if home.memory is not None else None,
        "tasks": TASKS,
        "agents": AGENTS,
    }


def _links_outside(home: LocalHome) -> dict[str, str | None]:
    """The same without a box, as far as each has one place on the machine."""
    return {
        "servers": str(home.shown.code_api / "servers"),
        "tools": str(home.shown.code_api / "tools"),
        "skills": None,
        "memory": str(home.memory) if home.memory is not None else None,
        "tasks": str(home.tasks),
        "agents": None,
    }


def _check_below_mnt(section: str, place: str, other: str) -> None:
    """Where skills and plugins are shown: not where the box has other files, or where programs write."""
    if not _SHOWN.fullmatch(place) or place in (*_TAKEN, other):
        raise SandboxError(
            f"{section}.container_path is {place[:100]!r}, where nothing can be shown to programs",
            hint=f"name a folder of /mnt that nothing else has, such as /mnt/{section}",
        )


def clear(home: LocalHome) -> None:
    """Remove all that is in the workspace. What Satchel puts there comes back with the next program."""
    with alone(home.files.parent) as is_alone:
        if not is_alone:
            raise SandboxError(
                f"programs of agent '{home.agent}' are running in {home.files}",
                hint="wait for them, or end their sessions, then try again",
            )
        empty(home.files)
        write_atomically(home.files.parent / _CLEARED, b"")


def last_cleared(home: LocalHome) -> tuple[int, int] | None:
    """A mark of the last time, by any process. A box prepared before may have looked at what was there."""
    try:
        status = os.stat(home.files.parent / _CLEARED, follow_symlinks=False)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def write_result(home: LocalHome, name: str, content: bytes) -> str:
    """Write part of a tool's result to a new file; the path is the program's."""
    owner = home.owner
    with opened(home.files) as files:
        with suppress(FileExistsError):
            os.mkdir(RESULTS, 0o700, dir_fd=files)
            if owner is not None:
                os.chown(RESULTS, owner, owner, dir_fd=files, follow_symlinks=False)
        results = os.open(RESULTS, DIRECTORY, dir_fd=files)
        try:
            descriptor = os.open(name, NEW_FILE, 0o600, dir_fd=results)
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
                        inner = os.open(entry.name, DIRECTORY, dir_fd=descriptor)
                        try:
                            look(inner, path, depth + 1)
                        finally:
                            os.close(inner)

    with suppress(OSError), opened(home.files) as files:
        look(files, home.at, 0)
    return tuple(sorted(found, key=lambda file: file["path"])), seen


def _readable(path: str) -> str:
    text = path.encode("utf-8", "replace").decode()
    return text if len(text) <= _LONGEST_PATH else f"{text[:_LONGEST_PATH]}…"

"""The seam between callers that want a program run and backends that run it."""

import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from satchel.languages import ProgramLanguage
from satchel.model import Json, Tell, silent
from satchel.sandbox.limits import Ended, Limits
from satchel.sandbox.running.capture import Captured
from satchel.support.charging import Share

Answer = Callable[[str, Json], Awaitable[Any]]
"""Answers a program's request, a method with its params, or raises one of Satchel's errors."""


class EndProgramError(Exception):
    """Instead of an answer: the program is ended, for that reason."""

    def __init__(self, ended: Ended, detail: str) -> None:
        super().__init__(detail)
        self.ended: Ended = ended
        self.detail = detail


SKILLS = "/mnt/skills"
PLUGINS = "/mnt/plugins"


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program, as an agent wrote it."""

    code: str
    language: ProgramLanguage = "python"
    check: bool = False  # its types, instead of running it


@dataclass(frozen=True, kw_only=True)
class OtherMemory:
    """The memory of another agent, which programs may read."""

    path: Path
    writable: bool = False  # they may also write to it


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The directories that Satchel shows to an agent's programs, as paths on its own machine.

    They are read-only, but for memories.
    """

    code_api: Path  # /mnt/code-api
    memory: Path | None = None  # /mnt/memory; without one, the agent has none
    kept: Mapping[str, bytes] = field(
        default_factory=dict[str, bytes]
    )  # files in each memory, made if absent
    others: Mapping[str, OtherMemory] = field(default_factory=dict[str, OtherMemory])  # by agent
    task_folders: tuple[str, ...] = ()  # in /mnt/tasks, made if absent
    skills: Mapping[str, Path] = field(default_factory=dict[str, Path])  # by category
    skills_at: str = SKILLS  # where programs find those
    plugins: Mapping[str, Path] = field(default_factory=dict[str, Path])  # by name, each as a whole
    plugins_at: str = PLUGINS  # where programs find those
    modules: Path | None = None  # what they import as `skills`


class Home(Protocol):
    """An agent's place: its files, its memory and its tasks, on the machine where its programs run."""

    async def save(self, ending: str, content: bytes) -> str:
        """Keep content under a name with that ending; tells where programs find it."""
        ...

    async def now(self) -> float:
        """The time that a file would get which is written now."""
        ...

    async def changed_since(self, time: float) -> tuple[Json, ...]:
        """{path, size} of the files that were written since then, as programs find them."""
        ...

    async def names(self) -> frozenset[str]:
        """The names of the entries in the workspace itself."""
        ...

    async def clear(self) -> None:
        """Remove everything in the workspace, and nothing else. SandboxError while a program runs there."""
        ...


def keep_nothing(stdout: Captured, stderr: Captured) -> None:
    """For callers to whom the outcome says enough."""


@dataclass(frozen=True, kw_only=True)
class Door:
    """The way out of a box while a program runs. It stays with the caller, wherever the program is."""

    answer: Answer
    waited: Callable[[], float] = float
    """How many of the seconds so far don't count: a person was being asked."""
    tell: Tell = silent
    """Hears an `Output` for what the program prints, as soon as that is read; of each stream no more than the
    outcome has."""
    leave: Callable[[Captured, Captured], None] = keep_nothing
    """Takes the program's output, even if its caller gives up and there is no outcome."""
    share: Share | None = None
    """The agent that pays for its requests; without one, it shares with nobody."""


@dataclass(frozen=True, kw_only=True)
class Grants:
    """The paths that satchel.yaml lets programs see beyond that."""

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    python_env: Path | None = None


def packages_of(python_env: Path) -> Path:
    """The directory of packages in a virtual environment for this Python."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return python_env / "lib" / version / "site-packages"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a program ended, as seen from outside of the box; `result` is the program's word."""

    exit_code: int
    stdout: Captured
    stderr: Captured
    seconds: float
    result: Any = None
    has_result: bool = False
    result_size: int = 0  # of one that was too large to be returned
    ended: Ended | None = None
    detail: str | None = None
    session: str | None = None  # the handle of the one it ran in, while that lives


@dataclass(frozen=True, kw_only=True)
class About:
    """The properties of a sandbox, so that no caller has to know it by name."""

    isolated: bool  # programs reach nothing of the machine but what they are given
    is_here: bool = True  # agents' files are on this machine, where what programs remember can be looked at
    owner: int | None = None  # the uid that programs' files belong to, where it is not that of Satchel
    warning: str | None = None  # what a person should know who lets programs run there


class Session(Protocol):
    """A box for one program after the other, which share their variables."""

    is_alive: bool
    why: str
    """Why it has ended, once it has."""

    async def run(self, program: Program, door: Door, limits: Limits) -> Outcome: ...

    async def aclose(self) -> None: ...


class Sandbox(Protocol):
    """Runs programs. Must be able to run any number at once."""

    @property
    def about(self) -> About: ...

    async def home(self, agent: str, shown: Shown, *, writable: bool = True) -> Home:
        """An agent's place there, made if there is none; where it is not `writable`, programs only read.

        Brings what is shown up to date, for sessions of the agent that are open as well.
        """
        ...

    async def run(self, program: Program, home: Home, door: Door, limits: Limits) -> Outcome:
        """Run a program in a home that this sandbox has made."""
        ...

    async def open_session(self, language: ProgramLanguage, home: Home, limits: Limits) -> Session: ...

    async def aclose(self) -> None: ...

"""Where the files of an agent are, how much they take, and how they are removed.

Programs wrote most of these files. They are counted and removed by descriptors, and no link is followed.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from satchel.config import Configuration, Paths
from satchel.config.settings import find_agent
from satchel.errors import NotFoundError, SandboxError, SatchelError
from satchel.library.memory.places import agent_directory, memory_of, standing_of, tasks_of
from satchel.library.memory.traces import MEMORY, SKILLS, traces_of
from satchel.library.skills.finding import skills_of
from satchel.library.sources import can_save, saved_root
from satchel.library.state import forget_skill
from satchel.model import Skill

_MOST_FILES = 20_000  # of each place, that are counted


@dataclass(frozen=True, kw_only=True)
class Space:
    """A folder of an agent, and how much it takes. There may be none yet."""

    path: Path
    size: int = 0  # bytes
    entries: int = 0  # files, folders and links
    whole: bool = True  # else it is more than that


@dataclass(frozen=True, kw_only=True)
class Places:
    """The folders of an agent."""

    workspace: Path
    memory: Path
    tasks: Path
    skills: Path
    own_memory: bool = True  # else the memory is in a folder that a person has chosen


def places_of(configuration: Configuration, agent: str) -> Places:
    """The folders of an agent, also of one that satchel.yaml no longer names."""
    paths = configuration.paths
    with suppress(NotFoundError):
        settings = find_agent(configuration.settings, agent).memory
        return _places(paths, agent, memory_of(paths, settings, agent), own_memory=settings.path is None)
    return _places(paths, agent, agent_directory(paths, agent) / "memory", own_memory=True)


def _places(paths: Paths, agent: str, memory: Path, *, own_memory: bool) -> Places:
    return Places(
        workspace=agent_directory(paths, agent) / "workspace",
        memory=memory,
        tasks=tasks_of(paths, agent),
        skills=saved_root(paths) / agent,
        own_memory=own_memory,
    )


def left_over(paths: Paths, known: set[str]) -> list[str]:
    """The agents whose files are there, and that satchel.yaml no longer names."""
    if not paths.is_state_ours:
        return []
    with suppress(OSError), os.scandir(paths.state / "agents") as entries:
        found = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        return sorted(name for name in found if name not in known and not name.startswith("."))
    return []


def space_of(place: Path) -> Space:
    """How much a folder takes, as far as a bounded walk finds it."""
    from satchel.sandbox.running.disk import measure  # most commands need nothing of the sandbox

    contents = measure([place], _MOST_FILES)
    return Space(path=place, size=contents.size, entries=contents.files, whole=contents.whole)


def saved_by(configuration: Configuration, agent: str) -> tuple[Skill, ...]:
    """The skills that an agent has saved. One with the name of a folder for all can't save any."""
    if not can_save(agent):
        return ()
    place = saved_root(configuration.paths) / agent
    found = skills_of(configuration.paths, configuration.settings.skills)
    return tuple(skill for skill in found if skill.folder.is_relative_to(place))


@contextmanager
def nothing_running(paths: Paths, agent: str) -> Generator[None]:
    """Refuse while programs of the agent run; in the block, none can begin."""
    from satchel.sandbox.running.disk import alone  # most commands need nothing of the sandbox

    own = agent_directory(paths, agent)
    if not os.path.lexists(own):
        yield
        return
    paths.prepare_state()  # what came with a repository is refused: it may lead anywhere
    try:
        with alone(own) as is_alone:
            if not is_alone:
                raise SandboxError(
                    f"programs of agent '{agent}' are running",
                    hint="wait for them, or end their sessions, then try again",
                )
            yield
    except OSError as error:
        raise SatchelError(
            f"the files in {own} can't be removed: {error.strerror or error}", hint="remove them yourself"
        ) from error


def remove_files(configuration: Configuration, agent: str, *, memory: bool, skills: bool) -> None:
    """Remove the workspace and the tasks of an agent; its memory and its skills only if asked to."""
    places, paths = places_of(configuration, agent), configuration.paths
    own = agent_directory(paths, agent)
    keeps = set[Path]()
    if not (memory and places.own_memory):  # with what is known of it
        keeps |= {own / "memory", standing_of(paths, agent), traces_of(own, MEMORY)}
    if not skills:
        keeps.add(traces_of(own, SKILLS))
    if own.is_dir():
        for name in os.listdir(own):  # with what Satchel notes about the agent
            if own / name not in keeps:
                _remove(own / name)
    if skills:
        saved = saved_by(configuration, agent)
        others = [skill for skill in skills_of(paths, configuration.settings.skills) if skill not in saved]
        for skill in saved:
            forget_skill(paths.extensions_file, skill, others)
        if can_save(agent):
            _remove(places.skills)
    with suppress(OSError):  # its memory is still there
        own.rmdir()


def _remove(place: Path) -> None:
    from satchel.sandbox.running.disk import empty  # most commands need nothing of the sandbox

    if place.is_symlink() or not place.is_dir():
        with suppress(FileNotFoundError):
            place.unlink()
        return
    empty(place)
    place.rmdir()

"""What an agent's programs see beside their workspace: wrappers, skills, plugins, and memories."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from satchel.config import Configuration
from satchel.config.agents import MemorySettings, may_read
from satchel.languages import Language
from satchel.library.memory.places import COMPLETED_TASKS, EMPTY, memory_of
from satchel.sandbox.sandbox import OtherMemory, Shown
from satchel.verbs.saved_skills import SavedSkills
from satchel.verbs.wrappers import Wrappers

_KEPT = {name: text.encode() for name, text in EMPTY.items()}


async def shown_to(
    agent: str, language: Language, configuration: Configuration, wrappers: Wrappers, skills: SavedSkills
) -> Shown:
    """What its programs in a language see now, brought up to date."""
    code_api = await wrappers.update(language)
    categories, modules = skills.shown_to(agent, language)
    return Shown(
        code_api=code_api,
        memory=memory_seen(configuration, agent),
        kept=_KEPT,
        others=_others(configuration, agent),
        task_folders=(COMPLETED_TASKS,),
        skills=categories,
        skills_at=configuration.settings.skills.container_path,
        plugins=skills.plugins().mounts,
        plugins_at=configuration.settings.plugins.container_path,
        modules=modules,
    )


def memory_seen(configuration: Configuration, agent: str) -> Path | None:
    """Where an agent's memory is; None if it has none."""
    settings = _memory_settings(configuration, agent)
    return memory_of(configuration.paths, settings, agent) if settings.enabled else None


def persons_memories(configuration: Configuration) -> dict[str, Path]:
    """The memories that people keep in directories of their own, by agent."""
    found: dict[str, Path] = {}
    for agent, settings in configuration.settings.agents.items():
        if settings.memory.path is not None and settings.memory.enabled:
            found[agent] = memory_of(configuration.paths, settings.memory, agent)
    return found


def _others(configuration: Configuration, agent: str) -> dict[str, OtherMemory]:
    granted = may_read(configuration.settings.agents, agent)
    found = {other: (memory_seen(configuration, other), writable) for other, writable in granted.items()}
    return {
        other: OtherMemory(path=path, writable=writable)
        for other, (path, writable) in found.items()
        if path is not None
    }


def _memory_settings(configuration: Configuration, agent: str) -> MemorySettings:
    settings = configuration.settings.agents.get(agent)
    return MemorySettings() if settings is None else settings.memory


def shown_in_sessions(shown: Shown, plugins: Mapping[str, object]) -> dict[str, object]:
    """What a session goes on to show, each with the reason to end it once that is different or gone."""
    memories = [("", shown.memory, True)] if shown.memory is not None else []
    memories += [(agent, other.path, other.writable) for agent, other in sorted(shown.others.items())]
    return {
        **{f"the plugin {name} was disabled, replaced or removed": each for name, each in plugins.items()},
        "what it may do with the memory of agents has changed": tuple(
            (agent, path, _identity(path), writable) for agent, path, writable in memories
        ),
    }


def _identity(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):  # the sandbox may have it elsewhere
        status = os.stat(path)
        return status.st_dev, status.st_ino
    return None

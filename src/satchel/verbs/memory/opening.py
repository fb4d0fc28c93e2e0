"""The memory of an agent, opened as the configuration says: where it is, and whom new files belong to."""

import os
from typing import TYPE_CHECKING

from satchel.config import Configuration
from satchel.config.settings import find_agent
from satchel.errors import ArgumentError
from satchel.library.memory.places import memory_of, standing_of

if TYPE_CHECKING:
    from satchel.library.memory.memory import Memory


def open_memory(configuration: Configuration, agent: str) -> "Memory":
    """The memory of an agent that has one; ArgumentError where it is off, SandboxError where it can't be."""
    settings = find_agent(configuration.settings, agent).memory
    if not settings.enabled:
        raise ArgumentError(
            f"the memory of the agent '{agent}' is off",
            argument="agent",
            hint=f"agents.{agent}.memory.enabled: true in satchel.yaml turns it on",
        )
    from satchel.library.memory.memory import Memory  # most that open Satchel use no memory

    paths = configuration.paths
    if settings.path is not None:
        _check_place(configuration)
    paths.prepare_state()  # what came with a repository is nobody's memory
    return Memory(
        memory_of(paths, settings, agent), standing_of(paths, agent), owner=_owner_of_files(configuration)
    )


def is_there(configuration: Configuration, agent: str) -> bool:
    """Whether there may be anything to read: what only people change outlives its files."""
    paths, settings = configuration.paths, find_agent(configuration.settings, agent).memory
    places = (memory_of(paths, settings, agent), standing_of(paths, agent))
    return settings.enabled and any(map(os.path.lexists, places))


def _check_place(configuration: Configuration) -> None:
    """Refuse a directory in which a model could change more than a memory; programs are refused it, too."""
    # Only who keeps memories in directories of their own needs these.
    from satchel.sandbox.choose import check_memories
    from satchel.sandbox.sandbox import Grants
    from satchel.verbs.programs.showing import persons_memories

    memories = persons_memories(configuration)
    check_memories(memories, Grants(), configuration.paths.private, configuration.code())


def _owner_of_files(configuration: Configuration) -> int | None:
    """The user that programs run as, where it is not the one who runs Satchel: that is so for root only."""
    if os.geteuid() != 0:
        return None
    from satchel.sandbox.backends import BACKENDS  # who is not root need not wait for it

    return BACKENDS[configuration.settings.code_execution.sandbox.backend].about.owner

"""Where an agent's memory and tasks are, and the names of the files in them."""

import os
from pathlib import Path

from satchel.config import Paths
from satchel.config.agents import MemorySettings

CORE = "core_memories.json"
HISTORY = "task_history.json"
PATTERNS = "learned_patterns.md"
PREFERENCES = "preferences.yaml"
EMPTY = {CORE: "[]\n", HISTORY: "[]\n", PATTERNS: "", PREFERENCES: "{}\n"}
"""The files that are there from an agent's first execution on, with nothing in them yet."""
CURRENT_TASK = "current_task.yaml"
COMPLETED_TASKS = "completed_tasks"


def memory_of(paths: Paths, settings: MemorySettings, agent: str) -> Path:
    """The directory of an agent's memory: the user's own, or one with the agent's other files."""
    if settings.path is not None:
        return paths.project / os.path.expanduser(settings.path)
    return agent_directory(paths, agent) / "memory"


def tasks_of(paths: Paths, agent: str) -> Path:
    return agent_directory(paths, agent) / "tasks"


def standing_of(paths: Paths, agent: str) -> Path:
    """What Satchel knows of the agent's memory. It lies beside the directories that programs see."""
    return agent_directory(paths, agent) / "memory.json"


def agent_directory(paths: Paths, agent: str) -> Path:
    return paths.state / "agents" / agent

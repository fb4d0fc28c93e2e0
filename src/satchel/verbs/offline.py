"""What is known without opening Satchel: nothing is started, and no SDK is loaded."""

import os
from collections.abc import Mapping
from typing import Any

from satchel.catalog import Catalog
from satchel.catalog.snapshot import Snapshot
from satchel.catalog.states import sentence, trouble
from satchel.config import Paths, read_configuration
from satchel.model import Json, Skill, SkillContext

__all__ = ["Catalog", "Snapshot", "read_catalog", "read_context", "search_catalog", "sentence", "trouble"]

_PATIENCE = 3.0  # seconds that a command waits to search by meaning


def read_catalog(paths: Paths, environment: Mapping[str, str] | None = None) -> Catalog:
    """The servers of a project, with what the cache has of each."""
    return Catalog(read_configuration(paths), environment)


def read_context(paths: Paths, skill: Skill, agent: str = "default") -> SkillContext | None:
    """What a package finds in the catalog as it is cached; None for a plain skill."""
    # Most skills are plain, and what follows takes its time to import.
    from satchel.verbs.agents.packages import SkillPackages
    from satchel.verbs.skills import ShownSkills

    configuration = read_configuration(paths)
    skills = ShownSkills(lambda: configuration)
    packages = SkillPackages(lambda: configuration, skills, lambda: Catalog(configuration).snapshot)
    return packages.context(skill, agent) if packages.has(skill) else None


def search_catalog(paths: Paths, query: str, **options: Any) -> Json:
    """What `search_tools` answers, for the agent `default`."""
    # `read_catalog` is for commands that end in a moment, and these modules take as long as they do.
    from satchel.config.settings import find_agent
    from satchel.verbs.tool_rows import ToolRows
    from satchel.verbs.tool_search import open_index, search_tools

    configuration = read_configuration(paths)
    settings = configuration.settings
    rows = ToolRows(
        Catalog(configuration).snapshot, settings.code_execution.language, find_agent(settings, "default")
    )
    index = open_index(configuration, os.environ, patience=_PATIENCE)
    try:
        return search_tools(index, rows, query, **options)
    finally:
        index.close()

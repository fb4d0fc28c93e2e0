"""Skills."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OF_PLUGIN = "plugin:"
"""The prefix of the category of a plugin's skills."""


@dataclass(frozen=True, kw_only=True)
class Skill:
    """Instructions for a task: a folder with a SKILL.md, and what lies beside it."""

    name: str
    description: str = ""
    license: str | None = None
    folder: Path
    file: Path
    category: str  # public, custom, community, user, the agent that saved it, or plugin:NAME
    relative: str  # its folder below that of its category
    enabled: bool = False
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])  # all of its front matter
    allowed_tools: tuple[str, ...] = ()
    error: str | None = None  # why it can't be used
    line: int | None = None
    warnings: tuple[str, ...] = ()
    base: str = "/mnt/skills"  # where programs find the folders of categories
    place: str | None = None  # its folder as programs see it, where that is not below these

    @property
    def identity(self) -> str:
        """Two of one name in different categories are told apart by it."""
        return f"{self.category}:{self.name}"

    @property
    def skill_dir(self) -> Path:
        """The name of its folder in other programs."""
        return self.folder

    @property
    def skill_file(self) -> Path:
        """The name of its file in other programs."""
        return self.file

    @property
    def plugin(self) -> str | None:
        """The plugin that brings it."""
        return self.category.removeprefix(OF_PLUGIN) if self.category.startswith(OF_PLUGIN) else None

    def get_container_path(self, base: str | None = None) -> str:
        """Its folder as programs see it."""
        return self.place or f"{base or self.base}/{self.category}/{self.relative}"

    def get_container_file_path(self, base: str | None = None) -> str:
        return f"{self.get_container_path(base)}/{self.file.name}"

"""Skill packages: skills that bring a context of their own, with its tools, resources and prompts."""

from dataclasses import dataclass

from satchel.model.servers import Json, Prompt, Resource, Tool
from satchel.model.skills import Skill


@dataclass(frozen=True, kw_only=True)
class PackagePart:
    """A tool, resource or prompt that a package asks for. What it is, only the catalog says."""

    name: str  # of a resource its address
    server: str = ""
    description: str = ""  # as the package describes it

    @property
    def label(self) -> str:
        return f"{self.server}.{self.name}" if self.server else self.name


@dataclass(frozen=True, kw_only=True)
class Package:
    """What the JSON files of a skill say."""

    tools: tuple[PackagePart, ...] = ()
    resources: tuple[PackagePart, ...] = ()
    prompts: tuple[PackagePart, ...] = ()
    problems: tuple[str, ...] = ()  # files and entries that can't be used, each with its file


@dataclass(frozen=True, kw_only=True)
class SkillContext:
    """All that a specialist works with: the persona, and what the catalog has of its package."""

    skill: Skill
    persona: str
    tools: tuple[Tool, ...] = ()
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    missing: tuple[str, ...] = ()  # what is not available, each with the reason
    differing: tuple[str, ...] = ()  # tools that the package describes differently from their servers

    def as_json(self) -> Json:
        """What the package brings, as it is told to models and people."""
        return {
            "tools": [{"name": tool.wire_name, "description": tool.description} for tool in self.tools],
            "resources": [
                {"uri": each.uri, "server": each.server, "description": each.description}
                for each in self.resources
            ],
            "prompts": [{"name": each.name, "server": each.server} for each in self.prompts],
            "not_available": list(self.missing),
        }

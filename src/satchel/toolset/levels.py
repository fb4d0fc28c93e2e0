"""Where a model is: in one flat context, with the router, or in the context of a skill.

A level decides which tools a model is shown. How it gets from one to another is not decided here: a loop
begins a new run, and an MCP client is told that its tools have changed.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from satchel.errors import ArgumentError
from satchel.model import SkillContext, Tool

LevelName = Literal["flat", "router", "specialist"]
EVERY_LEVEL: frozenset[LevelName] = frozenset({"flat", "router", "specialist"})
MOST_SKILLS = 50
"""The router is told of so many skills; more can be searched."""
_SCHEME = "skill://"
DEEPEST = 3
"""Skills may lead to other skills, this far down from the router."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """`context` is the specialist's, and `below` are the skills that led to it, the first one first."""

    name: LevelName = "flat"
    context: SkillContext | None = None
    below: tuple[str, ...] = ()

    @property
    def stack(self) -> tuple[str, ...]:
        """The skills in whose contexts the model is, the first one first."""
        return self.below if self.context is None else (*self.below, self.context.skill.identity)

    @property
    def depth(self) -> int:
        """1 for the router, and for a flat context; one more for each skill."""
        return len(self.stack) + 1


FLAT = Level()
ROUTER = Level(name="router")


def entered(level: Level, context: SkillContext) -> Level:
    """The level of a skill that was viewed at `level`. ArgumentError where that can't be."""
    stack = level.stack
    if context.skill.identity in stack:
        raise ArgumentError(
            f"the skill {context.skill.name} is active already",
            argument="name",
            hint="go on with the task, or call leave_skill",
        )
    if len(stack) + 2 > DEEPEST:
        raise ArgumentError(
            f"{context.skill.name} would be the skill of a skill of a skill",
            argument="name",
            hint="call leave_skill first",
        )
    return Level(name="specialist", context=context, below=stack)


def short_names(tools: Iterable[Tool], taken: Collection[str]) -> dict[str, Tool]:
    """Tools by the names that a model is shown: their own where those are unique, else those on the wire."""
    different = {tool.qualified_name: tool for tool in tools}.values()
    counts = Counter(tool.name for tool in different)
    found: dict[str, Tool] = {}
    for tool in different:
        is_short = counts[tool.name] == 1 and tool.name not in taken and _is_name(tool.name)
        found[tool.name if is_short else tool.wire_name] = tool
    return found


def file_of_skill(uri: str, level: Level, base: str) -> str | None:
    """The path of a skill's file as programs know it, where an address means one: `skill://…`, or a path.

    A specialist may name the files of its own skill from the skill's folder on.
    """
    if uri.startswith(_SCHEME):
        return f"{base}/{unquote(uri.removeprefix(_SCHEME))}"
    if uri.startswith("/"):
        return uri
    if level.context is not None and "://" not in uri:
        return f"{level.context.skill.get_container_path(base)}/{uri.removeprefix('./')}"
    return None


def _is_name(name: str) -> bool:
    """Whether providers of models take it as the name of a tool."""
    return len(name) <= 64 and name.isascii() and name.replace("_", "").replace("-", "").isalnum()

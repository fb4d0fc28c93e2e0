"""The skill that a model has read last, as far as it decides what the model may call and is shown."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from satchel.model import Skill, Tool


def _tell_nobody() -> None:
    pass


@dataclass
class ActiveSkill:
    """Belongs to a connection, or to all who use one toolset.

    `tools` are those that the skill allows, if it names any. `brought` are the tools of a package, by their
    qualified names: which of them the agent may call is decided anew each time. `tell` is called when they
    have changed.
    """

    tools: tuple[str, ...] | None = None
    package: str = ""
    brought: tuple[str, ...] = ()
    tell: Callable[[], None] = _tell_nobody

    def read(self, skill: Skill) -> None:
        """Only viewing a package brings its tools; reading its file again does not take them away."""
        self.tools = skill.allowed_tools or None
        if skill.identity != self.package:
            self._bring("", ())

    def bring(self, skill: Skill, tools: Iterable[Tool]) -> None:
        self._bring(skill.identity, tuple(tool.qualified_name for tool in tools))

    def _bring(self, package: str, brought: tuple[str, ...]) -> None:
        changes = brought != self.brought
        self.package, self.brought = package, brought
        if changes:
            self.tell()

"""The verbs for commands: those there are, looked up, and made the text that a model is given.

A command is a prompt, and nothing of it is run here. Every surface shows the same text.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from satchel.config import Configuration, find_paths, read_configuration
from satchel.config.settings import find_agent
from satchel.library.commands.expanding import expand
from satchel.library.commands.reading import WITHOUT_EFFECT, command_of_skill, merged
from satchel.library.commands.registry import CommandRegistry, with_content
from satchel.library.plugins.files import inside
from satchel.library.plugins.listing import Plugins
from satchel.model import Command, Skill
from satchel.verbs.skills import ShownSkills

__all__ = [
    "WITHOUT_EFFECT",
    "CommandRegistry",
    "Commands",
    "expand",
    "load_commands",
    "open_commands",
]

_MOST = 8  # agents whose commands are kept


class _Known(NamedTuple):
    """An agent's commands, and of what they were made."""

    plugins: Plugins
    skills: list[Skill]
    registry: CommandRegistry


class Commands:
    """The commands of one project, for callers in any thread. A change on disk counts at once."""

    def __init__(self, configuration: Callable[[], Configuration], skills: ShownSkills) -> None:
        self._configuration = configuration
        self._skills = skills
        self._known: dict[str, _Known] = {}

    def check(self, agent: str) -> None:
        """NotFoundError where there is no such agent."""
        find_agent(self._configuration().settings, agent)

    def of(self, agent: str = "default") -> list[Command]:
        """All that a person may invoke who talks to this agent, by plugin and name; their texts unread."""
        return list(self.registry(agent))

    def registry(self, agent: str = "default") -> CommandRegistry:
        plugins, skills = self._skills.plugins(), self._skills.used(agent)
        known = self._known.get(agent)
        if known is None or known.plugins is not plugins or known.skills is not skills:
            known = _Known(plugins, skills, CommandRegistry(self._commands(plugins, skills)))
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[agent] = known
        return known.registry

    def lookup(self, plugin: str, command: str | None = None, *, agent: str = "default") -> Command:
        """One of them, by `sales` and `call-prep`, or as somebody types it; with its text."""
        return self.registry(agent).lookup(plugin, command)

    def expand(self, name: str, arguments: str = "", *, agent: str = "default") -> str:
        """The text for a model when a person invokes a command with these words."""
        return self.text(self.registry(agent).find(name), arguments)

    def invoked(self, words: Sequence[str], *, agent: str = "default") -> str:
        """The same for what a person typed, as a shell has split it: the name, and the arguments."""
        return self.text(*self.registry(agent).split(words))

    def text(self, command: Command, arguments: str = "") -> str:
        """The same for one that has been looked up."""
        folder = self._skills.plugins().mounts.get(command.plugin_name)
        whole = command if command.content else with_content(command)
        if folder is None:
            return expand(whole, arguments)
        return expand(whole, arguments, inside=inside(whole, folder))

    def prompt(self, agent: str = "default", *, budget: int | None = None, plain: bool = False) -> str:
        """The text about the commands of plugins for a model, within a budget in tokens."""
        # Imported late: who lists or invokes a command needs no templates.
        from satchel.context.commands import command_system

        configuration = self._configuration()
        settings = configuration.settings
        told = [command for command in self.registry(agent) if command.for_model and command.plugin_name]
        templates: Path | None = None if plain else configuration.paths.project / settings.templates.path
        return command_system(
            told, budget=settings.plugins.budget if budget is None else budget, templates=templates
        )

    def _commands(self, plugins: Plugins, skills: list[Skill]) -> list[Command]:
        base = self._configuration().settings.skills.container_path
        invoked = [command for skill in skills if (command := command_of_skill(skill, base)) is not None]
        return merged(plugins.commands, invoked)


def open_commands(config: Path | None = None) -> Commands:
    """The commands of the project that `config` names, or of the nearest one. Nothing is started."""
    configuration = read_configuration(find_paths(config=config))
    return Commands(lambda: configuration, ShownSkills(lambda: configuration))


def load_commands(config: str | Path | None = None, *, agent: str = "default") -> list[Command]:
    """All commands of a project by plugin and name, each with its text."""
    registry = open_commands(Path(config) if config else None).registry(agent)
    return [with_content(command) for command in registry]

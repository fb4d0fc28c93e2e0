"""The plugins of a project as Python reads them: each with its skills, commands and servers."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from satchel.config import Paths, find_paths
from satchel.config.settings import Settings, read_settings
from satchel.errors import NotFoundError
from satchel.library.commands.reading import command_of_skill, merged
from satchel.library.commands.registry import with_content
from satchel.library.plugins.listing import list_plugins
from satchel.library.skills.finding import cache_of, find_skills
from satchel.library.state import read_states, with_state
from satchel.model import PluginManifest
from satchel.names import closest

__all__ = ["PluginRegistry", "load_plugins"]


class PluginRegistry:
    """Plugins by their names; those of the nearest project where none are given."""

    def __init__(self, plugins: Iterable[PluginManifest] | None = None) -> None:
        every = load_plugins() if plugins is None else plugins
        self._plugins = {manifest.name: manifest for manifest in every}

    def __iter__(self) -> Iterator[PluginManifest]:
        return iter(self._plugins.values())

    def __len__(self) -> int:
        return len(self._plugins)

    def get(self, name: str) -> PluginManifest:
        if name not in self._plugins:
            raise NotFoundError("plugin", name, closest=closest(name, self._plugins))
        return self._plugins[name]


def load_plugins(config: str | Path | None = None, *, enabled_only: bool = False) -> list[PluginManifest]:
    """All plugins of a project by name; one that can't be used is among them, with its `plugin.error`."""
    paths = find_paths(config=Path(config) if config else None)
    manifests = _manifests(paths, read_settings(paths.settings_file))
    return [each for each in manifests if each.plugin.enabled or not enabled_only]


def _manifests(paths: Paths, settings: Settings) -> Iterator[PluginManifest]:
    plugins = list_plugins(paths, settings.plugins)
    skills = with_state(find_skills(plugins.sources, cache_of(paths)), read_states(paths.extensions_file))
    base = settings.skills.container_path
    for plugin in plugins.all:
        own = [skill for skill in skills if skill.plugin == plugin.name and plugin.error is None]
        usable = (skill for skill in own if skill.enabled)
        invoked = [command for skill in usable if (command := command_of_skill(skill, base)) is not None]
        files = [each for each in plugins.commands if each.plugin_name == plugin.name]
        yield PluginManifest(
            name=plugin.name,
            version=plugin.version,
            description=plugin.description,
            author=plugin.author,
            skills=tuple(own),
            commands=tuple(with_content(command) for command in merged(files, invoked)),
            mcp_servers={server.name: server.written for server in plugin.servers},
            plugin=plugin,
        )

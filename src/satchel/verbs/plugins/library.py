"""The verbs for the plugins of a project, for the person who keeps them: shown, switched, approved, removed.

They work on files: nothing of a plugin is started, fetched or contacted. `verbs/plugins/installing.py` has
what brings plugins in and updates them.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from satchel.config import Paths, find_paths, read_configuration
from satchel.config.entries import ServerEntry, resolve
from satchel.config.plugins.approving import Need, approve, needs_of
from satchel.config.plugins.digest import folder_digest
from satchel.config.plugins.finding import plugins_root, read_plugins
from satchel.config.plugins.manifest import refused_name
from satchel.config.plugins.record import Installed, read_record, update_record
from satchel.config.plugins.servers import data_folder, entries_of
from satchel.config.plugins.settings import PluginsSettings
from satchel.config.plugins.state import forget_plugin, read_states, set_plugin_enabled
from satchel.config.settings import read_settings
from satchel.errors import ArgumentError, NeedsSetupError, NotFoundError, SatchelError
from satchel.library.plugins.installing import take_away, take_data
from satchel.library.state import forget_plugin as forget_skills
from satchel.model import Plugin
from satchel.names import closest
from satchel.verbs.entries import logged_in
from satchel.verbs.plugins.servers import ServerRow, server_rows


@dataclass(frozen=True, kw_only=True)
class PluginInfo:
    """A plugin, and what is known of it on this machine."""

    plugin: Plugin
    servers: tuple[ServerRow, ...]
    needs: tuple[Need, ...]  # what a person has to approve, or has approved
    installed: Installed | None
    changed: bool  # since it was installed


@dataclass(frozen=True, kw_only=True)
class Removed:
    """A plugin that is gone."""

    plugin: Plugin
    logins: tuple[str, ...] = ()  # addresses that no server here has any more, with their tokens still stored


@dataclass(frozen=True, kw_only=True)
class PluginLibrary:
    """The plugins of one project."""

    paths: Paths
    settings: PluginsSettings

    @property
    def root(self) -> Path:
        return plugins_root(self.paths, self.settings)

    def plugins(self) -> list[Plugin]:
        """All of them by name, also those that are disabled or can't be used."""
        return list(read_plugins(self.paths, self.settings))

    def names(self) -> list[str]:
        return sorted({plugin.name for plugin in self.plugins()})

    def plugin(self, name: str) -> Plugin:
        """The plugin of that name, or NotFoundError with the closest ones."""
        plugins = self.plugins()
        found = [plugin for plugin in plugins if plugin.name == name]
        if not found:
            hint = None if plugins else "there are no plugins yet; satchel plugins install adds one"
            raise NotFoundError("plugin", name, closest=closest(name, [p.name for p in plugins]), hint=hint)
        return next((plugin for plugin in found if plugin.error is None), found[0])

    def info(self, name: str) -> PluginInfo:
        plugin, record = self.plugin(name), read_record(self.paths)
        installed = record.installed.get(plugin.name)
        return PluginInfo(
            plugin=plugin,
            servers=server_rows(plugin, self.paths, record),
            needs=needs_of(plugin, self.paths, record),
            installed=installed,
            changed=installed is not None and self.is_changed(plugin, installed),
        )

    def is_changed(self, plugin: Plugin, installed: Installed) -> bool:
        """Whether its files are not those that were installed, or that an update was about to replace."""
        try:
            return folder_digest(plugin.folder) not in (installed.digest, installed.before)
        except (OSError, SatchelError):
            return True

    def set_enabled(self, names: Iterable[str], *, enabled: bool) -> list[Plugin]:
        """Switch plugins on or off, with all their parts. If one of the names is unknown, none is."""
        plugins = [self.plugin(name) for name in names]
        for plugin in plugins:
            if enabled and plugin.error is not None:
                raise ArgumentError(f"{plugin.name} can't be used: {plugin.error}")
        for plugin in plugins:
            set_plugin_enabled(self.paths.extensions_file, plugin.name, enabled=enabled)
        return plugins

    def waiting(self, name: str) -> list[Need]:
        """What a plugin needs a person's approval for, and does not have yet."""
        plugin = self.plugin(name)
        if plugin.error is not None:
            raise ArgumentError(f"{plugin.name} can't be used: {plugin.error}")
        return [need for need in needs_of(plugin, self.paths) if not need.approved]

    def approve(self, name: str, needs: Iterable[Need]) -> None:
        """Note that a person approved these as they were shown."""
        approve(self.paths, name, needs)

    def remove(self, name: str, *, keep_data: bool = False) -> Removed:
        """Remove a plugin with everything that is known of it; `keep_data` leaves what its servers stored."""
        plugin, extensions = self.plugin(name), self.paths.extensions_file
        entries = entries_of(plugin, self.paths, read_states(extensions), read_record(self.paths))
        if refused_name(plugin.name) is not None:
            # Nothing is kept by such a name, and it could lead anywhere.
            take_away(plugin, self.root)
            return Removed(plugin=plugin)

        def forget() -> None:
            update_record(self.paths, lambda record: record.without(plugin.name))
            forget_plugin(extensions, plugin.name)
            forget_skills(extensions, plugin.name)
            if not keep_data:
                take_data(data_folder(self.paths, plugin.name))

        take_away(plugin, self.root, forget)
        addresses = _addresses(entries) - _addresses(read_configuration(self.paths).servers)
        return Removed(plugin=plugin, logins=tuple(logged_in(self.paths, sorted(addresses))))


def _addresses(entries: Iterable[ServerEntry]) -> set[str]:
    """Where the remote servers are that can be used."""
    found: set[str] = set()
    for entry in entries:
        with suppress(NeedsSetupError):
            found.add(resolve(entry).url)
    return found - {""}


def open_plugin_library(config: Path | None = None) -> PluginLibrary:
    """The plugins of the project that `config` names, or of the nearest one."""
    paths = find_paths(config=config)
    return PluginLibrary(paths=paths, settings=read_settings(paths.settings_file).plugins)

"""The verbs for the plugins of a project, for the person who keeps them: shown, switched, approved, removed.

They work on files: nothing of a plugin is started, fetched or contacted. `verbs/plugin_installing.py` has
what brings plugins in and updates them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from satchel.config import Paths, find_paths
from satchel.config.plugins.digest import folder_digest
from satchel.config.plugins.finding import plugins_root, read_plugins
from satchel.config.plugins.record import Approved, Installed, Record, read_record, update_record
from satchel.config.plugins.servers import data_folder, entries_of
from satchel.config.plugins.settings import PluginsSettings
from satchel.config.plugins.state import forget_plugin, read_states, set_plugin_enabled
from satchel.config.settings import read_settings
from satchel.errors import ArgumentError, NotFoundError, SatchelError
from satchel.library.plugins.installing import take_away, take_data
from satchel.model import Plugin
from satchel.names import closest
from satchel.verbs.plugin_servers import PluginServerFacts, facts_of


@dataclass(frozen=True, kw_only=True)
class PluginInfo:
    """A plugin, and what is known of it on this machine."""

    plugin: Plugin
    servers: tuple[PluginServerFacts, ...]
    installed: Installed | None
    changed: bool  # since it was installed


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
            servers=tuple(self.servers(plugin, record)),
            installed=installed,
            changed=installed is not None and self.is_changed(plugin, installed),
        )

    def servers(self, plugin: Plugin, record: Record | None = None) -> list[PluginServerFacts]:
        """What a plugin's servers are, and what each still needs."""
        record = read_record(self.paths) if record is None else record
        states = read_states(self.paths.extensions_file)
        return facts_of(entries_of(plugin, self.paths, states, record))

    def is_changed(self, plugin: Plugin, installed: Installed) -> bool:
        """Whether its files are not those that were installed."""
        try:
            return folder_digest(plugin.folder) != installed.digest
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

    def waiting(self, name: str) -> list[PluginServerFacts]:
        """The servers of a plugin that wait for a person, or that read variables not approved yet."""
        plugin = self.plugin(name)
        if plugin.error is not None:
            raise ArgumentError(f"{plugin.name} can't be used: {plugin.error}")
        record = read_record(self.paths)
        approved = record.approved.get(name, Approved(name=name))
        return [
            server
            for server in self.servers(plugin, record)
            if not server.problem
            and (server.awaits or not set(server.approvals).issubset(approved.variables))
        ]

    def approve(self, name: str, servers: Iterable[PluginServerFacts]) -> None:
        """Note that a person approved these servers as shown: each address, command and variable."""
        update_record(self.paths, lambda record: with_approval(record, name, servers))

    def remove(self, name: str, *, keep_data: bool = False) -> Plugin:
        """Remove a plugin with everything that is known of it; `keep_data` leaves what its servers stored."""
        plugin = self.plugin(name)
        take_away(plugin, self.root)
        forget_plugin(self.paths.extensions_file, plugin.name)
        update_record(self.paths, lambda record: record.without(plugin.name))
        if not keep_data:
            take_data(data_folder(self.paths, plugin.name))
        return plugin


def with_approval(record: Record, name: str, servers: Iterable[PluginServerFacts]) -> Record:
    """The record with these servers of a plugin approved, beside those that were."""
    known = record.approved.get(name, Approved(name=name))
    chosen = list(servers)
    return record.with_approved(
        replace(
            known,
            endpoints=_joined(known.endpoints, (one.endpoint for one in chosen if not one.command)),
            commands=_joined(known.commands, (one.command for one in chosen if one.command)),
            variables=_joined(known.variables, (name for one in chosen for name in one.approvals)),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
    )


def open_plugin_library(config: Path | None = None) -> PluginLibrary:
    """The plugins of the project that `config` names, or of the nearest one."""
    paths = find_paths(config=config)
    return PluginLibrary(paths=paths, settings=read_settings(paths.settings_file).plugins)


def _joined(known: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *new)))

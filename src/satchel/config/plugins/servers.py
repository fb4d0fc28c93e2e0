"""The servers of plugins as entries beside the user's own: computed from the folders, never copied.

An entry that leads to the same endpoint as one before it becomes a further name of that one. The user's own
entries come first, then the plugins in the order in which they came to be known on this machine.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from satchel.config.entries import FromPlugin, ServerEntry, read_entry
from satchel.config.paths import Paths
from satchel.config.plugins.endpoints import command_digest, endpoint_of, host_of
from satchel.config.plugins.finding import plugins_root, read_plugins
from satchel.config.plugins.manifest import AGENT_PLUGINS, CLAUDE
from satchel.config.plugins.record import Approved, Record, read_record, record_file
from satchel.config.plugins.server_files import BUNDLE, FILES, named_files
from satchel.config.plugins.settings import PluginsSettings
from satchel.config.plugins.state import disabled_endpoints, read_states, user_values
from satchel.errors import ConfigError
from satchel.model import Plugin, PluginServer, is_object
from satchel.support.files import Stamp, stamp_of

_WORDS = "command args env envs cwd url headers type transport oauth description timeout startup_timeout"
_KEYS = frozenset({*_WORDS.split(), "enabled", "disabled"})
_OAUTH = frozenset({"clientId", "callbackPort", "scopes"})
_LONGEST = 10_000  # characters that a person can be expected to look at
_ITSELF = re.compile(r"(?:\A|[\s/\"'=;&|(])satchel(?:\Z|[\s\"'@=\[;&|)])", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class WithPlugins:
    """The user's own entries with those of plugins, and what has to be looked at to see a change."""

    servers: tuple[ServerEntry, ...]
    stamps: Mapping[str, Stamp | None]


def with_plugins(paths: Paths, settings: PluginsSettings, own: tuple[ServerEntry, ...]) -> WithPlugins:
    """Add the servers of all plugins that are enabled."""
    root = plugins_root(paths, settings)
    stamps = {str(place): stamp_of(str(place)) for place in (root, record_file(paths))}
    if stamps[str(root)] is None:
        return WithPlugins(servers=own, stamps=stamps)
    states, record = read_states(paths.extensions_file), read_record(paths)
    plugins = read_plugins(paths, settings, states=states, record=record, parts=False)
    stamps |= {place: stamp_of(place) for plugin in plugins for place in _watched(plugin, root)}
    if not settings.auto_merge_mcp:
        return WithPlugins(servers=own, stamps=stamps)
    entries = [
        entry for plugin in in_order(plugins, record) for entry in entries_of(plugin, paths, states, record)
    ]
    return WithPlugins(servers=merge(own, entries, disabled_endpoints(states)), stamps=stamps)


def in_order(plugins: Iterable[Plugin], record: Record) -> list[Plugin]:
    """Those that are used: first those that came to be known first, then those that nobody approved."""
    used = [plugin for plugin in plugins if plugin.enabled and plugin.error is None]
    last = record.next_order
    return sorted(used, key=lambda plugin: (record.order_of(plugin.name) or last, plugin.name))


def merge(
    own: Sequence[ServerEntry], entries: Iterable[ServerEntry], disabled: Iterable[str] = ()
) -> tuple[ServerEntry, ...]:
    """The user's own entries, then the others, each endpoint once; those that can't be used stay apart."""
    off = frozenset(disabled)
    servers = {entry.name: entry for entry in own}
    first = {
        endpoint_of(entry): entry.name
        for entry in reversed(own)
        if entry.problem is None and not entry.custom
    }
    for entry in entries:
        if entry.name in servers:
            continue  # the user has an entry of that very name
        endpoint = endpoint_of(entry) if entry.plugin is None else entry.plugin.endpoint
        is_apart = bool(
            entry.problem or entry.awaits or not entry.enabled or not (entry.command or entry.url)
        )
        entry = replace(entry, enabled=entry.enabled and endpoint not in off)
        name = entry.name if is_apart else first.setdefault(endpoint, entry.name)
        if name == entry.name:
            servers[name] = entry
        else:
            servers[name] = replace(servers[name], aliases=(*servers[name].aliases, entry.name))
    return tuple(servers.values())


def entries_of(
    plugin: Plugin, paths: Paths, states: Mapping[str, object], record: Record
) -> list[ServerEntry]:
    """A plugin's entries, each with why it can't be used or what it waits for."""
    values, files = _values(plugin, paths, states), _files(plugin, record)
    return [_entry(plugin, server, values, record, files) for server in plugin.servers]


def _entry(
    plugin: Plugin, server: PluginServer, values: Mapping[str, str], record: Record, files: str
) -> ServerEntry:
    origin = FromPlugin(
        plugin=plugin.name, server=server.name, folder=plugin.folder, key=server.key, values=values
    )
    written = {key: value for key, value in server.written.items() if key in _KEYS}
    if is_object(oauth := written.get("oauth")):
        written["oauth"] = {key: value for key, value in oauth.items() if key in _OAUTH}
    blank = partial(ServerEntry, plugin=origin)
    entry = read_entry(f"{plugin.name}:{server.name}", written, server.file, blank)
    variables = _variables(entry, plugin.name, record)
    origin = replace(origin, endpoint=endpoint_of(entry), variables=variables)
    entry = replace(entry, plugin=replace(origin, files=files if entry.transport == "stdio" else ""))
    problem = _unsupported(entry, server.written)
    if problem is not None:
        return replace(entry, problem=problem)
    if entry.problem is not None:
        return entry
    return _with_approval(entry, plugin.name, record)


def _unsupported(entry: ServerEntry, written: Mapping[str, Any]) -> ConfigError | None:
    """Why Satchel does not use an entry that others may."""
    if BUNDLE in written:
        return _problem(entry, (), "is a bundle (.mcpb), which is not supported")
    if "headersHelper" in written:
        return _problem(entry, ("headersHelper",), "has a headersHelper, a command that is never run")
    kind = written.get("type", written.get("transport"))
    if kind in ("ws", "websocket"):
        return _problem(entry, ("type",), f"is of type {kind}, which is not supported")
    if entry.transport == "stdio" and _ITSELF.search(" ".join([entry.command, *entry.args])):
        return _problem(entry, ("command",), "starts Satchel itself, which would start it again, without end")
    texts = (entry.command, *entry.args, *entry.env, *entry.env.values(), entry.url, *entry.headers)
    if sum(map(len, texts)) > _LONGEST:
        return _problem(entry, (), f"is too long to be approved: at most {_LONGEST:,} characters are")
    return None


def _problem(entry: ServerEntry, key: tuple[str, ...], reason: str) -> ConfigError:
    file, line = entry.locate(key)
    return ConfigError(f"server '{entry.name}' {reason}", file=file, line=line, brief=reason)


def _with_approval(entry: ServerEntry, plugin: str, record: Record) -> ServerEntry:
    """The entry, with the approval on this machine that it still waits for, if any."""
    approved = record.approved.get(plugin, Approved(name=plugin))
    if entry.transport == "stdio":
        if entry.command and command_digest(entry) not in approved.commands:
            return replace(entry, awaits="nobody has approved its command line on this machine")
    elif entry.url and endpoint_of(entry) not in approved.endpoints:
        return replace(entry, awaits="nobody has approved its address on this machine")
    return entry


def _variables(entry: ServerEntry, plugin: str, record: Record) -> frozenset[str]:
    """The variables of the environment that a person let go where the entry leads."""
    approved = record.approved.get(plugin, Approved(name=plugin))
    rows = (one.partition(" ") for one in approved.variables)
    host = host_of(entry)
    return frozenset(name for name, _, where in rows if where == host)


def _files(plugin: Plugin, record: Record) -> str:
    """Differs when an update has put a different folder there: a program of the old one is to end."""
    installed = record.installed.get(plugin.name)
    with suppress(OSError):
        return f"{os.stat(plugin.folder).st_ino} {installed.digest if installed is not None else ''}"
    return ""


def _values(plugin: Plugin, paths: Paths, states: Mapping[str, object]) -> dict[str, str]:
    """The values of the plugin's own variables in its entries."""
    root, data = str(plugin.folder), str(data_folder(paths, plugin.name))
    values = {f"user_config.{key}": value for key, value in user_values(plugin, states).items()}
    return values | {
        "CLAUDE_PLUGIN_ROOT": root,
        "PLUGIN_ROOT": root,
        "CLAUDE_PLUGIN_DATA": data,
        "PLUGIN_DATA": data,
        "CLAUDE_PROJECT_DIR": str(paths.project),
    }


def data_folder(paths: Paths, name: str) -> Path:
    """A folder for what a plugin's servers keep; updates leave it alone."""
    return paths.user_data / "plugins" / "data" / paths.mark / name


def _watched(plugin: Plugin, root: Path) -> list[str]:
    """What a change of its servers shows in. Every call looks at all of it, so there is little.

    A file that comes or goes shows in the folder that it is in.
    """
    folder = str(plugin.folder)
    places = [] if plugin.folder.parent == root else [str(plugin.folder.parent)]
    named = named_files(plugin.values)
    there = [name for name in (AGENT_PLUGINS, *FILES) if os.path.lexists(f"{folder}/{name}")]
    return [*places, folder, *(f"{folder}/{os.path.normpath(name)}" for name in (CLAUDE, *there, *named))]

"""Plugins as folders of a project, for tests."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from satchel.config import Paths, find_paths, read_configuration
from satchel.config.entries import ServerEntry
from satchel.config.plugins.approving import approve, needs_of
from satchel.config.plugins.finding import read_plugins
from satchel.config.plugins.settings import PluginsSettings
from satchel.config.settings import read_settings

ROOT = Path("plugins/installed")


def write_plugin(
    project: Path, place: str, servers: Mapping[str, object] | None = None, **manifest: object
) -> Path:
    """A plugin in its place, with a file of servers."""
    folder = project / ROOT / place
    (folder / ".claude-plugin").mkdir(parents=True, exist_ok=True)
    content = {"name": folder.name, **manifest}
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps(content))
    if servers is not None:
        (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}, indent=1))
    return folder


def paths_of(project: Path) -> Paths:
    project.mkdir(exist_ok=True, parents=True)
    return find_paths(config=project)


def trust(paths: Paths, *names: str) -> None:
    """As if a person had approved the remote servers of these, in this order."""
    settings = read_settings(paths.settings_file).plugins
    for name in names:
        plugin = next(plugin for plugin in read_plugins(paths, settings) if plugin.name == name)
        approve(paths, name, (need for need in needs_of(plugin, paths) if need.what == "remote"))


def approve_all(paths: Paths, *names: str) -> None:
    """As if a person had approved everything that these need now."""
    plugins = {plugin.name: plugin for plugin in read_plugins(paths, PluginsSettings())}
    for name in names:
        approve(paths, name, needs_of(plugins[name], paths))


def entries(paths: Paths) -> dict[str, ServerEntry]:
    return {entry.name: entry for entry in read_configuration(paths).servers}


def remote(url: str = "https://mcp.example.com/mcp", **more: Any) -> dict[str, Any]:
    return {"type": "http", "url": url, **more}

"""Plugins from Python: `load_plugins()` is what `satchel plugins list` shows."""

from satchel.model import Plugin, PluginManifest
from satchel.verbs.plugins.installing import install_plugin_from_dir, install_plugin_from_repo
from satchel.verbs.plugins.registry import PluginRegistry, load_plugins

__all__ = [
    "Plugin",
    "PluginManifest",
    "PluginRegistry",
    "install_plugin_from_dir",
    "install_plugin_from_repo",
    "load_plugins",
]

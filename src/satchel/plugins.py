"""Plugins from Python: `load_plugins()` is what `satchel plugins list` shows."""

from satchel.model import Plugin, PluginManifest
from satchel.verbs.plugins.registry import PluginRegistry, load_plugins

__all__ = ["Plugin", "PluginManifest", "PluginRegistry", "load_plugins"]

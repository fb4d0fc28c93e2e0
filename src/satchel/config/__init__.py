"""satchel.yaml and extensions_config.json: found, read, checked, written."""

from satchel.config.configuration import Configuration, read_configuration
from satchel.config.entries import OAuthHints, ServerEntry, Target, resolve
from satchel.config.extensions import read_extensions, set_enabled, update_extensions, update_servers
from satchel.config.paths import EXTENSIONS_FILE, SETTINGS_FILE, Paths, find_paths, paths_for

__all__ = [
    "EXTENSIONS_FILE",
    "SETTINGS_FILE",
    "Configuration",
    "OAuthHints",
    "Paths",
    "ServerEntry",
    "Target",
    "find_paths",
    "paths_for",
    "read_configuration",
    "read_extensions",
    "resolve",
    "set_enabled",
    "update_extensions",
    "update_servers",
]

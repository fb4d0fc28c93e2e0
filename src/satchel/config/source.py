"""The configuration as it is now: reread when a file changes, the last good one kept when it breaks."""

import os
from dataclasses import dataclass
from pathlib import Path

from satchel.config.entries import ServerEntry
from satchel.config.extensions import read_extensions
from satchel.config.paths import Paths
from satchel.config.settings import Settings, read_settings
from satchel.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Both files, read."""

    paths: Paths
    settings: Settings
    servers: tuple[ServerEntry, ...]


def read_configuration(paths: Paths) -> Configuration:
    return Configuration(
        paths=paths,
        settings=read_settings(paths.settings_file),
        servers=read_extensions(paths.extensions_file),
    )


class ConfigurationSource:
    """Hands out the current configuration to whatever runs for long."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._signature = self._sign()
        self._current = read_configuration(paths)
        self.error: ConfigError | None = None

    def current(self) -> Configuration:
        """The newest valid configuration. `error` tells why a newer one is not used."""
        signature = self._sign()
        if signature != self._signature:
            self._signature = signature
            try:
                self._current = read_configuration(self._paths)
                self.error = None
            except ConfigError as error:
                self.error = error
        return self._current

    def _sign(self) -> tuple[object, ...]:
        return tuple(_stamp(file) for file in (self._paths.settings_file, self._paths.extensions_file))


def _stamp(file: Path | None) -> tuple[int, int, int] | None:
    if file is None:
        return None
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino

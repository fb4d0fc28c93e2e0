"""The configuration as it is now: reread when a file changes, the last good one kept when it breaks."""

import os
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.config.entries import ServerEntry
from satchel.config.extensions import read_extensions
from satchel.config.paths import SETTINGS_FILE, Paths
from satchel.errors import ConfigError

if TYPE_CHECKING:
    from satchel.config.settings import Settings


class Configuration:
    """Both files, read. Without a settings file, the defaults are built when someone asks.

    `servers` are those of extensions_config.json and the groups of custom tools of satchel.yaml.
    """

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.servers = read_extensions(paths.extensions_file)
        self._groups = self._read_groups()
        if self._groups:
            from satchel.config.custom import refuse_conflicts

            refuse_conflicts(self.servers, self._groups)
            self.servers += self._groups

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configuration):
            return NotImplemented
        mine, others = (self.paths, self.servers), (other.paths, other.servers)
        return mine == others and self.settings == other.settings

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    @property
    def outdated(self) -> bool:
        """Whether the source of a custom tool has been written since."""
        return bool(self._groups) and self._groups != self._read_groups()

    def _read_groups(self) -> tuple[ServerEntry, ...]:
        file = self.paths.settings_file
        if file is None or not self.settings.custom_tools:
            return ()
        from satchel.config.custom import custom_entries

        return custom_entries(self.settings.custom_tools, file)

    @cached_property
    def settings(self) -> "Settings":
        from satchel.config.settings import read_settings

        return read_settings(self.paths.settings_file)


def read_configuration(paths: Paths) -> Configuration:
    """Read both files, or raise ConfigError."""
    return Configuration(paths)


class ConfigurationSource:
    """Hands out the current configuration to whatever runs for long."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._late = str(paths.project / SETTINGS_FILE)
        self._signature = self._sign()
        self._current = read_configuration(paths)
        self.error: ConfigError | None = None

    def current(self) -> Configuration:
        """The newest valid configuration. `error` tells why a newer one is not used."""
        signature = self._sign()
        if signature != self._signature or self._current.outdated:
            self._signature = signature
            try:
                self._current = read_configuration(self._paths)
                self.error = None
            except ConfigError as error:
                self.error = error
        return self._current

    def _sign(self) -> tuple[object, ...]:
        # Every call comes by here several times: paths are texts, which cost least.
        if self._paths.settings_file is None and os.path.isfile(self._late):
            self._paths = replace(self._paths, settings_file=Path(self._late))
        return tuple(_stamp(file) for file in (self._paths.settings_file, self._paths.extensions_file))


def _stamp(file: Path | None) -> tuple[int, int, int] | None:
    if file is None:
        return None
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino

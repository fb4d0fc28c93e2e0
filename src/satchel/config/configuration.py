"""Both files, read: the entries of all servers, the settings, and what to tell people about them."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.config.entries import ServerEntry, Target, resolve
from satchel.config.extensions import read_extensions
from satchel.config.paths import SETTINGS_FILE, Paths
from satchel.errors import NeedsSetupError
from satchel.support.files import Stamp, stamp_of

if TYPE_CHECKING:
    from satchel.config.reader import Key
    from satchel.config.settings import Settings, SettingsFile

_WRONG_NAME = "satchel.yml"
_MOST_NAMES = 5
_PLUGINS = (
    "plugins/installed"  # as in config/plugins/settings.py, which is not loaded for those without plugins
)


class Configuration:
    """Both files, read. Without a settings file, the defaults are built when someone asks.

    `servers` are those of extensions_config.json, then those of satchel.yaml: `mcp.servers` and the groups
    of custom tools; then those of plugins.
    """

    def __init__(self, paths: Paths, more: tuple[ServerEntry, ...] = ()) -> None:
        self.paths = paths
        self.servers = read_extensions(paths.extensions_file)
        self._remarks: tuple[tuple[Key, str], ...] = ()
        if paths.settings_file is not None:
            self._add_servers(self._file.servers)
            self._note_missing(self._file.expected)
        self._groups = self._read_groups()
        if self._groups:
            from satchel.config.custom import refuse_conflicts  # few projects have custom tools

            refuse_conflicts(self.servers, self._groups)
            self.servers += self._groups
        self.servers += more
        self._stamps: Mapping[str, Stamp | None] = {}
        self._add_plugins()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configuration):
            return NotImplemented
        mine, others = (self.paths, self.servers), (other.paths, other.servers)
        return mine == others and self.settings == other.settings

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    @property
    def outdated(self) -> bool:
        """Whether the source of a custom tool has been written since, or something of a plugin."""
        if bool(self._groups) and self._groups != self._read_groups():
            return True
        return any(stamp_of(path) != stamp for path, stamp in self._stamps.items())

    def code(self, environment: Mapping[str, str] | None = None) -> tuple[Path, ...]:
        """What servers and custom tools run outside of the sandbox, and no program may change.

        Files and directories, whether they exist or not. What these import in turn is not known.
        """
        environment = os.environ if environment is None else environment
        found: list[Path] = []
        for entry in self.servers:
            if entry.custom:
                for module in entry.written["sources"]:
                    package = entry.file.parent / module.partition(".")[0]
                    found += [package, package.with_name(f"{package.name}.py")]
            elif entry.transport == "stdio":
                if entry.plugin is not None:
                    found.append(entry.plugin.folder)
                with suppress(NeedsSetupError):
                    found += _code_of(resolve(entry, environment), environment)
        return tuple(dict.fromkeys(found))

    def _read_groups(self) -> tuple[ServerEntry, ...]:
        file = self.paths.settings_file
        if file is None or not self.settings.custom_tools:
            return ()
        from satchel.config.custom import custom_entries  # few projects have custom tools

        return custom_entries(self.settings.custom_tools, file)

    def _add_plugins(self) -> None:
        """The servers that plugins bring come last, so that the user's own count first."""
        path = _PLUGINS if self.paths.settings_file is None else self.settings.plugins.path
        root = str(self.paths.project / os.path.expanduser(path))
        self._stamps = {root: stamp_of(root)}
        if self._stamps[root] is None:
            return  # most projects have none, and need not wait for what reads them
        from satchel.config.plugins.servers import with_plugins  # few projects have plugins

        found = with_plugins(self.paths, self.settings.plugins, self.servers)
        self.servers, self._stamps = found.servers, found.stamps

    def _add_servers(self, entries: tuple[ServerEntry, ...]) -> None:
        """Of two with one name, that of the file counts which Satchel writes to."""
        known = {entry.name for entry in self.servers}
        other = self.paths.extensions_file.name
        self.servers += tuple(entry for entry in entries if entry.name not in known)
        self._remarks = tuple(
            (("mcp", "servers", entry.name), f"server '{entry.name}' is not used, because {other} has one")
            for entry in entries
            if entry.name in known
        )

    def _note_missing(self, expected: tuple[str, ...]) -> None:
        """Elsewhere a file can name servers that are configured somewhere else; here each has an entry."""
        known = {entry.name for entry in self.servers}
        missing = [name for name in dict.fromkeys(expected) if name not in known]
        if missing:
            more = f" and {len(missing) - _MOST_NAMES} more" if len(missing) > _MOST_NAMES else ""
            names = ", ".join(name[:60] for name in missing[:_MOST_NAMES])
            text = f"no entry for {names}{more}; satchel add NAME -- COMMAND… writes one"
            self._remarks += ((("available_mcp_servers",), text),)

    @cached_property
    def aliases(self) -> Mapping[str, tuple[str, ...]]:
        """The other names that plugins have for each server."""
        return {entry.name: entry.aliases for entry in self.servers if entry.aliases}

    @cached_property
    def _file(self) -> "SettingsFile":
        # Commands that list servers need no settings, and their many classes take a while to make.
        from satchel.config.settings import read_settings_file

        return read_settings_file(self.paths.settings_file)

    @cached_property
    def settings(self) -> "Settings":
        return self._file.settings

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What satchel.yaml calls by another name than the current one, with lines; no reason to fail."""
        return () if self.paths.settings_file is None else self._file.notes(self._remarks)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Things that have no effect: a file of nearly the right name."""
        right, wrong = self.paths.project / SETTINGS_FILE, self.paths.project / _WRONG_NAME
        is_passed_over = wrong.is_file() and not right.exists() and self.paths.settings_file != wrong
        return (f"{wrong} is not read: rename it to {SETTINGS_FILE}",) if is_passed_over else ()


def _code_of(target: Target, environment: Mapping[str, str]) -> Iterator[Path]:
    yield target.cwd / "node_modules"  # what npx runs; and so neither can the working directory be granted
    if "/" in target.command:
        yield target.cwd / target.command
    else:
        for directory in os.get_exec_path({**environment, **target.env}):
            yield target.cwd / directory
            yield target.cwd / directory / target.command  # which may be a link
    for text in target.args:
        for path in (target.cwd / text, target.cwd / text.partition("=")[2]):
            if os.path.isfile(path):
                yield path


def read_configuration(paths: Paths, more: tuple[ServerEntry, ...] = ()) -> Configuration:
    """Read both files, or raise ConfigError. `more` are servers that stand in neither."""
    return Configuration(paths, more)

"""The configuration as it is now: reread when a file changes, the last good one kept when it breaks."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.config.entries import ServerEntry, Target, resolve
from satchel.config.extensions import read_extensions
from satchel.config.paths import SETTINGS_FILE, Paths
from satchel.errors import ConfigError, NeedsSetupError

if TYPE_CHECKING:
    from satchel.config.reader import Key
    from satchel.config.settings import Settings, SettingsFile

_WRONG_NAME = "satchel.yml"


class Configuration:
    """Both files, read. Without a settings file, the defaults are built when someone asks.

    `servers` are those of extensions_config.json, then those of satchel.yaml: `mcp.servers` and the groups
    of custom tools.
    """

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.servers = read_extensions(paths.extensions_file)
        self._remarks: tuple[tuple[Key, str], ...] = ()
        if paths.settings_file is not None:
            self._add_servers(self._file.servers)
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
                with suppress(NeedsSetupError):
                    found += _code_of(resolve(entry, environment), environment)
        return tuple(dict.fromkeys(found))

    def _read_groups(self) -> tuple[ServerEntry, ...]:
        file = self.paths.settings_file
        if file is None or not self.settings.custom_tools:
            return ()
        from satchel.config.custom import custom_entries

        return custom_entries(self.settings.custom_tools, file)

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

    @cached_property
    def _file(self) -> "SettingsFile":
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
        """What someone has written that does nothing: a file of nearly the right name, reserved settings."""
        right, wrong = self.paths.project / SETTINGS_FILE, self.paths.project / _WRONG_NAME
        is_passed_over = wrong.is_file() and not right.exists() and self.paths.settings_file != wrong
        misnamed = (f"{wrong} is not read: rename it to {SETTINGS_FILE}",) if is_passed_over else ()
        return misnamed if self.paths.settings_file is None else (*misnamed, *self._file.warnings())


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
        self._had_content = _have_content(self._signature)
        self.error: ConfigError | None = None

    def current(self) -> Configuration:
        """The newest valid configuration. `error` tells why a newer one is not used."""
        signature = self._sign()
        if signature == self._signature and not self._current.outdated:
            return self._current
        try:
            self._refuse_emptied(signature)
            newest = read_configuration(self._paths)
        except ConfigError as error:
            self.error = error
        else:
            if self._sign() != signature:  # written meanwhile: who knows what was read
                return self._current
            self._current, self.error = newest, None
            self._had_content = _have_content(signature)
        self._signature = signature
        return self._current

    def _refuse_emptied(self, signature: "_Signature") -> None:
        """Editors empty a file before they write it; without settings all is allowed, and no server stays."""
        files = self._paths.settings_file, self._paths.extensions_file
        contents = zip(files, self._had_content, _have_content(signature), strict=True)
        for file, had_content, has_content in contents:
            if had_content and has_content is False:
                raise ConfigError(
                    "has become empty; what it said before still counts",
                    file=file,
                    hint="write {} to it if that is meant",
                )

    def _sign(self) -> "_Signature":
        # Every call comes by here several times: paths are texts, which cost least.
        if self._paths.settings_file is None and os.path.isfile(self._late):
            self._paths = replace(self._paths, settings_file=Path(self._late))
        return _stamp(self._paths.settings_file), _stamp(self._paths.extensions_file)


_Stamp = tuple[int, int, int]  # time, size, inode
_Signature = tuple[_Stamp | None, _Stamp | None]  # of the settings, of the servers


def _have_content(signature: _Signature) -> list[bool | None]:
    """Of each file; None where there is no file."""
    return [stamp and stamp[1] > 0 for stamp in signature]


def _stamp(file: Path | None) -> _Stamp | None:
    if file is None:
        return None
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino

"""The configuration as it is now: reread when a file changes, the last good one kept when it breaks."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from satchel.config.agents import AgentSettings
from satchel.config.configuration import Configuration, read_configuration
from satchel.config.control.flows import FlowsSettings
from satchel.config.entries import ServerEntry
from satchel.config.paths import SETTINGS_FILE, Paths
from satchel.config.settings import find_agent
from satchel.errors import ConfigError

Changed = Callable[[Configuration, Configuration], None]
"""Told of a change: the configuration before, and the one that counts now."""


class LiveConfiguration:
    """The configuration, for objects that live long.

    Looking at `now` has no effect. `follow` is the one point at which changes are noticed, and where the
    stages hear of them.
    """

    def __init__(self, paths: Paths, more: tuple[ServerEntry, ...] = ()) -> None:
        self._paths = paths
        self._more = more
        self._late = str(paths.project / SETTINGS_FILE)
        self._signature = self._sign()
        self._had_content = _have_content(self._signature)
        self._listeners: list[Changed] = []
        self.now = read_configuration(self._paths, more)
        """The newest valid configuration that was followed."""
        self.error: ConfigError | None = None
        """Why a newer one is not used, while that is so."""

    def current(self) -> Configuration:
        """The same as `now`, for callers that take a function."""
        return self.now

    def when_changed(self, *listeners: Changed) -> None:
        """Have these called, in this order, with the configuration before and after each change."""
        self._listeners += listeners

    def follow(self) -> Configuration:
        """Take up what the files say now, and tell the stages of it."""
        before, newest = self.now, self._newest()
        if newest is not before:
            self.now = newest
            for changed in self._listeners:
                changed(before, newest)
        return newest

    def agent(self, name: str) -> AgentSettings:
        """The permissions of an agent. There is always the agent `default`."""
        return find_agent(self.now.settings, name)

    def aliases_of(self, server: str) -> tuple[str, ...]:
        """The other names that plugins have for a server."""
        return self.now.aliases.get(server, ())

    def is_trusted(self, server: str) -> bool:
        """Whether no stranger can write what a server sends, by any of its names."""
        trusted = self.now.settings.trusted
        return bool(trusted) and any(name in trusted for name in (server, *self.aliases_of(server)))

    def flows(self) -> FlowsSettings:
        """The rules about data between servers."""
        return self.now.settings.flows

    def read_only_tools(self) -> tuple[str, ...]:
        """Patterns of tools that only read, though their servers don't say so."""
        return self.now.settings.read_only_tools

    def _newest(self) -> Configuration:
        signature = self._sign()
        if signature == self._signature and not self.now.outdated:
            return self.now
        try:
            self._refuse_emptied(signature)
            newest = read_configuration(self._paths, self._more)
        except ConfigError as error:
            self._signature, self.error = signature, error
            return self.now
        if self._sign() != signature:  # written meanwhile: who knows what was read
            return self.now
        self._signature, self.error = signature, None
        self._had_content = _have_content(signature)
        return newest

    def _refuse_emptied(self, signature: "_Signature") -> None:
        """Editors empty a file before they write it; without settings all is allowed, and no server stays."""
        files = self._paths.settings_file, self._paths.extensions_file
        contents = zip(files, self._had_content, _have_content(signature), strict=True)
        for file, had_content, has_content in contents:
            if had_content and has_content is False:
                raise ConfigError(
                    "has become empty; its previous content still applies",
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

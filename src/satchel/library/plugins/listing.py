"""The plugins of a project, read again only when something in their folders, or of their state, has changed.

What they bring is computed here from their folders and nowhere kept, so a change counts at once.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from satchel.config import Paths
from satchel.config.plugins.finding import plugins_root, read_plugins
from satchel.config.plugins.settings import PluginsSettings
from satchel.errors import ConfigError
from satchel.library.commands.reading import commands_of
from satchel.library.skills.changes import Look, Stamp, Watch, open_watch, stamp_of
from satchel.library.sources import Source
from satchel.model import Command, Plugin, Remark
from satchel.model.skills import OF_PLUGIN

_MOST_FOLDERS = 20_000  # that are looked at for changes
_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_MANIFESTS = (".claude-plugin/plugin.json", "plugin.json", ".mcp.json", "mcp.json", "SKILL.md")
_UNFIT = "has a name that can't be shown to programs"


@dataclass(frozen=True, kw_only=True)
class Plugins:
    """The plugins there are, and what of them is used."""

    all: tuple[Plugin, ...] = ()
    sources: tuple[Source, ...] = ()  # of their skills, also of those that are disabled
    commands: tuple[Command, ...] = ()  # in files, of those that are enabled
    mounts: dict[str, Path] = field(default_factory=dict[str, Path])  # what programs see of them, by name
    remarks: dict[str, tuple[Remark, ...]] = field(default_factory=dict[str, tuple[Remark, ...]])

    def enabled(self) -> Iterator[Plugin]:
        return (plugin for plugin in self.all if plugin.enabled and plugin.error is None)

    def seen(self) -> dict[str, object]:
        """Which folders these are that programs see: another in the place of one differs."""
        stamps = {name: stamp_of(str(folder)) for name, folder in self.mounts.items()}
        return {name: stamp and stamp[:2] for name, stamp in stamps.items()}


class _Listed(NamedTuple):
    key: tuple[Paths, PluginsSettings]
    stamps: list[Stamp | None]
    look: Look | None  # None for the first time: a caller that asks once has no use for it
    plugins: Plugins


class PluginListing:
    """The current plugins, for any caller in any thread."""

    def __init__(self, open_watch: Callable[[], Watch | None] = open_watch) -> None:
        self._open_watch = open_watch
        self._lock = threading.Lock()
        self._listed: _Listed | None = None

    def now(self, paths: Paths, settings: PluginsSettings) -> Plugins:
        """The very same value as before while nothing has changed."""
        key = paths, settings
        with self._lock:
            root = plugins_root(paths, settings)
            stamps = [stamp_of(str(place)) for place in (root, paths.extensions_file)]
            known = self._listed
            is_same = known is not None and known.key == key and known.stamps == stamps
            if known is None or not is_same or known.look is None or not known.look.is_same():
                look = None if known is None else _look(root, self._open_watch())
                try:
                    plugins = list_plugins(paths, settings)
                except ConfigError:  # somebody is editing a file: what it said before counts
                    return known.plugins if known is not None else Plugins()
                if look is not None:
                    _note_files(look, plugins.all)
                known = self._listed = _Listed(key, stamps, look, plugins)
            return known.plugins


def list_plugins(paths: Paths, settings: PluginsSettings) -> Plugins:
    """The plugins of a project, read again."""
    every = read_plugins(paths, settings)
    base = settings.container_path
    commands: list[Command] = []
    remarks: dict[str, tuple[Remark, ...]] = {}
    usable = [plugin for plugin in every if plugin.error is None]
    for plugin in usable:
        if plugin.enabled:
            found, wrong = commands_of(plugin, base)
            commands += found
            remarks[plugin.name] = tuple(wrong)
    return Plugins(
        all=every,
        sources=tuple(_source(plugin, base) for plugin in usable),
        commands=tuple(commands),
        mounts={plugin.name: plugin.folder for plugin in usable if plugin.enabled and _is_plain(plugin)},
        remarks=remarks,
    )


def _source(plugin: Plugin, base: str) -> Source:
    root = os.path.realpath(plugin.folder)
    folders = dict.fromkeys(_inside(root, str(plugin.folder), str(skill)) for skill in plugin.skills)
    return Source(
        root=Path(root),
        category=f"{OF_PLUGIN}{plugin.name}",
        enabled=plugin.enabled,
        folders=tuple(folder for folder in folders if folder is not None),
        place=plugin.get_container_path(base),
        problem=None if _is_plain(plugin) else _UNFIT,
    )


def _inside(root: str, folder: str, skill: str) -> str | None:
    """The path of a skill in its plugin, even if a link in the plugin leads to it."""
    lexical = os.path.normpath(skill)[len(os.path.normpath(folder)) :].strip("/")
    expected = f"{root}/{lexical}" if lexical else root
    real = os.path.realpath(skill)
    if real == expected:
        return lexical
    return real[len(root) + 1 :] if real.startswith(f"{root}/") else None


def _is_plain(plugin: Plugin) -> bool:
    """As of `sources.py`: of mounts that root makes, `=` ends the name."""
    return "=" not in plugin.name and plugin.name.isprintable()


def _look(root: Path, watch: Watch | None) -> Look:
    """Look at every folder before it is read."""
    look = Look(watch)
    for count, (folder, folders, _) in enumerate(os.walk(root)):
        look.at_folder(folder)
        folders[:] = [name for name in folders if name not in _PASSED_OVER]
        if count >= _MOST_FOLDERS:
            break
    return look


def _note_files(look: Look, plugins: Iterable[Plugin]) -> None:
    """The files that say something, for file systems where only looking again tells of a change."""
    for plugin in plugins:
        files = [*(plugin.folder / name for name in _MANIFESTS), *(server.file for server in plugin.servers)]
        for file in {*files, *(command.file for command in plugin.commands)}:
            try:
                look.at_file(str(file), os.lstat(file))
            except OSError:
                look.at_file(str(file), None)

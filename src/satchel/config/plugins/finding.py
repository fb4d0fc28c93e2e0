"""The plugins of a project: which folders are plugins, and which of them are enabled."""

import os
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from satchel.config.paths import Paths
from satchel.config.plugins.digest import folder_digest
from satchel.config.plugins.inside import MOST_ENTRIES
from satchel.config.plugins.manifest import AGENT_PLUGINS, CLAUDE
from satchel.config.plugins.reading import read_plugin
from satchel.config.plugins.record import Record, read_record
from satchel.config.plugins.server_files import FILES
from satchel.config.plugins.settings import PluginsSettings
from satchel.config.plugins.state import is_enabled, read_states
from satchel.errors import ArgumentError, SatchelError
from satchel.model import Plugin

PARTS = ("skills", "commands", "agents", "hooks", "SKILL.md", AGENT_PLUGINS, *FILES)
_MOST_PLUGINS = 2_000
_MOST_FOLDERS = 5_000  # that are looked at to find them
_DIGEST = 64  # hexadecimal digits


@dataclass(frozen=True, kw_only=True)
class Found:
    """The folders that are plugins, and those that were looked into to find them."""

    plugins: tuple[Path, ...]
    looked: tuple[Path, ...]


def plugins_root(paths: Paths, settings: PluginsSettings) -> Path:
    return paths.project / os.path.expanduser(settings.path)


def read_plugins(
    paths: Paths,
    settings: PluginsSettings,
    *,
    states: Mapping[str, object] | None = None,
    record: Record | None = None,
    parts: bool = True,
) -> tuple[Plugin, ...]:
    """All plugins by name, enabled or not, with `error` where one can't be used or is blocked.

    `states` and `record` are read where they are not given. Without `parts`, skills and commands are not
    looked for.
    """
    root = plugins_root(paths, settings)
    if _leads_out(root, paths.project):
        why = f"{root} is a link that leads out of the project; plugins.path names another place"
        return (Plugin(name=root.name, folder=root, enabled=False, error=why),)
    found = find_folders(root)
    states = read_states(paths.extensions_file) if states is None else states
    record = read_record(paths) if record is None else record
    plugins = [_read(folder, record, parts=parts) for folder in found.plugins]
    plugins.sort(key=lambda plugin: (not _is_known(plugin, root, record), *_place(plugin)))
    once = sorted(_once(plugins), key=_place)
    return tuple(_with_state(plugin, settings, states, record) for plugin in once)


def _leads_out(root: Path, project: Path) -> bool:
    """Whether links lead out of the project: one that came with it would show programs what lies there."""
    if not root.is_relative_to(project) or ".." in root.parts:
        return False  # somebody has named that very place
    return not Path(os.path.realpath(root)).is_relative_to(os.path.realpath(project))


def _is_known(plugin: Plugin, root: Path, record: Record) -> bool:
    """Whether a person installed or approved it here: no folder that came since takes its name."""
    if plugin.name in record.installed:
        return plugin.folder == root / plugin.name
    return plugin.name in record.approved


def _place(plugin: Plugin) -> tuple[str, bool, int, Path]:
    folder = plugin.folder
    return plugin.name, folder.name != plugin.name, len(folder.parts), folder


def find_folders(root: Path) -> Found:
    """Each folder with a plugin's parts, and those in a folder that has none itself, such as a collection."""
    plugins: list[Path] = []
    looked: list[Path] = [root]
    left = _MOST_FOLDERS
    for folder in _folders_in(root, left):
        if left <= 0:
            break
        left -= 1
        if folder.is_symlink() or _is_plugin(folder):
            plugins.append(folder)
            continue
        looked.append(folder)
        inner = list(_folders_in(folder, left))
        left -= len(inner)
        plugins += [one for one in inner if not one.is_symlink() and _is_plugin(one)]
    return Found(plugins=tuple(plugins[:_MOST_PLUGINS]), looked=tuple(looked))


def _folders_in(place: Path, most: int) -> Iterator[Path]:
    """At most so many, in order: every command looks at all of them, whoever put them there."""
    try:
        with os.scandir(place) as entries:
            first = (entry for _, entry in zip(range(MOST_ENTRIES), entries, strict=False))
            names = [entry.name for entry in first if not entry.name.startswith(".") and entry.is_dir()]
    except OSError:
        return
    for name in sorted(names)[: max(0, most)]:
        yield place / name


def _is_plugin(folder: Path) -> bool:
    text = str(folder)
    return any(os.path.lexists(f"{text}/{part}") for part in (CLAUDE, *PARTS))


def _read(folder: Path, record: Record, *, parts: bool) -> Plugin:
    name = folder.name if folder.name in record.installed else None
    try:
        return read_plugin(folder, name=name, parts=parts)
    except Exception as error:  # noqa: BLE001  no error of one plugin hides another
        return Plugin(name=folder.name[:64], folder=folder, error=f"can't be read: {error!r}"[:300])


def _once(plugins: Iterable[Plugin]) -> Iterator[Plugin]:
    """Of two with one name, the first counts; file systems may not tell their case."""
    taken: dict[str, Plugin] = {}
    for plugin in plugins:
        if plugin.error is not None:
            yield plugin
            continue
        first = taken.setdefault(_fold(plugin.name), plugin)
        if first is plugin:
            yield plugin
        else:
            yield replace(plugin, error=f"{first.folder} is a plugin of that name already")


def _fold(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _with_state(
    plugin: Plugin, settings: PluginsSettings, states: Mapping[str, object], record: Record
) -> Plugin:
    blocked = _blocked(plugin, settings.blocked, _known_sources(plugin, record))
    if blocked is not None:
        return replace(plugin, enabled=False, error=f"'{blocked}' is in plugins.blocked")
    return replace(plugin, enabled=is_enabled(plugin, states) and plugin.error is None)


def refuse_blocked(plugin: Plugin, blocked: Iterable[str], sources: Collection[str]) -> None:
    """Refuse a plugin that is not to be used here, before it is installed."""
    one = _blocked(plugin, blocked, sources)
    if one is not None:
        raise ArgumentError(f"{plugin.name} can't be installed: '{one}' is in plugins.blocked")


def _known_sources(plugin: Plugin, record: Record) -> set[str]:
    """The known sources of a plugin, in all spellings."""
    installed = record.installed.get(plugin.name)
    if installed is None:
        return set()
    named = (installed.origin.get(key, "") for key in ("url", "path", "marketplace"))
    return {installed.source, installed.digest, installed.commit, *named} - {""}


def _blocked(plugin: Plugin, blocked: Iterable[str], sources: Collection[str]) -> str | None:
    """The entry of the list for a plugin, found by its name, its folder's name, its origin or its files."""
    known = {_fold(plugin.name), _fold(plugin.folder.name)}
    places = {_plain(source) for source in sources}
    for one in blocked:
        if _fold(one) in known or _plain(one) in places or _is_digest_of(one, plugin.folder):
            return one
    return None


def _plain(source: str) -> str:
    """A source without the differences in spelling that lead to the same place."""
    source = source.rstrip("/").removesuffix(".git")
    scheme, separator, rest = source.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}{slash}{path}".lower() if separator else os.path.expanduser(source)


def _is_digest_of(text: str, folder: Path) -> bool:
    digest = text.lower().removeprefix("sha256:")
    if len(digest) != _DIGEST or not set(digest) <= set("0123456789abcdef"):
        return False
    try:
        return folder_digest(folder) == digest
    except (OSError, SatchelError):
        return False

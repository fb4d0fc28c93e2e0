"""Putting a plugin where installed plugins are, so that at any moment it is there whole or not at all.

It is made ready in a hidden folder beside the others, looked at there, and moved in one step; an update
changes places with the version before.
"""

import json
import os
import shutil
import unicodedata
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from satchel.config.paths import lock_of
from satchel.config.plugins.digest import folder_digest
from satchel.config.plugins.listed import FILE, KEY
from satchel.config.plugins.reading import read_plugin
from satchel.config.plugins.server_files import FILES as SERVER_FILES
from satchel.errors import ConfigError, ConflictError, SatchelError
from satchel.library.install.aside import ASIDE, aside_in
from satchel.library.install.folders import exchange
from satchel.library.install.members import MIB, PLUGIN, refused, write_members
from satchel.library.install.scan import Finding, scan
from satchel.library.plugins.origins import Fetched, Origin
from satchel.model import Plugin
from satchel.support.files import locked, write_atomically

_MOST_TEXT = 128 * MIB  # that is looked through by the scan; what is more is a finding


@dataclass(frozen=True, kw_only=True)
class Staged:
    """A plugin that was made ready, and is not installed yet."""

    plugin: Plugin  # in the hidden folder
    origin: Origin
    digest: str
    findings: tuple[Finding, ...]
    left_out: tuple[str, ...] = ()

    @property
    def has_parts(self) -> bool:
        plugin = self.plugin
        return bool(plugin.skills or plugin.commands or plugin.servers)


@contextmanager
def staged(fetched: Fetched, root: Path, name: str | None = None) -> Generator[Staged]:
    """Make a plugin ready beside those that are installed; it is gone with the block unless it was put."""
    if root.is_symlink():
        raise ConfigError(
            "is a symbolic link, and the installation would be written to its target",
            file=root,
            hint="make it a folder",
        )
    root.mkdir(parents=True, exist_ok=True)
    try:
        with aside_in(root) as aside:
            folder = aside / "plugin"
            write_members(fetched.members, folder, PLUGIN)
            if fetched.parts:
                write_atomically(folder / FILE, _encoded({KEY: fetched.parts}), mode=0o644)
            plugin = read_plugin(folder, name=name or fetched.name or _own_name(folder, fetched))
            if plugin.error is not None:
                raise refused(f"{fetched.origin.path}: {plugin.error}")
            yield Staged(
                plugin=plugin,
                origin=fetched.origin,
                digest=folder_digest(folder),
                findings=tuple(found for found in scan(folder, _MOST_TEXT) if not _is_own(found)),
                left_out=fetched.left_out,
            )
    except OSError as error:
        raise SatchelError(f"nothing was installed: {error.filename}: {error.strerror}") from error


def put(
    new: Staged, root: Path, *, update: bool = False, noted: AbstractContextManager[None] | None = None
) -> Plugin:
    """Move a plugin to its place; with `update`, in the place of the one before.

    It is moved within `noted`, which begins when it is certain that nobody else has the place.
    """
    name = new.plugin.name
    place = root / name
    with locked(lock_of(root)):
        if update and not os.path.lexists(place):
            raise ConflictError(
                f"{name} was removed meanwhile",
                name=name,
                hint="satchel plugins install installs it again",
            )
        refuse_taken(name, root, update=update)
        with noted or nullcontext():
            if os.path.lexists(place):
                exchange(new.plugin.folder, place)
            else:
                os.rename(new.plugin.folder, place)
    return read_plugin(place, name=name)


def refuse_taken(name: str, root: Path, *, update: bool = False) -> None:
    """Refuse a name that another plugin has, ignoring case; an update keeps the name of its predecessor."""
    taken = next((other for other in _names_in(root) if _folded(other) == _folded(name)), None)
    if taken is not None and not (update and taken == name):
        raise ConflictError(
            f"there is a plugin '{taken}' already",
            name=taken,
            hint=f"satchel plugins update {taken} updates it, satchel plugins remove {taken} removes it",
        )


def take_away(plugin: Plugin, root: Path, forget: Callable[[], object] = lambda: None) -> None:
    """Remove the folder of a plugin, in one step as far as anybody else sees.

    `forget` takes out all that is recorded of it, before anybody can install another one in its place.
    """
    is_link = plugin.folder.is_symlink()  # perhaps of the whole root: nothing is written where it leads
    try:
        with nullcontext() if is_link else aside_in(root) as aside, locked(lock_of(root)):
            if aside is None:
                plugin.folder.unlink()
            else:
                os.rename(plugin.folder, aside / "plugin")
            forget()
    except OSError as error:
        if not os.path.lexists(plugin.folder):
            raise
        raise SatchelError(f"{plugin.name} was not removed: {error.strerror}") from error


def take_data(folder: Path) -> None:
    """Remove what the servers of a plugin have kept for themselves."""
    shutil.rmtree(folder, ignore_errors=True)


def blocking(findings: Sequence[Finding]) -> list[Finding]:
    """Those that keep a plugin from being installed until a person accepts them."""
    return [finding for finding in findings if finding.severity == "critical"]


def _is_own(finding: Finding) -> bool:
    """Whether a finding is about the file of the plugin's servers, which Satchel itself reads."""
    return finding.rule == "run-by-tools" and finding.file == SERVER_FILES[0]


def _own_name(folder: Path, fetched: Fetched) -> str | None:
    """The name for a plugin that does not say its own: that of the folder or archive it is from."""
    plugin = read_plugin(folder)
    if plugin.error is not None or plugin.values.get("name"):
        return None
    origin = fetched.origin
    place = origin.folder or origin.url or origin.path
    name = place.rstrip("/").rsplit("/", 1)[-1]
    for ending in (".git", *PLUGIN.endings):
        name = name.removesuffix(ending)
    return name


def _names_in(root: Path) -> list[str]:
    return [name for name in os.listdir(root) if not name.startswith(ASIDE)]


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _encoded(value: object) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()

"""The files of a plugin or of a list of plugins, from wherever they are on this machine."""

import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from satchel.config.plugins.finding import PARTS
from satchel.config.plugins.manifest import CLAUDE
from satchel.errors import ArgumentError
from satchel.library.install.archives import archive_members
from satchel.library.install.members import PLUGIN, Member, checked, refused
from satchel.library.install.origins import folder_tree
from satchel.library.install.repositories import commit_of, is_repository, repository_tree
from satchel.library.install.trees import Node, Tree, bytes_at, members_below
from satchel.library.plugins.marketplaces import FILES, LARGEST, Marketplace, Offer, read_marketplace
from satchel.library.plugins.places import PluginSource, place_of
from satchel.model import Json

Clone = Callable[[PluginSource], tuple[Path, str]]
"""Has a repository on this machine: where it is, and how the version that is wanted is called there."""

_ADDRESS = re.compile(r"(https?|ssh|git):/|[\w.-]+@[\w.-]+:")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The origin of files, as plain data for the record."""

    form: str  # folder, archive, git
    path: str  # on this machine
    url: str = ""  # what was cloned
    ref: str | None = None
    commit: str | None = None
    folder: str = ""  # from the root
    marketplace: str = ""
    offer: str = ""  # what the plugin is called there

    def __str__(self) -> str:
        place = self.url or self.path
        if self.folder and self.form == "folder":
            text = f"folder {place}/{self.folder}"
        else:
            text = f"{self.form} {place}"
            text += f", commit {self.commit[:12]}" if self.commit else ""
            text += f", folder {self.folder}" if self.folder else ""
        return text + (f" ({self.offer}@{self.marketplace})" if self.marketplace else "")


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A place with all its files."""

    tree: Tree
    origin: Origin
    member_files: tuple[Member, ...] = ()  # of an archive, which was checked as a whole


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """The files of one plugin, ready to be written."""

    members: list[Member]
    origin: Origin
    left_out: tuple[str, ...] = ()  # links that lead to nothing in it
    parts: Json = field(default_factory=dict[str, object])  # what a list adds to its manifest
    name: str | None = None  # what a list calls it


def absolute(path: Path) -> Path:
    """The path of a place as it is recorded and shown: a link stays, `..` does not."""
    path = Path(os.path.expanduser(path)).absolute()
    return Path(os.path.realpath(path)) if ".." in path.parts else path


def open_path(path: Path, ref: str | None = None) -> Opened:
    """A folder, an archive, or a repository at a commit, which is HEAD unless another one is named."""
    path = absolute(path)
    is_folder = os.path.isdir(path)
    if is_folder and is_repository(path):
        commit = commit_of(path, ref or "HEAD")
        origin = Origin(form="git", path=str(path), ref=ref, commit=commit)
        return Opened(tree=repository_tree(path, commit), origin=origin)
    if ref is not None:
        raise refused(f"{path} is not a git repository", hint="--ref is for repositories")
    if is_folder:
        return Opened(tree=folder_tree(path), origin=Origin(form="folder", path=str(path)))
    members = _without_folder(archive_members(path, PLUGIN))
    tree = {member.path: Node(read=member.read, executable=member.executable) for member in members}
    return Opened(tree=tree, origin=Origin(form="archive", path=str(path)), member_files=tuple(members))


def refuse_address(source: str, command: str = "install") -> None:
    """Say what to do where something on the network is named."""
    if not _ADDRESS.match(source):
        return
    place = place_of({"source": "url", "url": re.sub(r"^(\w+):/+", r"\1://", source)})
    if place.form == "git":
        raise not_fetched(place, command)
    raise ArgumentError(
        f"{source[:200]} is not on this machine", hint=f"clone it first: git clone {shlex.quote(source)}"
    )


def not_fetched(source: PluginSource, command: str = "install") -> ArgumentError:
    return ArgumentError(
        f"{source.url} is not on this machine, and plugins.allow_fetch is off",
        hint=f"clone it first: {source.clone_command(command)}",
    )


def marketplace_in(opened: Opened, default: str, file: str | None = None) -> Marketplace:
    """The list of plugins in a place."""
    for path in (file,) if file else FILES:
        data = bytes_at(opened.tree, path, LARGEST)
        if data is not None:
            return read_marketplace(data, path, default)
    raise refused(
        f"there is no list of plugins in {opened.origin.path}",
        hint=f"a marketplace is a folder with {FILES[0]}; satchel plugins install installs a single plugin",
    )


def fetch_folder(opened: Opened, folder: str = "") -> Fetched:
    """The plugin in a folder of a place."""
    if folder and not _has_folder(opened, folder):
        raise refused(f"{opened.origin.path} has no folder '{folder}'", hint=_hint(opened))
    if opened.member_files and not folder:
        members, left_out = list(opened.member_files), list[str]()
    else:
        members, left_out = members_below(opened.tree, folder, PLUGIN)
        members = checked(members, PLUGIN)
    if not members:
        raise refused(f"there are no files in {opened.origin.path}")
    origin = replace(opened.origin, folder=folder)
    return Fetched(members=members, origin=origin, left_out=tuple(left_out))


def _has_folder(opened: Opened, folder: str) -> bool:
    return any(path.startswith(f"{folder}/") for path in opened.tree)


def refuse_collection(fetched: Fetched) -> Fetched:
    """Refuse files that are not a plugin themselves, and name the plugins or the list among them."""
    paths = [member.path for member in fetched.members]
    if any(path == CLAUDE or path.partition("/")[0] in PARTS for path in paths):
        return fetched
    place = fetched.origin.folder or fetched.origin.path
    if not {*FILES}.isdisjoint(paths):
        hint = "it is a marketplace: satchel plugins marketplace add adds it"
    else:
        end = f"/{CLAUDE}"
        below = sorted(path.removesuffix(end) for path in paths if path.endswith(end))[:8]
        hint = f"--path names one of the plugins in it: {', '.join(below)}" if below else None
    raise refused(f"{place} is not a plugin: it has no manifest, skills, commands or servers", hint=hint)


def fetch_offer(offer: Offer, listed: Opened, root: str, clone: Clone) -> Fetched:
    """The plugin that a list offers. `root` is where the list's paths begin in its place."""
    source = offer.source
    if source.form == "unsupported":
        raise refused(f"{offer.identity} can't be installed: {source.problem}")
    if source.form == "folder":
        folder = "/".join(part for part in (root, source.path) if part)
        if folder and not _has_folder(listed, folder):
            raise refused(f"{offer.identity} can't be installed: the marketplace has no folder '{folder}'")
        fetched = fetch_folder(listed, folder)
    else:
        fetched = fetch_folder(_cloned(source, clone), source.path)
    origin = replace(fetched.origin, marketplace=offer.marketplace, offer=offer.name)
    return replace(fetched, origin=origin, parts=offer.parts, name=offer.name)


def _cloned(source: PluginSource, clone: Clone) -> Opened:
    if source.url.startswith("/"):
        repository, version = Path(source.url), source.sha or source.ref
        if not is_repository(repository):
            raise refused(f"{source.url} is not a git repository")
    else:
        repository, version = clone(source)
    opened = open_path(repository, version)
    return replace(opened, origin=replace(opened.origin, url=source.url, ref=source.sha or source.ref))


def _without_folder(members: list[Member]) -> list[Member]:
    """Without the one folder that many archives put everything into."""
    tops = {member.path.partition("/")[0] for member in members}
    if len(tops) != 1 or any("/" not in member.path for member in members):
        return members
    top = f"{tops.pop()}/"
    if top in (".claude-plugin/", "skills/", "commands/"):
        return members
    return [replace(member, path=member.path.removeprefix(top)) for member in members]


def _hint(opened: Opened) -> str:
    folders = sorted({path.partition("/")[0] for path in opened.tree if "/" in path})[:8]
    return f"--path names one; there are: {', '.join(folders)}" if folders else "there are no folders in it"

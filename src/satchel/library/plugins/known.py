"""The marketplaces that a project knows: `marketplace.json` beside the folder of installed plugins.

    {"marketplaces": {"tools": {"path": "../tools", "ref": null, "commit": "…"}}}

A list of plugins that was put there in Claude's own form is a marketplace, too, named as it says.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from satchel.errors import ArgumentError, ConfigError, ConflictError, NotFoundError, SatchelError
from satchel.library.plugins.marketplaces import FILES, LARGEST, Marketplace, Offer, is_name
from satchel.library.plugins.origins import Clone, Opened, absolute, marketplace_in, open_path
from satchel.library.plugins.places import PluginSource
from satchel.model import Json, is_list, is_object
from satchel.names import closest
from satchel.support.files import locked, read_small, write_atomically

FILE = "marketplace.json"
_KEY = "marketplaces"


@dataclass(frozen=True, kw_only=True)
class Known:
    """A marketplace of the project: where it is, and at which commit it was looked at."""

    name: str
    path: str = ""  # as written: relative to the project, or absolute
    url: str = ""  # of a repository that was fetched
    file: str = ""  # of its list, where it is named
    ref: str | None = None
    commit: str | None = None

    def __str__(self) -> str:
        commit = f" at {self.commit[:12]}" if self.commit else ""
        return f"{self.url or self.path or FILE}{commit}"


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """A marketplace with its place opened; without one, `list.error` says why."""

    known: Known
    list: Marketplace
    opened: Opened | None = None

    @property
    def root(self) -> str:
        """The base of the list's paths, relative to the place; folders of programs are not counted."""
        folder = self.list.file.rpartition("/")[0]
        return "" if folder.startswith(".") else folder


class Marketplaces:
    """Those of one project. `folder` is where plugins are installed.

    `clone` has repositories fetched, when somebody asks for it; `fetched` finds those that were.
    """

    def __init__(self, project: Path, folder: Path, *, clone: Clone, fetched: Clone) -> None:
        self._project = project
        self._file = folder.parent / FILE
        self._clone = clone
        self._fetched = fetched
        self._shelves: dict[Known, Shelf] = {}

    def known(self) -> dict[str, Known]:
        """Those that were added, by name, and the list that lies beside them."""
        document = self._document()
        found = {name: _known(name, entry) for name, entry in _entries(document).items() if is_name(name)}
        if is_list(document.get("plugins")):
            name: object = document.get("name")
            own = str(name) if is_name(name) else "local"
            found.setdefault(own, Known(name=own, path=str(self._file.parent), file=FILE))
        return found

    def shelf(self, known: Known) -> Shelf:
        """One of them, opened. What is wrong with it is said in its list."""
        if known not in self._shelves:
            self._shelves[known] = self._open(known)
        return self._shelves[known]

    def shelves(self) -> list[Shelf]:
        return [self.shelf(known) for known in self.known().values()]

    def named(self, name: str) -> Known:
        known = self.known()
        if name not in known:
            hint = "satchel plugins marketplace add adds one" if not known else None
            raise NotFoundError("marketplace", name, closest=closest(name, known), hint=hint)
        return known[name]

    def offer(self, text: str) -> tuple[Offer, Shelf]:
        """The plugin that is meant by `name@marketplace`, or by a name that only one list has."""
        name, _, marketplace = text.partition("@")
        shelves = [self.shelf(self.named(marketplace))] if marketplace else self.shelves()
        found: list[tuple[Offer, Shelf]] = []
        for shelf in shelves:
            if marketplace and shelf.list.error is not None:
                raise SatchelError(f"marketplace {marketplace}: {shelf.list.error}")
            now = shelf.list.renamed(name)
            found += [(offer, shelf) for offer in shelf.list.offers if offer.name == now]
        if len(found) > 1:
            names = " or ".join(offer.identity for offer, _ in found)
            raise ArgumentError(
                f"{len(found)} marketplaces have a plugin '{name}'", hint=f"name it as {names}"
            )
        if not found:
            names = [offer.name for shelf in shelves for offer in shelf.list.offers]
            near = closest(name, names)
            hint = "satchel plugins search finds what the marketplaces have" if shelves else _NO_LISTS
            raise NotFoundError("plugin", text, closest=near, hint=None if near else hint)
        return found[0]

    def add(self, path: Path | None, *, url: str = "", ref: str | None = None) -> Shelf:
        """Add a folder, the file of a list, or a repository; ConflictError where its name is taken."""
        place, file = _split(path) if path is not None else (None, "")
        written = _written(place, self._project) if place is not None else ""
        known = Known(name="", path=written, url=url, file=file, ref=ref)
        opened = self._opened(known, self._clone)
        found = marketplace_in(opened, _default_name(known), known.file or None)
        if found.error is not None:
            raise ArgumentError(found.error)
        known = replace(known, name=found.name, commit=opened.origin.commit)

        def change(entries: Json) -> None:
            if found.name in self.known():
                raise ConflictError(
                    f"there is a marketplace '{found.name}' already",
                    name=found.name,
                    hint=f"satchel plugins marketplace remove {found.name} removes it",
                )
            entries[found.name] = _as_entry(known)

        self._change(change)
        return Shelf(known=known, list=found, opened=opened)

    def remove(self, name: str) -> None:
        known = self.named(name)
        if known.path == str(self._file.parent) and known.file == FILE:
            raise ArgumentError(f"'{name}' is the list in {self._file}", hint="edit the file, or delete it")
        self._change(lambda entries: entries.pop(name, None))

    def refresh(self, name: str) -> tuple[Shelf, Shelf]:
        """Read a list again: (its state at its commit, its state now). Installed plugins don't change."""
        known = self.named(name)
        before = self.shelf(known)
        opened = self._opened(replace(known, commit=None), self._clone)
        now = replace(known, commit=opened.origin.commit)
        found = marketplace_in(opened, name, known.file or None)

        def change(entries: Json) -> None:
            if name in entries:
                entries[name] = _as_entry(now)

        if now != known:
            self._change(change)
        return before, Shelf(known=now, list=found, opened=opened)

    def _open(self, known: Known) -> Shelf:
        try:
            opened = self._opened(known, self._fetched)
            return Shelf(
                known=known, list=marketplace_in(opened, known.name, known.file or None), opened=opened
            )
        except (SatchelError, OSError, ValueError) as error:  # a path may have any character in it
            reason = error.message if isinstance(error, SatchelError) else f"can't be read: {error}"
            return Shelf(known=known, list=Marketplace(name=known.name, error=reason))

    def _opened(self, known: Known, clone: Clone) -> Opened:
        if known.url:
            source = PluginSource(form="git", url=known.url, ref=known.ref, sha=known.commit)
            repository, version = clone(source)
            return open_path(repository, version)
        return open_path(self._project / os.path.expanduser(known.path), known.commit or known.ref)

    def _document(self) -> Json:
        try:
            document: object = json.loads(read_small(self._file, LARGEST).decode("utf-8-sig"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"can't be read: {str(error)[:200]}", file=self._file) from None
        if not is_object(document):
            raise ConfigError("must be an object", file=self._file, line=1)
        return document

    def _change(self, change: Callable[[Json], object]) -> None:
        with locked(self._file.parent):
            document = self._document()
            entries = _entries(document)
            change(entries)
            document[_KEY] = entries
            data = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
            write_atomically(self._file, data.encode(), mode=0o644)


_NO_LISTS = (
    "name a folder, an archive or a repository; satchel plugins marketplace add adds a list of plugins"
)


def _entries(document: Json) -> Json:
    entries: object = document.get(_KEY, {})
    return dict(entries) if is_object(entries) else {}


def _known(name: str, entry: object) -> Known:
    values = entry if is_object(entry) else {}

    def text(key: str) -> str:
        value: object = values.get(key)
        return value if isinstance(value, str) else ""

    return Known(
        name=name,
        path=text("path"),
        url=text("url"),
        file=text("file"),
        ref=text("ref") or None,
        commit=text("commit") or None,
    )


def _as_entry(known: Known) -> Json:
    return {key: value for key, value in vars(known).items() if value and key != "name"}


def _written(path: Path, project: Path) -> str:
    """A path as it is kept: what lies in the project, from there, so that the project can be moved."""
    path = absolute(path)
    return f"./{path.relative_to(project)}" if path.is_relative_to(project) else str(path)


def _split(path: Path) -> tuple[Path, str]:
    """(the place of a list, the path of its file in it); of a folder, the file is looked for."""
    if not os.path.isfile(path):
        return path, ""
    path = absolute(path)
    for file in FILES:
        if str(path).endswith(f"/{file}"):
            return Path(str(path).removesuffix(f"/{file}") or "/"), file
    return path.parent, path.name


def _default_name(known: Known) -> str:
    name = (known.url or known.path).rstrip("/").rsplit("/", 1)[-1].removesuffix(".git")
    return name if is_name(name) else "marketplace"

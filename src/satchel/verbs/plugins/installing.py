"""The verbs that bring plugins in: from a marketplace, a folder, an archive or a repository; and update them.

Each proposes first, with the files made ready aside, and changes nothing before it is told to go on.
"""

import os
import re
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.config.plugins.approving import Need, approve, needs_of
from satchel.config.plugins.digest import file_digests, folder_digest
from satchel.config.plugins.finding import refuse_blocked
from satchel.config.plugins.manifest import AGENT_PLUGINS, CLAUDE
from satchel.config.plugins.record import Installed, Record, read_record, update_record
from satchel.config.plugins.server_files import FILES as SERVER_FILES
from satchel.errors import ArgumentError, SatchelError
from satchel.library.install.scan import Finding, check_scan_rules, is_accepted
from satchel.library.plugins.cloning import clone, fetched
from satchel.library.plugins.installing import Staged, blocking, put, refuse_taken, staged
from satchel.library.plugins.known import Marketplaces, Shelf
from satchel.library.plugins.marketplaces import Offer, is_name
from satchel.library.plugins.origins import (
    Fetched,
    Origin,
    fetch_folder,
    fetch_offer,
    not_fetched,
    open_path,
    refuse_address,
    refuse_collection,
)
from satchel.library.plugins.places import PluginSource, is_fetchable
from satchel.model import Plugin
from satchel.verbs.plugins.library import PluginLibrary, open_plugin_library
from satchel.verbs.plugins.servers import ServerRow, server_rows

if TYPE_CHECKING:
    from satchel.search.documents import Document

_MOST_FOUND = 50
_SAYS = (CLAUDE, AGENT_PLUGINS, *SERVER_FILES)


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A plugin that is ready to be installed, or to take the place of an earlier version."""

    library: PluginLibrary
    new: Staged
    servers: tuple[ServerRow, ...]
    needs: tuple[Need, ...]
    before: Plugin | None = None  # in an update
    known: tuple[Need, ...] = ()  # what the one before needs
    changed_here: bool = False  # that is not as it was installed
    accepted: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether there is nothing to update."""
        return self.before is not None and folder_digest(self.before.folder) == self.new.digest

    @property
    def changed_files(self) -> list[tuple[str, str]]:
        """(`+`, `-` or `~`, path) of each file that the update adds, removes or changes."""
        assert self.before is not None
        before, now = file_digests(self.before.folder), file_digests(self.new.plugin.folder)
        signs = {True: "+", False: "-"}
        return [
            (signs[name in now] if (name in now) != (name in before) else "~", name)
            for name in sorted({*before, *now})
            if before.get(name) != now.get(name)
        ]

    @property
    def news(self) -> list[Need]:
        """What its servers need that those of the version before did not: only a person agrees to that.

        Addresses are approved with the update, so one that nobody approved is new, although it was there.
        """
        agreed = {_sign(need) for need in self.known if need.approved or need.what != "remote"}
        return [need for need in self.needs if _sign(need) not in agreed]

    @property
    def again(self) -> list[Need]:
        """Programs that a person approved when the plugin had other files: a program may be any of them.

        Texts for models and the files that say what is started are no programs.
        """
        if all(name.endswith((".md", ".txt")) or name in _SAYS for _, name in self.changed_files):
            return []
        approved = {_sign(need) for need in self.known if need.what == "command" and need.approved}
        return [need for need in self.needs if need.what == "command" and _sign(need) in approved]

    @property
    def moved_from(self) -> str:
        """Where the plugin was installed from, if its files come from a different place now."""
        installed = read_record(self.library.paths).installed.get(self.new.plugin.name)
        if self.before is None or installed is None:
            return ""
        origin, now = installed.origin, self.new.origin
        before = origin.get("url") or origin.get("path", "")
        return "" if before == (now.url or now.path) else before

    @property
    def blocking(self) -> list[Finding]:
        """Findings in its files that were not accepted, and keep the plugin from being installed."""
        return [found for found in blocking(self.new.findings) if not is_accepted(found, self.accepted)]

    def go_on(self) -> Plugin:
        """Put the plugin in its place, and note that a person agreed to its remote servers."""
        if self.blocking:
            raise ArgumentError(f"not installed, because of this finding: {self.blocking[0]}")
        library = self.library
        return put(self.new, library.root, update=self.before is not None, noted=self._noted())

    @contextmanager
    def _noted(self) -> Generator[None]:
        """Note what is installed before it is in its place, else it would wait for an approval there."""
        paths, new = self.library.paths, self.new
        known = read_record(paths)
        installed = Installed(
            name=new.plugin.name,
            source=new.origin.url or new.origin.path,
            digest=new.digest,
            before=self._digest_before,
            commit=new.origin.commit or "",
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            origin={key: value for key, value in asdict(new.origin).items() if value},
        )
        update_record(paths, lambda record: record.with_installed(installed))
        approve(paths, new.plugin.name, (need for need in self.needs if need.what == "remote"))
        try:
            yield
        except BaseException:
            update_record(paths, lambda record: _restored(record, known, new.plugin.name))
            raise

    @property
    def _digest_before(self) -> str:
        """Of the files that are there now, if they are those that were installed."""
        if self.before is None or self.changed_here:
            return ""
        return folder_digest(self.before.folder)


@dataclass(frozen=True, kw_only=True)
class PluginSources:
    """Where the plugins of a project come from."""

    library: PluginLibrary

    @property
    def marketplaces(self) -> Marketplaces:
        paths = self.library.paths
        return Marketplaces(
            paths.project,
            self.library.root,
            clone=self._clone,
            fetched=partial(fetched, paths.user_cache / "plugins"),
        )

    def _clone(self, source: PluginSource) -> tuple[Path, str]:
        if not self.library.settings.allow_fetch:
            raise not_fetched(source)
        return clone(self.library.paths.user_cache / "plugins", source)

    @contextmanager
    def proposed(
        self,
        source: str,
        *,
        reference: str | None = None,
        folder: str = "",
        accept: Collection[str] = (),
    ) -> Generator[Proposal]:
        """Make a plugin ready to be installed: NAME, NAME@MARKETPLACE, a path, or an address."""
        check_scan_rules(accept, files_alone=True)
        found = self._fetch(source, reference, folder.strip("/"))
        with staged(found, self.library.root) as new:
            refuse_blocked(new.plugin, self.library.settings.blocked, _places(found.origin))
            refuse_taken(new.plugin.name, self.library.root)
            yield self._proposal(new, accept)

    @contextmanager
    def updated(self, name: str, *, accept: Collection[str] = ()) -> Generator[Proposal]:
        """Make the newest version of an installed plugin ready, from where it was installed."""
        check_scan_rules(accept, files_alone=True)
        info = self.library.info(name)
        if info.installed is None:
            raise ArgumentError(
                f"{name} was not installed by Satchel on this machine",
                hint=f"replace it: satchel plugins remove {name}, then satchel plugins install",
            )
        found = self._again(name, Origin(**{"form": "", "path": "", **info.installed.origin}))
        with staged(found, self.library.root, name) as new:
            refuse_blocked(new.plugin, self.library.settings.blocked, _places(found.origin))
            proposal = self._proposal(new, accept)
            yield replace(proposal, before=info.plugin, known=info.needs, changed_here=info.changed)

    def offers(self, query: str = "", *, limit: int = 10) -> list[Offer]:
        """What the marketplaces have, best first; without a query all, by name."""
        every = [offer for shelf in self.marketplaces.shelves() for offer in shelf.list.offers]
        if not query.strip():
            return sorted(every, key=lambda offer: offer.identity)[:limit]
        return [every[number] for number in _ranked(every, query, limit)]

    def offer(self, name: str) -> Offer:
        """One of them, by `NAME@MARKETPLACE`, or a name that only one marketplace has."""
        return self.marketplaces.offer(name)[0]

    def command_for(self, offer: Offer) -> str:
        """The command that installs an offer; for a repository that is not here, also the one to clone it."""
        source = offer.source
        if source.form == "unsupported":
            return ""
        is_here = source.form == "folder" or source.url.startswith("/") or self.library.settings.allow_fetch
        return f"satchel plugins install {offer.identity}" if is_here else source.clone_command()

    def add_marketplace(self, source: str, reference: str | None = None) -> Shelf:
        """Add a list of plugins: a folder, its file, a repository, or an address where that is allowed."""
        path = Path(os.path.expanduser(source))
        if os.path.exists(path):
            return self.marketplaces.add(path, ref=reference)
        if not is_fetchable(source):
            refuse_address(source, "marketplace add")
            raise ArgumentError(f"{source}: no such file or folder")
        return self.marketplaces.add(None, url=source, ref=reference)

    def _proposal(self, new: Staged, accept: Collection[str]) -> Proposal:
        paths, record = self.library.paths, read_record(self.library.paths)
        return Proposal(
            library=self.library,
            new=new,
            servers=server_rows(new.plugin, paths, record),
            needs=needs_of(new.plugin, paths, record),
            accepted=tuple(accept),
        )

    def _fetch(self, source: str, reference: str | None, folder: str) -> Fetched:
        path = Path(os.path.expanduser(source))
        if is_name(source.partition("@")[0]) and not _is_path(source, path):
            if reference or folder:
                raise ArgumentError("--ref and --path are for folders and repositories")
            offer, shelf = self.marketplaces.offer(source)
            return self._offered(offer, shelf)
        if is_fetchable(source) and not os.path.exists(path):
            place = PluginSource(form="git", url=source, ref=reference, path=folder)
            repository, version = self._clone(place)
            opened = open_path(repository, version)
            origin = replace(opened.origin, url=source, ref=reference)
            return refuse_collection(fetch_folder(replace(opened, origin=origin), folder))
        if not os.path.exists(path):
            refuse_address(source)
        return refuse_collection(fetch_folder(open_path(path, reference), folder))

    def _offered(self, offer: Offer, shelf: Shelf) -> Fetched:
        if shelf.opened is None:
            raise SatchelError(f"marketplace {shelf.known.name}: {shelf.list.error}")
        return fetch_offer(offer, shelf.opened, shelf.root, self._clone)

    def _again(self, name: str, origin: Origin) -> Fetched:
        """The files from where a plugin was installed, as they are there now."""
        if origin.marketplace:
            if origin.marketplace not in self.marketplaces.known():
                raise ArgumentError(
                    f"{name} was installed from the marketplace '{origin.marketplace}', which was removed",
                    hint="satchel plugins marketplace add adds it again",
                )
            offer, shelf = self.marketplaces.offer(f"{origin.offer}@{origin.marketplace}")
            return replace(self._offered(offer, shelf), name=name)
        if origin.url:
            return self._fetch(origin.url, origin.ref, origin.folder)
        if not os.path.exists(origin.path):
            raise ArgumentError(f"{name} was installed from {origin.path}, which is not there any more")
        return fetch_folder(open_path(Path(origin.path), origin.ref), origin.folder)


def _sign(need: Need) -> tuple[str, str]:
    """What tells a need from another. A command line's value has its folder in it, which is aside for now."""
    return need.what, need.shown if need.what == "command" else need.value


def _is_path(source: str, path: Path) -> bool:
    """Whether a folder or archive is meant, and not a plugin of a list that is called the same."""
    return source.startswith((".", "/", "~")) or "/" in source or (os.path.exists(path) and path.suffix != "")


def _places(origin: Origin) -> set[str]:
    return {text for text in (origin.url, origin.path, origin.commit or "", origin.marketplace) if text}


def _restored(record: Record, before: Record, name: str) -> Record:
    """What was recorded of a plugin before, in what is recorded now of all others."""
    kept = record.without(name)
    if name in before.installed:
        kept = replace(kept, installed={**kept.installed, name: before.installed[name]})
    if name in before.approved:
        kept = replace(kept, approved={**kept.approved, name: before.approved[name]})
    return kept


def _ranked(offers: list[Offer], query: str, limit: int) -> list[int]:
    # Only a search has to wait for it to load.
    from satchel.search.index import Index, make_section
    from satchel.search.rank import search
    from satchel.search.skills import FIELDS

    index = Index()
    index.put("offers", make_section(list(_documents(offers)), FIELDS))
    return [int(hit.key) for hit in search(index, query, limit=min(limit, _MOST_FOUND))]


def _documents(offers: list[Offer]) -> "Iterable[Document]":
    from satchel.search.skills import skill_document  # as above

    for number, offer in enumerate(offers):
        words = " ".join(offer.keywords)
        yield skill_document(str(number), re.sub(r"[-_.]+", " ", offer.name), f"{offer.description} {words}")


def install_plugin_from_dir(
    folder: Path | str, config: Path | str | None = None, *, path: str = "", accept: Collection[str] = ()
) -> Plugin:
    """Install the plugin in a folder, an archive or a local repository. The caller has decided."""
    return _install(os.path.abspath(os.path.expanduser(folder)), config, None, path, accept)


def install_plugin_from_repo(
    repository: Path | str,
    config: Path | str | None = None,
    *,
    ref: str | None = None,
    path: str = "",
    accept: Collection[str] = (),
) -> Plugin:
    """Install the plugin of a git repository at a commit; an address only if `plugins.allow_fetch` is on."""
    source = str(repository)
    if not is_fetchable(source):
        source = os.path.abspath(os.path.expanduser(repository))
    return _install(source, config, ref, path, accept)


def _install(
    source: str, config: Path | str | None, reference: str | None, path: str, accept: Collection[str]
) -> Plugin:
    sources = PluginSources(library=open_plugin_library(Path(config) if config else None))
    with sources.proposed(source, reference=reference, folder=path, accept=accept) as proposal:
        return proposal.go_on()

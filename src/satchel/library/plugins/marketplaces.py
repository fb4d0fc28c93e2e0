"""Marketplaces: lists of plugins, as Claude Code and its kin write them, read leniently.

One bad entry costs that entry. Nothing that a list names is opened, fetched or run by reading the list.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from satchel.config.plugins.listed import ONLY
from satchel.config.positions import line_in_json
from satchel.library.plugins.places import PluginSource, place_of, unsupported
from satchel.model import Json, Remark, is_list, is_object

FILES = (
    ".claude-plugin/marketplace.json",
    ".agents/plugins/marketplace.json",
    ".github/plugin/marketplace.json",
    ".cursor-plugin/marketplace.json",
    "marketplace.json",
)
"""Where a folder may have its list; the first one found is used."""

LARGEST = 16 * 1024 * 1024  # bytes of a list
_MOST_ENTRIES = 20_000
_MOST_RENAMES = 20  # behind each other
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")
PARTS = ("skills", "commands", "agents", "hooks", "mcpServers", "lspServers", "outputStyles")
"""Keys by which an entry adds parts to those of the plugin's own manifest."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A plugin that a marketplace lists."""

    name: str
    marketplace: str
    source: PluginSource
    description: str = ""
    version: str = ""
    keywords: tuple[str, ...] = ()
    written: Mapping[str, Any] = field(default_factory=dict[str, Any])
    shares_root: bool = False  # other entries have the same folder: it has only the parts that are listed
    line: int | None = None

    @property
    def identity(self) -> str:
        return f"{self.name}@{self.marketplace}"

    @property
    def parts(self) -> Json:
        """The entry's additions to the plugin's manifest, and whether they replace it."""
        given = {key: self.written[key] for key in PARTS if key in self.written}
        only = {ONLY: True} if self.shares_root and "skills" in given else {}
        texts = {"description": self.description, "version": self.version}
        return {**{key: text for key, text in texts.items() if text}, **given, **only}


@dataclass(frozen=True, kw_only=True)
class Marketplace:
    """A list of plugins."""

    name: str
    owner: str = ""
    description: str = ""
    file: str = ""
    offers: tuple[Offer, ...] = ()
    renames: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    remarks: tuple[Remark, ...] = ()
    error: str | None = None  # why there is nothing in it

    def renamed(self, name: str) -> str | None:
        """A plugin's current name; None if it was taken out of the list, or renamed in a circle."""
        for _ in range(_MOST_RENAMES):
            if name not in self.renames:
                return name
            following = self.renames[name]
            if following is None:
                return None
            name = following
        return None


def read_marketplace(data: bytes, file: str, default: str) -> Marketplace:
    """The list in a file, which is called `default` where it has no usable name of its own."""
    try:
        text = data.decode("utf-8-sig")
        document: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Marketplace(name=default, file=file, error=f"{file} is not valid JSON: {str(error)[:200]}")
    if not is_object(document) or not is_list(document.get("plugins")):
        return Marketplace(name=default, file=file, error=f"{file} has no list of 'plugins'")
    return _Reading(document, text, file).marketplace(default)


def is_name(name: object) -> bool:
    """Whether a text can be the name of a plugin or a marketplace, and so that of a folder."""
    return isinstance(name, str) and bool(_NAME.fullmatch(name)) and ".." not in name


@dataclass(frozen=True)
class _Reading:
    document: Json
    text: str
    file: str

    def marketplace(self, default: str) -> Marketplace:
        name: object = self.document.get("name")
        remarks: list[Remark] = []
        if not is_name(name):
            remarks.append(
                self._remark(f"its name {_shown(name)} can't be used; it is called '{default}' here", "name")
            )
            name = default
        offers = self._offers(str(name), remarks)
        renames = self.document.get("renames")
        owner: object = self.document.get("owner")
        return Marketplace(
            name=str(name),
            owner=_text(owner.get("name") if is_object(owner) else owner),
            description=_text(self.document.get("description") or self._metadata.get("description")),
            file=self.file,
            offers=_marked(offers),
            renames={
                old: new if isinstance(new, str) else None
                for old, new in (renames if is_object(renames) else {}).items()
            },
            remarks=tuple(remarks),
        )

    @property
    def _metadata(self) -> Json:
        metadata: object = self.document.get("metadata")
        return metadata if is_object(metadata) else {}

    def _offers(self, marketplace: str, remarks: list[Remark]) -> list[Offer]:
        entries: list[object] = self.document["plugins"]
        if len(entries) > _MOST_ENTRIES:
            remarks.append(
                self._remark(f"only the first {_MOST_ENTRIES:,} of its plugins are read", "plugins")
            )
        found: dict[str, Offer] = {}
        for index, entry in enumerate(entries[:_MOST_ENTRIES]):
            if not is_object(entry) or not is_name(entry.get("name")):
                what = _shown(entry.get("name")) if is_object(entry) else "one that is not an object"
                remarks.append(
                    self._remark(f"a plugin is left out, because of its name: {what}", "plugins", index)
                )
                continue
            offer = self._offer(entry, marketplace)
            if offer.name.casefold() in found:
                remarks.append(
                    self._remark(f"'{offer.name}' is there twice; the first counts", "plugins", index)
                )
            found.setdefault(offer.name.casefold(), offer)
        return list(found.values())

    def _offer(self, entry: Json, marketplace: str) -> Offer:
        keywords: object = entry.get("keywords", entry.get("tags"))
        category = _text(entry.get("category"))
        return Offer(
            name=entry["name"],
            marketplace=marketplace,
            source=self._source(entry.get("source")),
            description=_text(entry.get("description")),
            version=_text(entry.get("version")),
            keywords=tuple(map(_text, (*(keywords if is_list(keywords) else ()), category)))[:50],
            written=entry,
        )

    def _source(self, source: object) -> PluginSource:
        if is_name(source):  # neither a path nor the root: the name of a folder below that of all plugins
            root: object = self._metadata.get("pluginRoot", self.document.get("pluginRoot"))
            source = str(PurePosixPath(root if isinstance(root, str) else "") / str(source))
        if isinstance(source, str) or is_object(source):
            return place_of(source)
        return unsupported("it has no source")

    def _remark(self, text: str, *key: str | int) -> Remark:
        # Looking for a line walks the whole text: of a large file with many faults, nobody needs them all.
        line = line_in_json(self.text, key) if len(self.text) < 200_000 else None
        return Remark(text=text, file=self.file, line=line)


def _marked(offers: list[Offer]) -> tuple[Offer, ...]:
    """Those that share a folder have only what each lists."""
    counts: dict[PluginSource, int] = {}
    for offer in offers:
        counts[offer.source] = counts.get(offer.source, 0) + 1
    return tuple(replace(offer, shares_root=counts[offer.source] > 1) for offer in offers)


def _text(value: object) -> str:
    return " ".join(value.split())[:2_000] if isinstance(value, str) else ""


def _shown(value: object) -> str:
    return f"{value!a}"[:80]

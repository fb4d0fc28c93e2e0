"""Bringing the trees of the languages up to date with the catalog."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.codegen.places import about, alias_folders, file_names, folder_of, top_of
from satchel.codegen.tree import Files, Folder, Tree, Written
from satchel.languages import LANGUAGES, Language
from satchel.model import Server
from satchel.support.files import locked
from satchel.version import __version__

if TYPE_CHECKING:
    from satchel.codegen.signature import Signature

Progress = Callable[[int, int], None]
"""Told how many servers are done, of how many."""
Support = Callable[[Language], Mapping[str, Files]]
"""The files that every tree has, by folder: the runtime, the helpers, and a text for readers."""


def generate(
    output: Path,
    servers: Sequence[Server],
    *,
    records: Path,
    support: Support,
    languages: Iterable[Language] = LANGUAGES,
    only: Sequence[str] = (),
    kept: Sequence[Server] = (),
    clean: bool = False,
    adopt: bool = True,
    progress: Progress = lambda done, total: None,
) -> list[Written]:
    """Write `output/<language>` for every language.

    `servers` are those to have; with `only`, names of servers, the others stay as they are. `kept` are
    servers of which nothing is known now, and whose files stay. `clean` writes every file anew.
    `adopt` is whether files in the way may be written over where nothing is known to be ours yet.
    """
    version = _generator_version()
    chosen = [server for server in servers if not only or server.name in only]
    others = [*(server for server in servers if server not in chosen), *kept]
    order = {server.name: place for place, server in enumerate([*servers, *kept])}
    with locked(records):
        trees: dict[Language, Tree] = {
            language: Tree(output / language, records, adopt=adopt) for language in languages
        }
        if clean:
            staying = {*(server.name for server in others), *([None] if only else [])}
            for tree in trees.values():
                tree.forget(staying)
        _write_servers(trees, chosen, version, progress)
        return [
            _write_common(tree, language, chosen, others, order, support(language), version)
            for language, tree in trees.items()
        ]


def _write_common(
    tree: Tree,
    language: Language,
    written: Sequence[Server],
    others: Sequence[Server],
    order: Mapping[str, int],
    support: Mapping[str, Files],
    version: str,
) -> Written:
    """Write what lies around the servers, and end the work on a tree."""
    places = {name: path for path, name in tree.servers.items()}
    present: list[Server] = []
    for server in others:
        if server.name in places:
            about, tools = tree.remembered(places[server.name])
            present.append(replace(server, description=about, tool_count=tools))
    listed = sorted([*written, *present], key=lambda server: order[server.name])
    folders = _common_folders(listed, language, support, version)
    stale = tree.stale(folders)
    tree.announce(stale)
    for folder in stale:
        tree.write(folder)
    wanted = {folder_of(server, language) for server in listed}
    return tree.finish(wanted | {folder.path for folder in folders})


def _write_servers(
    trees: Mapping[Language, Tree], servers: Sequence[Server], version: str, progress: Progress
) -> None:
    work: dict[str, list[tuple[Tree, Folder]]] = {}
    for language, tree in trees.items():
        stale = tree.stale([_server_folder(server, language, version) for server in servers])
        tree.announce(stale)
        for folder in stale:
            work.setdefault(folder.server or "", []).append((tree, folder))
    for done, rows in enumerate(work.values()):
        progress(done, len(work))
        for tree, folder in rows:
            tree.write(folder)
    _signatures.cache_clear()


def _server_folder(server: Server, language: Language, version: str) -> Folder:
    def make() -> Files:
        from satchel.codegen.layout import server_files  # takes long to load; mostly nothing has changed

        texts = server_files(server, _signatures(_Same(server)), language)
        return {name: text.encode() for name, text in texts.items()}

    return Folder(
        path=folder_of(server, language),
        key=_digest([version, *_identity(server)]),
        names=lambda: file_names(server, language),
        make=make,
        server=server.name,
        about=lambda: about(server),
        tools=server.tool_count,
    )


def _common_folders(
    servers: Sequence[Server], language: Language, ready: Mapping[str, Files], version: str
) -> list[Folder]:
    """The files above and beside the folders of servers; `ready` are those that never differ."""
    tops = {"", "servers", "tools"}
    everyone = [_identity(server) for server in servers]

    def key(path: str) -> str:
        same = [[name, sha256(content).hexdigest()] for name, content in ready.get(path, {}).items()]
        return _digest([version, same, everyone if path in tops else []])

    def make(path: str) -> Files:
        from satchel.codegen.layout import top_files  # takes long to load; mostly nothing has changed

        texts = top_files(servers, language).get(path, {})
        return {**ready.get(path, {}), **{name: text.encode() for name, text in texts.items()}}

    common = [
        Folder(path=path, key=key(path), names=partial(make, path), make=partial(make, path))
        for path in sorted(tops | ready.keys())
    ]
    return common + [folder for server in servers for folder in _alias_folders(server, language, version)]


def _alias_folders(server: Server, language: Language, version: str) -> list[Folder]:
    """A server with several names has a folder for each; all but one only lead to that."""

    def make() -> Files:
        from satchel.codegen.layout import alias_files  # takes long to load; mostly nothing has changed

        return {name: text.encode() for name, text in alias_files(server, language).items()}

    key = _digest([version, server.name, folder_of(server, language)])
    return [Folder(path=path, key=key, names=make, make=make) for path in alias_folders(server, language)]


class _Same:
    """A server as a key: both languages ask for the signatures of the same one, one after the other."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.server is self.server

    def __hash__(self) -> int:
        return id(self.server)


@lru_cache(maxsize=1)
def _signatures(same: _Same) -> "list[Signature]":
    from satchel.codegen.signature import read_signature  # takes long to load; mostly nothing has changed

    return [read_signature(tool, same.server) for tool in same.server.tools]


def _identity(server: Server) -> list[str]:
    """All that a server's files depend on."""
    spelling = server.spelling
    return [
        server.name,
        spelling.python,
        spelling.typescript,
        server.description,
        server.instructions or "",
        server.digest,
        top_of(server),
        *(part for spelling in server.aliases.values() for part in (spelling.python, spelling.typescript)),
    ]


def _generator_version() -> str:
    """Changes whenever this code does, so that an upgrade rewrites the trees."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    stamps = [[file.name, (status := os.stat(file)).st_size, status.st_mtime_ns] for file in files]
    return f"{__version__} {_digest(stamps)}"


def _digest(value: object) -> str:
    return sha256(json.dumps(value).encode()).hexdigest()[:32]

"""Wrappers: the tools of all servers as code, where programs find them or where a person wants them."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from anyio import to_thread

from satchel.catalog import Catalog, Snapshot
from satchel.catalog.states import is_usable, sentence
from satchel.codegen.places import alias_folders, folder_of, wrapper_file
from satchel.codegen.text import summary
from satchel.config import Paths
from satchel.errors import NotFoundError
from satchel.languages import LANGUAGES, Language
from satchel.model import Server
from satchel.support.program_paths import CODE_API
from satchel.support.text import label

if TYPE_CHECKING:
    from satchel.codegen.tree import Written

__all__ = ["Wrappers", "generate_code", "wrapper_file"]

_NOT_IN_TREES = ("__pycache__", "satchel_check", "satchel_guest", "satchel-guest")
_UNUSABLE = "unusable.json"  # in `servers`; programs' errors are explained by it
_MOST_UNUSABLE = 200
_GUEST = Path(__file__).parents[1] / "sandbox" / "guest"


class Wrappers:
    """The wrappers of a project, written anew where the catalog has changed since they were."""

    def __init__(self, catalog: Catalog, paths: Paths) -> None:
        self._catalog = catalog
        self._paths = paths
        self._written: dict[Language, Snapshot] = {}

    async def update(self, language: Language) -> Path:
        """Bring the tree of a language up to date; returns where it is."""
        snapshot = self._catalog.snapshot
        if snapshot is not self._written.get(language):
            await to_thread.run_sync(self._write, language)
            self._written[language] = snapshot
        return self._paths.state / "code-api" / language

    async def read(self, path: str, language: Language) -> str:
        """The text of a file, by the path that programs know; its ending says in which language."""
        ending = PurePosixPath(path).suffix
        known: dict[str, Language] = {its.ending: name for name, its in LANGUAGES.items()}
        language = known.get(ending, language)
        root, parts = await self.update(language), path.removeprefix(f"{CODE_API}/").split("/")
        return await to_thread.run_sync(_read, root, parts, path)

    def _write(self, language: Language) -> None:
        generate_code(self._catalog, self._paths, languages=(language,))


def _read(root: Path, parts: Sequence[str], path: str) -> str:
    from satchel.library.skills.files import open_below  # few read a wrapper

    try:
        with open(open_below(root, parts), encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except (OSError, ValueError) as error:
        raise NotFoundError(
            "file", label(path), hint="search_tools with detail 'full' has the wrapper_path of each tool"
        ) from error


def generate_code(
    catalog: Catalog,
    paths: Paths,
    output: Path | None = None,
    *,
    languages: Iterable[Language] = LANGUAGES,
    only: Sequence[str] = (),
    clean: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> "list[Written]":
    """Write the wrappers of all servers, or of `only` some; to `output`, or where the project keeps them."""
    from satchel.codegen.generate import generate  # takes long to load, and seldom is anything to be written

    known = catalog.snapshot.servers
    servers = [server for server in known if server.state != "disabled"]

    def support(language: Language) -> dict[str, dict[str, bytes]]:
        files = _guest_files(language)
        if output is None and (rows := _unusable_rows(known, language)):
            files["servers"] = {_UNUSABLE: rows}
        return files

    return generate(
        paths.prepare_state() / "code-api" if output is None else Path(os.path.expanduser(output)).resolve(),
        [server for server in servers if server.tool_count or server.resources or server.prompts],
        records=paths.trees,
        support=support,
        languages=languages,
        only=only,
        kept=[server for server in servers if server.listed_at is None],
        clean=clean,
        adopt=output is None or clean,
        progress=progress,
    )


def _unusable_rows(servers: Iterable[Server], language: Language) -> bytes:
    """Servers that programs can't use, a line each: what would be imported, and why it is not there."""
    rows = [
        {
            "name": server.name,
            "folder": folder,
            "about": summary(server.description),
            "note": sentence(server),
        }
        for server in servers
        if not is_usable(server) or not server.tool_count
        for folder in (folder_of(server, language), *alias_folders(server, language))
    ]
    lines = [json.dumps(row) for row in rows[:_MOST_UNUSABLE]]
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode() if lines else b""


def _guest_files(language: str) -> dict[str, dict[str, bytes]]:
    """The files of every tree besides wrappers, by folder: those that run inside a sandbox."""
    root = _GUEST / language
    folders: dict[str, dict[str, bytes]] = {}
    for file in sorted(root.rglob("*")):
        if file.is_file() and file.parent.name not in _NOT_IN_TREES:
            folder = file.parent.relative_to(root).as_posix()
            folders.setdefault("" if folder == "." else folder, {})[file.name] = file.read_bytes()
    return folders

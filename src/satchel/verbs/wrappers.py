"""Wrappers: the tools of all servers as code, where programs find them or where a person wants them."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from satchel.catalog import Catalog, Snapshot
from satchel.config import Paths
from satchel.languages import LANGUAGES, Language

if TYPE_CHECKING:
    from satchel.codegen.tree import Written

_NOT_IN_TREES = ("__pycache__", "satchel_check", "satchel_guest", "satchel-guest")
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

    def _write(self, language: Language) -> None:
        generate_code(self._catalog, self._paths, languages=(language,))


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

    servers = [server for server in catalog.snapshot.servers if server.state != "disabled"]
    return generate(
        paths.prepare_state() / "code-api" if output is None else output.expanduser().resolve(),
        [server for server in servers if server.tool_count or server.resources or server.prompts],
        records=paths.trees,
        support=_guest_files,
        languages=languages,
        only=only,
        kept=[server for server in servers if server.listed_at is None],
        clean=clean,
        adopt=output is None or clean,
        progress=progress,
    )


def _guest_files(language: str) -> dict[str, dict[str, bytes]]:
    """What every tree has besides wrappers, by folder: the files that run inside a sandbox."""
    root = _GUEST / language
    folders: dict[str, dict[str, bytes]] = {}
    for file in sorted(root.rglob("*")):
        if file.is_file() and file.parent.name not in _NOT_IN_TREES:
            folder = file.parent.relative_to(root).as_posix()
            folders.setdefault("" if folder == "." else folder, {})[file.name] = file.read_bytes()
    return folders

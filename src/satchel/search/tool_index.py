"""The index of all tools, kept in step with what servers offer; only what has changed is looked at."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from satchel.config.settings import SearchSettings
from satchel.config.variables import UnresolvedVariableError, expand
from satchel.errors import ConfigError
from satchel.model import Server
from satchel.search.cached import cached_section
from satchel.search.documents import Hit
from satchel.search.index import Index, Section, make_section
from satchel.search.rank import search
from satchel.search.tool_documents import FIELDS, document_of, siblings_text, text_of

if TYPE_CHECKING:
    from satchel.search.meaning import Meaning

MOST_FOUND = 100


class ToolIndex:
    """`about` is the line that says what a server is for.

    `patience` is how many seconds a search waits for vectors that are just being read or made.
    """

    def __init__(
        self,
        cache: Path,
        about: Callable[[Server], str],
        meaning: "Meaning | None" = None,
        *,
        patience: float = 0.0,
    ) -> None:
        self._cache = cache
        self._about = about
        self._meaning = meaning
        self._patience = patience
        self._lock = Lock()  # a search changes what the index remembers
        self._index = Index()
        self._servers: Sequence[Server] = ()
        self._made_of: dict[str, str] = {}  # by server: what its part of the index was made of

    @property
    def problem(self) -> str | None:
        """Why nothing is searched by meaning, where that was wanted."""
        return self._meaning.problem if self._meaning is not None else None

    def close(self) -> None:
        if self._meaning is not None:
            self._meaning.close()

    def hits(self, servers: Sequence[Server], query: str, only: str | None = None) -> list[Hit]:
        """The best tools first; `only` is the one server to look at. A hit's group is its server."""
        with self._lock:
            self._follow(servers)
        # Without the lock: the embedder may be on a remote machine.
        near = self._meaning.scores(query) if self._meaning is not None else None
        meaning = None if near is None else {_place(key): score for key, score in near.items()}
        with self._lock:
            self._follow(servers)  # a search in another thread may have been in later ones
            return search(self._index, query, limit=MOST_FOUND, group=only, meaning=meaning)

    def _follow(self, servers: Sequence[Server]) -> None:
        """Bring the index up to date with what these servers offer."""
        if servers is self._servers:
            return
        usable = {server.name: server for server in servers if server.state != "disabled"}
        for name in [name for name in self._made_of if name not in usable]:
            del self._made_of[name]
            self._index.remove(name)
        for name, server in usable.items():
            text = self._about(server)
            made_of = f"{name}\0{server.digest}\0{text}"
            if self._made_of.get(name) != made_of:
                self._index.put(name, self._section(server, text, made_of))
                self._made_of[name] = made_of
        self._servers = servers
        if self._meaning is not None:
            self._meaning.update(
                {
                    f"{tool.server}\n{tool.name}": text_of(
                        tool.server,
                        tool.name,
                        tool.title,
                        tool.description,
                        tool.definition.get("inputSchema"),
                    )
                    for server in servers
                    for tool in server.tools
                }
            )
            if self._patience:
                self._meaning.wait(self._patience)

    def _section(self, server: Server, text: str, made_of: str) -> Section:
        def make() -> Section:
            siblings = siblings_text((tool.name, tool.description) for tool in server.tools)
            documents = [
                document_of(
                    tool.server,
                    tool.name,
                    tool.title,
                    tool.description,
                    tool.definition.get("inputSchema"),
                    text,
                    siblings,
                )
                for tool in server.tools
            ]
            return make_section(documents, FIELDS)

        return cached_section(self._cache, made_of, make)


def open_tool_index(
    settings: SearchSettings,
    *,
    cache: Path,
    vectors: Path,
    project: Path,
    environment: Mapping[str, str],
    about: Callable[[Server], str],
    patience: float = 0.0,
) -> ToolIndex:
    """An index that searches by meaning as well, where the settings name embeddings."""
    if not settings.embeddings:
        return ToolIndex(cache, about)
    from satchel.search.meaning import Meaning, open_embedder  # for those who search by meaning

    try:
        key = expand(settings.api_key, environment)
    except UnresolvedVariableError as error:
        raise ConfigError(f"search.api_key: {error}", file=project / "satchel.yaml") from error
    source = settings.embeddings
    if not source.startswith(("http:", "https:")) and (project / source).is_dir():
        source = str(project / source)
    meaning = Meaning(lambda: open_embedder(source, model=settings.model, api_key=key), vectors)
    return ToolIndex(cache, about, meaning, patience=patience)


def _place(key: str) -> tuple[str, str]:
    server, _, tool = key.rpartition("\n")
    return server, tool

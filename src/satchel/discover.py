"""Finding out what there is: servers in a few words, and the tools that fit a question.

Needs nothing but the catalog: no server is started, and no SDK is loaded.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from satchel.calls.policy import is_allowed
from satchel.catalog import Snapshot
from satchel.codegen.places import about, file_of, folder_of
from satchel.codegen.text import summary
from satchel.config.settings import AgentSettings
from satchel.errors import ArgumentError, NotFoundError
from satchel.languages import Language
from satchel.model import Json, Server, Tool
from satchel.names import closest

if TYPE_CHECKING:
    from satchel.search.documents import Document, Hit
    from satchel.search.index import Index, Section
    from satchel.search.meaning import Meaning

_MOST_SHOWN = 50
_MOST_FOUND = 100
_DETAILS = {
    "name": "name", "name-only": "name", "name_only": "name",
    "desc": "desc", "name-and-description": "desc", "name_and_description": "desc",
    "full": "full",
}  # fmt: skip
_SELECT = "select:"
_DESCRIPTION = 200  # characters
_POOR_FIT = 0.34  # of the query in the best tool; below that it has found a word, and not what was asked for
_FEW_SERVERS = 20
_MANY_SERVERS = 100  # more are told by groups
_ABOUT = 50  # characters about a server, where there are more than a few
_SMALLEST_GROUP = 3
_MOST_GROUPS = 60
_NAMED = 12  # servers of a group
_NAMED_OF_MANY = 6


class Describer(NamedTuple):
    """Tools as plain data. `language` is the one whose wrappers are named, `settings` those of who asks."""

    snapshot: Snapshot
    language: Language
    settings: AgentSettings

    def describe(self, tool: Tool, detail: str) -> Json:
        row: Json = {"name": tool.wire_name, "short_name": tool.name, "server": tool.server}
        if detail == "desc":
            row["description"] = summary(tool.description or tool.title or "", _DESCRIPTION)
        if detail == "full":
            row |= self._whole(tool)
        row["allowed"] = is_allowed(self.settings, tool.server, tool.name)
        return row

    def wrapper_path(self, tool: Tool) -> str:
        """Where a program's author reads on."""
        folder = folder_of(self.snapshot.server(tool.server), self.language)
        return f"{folder}/{file_of(tool.spelling, self.language)}"

    def _whole(self, tool: Tool) -> Json:
        from satchel.codegen.signature import read_signature
        from satchel.codegen.writers import WRITERS

        signature = read_signature(tool)
        return {
            "description": tool.description.strip(),
            "parameters": tool.input_schema,
            "output": tool.output_schema,
            "wrapper_path": self.wrapper_path(tool),
            **{language: writer.head_of(signature) for language, writer in WRITERS.items()},
        }


class Discovery:
    """Keeps the index in step with the catalog.

    `patience` is how many seconds a search waits for vectors that are just being read or made.
    """

    def __init__(self, cache: Path, meaning: "Meaning | None" = None, *, patience: float = 0.0) -> None:
        self._cache = cache
        self._meaning = meaning
        self._patience = patience
        self._index: Index | None = None
        self._snapshot: Snapshot | None = None
        self._made_of: dict[str, str] = {}  # by server: what its part of the index was made of

    def search_tools(
        self,
        describer: Describer,
        query: str,
        *,
        server: str | None = None,
        detail: str = "desc",
        limit: int = 10,
        offset: int = 0,
    ) -> Json:
        shown_as = _DETAILS.get(detail)
        if shown_as is None:
            raise ArgumentError(f"detail is {detail[:40]!r}; it can be name, desc or full", argument="detail")
        if limit < 1 or offset < 0:
            raise ArgumentError(
                f"limit is {limit} and offset {offset}",
                argument="limit" if limit < 1 else "offset",
                hint=f"limit: 1 to {_MOST_SHOWN}; offset: 0 or more",
            )
        snapshot = describer.snapshot
        only = snapshot.server(server) if server else None
        if only is not None and only.state == "disabled":
            tools, remark = [], {"note": f"{only.name} is disabled; satchel enable {only.name}"}
        else:
            tools, remark = self._find(snapshot, query, only)
        shown = tools[offset : offset + min(limit, _MOST_SHOWN)]
        return {
            "query": query[:1000],
            "server_filter": only.name if only else None,
            "match_count": len(tools),
            "showing": len(shown),
            "more": max(0, len(tools) - offset - len(shown)),
            "tools": [describer.describe(tool, shown_as) for tool in shown],
            **remark,
            **self._warning(),
        }

    def _warning(self) -> Json:
        problem = self._meaning.problem if self._meaning is not None else None
        return {"warning": f"searched by words only: {problem}"} if problem else {}

    def close(self) -> None:
        if self._meaning is not None:
            self._meaning.close()

    def _find(self, snapshot: Snapshot, query: str, only: Server | None) -> tuple[list[Tool], Json]:
        """(the tools, best first; what else is to be said)."""
        text = query.strip()
        if text.lower().startswith(_SELECT):
            return _select(snapshot, selected(query), only)
        if not text and only is not None:
            note = f"{only.name} is {only.state}, and has no tools; satchel doctor {only.name}"
            return list(only.tools), {} if only.tools else {"note": note}
        if not text:
            raise ArgumentError(
                "the query is empty", argument="query", hint="say what a tool is to do, or name a server"
            )
        hits = self.hits(snapshot, text, only)
        tools = [tool for hit in hits if (tool := _tool_at(snapshot, hit)) is not None]
        if hits and hits[0].fit >= _POOR_FIT:
            return tools, {}
        return tools, self._remark(snapshot, text, tools)

    def hits(self, snapshot: Snapshot, query: str, only: Server | None = None) -> "list[Hit]":
        """What the ranker says."""
        from satchel.search.rank import search

        index = self._in_step(snapshot)
        near = self._meaning.scores(query) if self._meaning is not None else None
        meaning = None if near is None else {_place(key): score for key, score in near.items()}
        return search(index, query, limit=_MOST_FOUND, group=only.name if only else None, meaning=meaning)

    def semantic_search(
        self, describer: Describer, query: str, places: Mapping[str, Sequence["Document"]], limit: int
    ) -> list[Json]:
        """Whatever fits, best first: tools, and documents of other kinds, each by a path to read on."""
        from satchel.search.index import Index, make_section
        from satchel.search.rank import search
        from satchel.search.texts import FIELDS

        rows: list[Json] = []
        for hit in self.hits(describer.snapshot, query):
            tool = _tool_at(describer.snapshot, hit)
            if tool is not None:
                text = summary(tool.description or tool.title or "", _DESCRIPTION)
                rows.append(_found("tool", describer.wrapper_path(tool), hit, text))
        index = Index()
        texts: dict[str, str] = {}
        for kind, documents in places.items():
            index.put(kind, make_section(documents, FIELDS))
            texts |= {document.key: document.fields["first"] for document in documents}
        for hit in search(index, query, limit=limit):
            rows.append(_found(hit.group, hit.key, hit, summary(texts[hit.key], _DESCRIPTION)))
        return sorted(rows, key=lambda row: -row["score"])[:limit]

    def _in_step(self, snapshot: Snapshot) -> "Index":
        """The index with what the servers offer now; only what has changed is looked at."""
        from satchel.search.index import Index
        from satchel.search.tools import text_of

        if self._index is None:
            self._index = Index()
        if snapshot is self._snapshot:
            return self._index
        servers = {server.name: server for server in snapshot.servers if server.state != "disabled"}
        for name in [name for name in self._made_of if name not in servers]:
            del self._made_of[name]
            self._index.remove(name)
        for name, server in servers.items():
            text = about(server)
            made_of = f"{name}\0{server.digest}\0{text}"
            if self._made_of.get(name) != made_of:
                self._index.put(name, self._section(server, text, made_of))
                self._made_of[name] = made_of
        self._snapshot = snapshot
        if self._meaning is not None:
            texts = {
                f"{tool.server}\n{tool.name}": text_of(tool.server, tool.name, tool.title, tool.description)
                for tool in snapshot.tools
            }
            self._meaning.update(texts)
            if self._patience:
                self._meaning.wait(self._patience)
        return self._index

    def _section(self, server: Server, text: str, made_of: str) -> "Section":
        from satchel.search.cached import cached_section
        from satchel.search.index import make_section
        from satchel.search.tools import FIELDS, document_of

        def make() -> "Section":
            documents = [
                document_of(
                    tool.server,
                    tool.name,
                    tool.title,
                    tool.description,
                    tool.definition.get("inputSchema"),
                    text,
                )
                for tool in server.tools
            ]
            return make_section(documents, FIELDS)

        return cached_section(self._cache, made_of, make)

    def _remark(self, snapshot: Snapshot, query: str, tools: Sequence[Tool]) -> Json:
        """For who has found little: names that look alike, and servers that might do."""
        servers = [s for s in snapshot.servers if s.state != "disabled" and s.tool_count]
        if not snapshot.servers:
            return {"note": "no servers are configured; satchel init or satchel add configures some"}
        if not servers:
            return {"note": "no tool of any server is known; satchel doctor tells why"}
        asked = query[:200]
        known = [tool for server in servers for tool in server.tools]
        names = closest(asked, [tool.qualified_name for tool in known], limit=5)
        names = names or closest(asked, [tool.name for tool in known], limit=5)
        near = [tool.server for tool in tools[:10]]
        others = [server.name for server in servers]
        fits = "nothing fits well" if tools else "nothing fits"
        remark: Json = {
            "note": f"{fits}; say the action and its object in other words, or look into a server",
            "servers": list(dict.fromkeys([*near, *others]))[:10],
        }
        return remark | ({"closest": names} if names else {})


def selected(query: str) -> list[str]:
    """The names of tools in a query that asks for exactly those; none in any other."""
    text = query.strip()
    if not text.lower().startswith(_SELECT):
        return []
    names = [name for part in text[len(_SELECT) :].split(",") if (name := part.strip())]
    return list(dict.fromkeys(names))[:_MOST_FOUND]


def _select(snapshot: Snapshot, names: Sequence[str], only: Server | None) -> tuple[list[Tool], Json]:
    """Exactly those, in that order; what there is not is told, with what it may have been."""
    tools: dict[str, Tool] = {}
    missing: list[str] = []
    for name in names:
        try:
            tool = snapshot.tool(name)
        except NotFoundError as error:
            missing.append(f"{error.message}; {error.hint}" if error.hint else error.message)
            continue
        if snapshot.server(tool.server).state == "disabled":
            missing.append(f"{tool.server} is disabled; satchel enable {tool.server}")
        elif only is not None and tool.server != only.name:
            missing.append(f"{tool.qualified_name} is not of {only.name}")
        else:
            tools[tool.wire_name] = tool
    if not names:
        missing.append("nothing is named; write select:SERVER.TOOL,SERVER.TOOL")
    return list(tools.values()), {"note": "; ".join(missing)[:1000]} if missing else {}


def _tool_at(snapshot: Snapshot, hit: "Hit") -> Tool | None:
    server = snapshot.server(hit.group)
    return next((tool for tool in server.tools if tool.name == hit.key), None)


def _found(kind: str, path: str, hit: "Hit", text: str) -> Json:
    # Scores of different kinds are each measured against their best: what they have in common is the fit.
    return {"kind": kind, "path": path, "score": round(min(1.0, hit.score) * hit.fit, 3), "text": text}


def _place(key: str) -> tuple[str, str]:
    server, _, tool = key.rpartition("\n")
    return server, tool


def list_servers(servers: Sequence[Server]) -> Json:
    """All servers in a few words; by groups where they are very many."""
    total = {"total_servers": len(servers), "total_tools": sum(server.tool_count for server in servers)}
    if len(servers) <= _MANY_SERVERS:
        room = _DESCRIPTION if len(servers) <= _FEW_SERVERS else _ABOUT
        return {"servers": [_server_row(server, room) for server in servers], **total}
    groups = _groups(servers, _SMALLEST_GROUP)
    if len(groups) > _MOST_GROUPS:
        groups = _groups(servers, len(servers))
    named = _NAMED if len(servers) <= 4 * _MANY_SERVERS else _NAMED_OF_MANY
    return {"groups": [_group_row(*group, named) for group in groups], **total}


def _server_row(server: Server, room: int) -> Json:
    text = about(server)
    if room < _DESCRIPTION:  # where they are many, a long name or a dense script leaves less room
        room = max(10, min(room, room + 24 - len(server.name)))
        room = room if text.isascii() else room // 3
    return {
        "name": server.name,
        "description": summary(text, room),
        "transport": server.shown_transport,
        "state": server.state,
        "tool_count": server.tool_count,
    }


def _groups(servers: Sequence[Server], smallest: int) -> list[tuple[str, list[Server]]]:
    """Servers whose names begin with the same word, where that are some; else by their first letter."""
    by_word: dict[str, list[Server]] = {}
    for server in sorted(servers, key=lambda server: server.name.lower()):
        word = re.match(r"[^\W_]*", server.name.lower())
        by_word.setdefault(word[0] if word else "", []).append(server)
    groups: dict[str, list[Server]] = {}
    for word, members in by_word.items():
        groups.setdefault(word if len(members) >= smallest else f"{word[:1]}…", []).extend(members)
    return sorted(groups.items())


def _group_row(name: str, servers: Sequence[Server], named: int) -> Json:
    names = [server.name for server in servers]
    more = [f"… {len(names) - named} more"] if len(names) > named else []
    return {
        "group": name,
        "servers": [*names[:named], *more],
        "server_count": len(servers),
        "tool_count": sum(server.tool_count for server in servers),
    }

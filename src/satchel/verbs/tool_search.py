"""Finding tools: by words and meaning, by name, or all of a server. Needs nothing but the catalog."""

from collections.abc import Mapping, Sequence

from satchel.catalog import Snapshot
from satchel.catalog.states import sentence, shows_no_tools
from satchel.codegen.places import about
from satchel.codegen.text import summary
from satchel.config import Configuration
from satchel.errors import ArgumentError, NotFoundError
from satchel.model import Json, Server, Tool
from satchel.names import closest
from satchel.search.documents import Document, Hit
from satchel.search.file_documents import TextIndex
from satchel.search.tool_index import ToolIndex, open_tool_index
from satchel.support.program_paths import is_within
from satchel.verbs.tool_rows import DESCRIPTION, ToolRows, mark_of
from satchel.verbs.unusable_servers import named_alone, told_first

_SELECT = "select:"
_MOST_SELECTED = 100
_MOST_SHOWN = 50
_DETAILS = {
    "name": "name", "name-only": "name", "name_only": "name",
    "desc": "desc", "name-and-description": "desc", "name_and_description": "desc",
    "full": "full",
}  # fmt: skip


def open_index(
    configuration: Configuration, environment: Mapping[str, str], *, patience: float = 0.0
) -> ToolIndex:
    """The index of a project's tools. `patience`: seconds that a search waits for vectors being made."""
    paths = configuration.paths
    return open_tool_index(
        configuration.settings.search,
        cache=paths.index,
        vectors=paths.user_cache / "vectors",
        project=paths.project,
        environment=environment,
        about=about,
        patience=patience,
    )


def selected(query: str) -> list[str]:
    """The names of tools in a query that asks for exactly those; none in any other."""
    text = query.strip()
    if not text.lower().startswith(_SELECT):
        return []
    names = [name for part in text[len(_SELECT) :].split(",") if (name := part.strip())]
    return list(dict.fromkeys(names))[:_MOST_SELECTED]


def search_tools(
    index: ToolIndex,
    rows: ToolRows,
    query: str,
    *,
    server: str | None = None,
    detail: str = "desc",
    limit: int = 10,
    offset: int = 0,
) -> Json:
    """Tools that fit the query, best first; those that the agent may not call are marked."""
    shown_as = _DETAILS.get(detail)
    if shown_as is None:
        raise ArgumentError(f"detail is {detail[:40]!r}; it can be name, desc or full", argument="detail")
    if limit < 1 or offset < 0:
        raise ArgumentError(
            f"limit is {limit} and offset {offset}",
            argument="limit" if limit < 1 else "offset",
            hint=f"limit: 1 to {_MOST_SHOWN}; offset: 0 or more",
        )
    snapshot = rows.snapshot
    only = snapshot.server(server) if server else None
    near = set[str]()
    meant = only or named_alone(snapshot, query)
    if meant is not None and shows_no_tools(meant):
        tools, remark = [], {}
    elif meant is not only and meant is not None:
        tools, remark = list(meant.tools), {}
    else:
        tools, near, remark = _find(index, snapshot, query, only)
    shown = tools[offset : offset + min(limit, _MOST_SHOWN)]
    unusable = told_first(snapshot, "" if selected(query) else query, meant, shown)
    warning = {"warning": f"searched by words only: {index.problem}"} if index.problem else {}
    return {
        "query": query[:1000],
        "server_filter": only.name if only else None,
        "match_count": len(tools) - len(near),
        "showing": len(shown),
        "more": max(0, len(tools) - offset - len(shown)),
        **({"unusable": unusable} if unusable else {}),
        "tools": [_row(rows, tool, shown_as, nearest=tool.wire_name in near) for tool in shown],
        **remark,
        **warning,
    }


def search_everything(
    index: ToolIndex,
    rows: ToolRows,
    texts: TextIndex,
    query: str,
    places: Mapping[str, Sequence[Document]],
    limit: int,
    *,
    within: Sequence[str] = (),
    with_tools: bool = True,
) -> list[Json]:
    """What fits, best first: tools, and documents of other kinds, each by a path to read on.

    With `within`, folders as programs know them, only what lies there.
    """
    if within:
        places = {
            kind: [each for each in documents if is_within(each.key, within)]
            for kind, documents in places.items()
        }
    found: list[Json] = []
    for hit in index.hits(rows.snapshot.servers, query) if with_tools else ():
        tool = _tool_at(rows.snapshot, hit)
        if tool is not None and (not within or is_within(rows.wrapper_path(tool), within)):
            text = summary(tool.description or tool.title or "", DESCRIPTION)
            mark = mark_of(rows.snapshot.server(tool.server))
            found.append(_found("tool", rows.wrapper_path(tool), hit, text) | mark)
    first = {each.key: each.fields["first"] for documents in places.values() for each in documents}
    for hit in texts.hits(places, query, limit):
        found.append(_found(hit.group, hit.key, hit, summary(first[hit.key], DESCRIPTION)))
    return sorted(found, key=_score, reverse=True)[:limit]


def _row(rows: ToolRows, tool: Tool, detail: str, *, nearest: bool) -> Json:
    row = rows.row(tool, detail)
    return row | {"nearest": True} if nearest else row


def _find(
    index: ToolIndex, snapshot: Snapshot, query: str, only: Server | None
) -> tuple[list[Tool], set[str], Json]:
    """(the tools, best first; the wire names of those that are merely near; what else is to be said)."""
    text = query.strip()
    if text.lower().startswith(_SELECT):
        tools, remark = _select(snapshot, selected(query), only)
        return tools, set(), remark
    if not text and only is not None:
        return list(only.tools), set(), {}
    if not text:
        raise ArgumentError(
            "the query is empty", argument="query", hint="describe the task a tool is for, or name a server"
        )
    hits = index.hits(snapshot.servers, text, only.name if only else None)
    found = [(tool, hit) for hit in hits if (tool := _tool_at(snapshot, hit)) is not None]
    tools = [tool for tool, _ in found]
    matches = {tool.wire_name for tool, hit in found if hit.is_match}
    named = {tool.wire_name for tool, hit in found if hit.is_named}
    near = {tool.wire_name for tool in tools} - (named or matches)
    return tools, near, {} if matches else _suggestions(snapshot, text, tools)


def _suggestions(snapshot: Snapshot, query: str, tools: Sequence[Tool]) -> Json:
    """For a search with few hits: similar names and likely servers."""
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
    fits = "nothing fits well, and these are only the nearest" if tools else "nothing fits"
    suggestions: Json = {
        "note": f"{fits}; say the action and its object in other words, or look into a server",
        "servers": list(dict.fromkeys([*near, *others]))[:10],
    }
    return suggestions | ({"closest": names} if names else {})


def _select(snapshot: Snapshot, names: Sequence[str], only: Server | None) -> tuple[list[Tool], Json]:
    """Exactly those, in that order; a name that no tool has is told, with what may have been meant."""
    tools: dict[str, Tool] = {}
    missing: list[str] = []
    for name in names:
        try:
            tool = snapshot.tool(name)
        except NotFoundError as error:
            missing.append(f"{error.message}; {error.hint}" if error.hint else error.message)
            continue
        if snapshot.server(tool.server).state == "disabled":
            missing.append(sentence(snapshot.server(tool.server)))
        elif only is not None and tool.server != only.name:
            missing.append(f"{tool.qualified_name} is not of {only.name}")
        else:
            tools[tool.wire_name] = tool
    if not names:
        missing.append("nothing is named; write select:SERVER.TOOL,SERVER.TOOL")
    return list(tools.values()), {"note": "; ".join(missing)[:1000]} if missing else {}


def _tool_at(snapshot: Snapshot, hit: Hit) -> Tool | None:
    server = snapshot.server(hit.group)
    return next((tool for tool in server.tools if tool.name == hit.key), None)


def _found(kind: str, path: str, hit: Hit, text: str) -> Json:
    # Scores of different kinds are each measured against their best: what they have in common is the fit.
    return {"kind": kind, "path": path, "score": round(min(1.0, hit.score) * hit.fit, 3), "text": text}


def _score(row: Json) -> float:
    return row["score"]

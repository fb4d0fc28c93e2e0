"""The methods that are compared. All get the same tools and queries, and return their best keys of each.

FastMCP sees what it sees of mounted servers: names as server_tool, descriptions and parameters. The others
get the server's description as well, as Satchel does.
"""

import sqlite3
from collections.abc import Callable, Sequence

from bench.search.data import Tool, words_of
from bench.search.indexing import index_of
from bench.search.meaning import comparison
from bench.search.peer import Peer
from bench.search.scoring import LIMIT
from satchel.search import rank
from satchel.search.tool_documents import text_of

Search = Callable[[str], list[str]]
Ranker = Callable[[Sequence[Tool], Sequence[str]], list[list[str]]]

SATCHEL = "Satchel"
FASTMCP = "FastMCP 4.1.2, BM25"
# What someone who searches by words leaves out of a question.
_LEFT_OUT = frozenset(
    words_of(
        "a about an and any are as at be by can do for from get has have how i if in into is it its me my of"
        " on or our please so that the their then these they this to up use using was we what when where"
        " which who will with you your"
    )
)


def methods(peer: Peer) -> dict[str, Ranker]:
    """By name, in the order of the table."""
    return {
        "whole-query substring": _one_by_one(substring),
        "keywords, ranked by matches": _one_by_one(keywords),
        "SQLite FTS5": _one_by_one(full_text),
        "bm25s": _in_peer(peer, "bm25s"),
        FASTMCP: _in_peer(peer, "fastmcp bm25"),
        "FastMCP 4.1.2, regex": _in_peer(peer, "fastmcp regex"),
        "FastMCP 4.1.2, regex of keywords": _in_peer(peer, "fastmcp regex", as_pattern),
        SATCHEL: _one_by_one(satchel),
        "Satchel with meaning": _one_by_one(satchel_with_meaning),
    }


def substring(tools: Sequence[Tool]) -> Search:
    texts = [(tool.text.lower(), tool.key) for tool in tools]

    def search(query: str) -> list[str]:
        return [key for text, key in texts if query.lower() in text][:LIMIT]

    return search


def keywords(tools: Sequence[Tool]) -> Search:
    """As `rg --ignore-case --count-matches` would give it over a file a tool: most matches first."""
    texts = [(tool.text.lower(), tool.key) for tool in tools]

    def search(query: str) -> list[str]:
        wanted = keywords_of(query)
        counted = [(sum(map(text.count, wanted)), key) for text, key in texts]
        best = sorted((pair for pair in counted if pair[0]), key=lambda pair: -pair[0])
        return [key for _, key in best[:LIMIT]]

    return search


def keywords_of(query: str) -> list[str]:
    words = list(dict.fromkeys(words_of(query)))
    return [word for word in words if word not in _LEFT_OUT] or words


def as_pattern(query: str) -> str:
    return "|".join(keywords_of(query))


def full_text(tools: Sequence[Tool]) -> Search:
    """Porter stems, identifiers split before, and of a dozen sets of weights the best for these queries."""
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE tools USING fts5(key UNINDEXED, name, server, description, parameters, about,"
        " tokenize = 'porter unicode61')"
    )
    for tool in tools:
        fields = (tool.name, tool.server, tool.description, tool.parameters, tool.server_description)
        values = (tool.key, *(" ".join(words_of(field)) for field in fields))
        database.execute("INSERT INTO tools VALUES (?, ?, ?, ?, ?, ?)", values)

    def search(query: str) -> list[str]:
        wanted = " OR ".join(f'"{word}"' for word in keywords_of(query))
        rows = database.execute(
            "SELECT key FROM tools WHERE tools MATCH ?"
            " ORDER BY bm25(tools, 0, 5, 3, 1, 0.5, 0.3), rowid LIMIT ?",
            (wanted, LIMIT),
        )
        return [key for (key,) in rows] if wanted else []

    return search


def satchel(tools: Sequence[Tool]) -> Search:
    index = index_of(tools)

    def search(query: str) -> list[str]:
        return [f"{hit.group}/{hit.key}" for hit in rank.search(index, query, limit=LIMIT)]

    return search


def satchel_with_meaning(tools: Sequence[Tool]) -> Search:
    compare = comparison(
        [text_of(tool.server, tool.name, tool.title, tool.description, tool.input_schema) for tool in tools]
    )
    index = index_of(tools)
    named = [(tool.server, tool.name) for tool in tools]

    def search(query: str) -> list[str]:
        meaning = dict(zip(named, compare(query), strict=True))
        return [f"{hit.group}/{hit.key}" for hit in rank.search(index, query, limit=LIMIT, meaning=meaning)]

    return search


def _one_by_one(build: Callable[[Sequence[Tool]], Search]) -> Ranker:
    def ranked(tools: Sequence[Tool], queries: Sequence[str]) -> list[list[str]]:
        search = build(tools)
        return [search(query) for query in queries]

    return ranked


def _in_peer(peer: Peer, method: str, prepare: Callable[[str], str] = str) -> Ranker:
    def ranked(tools: Sequence[Tool], queries: Sequence[str]) -> list[list[str]]:
        peer.load(tools)
        return peer.search(method, [prepare(query) for query in queries]).rankings

    return ranked

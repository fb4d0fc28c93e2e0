"""FastMCP's search transforms and bm25s over one catalog, as a process that is told what to search.

Runs in an environment that has fastmcp, and bm25s where that is measured. Each line on standard input is a
JSON object. One with `tools` replaces the catalog. One with a `method` is answered: `queries` with the places
of the tools that were found and the milliseconds of each query; `first`, a query, with the milliseconds of it
and of the index that it needs; `memory` with the bytes that the index keeps.
"""

import asyncio
import gc
import importlib
import json
import logging
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any

from fastmcp.server.transforms.search import BM25SearchTransform, RegexSearchTransform  # pyright: ignore
from fastmcp.tools.base import Tool  # pyright: ignore

LIMIT = 20

Search = Callable[[str], Awaitable[list[int]]]
Catalog = list[dict[str, Any]]


class Missing(Exception):
    """A method needs a package that isn't here."""


def transformed(transform: Any) -> Callable[[Catalog], Search]:
    """The ranking alone: no server, no protocol, and results that aren't written out."""

    def build(catalog: Catalog) -> Search:
        made = transform(max_results=LIMIT)
        tools: list[Any] = [
            Tool(name=tool["name"], description=tool["description"], parameters=tool["parameters"])
            for tool in catalog
        ]
        places = {tool["name"]: place for place, tool in enumerate(catalog)}

        async def search(query: str) -> list[int]:
            return [places[tool.name] for tool in await made._search(tools, query)]

        return search

    return build


def with_bm25s(catalog: Catalog) -> Search:
    """With its English stop words; it takes a stemmer but brings none."""
    try:
        bm25s: Any = importlib.import_module("bm25s")
    except ModuleNotFoundError:
        raise Missing("bm25s is not installed in the peers' environment") from None
    try:
        stemmer: Any = importlib.import_module("Stemmer").Stemmer("english")
    except ModuleNotFoundError:
        stemmer = None

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25()
    index.index(tokens([tool["text"] for tool in catalog]), show_progress=False)

    async def search(query: str) -> list[int]:
        wanted = tokens([query])
        if not wanted.vocab:
            return []
        found, scores = index.retrieve(wanted, k=min(LIMIT, len(catalog)), show_progress=False)
        return [int(place) for place, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search


METHODS = {
    "fastmcp bm25": transformed(BM25SearchTransform),
    "fastmcp regex": transformed(RegexSearchTransform),
    "bm25s": with_bm25s,
}


class Peers:
    def __init__(self) -> None:
        self._catalog: Catalog = []
        self._built: dict[str, Search] = {}

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if "tools" in request:
            self._catalog, self._built = request["tools"], {}
            return {}
        method = request["method"]
        try:
            if "memory" in request:
                return {"bytes": await self._memory(method)}
            if "first" in request:
                return {"ms": (await timed(METHODS[method](self._catalog), request["first"]))[1]}
            return await self._search(method, request["queries"])
        except Missing as reason:
            return {"skipped": str(reason)}

    async def _search(self, method: str, queries: list[str]) -> dict[str, Any]:
        if method not in self._built:
            self._built[method] = METHODS[method](self._catalog)
            await self._built[method]("index")  # FastMCP makes its index in the first search
        answers = [await timed(self._built[method], query) for query in queries]
        return {"rankings": [found for found, _ in answers], "ms": [took for _, took in answers]}

    async def _memory(self, method: str) -> int:
        search = METHODS[method](self._catalog)
        gc.collect()
        tracemalloc.start()
        await search("index")
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return kept


async def timed(search: Search, query: str) -> tuple[list[int], float]:
    began = time.perf_counter()
    found = await search(query)
    return found, (time.perf_counter() - began) * 1000


async def main() -> None:
    peers = Peers()
    for line in sys.stdin:
        print(json.dumps(await peers.answer(json.loads(line))), flush=True)


logging.disable()  # of names with spaces, which some servers have
asyncio.run(main())

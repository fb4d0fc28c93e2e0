"""How long searches take, and what an index costs, beside FastMCP's BM25 on the same tools.

`python -m bench.search.latency COUNT` prints the bytes that Satchel's index of so many tools keeps; a process
of its own has no caches yet.
"""

import gc
import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from statistics import median, quantiles

from bench.rows import Row, Skipped
from bench.search.data import Tool, catalog_of, queries
from bench.search.first import measure_first
from bench.search.indexing import index_of
from bench.search.peer import Peer, open_peer
from bench.search.scoring import LIMIT
from bench.surroundings import PYTHON, ROOT
from satchel.search import rank

METHOD = "fastmcp bm25"
QUERIES = {500: 100, 3000: 100, 30_000: 20}  # of the largest, each takes FastMCP about a third of a second
QUERY_LIMITS = {3000: 0.10, 30_000: 0.05}
BLOCK = 10
BUILT = 3000
BUILDS = 5
BUILD_LIMIT = 80


def measure_latency() -> tuple[list[Row], dict[str, str]]:
    """Rows, and by name why others are missing."""
    rows = [_build(catalog_of(BUILT))]
    skipped: dict[str, str] = {}
    try:
        rows.append(measure_first(catalog_of(BUILT), _spread(1)[0]))
    except Skipped as reason:
        skipped["search: kept index"] = str(reason)
    for count in QUERIES:
        sys.stderr.write(f"timing {count:,} tools …\n")
        try:
            rows += _beside_fastmcp(catalog_of(count))
        except Skipped as reason:
            skipped[f"search: {count:,} tools"] = str(reason)
    return rows, skipped


def _beside_fastmcp(tools: Sequence[Tool]) -> list[Row]:
    with open_peer() as peer:
        peer.load(tools)
        return [_query(tools, peer), _first(tools, peer), _memory(tools, peer)]


def _query(tools: Sequence[Tool], peer: Peer) -> Row:
    """Warm: both have answered other queries before, but not these. In turn, by blocks."""
    index = index_of(tools)
    asked = _spread(QUERIES[len(tools)])
    for query in queries()[1:BLOCK]:
        rank.search(index, query.text, limit=LIMIT)
    peer.search(METHOD, [queries()[1].text])
    ours: list[float] = []
    theirs: list[float] = []
    for start in range(0, len(asked), BLOCK):
        block = asked[start : start + BLOCK]
        ours += [_timed(lambda text=text: rank.search(index, text, limit=LIMIT)) for text in block]
        theirs += peer.search(METHOD, block).milliseconds
    again = [_timed(lambda text=text: rank.search(index, text, limit=LIMIT)) for text in asked]
    return Row(
        name=f"search: query, {len(tools):,} tools",
        compared=f"{len(asked)} queries, warm, to FastMCP's BM25 transform",
        value=median(ours) / median(theirs),
        limit=QUERY_LIMITS.get(len(tools), float("inf")),
        notes=(f"{_figures(ours)} to {_figures(theirs)}; the same queries again: {_figures(again)}",),
    )


def _first(tools: Sequence[Tool], peer: Peer) -> Row:
    query = _spread(1)[0]
    ours = _timed(lambda: rank.search(index_of(tools), query, limit=LIMIT))
    theirs = peer.first_search(METHOD, query)
    return Row(
        name=f"search: index, {len(tools):,} tools",
        compared="index and first query, to FastMCP's BM25 transform",
        value=ours / theirs,
        limit=float("inf"),
        notes=(f"{ours:.0f} ms to {theirs:.0f} ms",),
    )


def _memory(tools: Sequence[Tool], peer: Peer) -> Row:
    command = [PYTHON, "-m", "bench.search.latency", str(len(tools))]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    ours, theirs = int(done.stdout) / 1e6, peer.memory(METHOD)
    return Row(
        name=f"search: memory, {len(tools):,} tools",
        compared="what the index keeps, after queries, to FastMCP's BM25 transform",
        value=ours / theirs,
        limit=float("inf"),
        notes=(f"{ours:.1f} MB to {theirs:.1f} MB",),
    )


def _build(tools: Sequence[Tool]) -> Row:
    """Without the collector, as timeit does: it would go through whatever else is in memory."""
    text = json.dumps(
        [
            {"name": tool.name, "description": tool.description, "inputSchema": dict(tool.input_schema)}
            for tool in tools
        ],
        ensure_ascii=False,
    )
    ours: list[float] = []
    theirs: list[float] = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(BUILDS):
            ours.append(_timed(lambda: index_of(tools)))
            theirs += [_timed(lambda: json.loads(text)) for _ in range(3)]
    finally:
        gc.enable()
    return Row(
        name=f"search: build, {len(tools):,} tools",
        compared="making the index, to json.loads of the same tools",
        value=median(ours) / median(theirs),
        limit=BUILD_LIMIT,
        notes=(f"{median(ours):.0f} ms to {median(theirs):.1f} ms of {len(text) / 1e6:.1f} MB",),
    )


def _spread(count: int) -> list[str]:
    """So many queries, of all kinds."""
    return [queries()[place * len(queries()) // count].text for place in range(count)]


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _figures(times: Sequence[float]) -> str:
    return f"{median(times):.2f} ms (95 % within {quantiles(times, n=20, method='inclusive')[-1]:.2f})"


def _kept(count: int) -> int:
    """Bytes, with what queries have left behind."""
    tools = catalog_of(count)
    asked = _spread(QUERIES[count])
    gc.collect()
    tracemalloc.start()
    index = index_of(tools)
    for text in asked:
        rank.search(index, text, limit=LIMIT)
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


if __name__ == "__main__":
    print(_kept(int(sys.argv[1])))

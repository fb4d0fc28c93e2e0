"""The first query of a new process, with an index that an earlier one has kept and with one that it makes.

`python -m bench.search.first COUNT QUERY [DIRECTORY]` is such a process, and prints its milliseconds. What it
imports is not counted, nor is how it comes by the tools.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.rows import Row, Skipped
from bench.search.data import Tool, catalog_of
from bench.search.indexing import by_server, index_of, section_of
from bench.search.scoring import LIMIT
from bench.surroundings import PYTHON, ROOT
from satchel.search import rank
from satchel.search.index import Index, Section

MODULE = "satchel.search.cached"
STARTS = 7


def measure_first(tools: Sequence[Tool], query: str) -> Row:
    if find_spec(MODULE) is None:
        raise Skipped(f"{MODULE} is not there")
    with TemporaryDirectory(prefix="satchel-bench-") as directory:
        _keep(Path(directory), tools)
        kept: list[float] = []
        made: list[float] = []
        for _ in range(STARTS):
            kept.append(_started(str(len(tools)), query, directory))
            made.append(_started(str(len(tools)), query))
    return Row(
        name=f"search: kept index, {len(tools):,} tools",
        compared="first query of a new process from the kept index, to one that makes the index",
        value=median(kept) / median(made),
        limit=float("inf"),
        notes=(f"{median(kept):.0f} ms to {median(made):.0f} ms",),
    )


def _started(*arguments: str) -> float:
    command = [PYTHON, "-m", "bench.search.first", *arguments]
    return float(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)


def _keep(directory: Path, tools: Sequence[Tool]) -> None:
    cached_section = import_module(MODULE).cached_section
    for server, group in by_server(tools).items():
        cached_section(directory, server, partial(section_of, group))


def _kept(directory: Path, servers: Sequence[str]) -> Index:
    cached_section = import_module(MODULE).cached_section
    index = Index()
    for server in servers:
        index.put(server, cached_section(directory, server, _make_none))
    return index


def _make_none() -> Section:
    raise RuntimeError("a section was not kept")


def _main(count: int, query: str, directory: str | None = None) -> None:
    tools = catalog_of(count)
    servers = list(by_server(tools))
    import_module(MODULE)
    began = time.perf_counter()
    index = _kept(Path(directory), servers) if directory else index_of(tools)
    rank.search(index, query, limit=LIMIT)
    print((time.perf_counter() - began) * 1000)


if __name__ == "__main__":
    _main(int(sys.argv[1]), *sys.argv[2:])

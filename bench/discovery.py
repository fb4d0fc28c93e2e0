"""Finding tools in the generated tree with ripgrep and ast-grep, beside `search_tools`.

What a model types is made from the words of a query; what it reads is the output. A model chooses its words
better than this does, and reads more out of a list than its order: so everything that has to be decided
between is decided in favour of the programs. The right server and tool are those of the labelled queries.
"""

import re
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, median, quantiles

from bench.rows import Row
from bench.search.data import Query, Tool, labelled_tools, queries, real_tools, words_of
from bench.search.indexing import by_server
from bench.search.scoring import server_of
from bench.surroundings import PYTHON, temporary_home
from bench.tokens import _count
from satchel.catalog import Catalog, Snapshot
from satchel.codegen.places import about, file_of, folder_of, wrapper_file
from satchel.config import find_paths, read_configuration
from satchel.config.agents import AgentSettings
from satchel.context.lists import tools_as_text
from satchel.model import Listing
from satchel.model import Tool as KnownTool
from satchel.search.tool_index import ToolIndex
from satchel.search.words import is_common
from satchel.verbs.tool_rows import ToolRows
from satchel.verbs.tool_search import search_tools
from satchel.verbs.wrappers import generate_code

PROMISED = 5.0  # per cent of tasks for which the right server is not chosen
MOST_WORDS = 8  # of a query, in one expression
SHORTEST_WORD = 3
SHOWN_FILES = 20
_PROGRAMS = Path(PYTHON).parent
_MATCH = re.compile(r"(servers/[^/]+/[^/:]+)(?::(.*))?")
_FUNCTION = re.compile(r"(servers/[^:]+):\d+:async def (\w+)(.*)")


@dataclass(frozen=True, kw_only=True)
class Found:
    """What one search prints, and the files in the order in which a reader would look at them."""

    output: str
    files: Sequence[str]
    ms: float = 0.0  # besides, of what was done once for all queries


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """A generated tree; `tools` are the keys of its files, `texts` all that is in each Python file."""

    folder: Path
    snapshot: Snapshot
    index: ToolIndex
    tools: Mapping[str, str]
    servers: Mapping[str, str]
    texts: Mapping[str, str]

    def run(self, *command: str) -> str:
        program, *arguments = command
        done = subprocess.run(
            [_PROGRAMS / program, *arguments], cwd=self.folder, capture_output=True, text=True, check=False
        )
        if done.returncode > 1:  # 1 is for nothing found
            raise RuntimeError(done.stderr)
        return done.stdout


Strategy = Callable[[Tree, Query], Found]


def measure_discovery() -> list[Row]:
    labelled = labelled_tools()
    known = {_letters(tool.server) for tool in labelled}
    others = [tool for tool in real_tools() if _letters(tool.server) not in known]
    return [row for tools in (labelled, (*labelled, *others)) for row in _measure(tools)]


def _measure(tools: Sequence[Tool]) -> list[Row]:
    with _generated(tools) as tree:
        for query in queries():
            _rarest(tree, query)  # which word it is takes a person no time
        size = f"{len(tree.servers)} servers, {len(tools):,} tools"
        return [_row(name, strategy, tree, size) for name, strategy in STRATEGIES.items()]


def _row(name: str, strategy: Strategy, tree: Tree, size: str) -> Row:
    hits: dict[str, list[bool]] = {}
    tokens: list[int] = []
    times: list[float] = []
    for query in queries():
        began = time.perf_counter()
        found = strategy(tree, query)
        times.append((time.perf_counter() - began) * 1000 + found.ms)
        tokens.append(_count(found.output))
        for measure, hit in _score(tree, query, found.files):
            hits.setdefault(measure, []).append(hit)
    shares = {measure: 100 * fmean(values) for measure, values in hits.items()}
    return Row(
        name=f"discovery: {name}, {size}",
        compared="queries for which the right server is not the first one found",
        value=100 - shares["server@1"],
        limit=PROMISED,
        unit="%",
        notes=(
            ", ".join(f"{measure} {share:.1f} %" for measure, share in shares.items())
            + f"; tokens to read {median(tokens):,.0f}, 95 % within {quantiles(tokens, n=20)[-1]:,.0f}"
            + f"; {median(times):.0f} ms, 95 % within {quantiles(times, n=20)[-1]:.0f} ms",
        ),
    )


def _score(tree: Tree, query: Query, files: Sequence[str]) -> Iterator[tuple[str, bool]]:
    right = {key for group in query.groups for key in group}
    folders = list(dict.fromkeys(file.rpartition("/")[0] for file in files))
    servers = [tree.servers.get(folder, "") for folder in folders]
    tools = [tree.tools[file] for file in files if file in tree.tools]
    for most in (1, 5, 10):
        yield f"server@{most}", not {server_of(key) for key in right}.isdisjoint(servers[:most])
    for most in (1, 5, 10):
        yield f"tool@{most}", not right.isdisjoint(tools[:most])


# What somebody can do


def _one_word(tree: Tree, query: Query) -> Found:
    """rg -il WORD servers/ -t py, as it comes."""
    word = _rarest(tree, query)
    return _listed(tree.run("rg", "-il", "--sort=path", "-tpy", word, "servers/") if word else "")


def _any_word(tree: Tree, query: Query) -> Found:
    """rg -il 'A|B|C' servers/ -t py, and the server first that has the most files in the list."""
    found = _listed(tree.run("rg", "-il", "--sort=path", "-tpy", "|".join(_words(query)), "servers/"))
    counts: dict[str, int] = {}
    for file in found.files:
        counts[file.rpartition("/")[0]] = counts.get(file.rpartition("/")[0], 0) + 1
    files = sorted(found.files, key=lambda file: -counts[file.rpartition("/")[0]])
    return Found(output=found.output, files=files)


def _most_lines(tree: Tree, query: Query) -> Found:
    """rg -ic 'A|B|C' servers/ -t py | sort -t: -k2nr | head -20"""
    output = tree.run("rg", "-ic", "--sort=path", "-tpy", "|".join(_words(query)), "servers/")
    lines = sorted(output.splitlines(), key=lambda line: -int(line.rpartition(":")[2]))[:SHOWN_FILES]
    return _listed("\n".join(lines))


def _names(tree: Tree, query: Query) -> Found:
    """ast-grep --pattern 'async def $FUNC($$$)' servers/ | rg -i 'def \\w*(A|B|C)', the most words first."""
    words = _words(query)
    output, ms = _functions(tree)
    rows = [found for line in output.splitlines() if (found := _FUNCTION.match(line))]
    counts = {row[1]: sum(word in row[2].lower() for word in words) for row in rows}
    shown = [row for row in rows if counts[row[1]]]
    files = sorted((row[1] for row in shown), key=lambda file: (-counts[file], file))
    return Found(output="\n".join(row[0] for row in shown), files=files, ms=ms)


def _indexes(tree: Tree, query: Query) -> Found:
    """rg -i 'A|B|C' servers/*/index.json: a line a tool; the lines with the most words first."""
    words = _words(query)
    output = tree.run("rg", "-iN", "--sort=path", "-gindex.json", "|".join(words), "servers/")
    counts: dict[str, int] = {}
    for line in output.splitlines():
        found = _MATCH.match(line)
        name = re.search(r'"file": "([^"]+)"', line)
        if found and name:
            file = f"{found[1].rpartition('/')[0]}/{name[1]}"
            counts[file] = sum(word in line.lower() for word in words)
    return Found(output=output, files=sorted(counts, key=lambda file: -counts[file]))


def _search(tree: Tree, query: Query) -> Found:
    """search_tools, ten lines."""
    rows = ToolRows(tree.snapshot, "python", AgentSettings())
    answer = search_tools(tree.index, rows, query.text)
    tools = [tree.snapshot.tool(row["name"]) for row in answer["tools"]]
    files = [wrapper_file(tree.snapshot.server(tool.server), tool, "python") for tool in tools]
    assert tree.tools.keys() >= set(files), files  # or each would count as not found
    return Found(output=tools_as_text(answer), files=files)


STRATEGIES: Mapping[str, Strategy] = {
    "rg -l, one word": _one_word,
    "rg -l, any word": _any_word,
    "rg -c, most lines": _most_lines,
    "ast-grep, names": _names,
    "rg, index.json": _indexes,
    "search_tools": _search,
}


def _words(query: Query) -> list[str]:
    words = [word for word in words_of(query.text) if len(word) >= SHORTEST_WORD and not is_common(word)]
    return list(dict.fromkeys(words))[:MOST_WORDS] or [query.text[:20].strip()]


@cache
def _rarest(tree: Tree, query: Query) -> str:
    """The word that is in the fewest files, but in one. A model can only guess which it is."""
    words = _words(query)
    counts = {word: _files_with(tree, word) for word in words}
    return min((word for word in words if counts[word]), key=lambda word: counts[word], default="")


@cache
def _files_with(tree: Tree, word: str) -> int:
    return sum(word in text for text in tree.texts.values())


def _listed(output: str) -> Found:
    matches = [found for line in output.splitlines() if (found := _MATCH.match(line))]
    return Found(output=output, files=[found[1] for found in matches])


@cache
def _functions(tree: Tree) -> tuple[str, float]:
    """The same whatever is asked, and its milliseconds. It prints whole functions, not only their heads."""
    began = time.perf_counter()
    output = tree.run("ast-grep", "run", "--lang=python", "--pattern", "async def $FUNC($$$)", "servers/")
    return output, (time.perf_counter() - began) * 1000


# The tree


@contextmanager
def _generated(tools: Sequence[Tool]) -> Generator[Tree]:
    servers = by_server(tools)
    with temporary_home() as home:
        home.configure(
            {
                name: {"command": "true", "description": group[0].server_description}
                for name, group in servers.items()
            }
        )
        paths = find_paths(config=home.project, environment=home.environment)
        catalog = Catalog(read_configuration(paths), home.environment)
        for name, group in servers.items():
            catalog.record(catalog.entries[name], Listing(tools=tuple(map(_definition, group))))
        generate_code(catalog, paths, languages=("python",))
        folder = paths.state / "code-api" / "python"
        snapshot = catalog.snapshot
        index = ToolIndex(paths.index, about)
        index.hits(snapshot.servers, "anything")  # it is made with the first search
        yield Tree(
            folder=folder,
            snapshot=snapshot,
            index=index,
            tools={
                f"{folder_of(server, 'python')}/{file_of(tool.spelling, 'python')}": _key(tool)
                for server in snapshot.servers
                for tool in server.tools
            },
            servers={folder_of(server, "python"): server.name for server in snapshot.servers},
            texts={
                str(file): file.read_text(encoding="utf-8").lower()
                for file in (folder / "servers").rglob("*.py")
            },
        )


def _key(tool: KnownTool) -> str:
    return f"{tool.server}/{tool.name}"


def _definition(tool: Tool) -> dict[str, object]:
    schema = {"type": "object", **tool.input_schema}
    return {"name": tool.name, "description": tool.description, "inputSchema": schema}


def _letters(name: str) -> str:
    return "".join(words_of(name))

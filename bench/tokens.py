"""What a model reads: wrappers against the JSON definitions they stand for, in o200k tokens.

To use one tool an agent reads three files: the list of servers, the index of one server, one wrapper.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from bench.listing import DATA, _fill_cache
from bench.rows import Row, Skipped
from bench.surroundings import ROOT, Home, temporary_home
from satchel.catalog import Snapshot
from satchel.codegen.places import folder_of
from satchel.config import find_paths
from satchel.languages import LANGUAGES, Language
from satchel.model import Json
from satchel.verbs.offline import read_catalog
from satchel.verbs.wrappers import generate_code

LIMIT = 1.0
SHARE_LIMIT = 3.0  # per cent

Key = tuple[str, str]
"""A server and a tool."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Tokens."""

    definitions: Mapping[Key, int]
    inputs: Mapping[Key, int]  # definitions without what few clients show: name, text and input
    wrappers: Mapping[Key, int]
    indexes: Mapping[str, int]
    servers: int  # the list of them

    @property
    def all_definitions(self) -> int:
        return sum(self.definitions.values())

    def ways(self) -> dict[Key, int]:
        """What has to be read to use each tool."""
        return {tool: self.servers + self.indexes[tool[0]] + tokens for tool, tokens in self.wrappers.items()}


def measure_tokens() -> list[Row]:
    if not DATA.is_dir():
        raise Skipped(f"the recorded tools of public servers are not in ../{DATA.relative_to(ROOT.parent)}")
    with temporary_home() as home:
        _fill_cache(home, home.project / "started")
        counts = _count_all(home)
    return [row for language in LANGUAGES for row in _rows(language, counts[language])]


def _rows(language: Language, counts: Counts) -> Iterable[Row]:
    ratios = {tool: counts.wrappers[tool] / tokens for tool, tokens in counts.definitions.items()}
    worst = max(ratios, key=lambda tool: ratios[tool])
    largest = max(counts.wrappers, key=lambda tool: counts.wrappers[tool])
    wrappers, definitions = sum(counts.wrappers.values()), counts.all_definitions
    yield Row(
        name=f"tokens: {language}",
        compared=f"the median of {len(ratios)} wrappers to the compact JSON definition of the same tool",
        value=median(ratios.values()),
        limit=LIMIT,
        notes=(
            f"medians {median(counts.wrappers.values()):.0f} to {median(counts.definitions.values()):.0f};"
            f" all of them {wrappers:,} to {definitions:,}, {wrappers / definitions:.2f} ×",
            f"{sum(ratio < 1 for ratio in ratios.values())} are smaller; the worst is {'.'.join(worst)}:"
            f" {counts.wrappers[worst]} to {counts.definitions[worst]}, {ratios[worst]:.2f} ×",
            f"to name, description and input schema alone, the median is"
            f" {median(counts.wrappers[tool] / tokens for tool, tokens in counts.inputs.items()):.2f} ×",
            f"the largest is {'.'.join(largest)}: {counts.wrappers[largest]} to"
            f" {counts.definitions[largest]}",
        ),
    )
    ways = counts.ways()
    far = max(ways, key=lambda tool: ways[tool])
    widest = max(counts.indexes, key=lambda server: counts.indexes[server])
    share = 100 / definitions
    yield Row(
        name=f"tokens: {language}, one tool",
        compared="list of servers + one index + one wrapper, the median tool, to all definitions",
        value=share * median(ways.values()),
        limit=SHARE_LIMIT,
        unit="%",
        notes=(
            f"{median(ways.values()):,.0f} of {definitions:,}: list of servers {counts.servers:,}, indexes"
            f" {median(counts.indexes.values()):,.0f} at the median and {counts.indexes[widest]:,} of"
            f" {widest} at most",
        ),
    )
    yield Row(
        name=f"tokens: {language}, worst tool",
        compared=f"the same for {'.'.join(far)}",
        value=share * ways[far],
        limit=SHARE_LIMIT,
        unit="%",
        notes=(
            f"{ways[far]:,}, of which its index {counts.indexes[far[0]]:,} and its wrapper"
            f" {counts.wrappers[far]:,}; {sum(share * tokens > SHARE_LIMIT for tokens in ways.values())} of"
            f" {len(ways)} tools are above the limit",
        ),
    )


def _count_all(home: Home) -> dict[Language, Counts]:
    paths = find_paths(config=home.project, environment=home.environment)
    catalog = read_catalog(paths, home.environment)
    output = home.project / "code-api"
    generate_code(catalog, paths, output)
    recorded: list[Json] = [json.loads(file.read_bytes()) for file in sorted(DATA.glob("*.json"))]
    tools: dict[Key, Json] = {
        (row["server"], tool["name"]): tool for row in recorded for tool in row["tools"]
    }
    shown = ("name", "description", "inputSchema")
    definitions = {key: _count(_compact(tool)) for key, tool in tools.items()}
    inputs = {
        key: _count(_compact({name: tool[name] for name in shown if name in tool}))
        for key, tool in tools.items()
    }
    counts: dict[Language, Counts] = {}
    for language in LANGUAGES:
        indexes, wrappers = _count_tree(language, catalog.snapshot, output / language)
        if set(wrappers) != set(definitions):
            raise RuntimeError("the tools of the tree are not those of the definitions")
        servers = _count((output / language / "servers" / "index.json").read_text(encoding="utf-8"))
        counts[language] = Counts(
            definitions=definitions, inputs=inputs, wrappers=wrappers, indexes=indexes, servers=servers
        )
    return counts


def _count_tree(language: Language, snapshot: Snapshot, tree: Path) -> tuple[dict[str, int], dict[Key, int]]:
    """The index of every server and the wrapper of every tool."""
    indexes: dict[str, int] = {}
    wrappers: dict[Key, int] = {}
    for server in snapshot.servers:
        if not server.tool_count:
            continue
        folder = tree / folder_of(server, language)
        index = (folder / "index.json").read_text(encoding="utf-8")
        indexes[server.name] = _count(index)
        for row in json.loads(index)["tools"]:
            file = folder / row["file"]
            wrappers[server.name, row.get("tool", row["name"])] = _count(file.read_text(encoding="utf-8"))
    return indexes, wrappers


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _count(text: str) -> int:
    return _encoding().count(text)


class _Encoding(Protocol):
    def count(self, text: str) -> int: ...


@cache
def _encoding() -> _Encoding:
    module: Any = import_module("rs_bpe.bpe")  # has no types
    return module.openai.o200k_base()

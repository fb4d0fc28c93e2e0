"""Tools and labelled queries from ../shared/data, which is beside the project and never part of it."""

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.rows import Skipped
from bench.surroundings import ROOT
from satchel.model import is_object

SHARED = ROOT.parent / "shared" / "data"
SEED = 20260
# A new word begins at a capital after a small letter, and at the last capital of several before a small one.
_BORDERS = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][^\W\d_A-Z])")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, kw_only=True)
class Tool:
    server: str
    name: str
    description: str
    input_schema: Mapping[str, Any]
    title: str | None = None
    server_description: str = ""

    @property
    def key(self) -> str:
        return f"{self.server}/{self.name}"

    @property
    def parameters(self) -> str:
        """Names and descriptions of the parameters at the top."""
        properties: Mapping[str, Any] = self.input_schema.get("properties") or {}
        parts: list[str] = []
        for name, schema in properties.items():
            parts += (name, str(schema.get("description") or "")) if is_object(schema) else (name,)
        return " ".join(parts)

    @property
    def text(self) -> str:
        """All there is to search in, as one text."""
        parts = (self.server, self.name, self.title or "", self.description, self.parameters)
        return " ".join((*parts, self.server_description))


@dataclass(frozen=True, kw_only=True)
class Query:
    """`groups` has one entry for each tool that the task needs; any member of an entry will do."""

    text: str
    kind: str
    groups: tuple[tuple[str, ...], ...]


def words_of(text: str) -> list[str]:
    """Words in lower case; identifiers are split at underscores, hyphens and capitals."""
    return _WORD.findall(_BORDERS.sub(" ", text).lower())


@cache
def labelled_tools() -> tuple[Tool, ...]:
    return tuple(
        _tool(entry, f"{entry['server_title']} {entry['server_description']}")
        for entry in _read("toolsearch/tools.json")
    )


@cache
def distractors() -> tuple[Tool, ...]:
    """Tools that no query asks for."""
    return tuple(_tool(entry, entry["server_description"]) for entry in _read("toolsearch/distractors.json"))


@cache
def catalogs() -> dict[str, tuple[Tool, ...]]:
    few, many = labelled_tools(), labelled_tools() + distractors()
    return {f"{len(tools):,} tools": tools for tools in (few, many)}


@cache
def queries() -> tuple[Query, ...]:
    return tuple(
        Query(
            text=entry["query"],
            kind=entry["kind"],
            groups=tuple(map(tuple, entry["groups"] or [[key] for key in entry["relevant"]])),
        )
        for entry in _read("toolsearch/queries.json")
    )


@cache
def real_tools() -> tuple[Tool, ...]:
    """What 75 public servers answered to tools/list."""
    directory = _existing("realtools")
    listings = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(directory.glob("*.json"))]
    return tuple(
        _tool({**entry, "server": listing["server"]}, "")
        for listing in listings
        for entry in listing["tools"]
    )


def catalog_of(count: int) -> tuple[Tool, ...]:
    """That many tools: real ones as far as they reach, then variations on them."""
    real = labelled_tools() + distractors()
    return real[:count] if count <= len(real) else real + _variations(real, count - len(real))


def _variations(real: Sequence[Tool], count: int) -> tuple[Tool, ...]:
    """Each is a real tool of a server by another name, with words of others mixed in.

    Words are drawn as often as they occur, so that the frequent ones are as frequent as in the real catalog.
    """
    source = random.Random(SEED)
    in_names = [word for tool in real for word in words_of(tool.name)]
    in_texts = [word for tool in real for word in tool.description.split()]

    def variation(number: int) -> Tool:
        tool = real[number % len(real)]
        name = [*words_of(tool.name), source.choice(in_names)]
        description = [
            word if source.random() < 0.6 else source.choice(in_texts) for word in tool.description.split()
        ]
        return Tool(
            server=f"{tool.server} {number // len(real) + 2}",
            name="_".join(name),
            description=" ".join(description),
            input_schema=tool.input_schema,
            server_description=tool.server_description,
        )

    return tuple(variation(number) for number in range(count))


def _tool(entry: Mapping[str, Any], server_description: str) -> Tool:
    return Tool(
        server=entry["server"],
        name=entry["name"],
        title=entry.get("title"),
        description=entry.get("description") or "",
        input_schema=entry.get("inputSchema") or {},
        server_description=server_description,
    )


def _read(name: str) -> Any:
    return json.loads(_existing(name).read_text(encoding="utf-8"))


def _existing(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        raise Skipped(f"../shared/data/{name} is not here")
    return path

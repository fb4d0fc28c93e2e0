"""Names of real servers and tools, typed as words, find what they name."""

import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

from satchel.search.index import Index, make_section
from satchel.search.rank import search
from satchel.search.tool_documents import FIELDS, document_of
from tests.conftest import SHARED

pytestmark = pytest.mark.slow
FIRST = 3
BORDERS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
WORD = re.compile(r"[^\W_]+")


def words_of(name: str) -> list[str]:
    """Words in lower case; identifiers are split at underscores, hyphens and capitals."""
    return WORD.findall(BORDERS.sub(" ", name).lower())


def index_of(tools: Iterable[dict[str, Any]]) -> Index:
    servers: dict[str, list[Any]] = {}
    for tool in tools:
        document = document_of(
            tool["server"],
            tool["name"],
            tool.get("title"),
            tool.get("description") or "",
            tool.get("inputSchema"),
            tool.get("server_description", ""),
        )
        servers.setdefault(tool["server"], []).append(document)
    index = Index()
    for server, documents in servers.items():
        index.put(server, make_section(documents, FIELDS))
    return index


@cache
def real_tools() -> list[dict[str, Any]]:
    directory = SHARED / "realtools"
    if not directory.is_dir():
        pytest.skip("../shared/data/realtools is not here")
    listings = [json.loads(file.read_bytes()) for file in sorted(directory.glob("*.json"))]
    return [{**tool, "server": listing["server"]} for listing in listings for tool in listing["tools"]]


@cache
def distractors() -> list[dict[str, Any]]:
    file = SHARED / "toolsearch" / "distractors.json"
    if not file.is_file():
        pytest.skip("../shared/data/toolsearch/distractors.json is not here")
    return json.loads(file.read_bytes())


@pytest.mark.parametrize("is_named_with_server", [False, True])
def test_names_of_several_words_find_their_tools_among_the_first_three(is_named_with_server: bool) -> None:
    index = index_of(real_tools())
    asked = [tool for tool in real_tools() if len(words_of(tool["name"])) > 1]
    missed: list[str] = []
    for tool in asked:
        words = words_of(tool["name"])
        query = " ".join([*words_of(tool["server"]), *words] if is_named_with_server else words)
        hits = search(index, query, limit=FIRST)
        if not any(sorted(words_of(hit.key)) == sorted(words) for hit in hits):
            missed.append(query)

    assert len(real_tools()) > 1000
    assert len(missed) <= 0.01 * len(asked), missed


def test_a_server_named_with_a_tool_of_its_own_comes_first() -> None:
    index = index_of(distractors())
    first_tools = {tool["server"]: tool["name"] for tool in reversed(distractors())}
    missed: dict[str, list[str]] = {}
    for server, name in first_tools.items():
        query = " ".join([*words_of(server), *words_of(name)])
        hits = search(index, query, limit=1)
        if [hit.group for hit in hits] != [server]:
            missed[query] = [hit.group for hit in hits]

    assert len(first_tools) == 308
    assert len(missed) <= 0.01 * len(first_tools), missed

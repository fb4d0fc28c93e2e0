"""Search by words: every word of the query that a tool's name, description or server has counts."""

import re
from collections.abc import Iterable, Sequence

from satchel.model import Tool

_WORD = re.compile(r"[^\W_]+")


def rank(query: str, tools: Iterable[Tool]) -> Sequence[Tool]:
    """The tools that have at least one word of the query, best first; all of them for an empty query."""
    words = {word.lower() for word in _WORD.findall(query)}
    tools = list(tools)
    if not words:
        return tools
    scored = [(_score(words, tool), tool) for tool in tools]
    found = [(score, tool) for score, tool in scored if score]
    return [tool for _, tool in sorted(found, key=lambda pair: -pair[0])]


def _score(words: set[str], tool: Tool) -> float:
    name = {word.lower() for word in _WORD.findall(tool.name)}
    rest = {word.lower() for word in _WORD.findall(f"{tool.server} {tool.title or ''} {tool.description}")}
    return 3 * len(words & name) + len(words & rest)

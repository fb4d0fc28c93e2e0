"""What must be found because it was named: a tool by the words of its name, a server by its own."""

from collections.abc import Sequence
from typing import NamedTuple

from bench.rows import Row
from bench.search.data import distractors, labelled_tools, real_tools, words_of
from bench.search.indexing import by_server
from bench.search.methods import satchel

FIRST = 3
LIMIT = 1.0  # percent that may be missed


class Named(NamedTuple):
    """How many were asked for, and what was asked where it was missed."""

    asked: int
    missed: Sequence[str]

    @property
    def found(self) -> float:
        return 1 - len(self.missed) / self.asked


def find_tools() -> Named:
    """Every real name of several words, typed as words; a tool with the same words in its name will do."""
    tools = real_tools()
    search = satchel(tools)
    names = {tool.key: words_of(tool.name) for tool in tools}
    asked = [words for words in names.values() if len(words) > 1]
    missed = [
        " ".join(words)
        for words in asked
        if not any(set(names[key]) == set(words) for key in search(" ".join(words))[:FIRST])
    ]
    return Named(len(asked), missed)


def find_servers() -> Named:
    """The first tool of each server among all tools, with the server's name before the tool's.

    Some servers are in both collections, once as "Git" and once as "git"; words can't tell those apart.
    """
    search = satchel(labelled_tools() + distractors())
    servers = {tool.key: words_of(tool.server) for tool in labelled_tools() + distractors()}
    asked = [(servers[group[0].key], words_of(group[0].name)) for group in by_server(distractors()).values()]
    missed = [
        " ".join(server + tool)
        for server, tool in asked
        if not any(servers[key] == server for key in search(" ".join(server + tool))[:1])
    ]
    return Named(len(asked), missed)


def rows(tools: Named, servers: Named) -> list[Row]:
    return [
        Row(
            name="search: tool names",
            compared=f"of {tools.asked:,} names of several words, typed as words: not in the first three",
            value=100 * (1 - tools.found),
            limit=LIMIT,
            unit="%",
            notes=_notes(tools),
        ),
        Row(
            name="search: server names",
            compared=f"of {servers.asked:,} servers, named with a tool of theirs: not the first",
            value=100 * (1 - servers.found),
            limit=LIMIT,
            unit="%",
            notes=_notes(servers),
        ),
    ]


def _notes(named: Named) -> tuple[str, ...]:
    shown = "; ".join(named.missed[:10])
    more = f" and {len(named.missed) - 10} more" if len(named.missed) > 10 else ""
    return (f"missed: {shown}{more}",) if named.missed else ()

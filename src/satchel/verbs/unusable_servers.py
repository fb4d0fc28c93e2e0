"""Servers that can't be used, in searches: a search that is about one says so first.

A server is meant by a query that has its name, in any spelling, or by what its entry says it is for where
its tools are not known. One of a plugin, `sales:slack`, is also meant by `slack`, and by the plugin's name
alone. Nothing is hidden, and no server that can be used is suggested in its place.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from satchel.catalog import Snapshot
from satchel.catalog.states import is_usable, sentence
from satchel.model import Json, Server, Tool
from satchel.search.words import terms_of

_MOST_TOLD = 5
_MOST_WORDS = 60  # of a query that are looked at for names
_LONGEST_NAME = 6  # words of a server's name that are written apart
_WORD = re.compile(r"[^\W_]+")


def named_alone(snapshot: Snapshot, query: str) -> Server | None:
    """The server that can't be used whose name is all of the query."""
    asked = _letters(query)
    return next((server for server in _unusable(snapshot) if asked in _spellings(server)), None)


def told_first(snapshot: Snapshot, query: str, only: Server | None, shown: Iterable[Tool]) -> list[Json]:
    """The servers that can't be used and that a search is about, by name, by its results or by purpose."""
    unusable = {server.name: server for server in _unusable(snapshot)}
    if only is not None:
        meant = [only.name] if only.name in unusable or not only.tool_count else []
    elif not unusable:
        return []
    else:
        meant = [*_named(unusable.values(), query), *(tool.server for tool in shown)]
        meant += _described([server for server in unusable.values() if not server.tool_count], query)
        meant = [name for name in dict.fromkeys(meant) if name in unusable]
    return [_row(snapshot.server(name)) for name in meant[:_MOST_TOLD]]


def _row(server: Server) -> Json:
    return {"server": server.name, "state": server.state, "note": sentence(server)}


def _unusable(snapshot: Snapshot) -> list[Server]:
    return [server for server in snapshot.servers if not is_usable(server)]


def _named(servers: Iterable[Server], query: str) -> list[str]:
    words = [word.lower() for word in _WORD.findall(query[:2000])[:_MOST_WORDS]]
    joined = {
        "".join(words[start:end])
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + _LONGEST_NAME) + 1)
    }
    whole = "".join(words)
    return [
        server.name
        for server in servers
        if not joined.isdisjoint(_spellings(server) | _own_names(server)) or whole in _plugins(server)
    ]


def _spellings(server: Server) -> set[str]:
    names = [
        name
        for own, spelling in server.spellings.items()
        for name in (own, spelling.python, spelling.typescript)
    ]
    return {_letters(name) for name in names} - {""}


def _own_names(server: Server) -> set[str]:
    return {_letters(name.partition(":")[2]) for name in server.spellings} - {""}


def _plugins(server: Server) -> set[str]:
    return {_letters(name.partition(":")[0]) for name in server.spellings if ":" in name} - {""}


def _letters(text: str) -> str:
    return "".join(_WORD.findall(text[:500])).lower()


def _described(servers: Iterable[Server], query: str) -> list[str]:
    """The servers of which most of what is asked for is in what they are for; the best first."""
    asked = set(terms_of(query[:2000])) - _ACTIONS
    shares = {server.name: len(asked & _terms(server.description)) for server in servers}
    return [
        name for name in sorted(shares, key=lambda name: -shares[name]) if 0 < len(asked) <= 2 * shares[name]
    ]


@lru_cache(maxsize=1000)
def _terms(text: str) -> frozenset[str]:
    return frozenset(terms_of(text[:1000]))


# What is done to things of any kind tells nothing of what a server is for.
_ACTIONS = frozenset(
    terms_of(
        "get list find search look show read fetch create make new add write save update change edit set "
        "delete remove send manage use run tool tools server all"
    )
)

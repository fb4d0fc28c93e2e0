"""Servers as plain data for a model: in a few words each, by groups where they are very many."""

import re
from collections.abc import Sequence

from satchel.catalog.states import is_usable, why, why_and_next
from satchel.codegen.places import about
from satchel.codegen.text import summary
from satchel.model import Json, Server

_DESCRIPTION = 200  # characters
_FEW_SERVERS = 20
_MANY_SERVERS = 100  # more are told by groups
_ABOUT = 50  # characters about a server, where there are more than a few
_SMALLEST_GROUP = 3
_MOST_GROUPS = 60
_NAMED = 12  # servers of a group
_NAMED_OF_MANY = 6
_REASON = 120  # characters
_UNUSABLE = 30  # servers that can't be used, where there are groups


def list_servers(servers: Sequence[Server]) -> Json:
    """All servers in a few words; by groups where they are very many."""
    total = {"total_servers": len(servers), "total_tools": sum(server.tool_count for server in servers)}
    if len(servers) <= _MANY_SERVERS:
        room = _DESCRIPTION if len(servers) <= _FEW_SERVERS else _ABOUT
        return {"servers": [_server_row(server, room) for server in servers], **total}
    groups = _groups(servers, _SMALLEST_GROUP)
    if len(groups) > _MOST_GROUPS:
        groups = _groups(servers, len(servers))
    named = _NAMED if len(servers) <= 4 * _MANY_SERVERS else _NAMED_OF_MANY
    unusable = [server for server in servers if not is_usable(server)]
    rows = [
        {"name": server.name, "state": server.state, "reason": why(server.state, server.reason, _ABOUT)}
        for server in unusable[:_UNUSABLE]
    ]
    answer = {"groups": [_group_row(*group, named) for group in groups], **total}
    return answer | {"unusable": rows, "unusable_count": len(unusable)} if unusable else answer


def _server_row(server: Server, room: int) -> Json:
    text = about(server)
    if room < _DESCRIPTION:  # where they are many, a long name or a dense script leaves less room
        room = max(10, min(room, room + 24 - len(server.name)))
        room = room if text.isascii() else room // 3
    row: Json = {
        "name": server.name,
        "description": summary(text, room),
        "transport": server.shown_transport,
        "state": server.state,
        "tool_count": server.tool_count,
    }
    return row if is_usable(server) else row | {"reason": why_and_next(server, _REASON)}


def _groups(servers: Sequence[Server], smallest: int) -> list[tuple[str, list[Server]]]:
    """Servers whose names begin with the same word, where that are some; else by their first letter."""
    by_word: dict[str, list[Server]] = {}
    for server in sorted(servers, key=lambda server: server.name.lower()):
        word = re.match(r"[^\W_]*", server.name.lower())
        by_word.setdefault(word[0] if word else "", []).append(server)
    groups: dict[str, list[Server]] = {}
    for word, members in by_word.items():
        groups.setdefault(word if len(members) >= smallest else f"{word[:1]}…", []).extend(members)
    return sorted(groups.items())


def _group_row(name: str, servers: Sequence[Server], named: int) -> Json:
    names = [server.name for server in servers]
    more = [f"… {len(names) - named} more"] if len(names) > named else []
    return {
        "group": name,
        "servers": [*names[:named], *more],
        "server_count": len(servers),
        "tool_count": sum(server.tool_count for server in servers),
    }

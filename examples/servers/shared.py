"""What the three example servers say in the same way: how a tool is registered, and what it answers when
something isn't there."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from state import as_text

Function = TypeVar("Function", bound=Callable[..., Any])

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False)
ADDS_ONCE = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)
# Overwriting is destructive in the protocol's sense: only additions are not.
OVERWRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True)
DELETES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True)


def tool(server: MCPServer, annotations: ToolAnnotations) -> Callable[[Function], Function]:
    """Register a function as a tool. MCPServer alone would send the docstring with its indentation."""

    def register(function: Function) -> Function:
        server.add_tool(
            function,
            title=function.__name__.replace("_", " ").capitalize(),
            description=" ".join((function.__doc__ or "").split()),
            annotations=annotations,
        )
        return function

    return register


def unknown(what: str, given: str, known: Iterable[str], hint: str) -> ToolError:
    """An error that names the nearest thing there is, or else says how to find out."""
    by_lower = {name.lower(): name for name in known}
    nearest = difflib.get_close_matches(given.lower(), by_lower, n=1, cutoff=0.6)
    suggestion = f" Did you mean {by_lower[nearest[0]]!r}?" if nearest else ""
    return ToolError(f"There is no {what} {given!r}.{suggestion} {hint}")


def parse_time(parameter: str, text: str) -> str:
    """A date or date-time as given by a caller, in the form that records have."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ToolError(
            f"{parameter} is {text!r}, which is neither a date (2026-09-30)"
            " nor a time (2026-09-30T12:00:00Z)."
        ) from None
    return as_text(moment if moment.tzinfo else moment.replace(tzinfo=UTC))

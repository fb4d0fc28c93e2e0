"""Permissions: which tools an agent may call. What it may not call stays visible and is refused here."""

import re
from collections.abc import Callable
from functools import lru_cache

from satchel.config.settings import AgentSettings
from satchel.errors import NotAllowedError
from satchel.model import Call, CallResult, CallTool


def is_allowed(agent: AgentSettings, server: str, tool: str) -> bool:
    """Whether the agent may call it. What is denied is denied, whatever is allowed."""
    return any(_matches(pattern, server, tool) for pattern in agent.allow) and not any(
        _matches(pattern, server, tool) for pattern in agent.deny
    )


def check_permission(
    call_next: CallTool, settings_of: Callable[[str], AgentSettings], note_denied: Callable[[Call], None]
) -> CallTool:
    """Refuse what the agent may not call. That it tried is noted."""

    async def check(call: Call) -> CallResult:
        if not is_allowed(settings_of(call.agent), call.tool.server, call.tool.name):
            note_denied(call)
            raise NotAllowedError(
                call.agent,
                call.tool.qualified_name,
                hint=f"agents.{call.agent} in satchel.yaml says what it may call",
            )
        return await call_next(call)

    return check


@lru_cache(maxsize=4096)
def _matches(pattern: str, server: str, tool: str) -> bool:
    """`server.tool`, or a server alone, which is all of its tools. Any name may have dots of its own."""
    parts = pattern.split(".")
    splits = [(".".join(parts[:place]), ".".join(parts[place:])) for place in range(1, len(parts))]
    if any(_fits(left, server) and _fits(right, tool) for left, right in splits):
        return True
    return pattern == server if splits else _fits(pattern, server)


def _fits(pattern: str, name: str) -> bool:
    """`*` is any text and `?` any character; all else is itself."""
    parts = [".*" if part == "*" else "." if part == "?" else re.escape(part) for part in pattern]
    return re.fullmatch("".join(parts), name, re.DOTALL) is not None

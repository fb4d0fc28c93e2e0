"""Permissions: which tools an agent may call. What it may not call stays visible and is refused here."""

from collections.abc import Callable

from satchel.config.settings import AgentSettings
from satchel.errors import NotAllowedError
from satchel.model import Call, CallResult, CallTool


def is_allowed(agent: AgentSettings, server: str, tool: str) -> bool:
    """Whether the agent may call it. What is denied is denied, whatever is allowed.

    Names may have dots of their own, so a pattern can be read in several ways. To be allowed, server and tool
    must fit its two sides; to be denied, any reading will do.
    """
    if not any(_fits_sides(pattern, server, tool) for pattern in agent.allow):
        return False
    return not any(
        _fits_sides(pattern, server, tool) or fits(pattern, server) or fits(pattern, f"{server}.{tool}")
        for pattern in agent.deny
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


def _fits_sides(pattern: str, server: str, tool: str) -> bool:
    """`server.tool`, or a server alone, which is all of its tools."""
    dots = [place for place, character in enumerate(pattern) if character == "."]
    if any(fits(pattern[:dot], server) and fits(pattern[dot + 1 :], tool) for dot in dots):
        return True
    return pattern == server if dots else fits(pattern, server)


def fits(pattern: str, name: str) -> bool:
    """`*` is any text and `?` any character; all else is itself. Takes no longer for any name or pattern."""
    at = star = matched = 0
    place = 0
    has_star = False
    while place < len(name):
        if at < len(pattern) and pattern[at] == "*":
            has_star, star, matched = True, at, place
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[place]):
            at += 1
            place += 1
        elif has_star:  # the last * takes one character more
            matched += 1
            at, place = star + 1, matched
        else:
            return False
    return pattern[at:].strip("*") == ""

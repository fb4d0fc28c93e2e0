"""Permissions: which tools an agent may call. What it may not call stays visible and is refused here."""

from collections.abc import Callable, Sequence

from satchel.config.settings import AgentSettings
from satchel.errors import NotAllowedError
from satchel.model import Call, CallResult, CallTool, Tool


def is_allowed(agent: AgentSettings, server: str, tool: str) -> bool:
    """Whether the agent may call it. What is denied is denied, whatever is allowed.

    Names may have dots of their own, so a pattern can be read in several ways. To be allowed, server and tool
    must fit its two sides; to be denied, any reading will do.
    """
    if not any(fits_tool(pattern, server, tool) for pattern in agent.allow):
        return False
    return not any(
        fits_tool(pattern, server, tool) or fits(pattern, server) or fits(pattern, f"{server}.{tool}")
        for pattern in agent.deny
    )


def is_read_only(tool: Tool, patterns: Sequence[str]) -> bool:
    """Whether a tool only reads: its server says so, or one of the patterns does."""
    if tool.annotations.get("readOnlyHint") is True:
        return True
    return any(names_tool(pattern, tool) for pattern in patterns)


def names_tool(pattern: str, tool: Tool) -> bool:
    """Whether a pattern of the settings is about a tool: as here, or as models and programs spell it."""
    if fits_tool(pattern, tool.server, tool.name):
        return True
    return fits(pattern.replace(".", "__"), tool.wire_name) if "." in pattern or "__" in pattern else False


def _is_named(tool: Tool, patterns: Sequence[str]) -> bool:
    """Whether a skill's allowed-tools name a tool: as here, by its name on the wire, or as Claude does."""
    names = (
        tool.qualified_name,
        tool.wire_name,
        f"mcp__{tool.server}__{tool.name}",
        f"mcp__{tool.server}",
        f"mcp__{tool.wire_name}",
    )
    return any(fits(pattern, name) for pattern in patterns for name in names)


def check_permission(
    call_next: CallTool,
    settings_of: Callable[[str], AgentSettings],
    note_denied: Callable[[Call], None],
    reading: Callable[[], Sequence[str]] = tuple,
) -> CallTool:
    """Refuse what the agent may not call, and note that it tried. `reading` names tools that only read."""

    async def check(call: Call) -> CallResult:
        if call.only is not None and not _is_named(call.tool, call.only):
            note_denied(call)
            raise NotAllowedError(
                call.agent,
                call.tool.qualified_name,
                why=f"the active skill allows only {', '.join(call.only) or 'nothing'}"[:300],
                hint="view another skill, or change its allowed-tools",
            )
        if call.read_only and not is_read_only(call.tool, reading()):
            note_denied(call)
            raise NotAllowedError(
                call.agent,
                call.tool.qualified_name,
                why="this program may only call tools that read",
                hint="use execute_code, or name the tool in read_only_tools in satchel.yaml",
            )
        if not is_allowed(settings_of(call.agent), call.tool.server, call.tool.name):
            note_denied(call)
            raise NotAllowedError(
                call.agent,
                call.tool.qualified_name,
                hint=f"agents.{call.agent} in satchel.yaml says what it may call",
            )
        return await call_next(call)

    return check


def fits_tool(pattern: str, server: str, tool: str) -> bool:
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

"""Permissions: which tools an agent may call. What it may not call stays visible and is refused here."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from satchel.config.settings import AgentSettings
from satchel.errors import NotAllowedError, NotFoundError
from satchel.model import (
    Call,
    CallResult,
    CallTool,
    Event,
    Link,
    Prompt,
    Resource,
    ResourceChanged,
    Tell,
    Tool,
)


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


def _is_named(what: Tool | Resource | Prompt, patterns: Sequence[str]) -> bool:
    """Whether a skill's allowed-tools name it: as here, by its name on the wire, or as Claude does."""
    names = [what.qualified_name, f"mcp__{what.server}__{what.label}", f"mcp__{what.server}"]
    if isinstance(what, Tool):
        names += [what.wire_name, f"mcp__{what.wire_name}"]
    return any(fits(pattern, name) for pattern in patterns for name in names)


class Rules(Protocol):
    """What the settings say now of agents and tools; `config/follow.py` has them."""

    def agent(self, name: str) -> AgentSettings: ...

    def read_only_tools(self) -> Sequence[str]:
        """Patterns of tools that only read, though their servers don't say so."""
        ...


def check_policy(rules: Rules, note_denied: Callable[[Call], None]) -> Link:
    """Refuse what the caller may not do, and note that it tried."""

    def link(call_next: CallTool) -> CallTool:
        async def check(call: Call) -> CallResult:
            refusal = _refusal(call, rules)
            if refusal is not None:
                note_denied(call)
                raise refusal
            if call.action == "follow":
                call = replace(call, tell=_while_allowed(call, rules))
            return await call_next(call)

        return check

    return link


def _while_allowed(call: Call, rules: Rules) -> Tell:
    """A resource may be followed for days, and permissions change: what is not allowed now is not told."""

    def told(event: Event) -> None:
        if not isinstance(event, ResourceChanged) or _is_allowed_now(call, rules):
            call.tell(event)

    return told


def _is_allowed_now(call: Call, rules: Rules) -> bool:
    with suppress(NotFoundError):  # the agent is not in the settings any more
        return _refusal(call, rules) is None
    return False


def _refusal(call: Call, rules: Rules) -> NotAllowedError | None:
    what, caller = call.what, call.caller
    if caller.only is not None and not _is_named(what, caller.only):
        return NotAllowedError(
            caller.agent,
            what.qualified_name,
            why=f"the active skill allows only {', '.join(caller.only) or 'nothing'}"[:300],
            hint="view another skill, or change its allowed-tools",
        )
    if caller.read_only and isinstance(what, Tool) and not is_read_only(what, rules.read_only_tools()):
        return NotAllowedError(
            caller.agent,
            what.qualified_name,
            why="this program may only call tools that read",
            hint="use execute_code, or name the tool in read_only_tools in satchel.yaml",
        )
    if not is_allowed(rules.agent(caller.agent), what.server, what.label):
        return NotAllowedError(
            caller.agent,
            what.qualified_name,
            hint=f"agents.{caller.agent} in satchel.yaml says what it may call",
        )
    return None


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

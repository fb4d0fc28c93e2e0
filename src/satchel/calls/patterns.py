"""Patterns of the settings that fit nothing there is: most likely slips, and one in `deny` denies nothing."""

from collections.abc import Callable, Iterator, Sequence

from satchel.calls.policy import fits, is_allowed, names_tool
from satchel.config.agents import AgentSettings
from satchel.config.control.flows import patterns_of_flows
from satchel.config.settings import Settings
from satchel.model import Server
from satchel.names import closest

_Fits = Callable[[str, Server], bool]


def unused_patterns(settings: Settings, servers: Sequence[Server]) -> list[str]:
    """Each with the setting that it is in, and with what may have been meant."""
    return [
        f"{key}: '{pattern}' fits no tool{_meant(pattern, servers)}"
        for key, pattern, is_about in _patterns(settings)
        if not any(is_about(pattern, server) or _is_unknown(pattern, server) for server in servers)
    ]


def _patterns(settings: Settings) -> Iterator[tuple[str, str, _Fits]]:
    """Every pattern that is about certain servers, with its setting and the way in which it is read there."""
    for pattern in settings.in_context_tools:
        yield "in_context_tools", pattern, _names
    for pattern in settings.read_only_tools:
        yield "read_only_tools", pattern, _names
    for key, pattern in patterns_of_flows(settings.flows):
        if pattern != "*" and not pattern.startswith("*."):
            yield key, pattern, _denies
    for name, agent in settings.agents.items():
        for key, patterns, is_about in (("allow", agent.allow, _allows), ("deny", agent.deny, _denies)):
            for pattern in patterns:
                # `*.delete_*` is a precaution, even if no such tool exists now.
                if pattern != "*" and not pattern.startswith("*."):
                    yield f"agents.{name}.{key}", pattern, is_about


def _names(pattern: str, server: Server) -> bool:
    return any(names_tool(pattern, tool) for tool in server.tools)


def _allows(pattern: str, server: Server) -> bool:
    agent = AgentSettings(allow=(pattern,))
    return any(is_allowed(agent, server.name, offer, server.aliases) for offer in _offers(server))


def _denies(pattern: str, server: Server) -> bool:
    agent = AgentSettings(deny=(pattern,))
    return not all(is_allowed(agent, server.name, offer, server.aliases) for offer in _offers(server))


def _offers(server: Server) -> Iterator[str]:
    """The part of a server in the words of permissions; empty at first, for the server itself."""
    yield ""
    yield from (tool.name for tool in server.tools)
    yield from (f"resource:{resource.uri}" for resource in server.resources)
    yield from (f"prompt:{prompt.name}" for prompt in server.prompts)


def _is_unknown(pattern: str, server: Server) -> bool:
    """Whether it may be about something of the server that was not listed: not all resources are."""
    names = server.spellings
    about = [right for left, right in _sides(pattern) if any(fits(left, name) for name in names)]
    if server.listed_at is None:
        is_wire = any(pattern.startswith(f"{spelling.wire}__") for spelling in names.values())
        return bool(about) or is_wire or any(fits(pattern, name) for name in names)
    return any(right.startswith("resource:") for right in about)


def _sides(pattern: str) -> Iterator[tuple[str, str]]:
    """The ways to read it as server and tool; both may have dots."""
    for place, character in enumerate(pattern):
        if character == ".":
            yield pattern[:place], pattern[place + 1 :]


def _meant(pattern: str, servers: Sequence[Server]) -> str:
    server, dot, tool = pattern.partition(".")
    near = closest(server, [server.name for server in servers], limit=1)
    return f"; did you mean '{near[0]}{dot}{tool}'?" if near and near[0] != server else ""

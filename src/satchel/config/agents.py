"""The settings of agents: what each may do, its model, its memory. The dataclasses are the schema."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from satchel.config.models import PROVIDER_AND_NAME
from satchel.config.reader import Key, Locate
from satchel.errors import ArgumentError, ConfigError
from satchel.names import closest

Mode = Literal["auto", "code", "search", "direct"]
_PATTERNS = ("allow", "deny", "approve", "universal_tools", "global_resources")
# What other programs have in patterns, and Satchel has not. Addresses of resources may have them.
_FOREIGN = re.compile(r"^!|[\[\]{}|^$]")
_AGENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")  # as in sandbox/running/home.py: names a directory
_ODD_NAME = "the name of the agent '{}' can't be that of a directory"
_NAMES = "use letters, digits, '_', '-' and '.', at most 64; '-' and '.' not at the beginning"


@dataclass(frozen=True, kw_only=True)
class MemorySettings:
    """What an agent remembers, and whose memories it may use."""

    enabled: bool = True
    path: str | None = None  # a directory of the user's own; otherwise it is with the agent's other files
    budget: int = 1500  # tokens of its memory in what a model is told
    tool: bool = False  # offer the tool `memory` where models write programs, too: those have the files
    allow_read_from: tuple[str, ...] = ()
    allow_write_to: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LimitSettings:
    """The limits of one run of an agent by Satchel itself."""

    requests: int = field(default=50, metadata={"positive": True})
    tokens: int | None = field(default=None, metadata={"positive": True})
    cost: float | None = field(default=None, metadata={"positive": True})  # in US dollars
    seconds: float = field(default=600, metadata={"positive": True})


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    approve: tuple[str, ...] = field(default=(), metadata={"one": True})
    """Patterns of calls that wait for a person, or `destructive`: all that don't only read."""
    model: str | None = None
    instructions: str = ""
    mode: Mode | None = None
    contexts: Literal["auto", "flat", "router"] = "auto"
    universal_tools: tuple[str, ...] = ()
    global_resources: tuple[str, ...] = ()
    promote_skills: bool = False  # from a program; people always may
    enforce_allowed_tools: bool = False  # those of the skill that it has viewed last
    delegates: tuple[str, ...] = ()  # agents that it may hand parts of a task to
    limits: LimitSettings = field(default_factory=LimitSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)


def check_name(name: str) -> None:
    """Refuse the name of an agent that no directory could have."""
    if not _AGENT.fullmatch(name):
        raise ArgumentError(_ODD_NAME.format(name[:80]), argument="name", hint=_NAMES)


def check_agents(agents: Mapping[str, AgentSettings], models: Collection[str], locate: Locate) -> None:
    """Refuse names that no directory could have, and what fits nothing: patterns, models, other agents."""
    known = list(dict.fromkeys(("default", *agents)))
    for name, agent in agents.items():
        if not _AGENT.fullmatch(name):
            raise _error(_ODD_NAME.format(name[:80]), ("agents", name), locate, hint=_NAMES)
        for key in _PATTERNS:
            for place, pattern in enumerate(getattr(agent, key)):
                check_pattern(pattern, ("agents", name, key, place), locate)
        _check_model(agent.model, models, ("agents", name, "model"), locate)
        for place, other in enumerate(agent.delegates):
            _check_other(other, name, known, ("agents", name, "delegates", place), locate)
        for key in ("allow_read_from", "allow_write_to"):
            for place, other in enumerate(getattr(agent.memory, key)):
                _check_other(other, name, known, ("agents", name, "memory", key, place), locate)


def check_pattern(pattern: str, key: Key, locate: Locate) -> None:
    """Refuse what no permission could fit."""
    shown = f"'{pattern[:80]}'"
    if not pattern or pattern != pattern.strip() or not pattern.isprintable():
        reason = f"{shown} is not a pattern: it fits nothing"
    elif ":" not in pattern and (foreign := _FOREIGN.search(pattern)):
        reason = f"{shown} is not a pattern: '{foreign.group()}' has no meaning in one"
    else:
        return
    hint = "write server.tool, or a server for all of its tools; '*' is any text, '?' any character"
    raise _error(reason, key, locate, hint=hint)


def _check_model(model: str | None, models: Collection[str], key: Key, locate: Locate) -> None:
    if model is not None and model not in models and not PROVIDER_AND_NAME.fullmatch(model):
        raise _error(
            f"'{model[:80]}' names no provider",
            key,
            locate,
            hint=f"write the provider before the model: openai:{model[:80] or 'gpt-4o'}",
        )


def _check_other(other: str, name: str, known: list[str], key: Key, locate: Locate) -> None:
    if other == name:
        raise _error(
            f"'{other}' is the agent itself, which can always use its own memory",
            key,
            locate,
            hint="remove it",
        )
    if other not in known and other != "*":
        near = closest(other, known, limit=1)
        meant = f"did you mean '{near[0]}'? " if near else ""
        hint = f"{meant}the agents are {', '.join(known[:20])}; '*' stands for all of them"
        raise _error(f"there is no agent '{other[:80]}'", key, locate, hint=hint)


def may_read(agents: Mapping[str, AgentSettings], name: str) -> dict[str, bool]:
    """The other agents whose memory an agent may use, each with whether it may write to it as well."""
    memory = agents[name].memory if name in agents else MemorySettings()
    others = [other for other in dict.fromkeys(("default", *agents)) if other != name]
    found: dict[str, bool] = {}
    for other in others:
        writes = other in memory.allow_write_to or "*" in memory.allow_write_to
        if writes or other in memory.allow_read_from or "*" in memory.allow_read_from:
            found[other] = writes
    return found


def _error(message: str, key: Key, locate: Locate, *, hint: str) -> ConfigError:
    file, line = locate(key)
    return ConfigError(message, file=file, line=line, key=".".join(map(str, key)), hint=hint)

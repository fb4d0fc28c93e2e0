"""The settings of agents: what each may do, its model, its memory. The dataclasses are the schema."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from satchel.config.reader import Key, Locate
from satchel.errors import ConfigError
from satchel.names import closest

Mode = Literal["auto", "code", "search", "direct"]
_AGENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")  # as in sandbox/running/home.py: names a directory


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
    approve: tuple[str, ...] = ()  # patterns, or `destructive`: these calls wait for a person
    model: str | None = None
    instructions: str = ""
    mode: Mode | None = None
    contexts: Literal["auto", "flat", "router"] = "auto"
    universal_tools: tuple[str, ...] = ()
    global_resources: tuple[str, ...] = ()
    promote_skills: bool = False  # from a program; people always may
    enforce_allowed_tools: bool = False  # those of the skill that it has viewed last
    limits: LimitSettings = field(default_factory=LimitSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)


def check_agents(agents: Mapping[str, AgentSettings], locate: Locate) -> None:
    """Refuse names that no directory could have, and grants on the memory of agents that don't exist."""
    known = list(dict.fromkeys(("default", *agents)))
    for name, agent in agents.items():
        if not _AGENT.fullmatch(name):
            raise _error(
                f"the name of the agent '{name[:80]}' can't be that of a directory",
                ("agents", name),
                locate,
                hint="use letters, digits, '_', '-' and '.', at most 64; '-' and '.' not at the beginning",
            )
        for key in ("allow_read_from", "allow_write_to"):
            for place, other in enumerate(getattr(agent.memory, key)):
                _check_other(other, name, known, ("agents", name, "memory", key, place), locate)


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

"""The tools that one agent is shown: the mode, the tools of servers, and Satchel's own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from satchel.calls.policy import fits, is_allowed, names_tool
from satchel.config.agents import AgentSettings, Mode
from satchel.config.settings import Settings
from satchel.model import Server, Tool
from satchel.toolset.active import ActiveSkill
from satchel.toolset.levels import FLAT, MOST_SKILLS, ROUTER, Level
from satchel.verbs.satchel import Satchel

Shown = Literal["code", "search", "direct"]
PATIENCE = 5.0
"""Seconds that a request waits for servers that nothing is known of yet."""
SILENCE = 4.0
"""Seconds without a report of a running program: clients give up on what they hear nothing of."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """`client` is the name that an MCP client gives itself; `asked` is the mode that the surface wants.

    `level` is where the model is: the router and specialists are shown no tools but their own. `relists` is
    for a model whose list of tools can change while it works, as that of an MCP client.
    """

    satchel: Satchel
    agent: str
    client: str = ""
    asked: Mode | None = None
    patience: float = PATIENCE
    silence: float = SILENCE
    level: Level = FLAT
    relists: bool = False

    @property
    def settings(self) -> Settings:
        return self.satchel.configuration.settings

    @property
    def agent_settings(self) -> AgentSettings:
        return self.satchel.project.agent(self.agent)

    @property
    def servers(self) -> list[Server]:
        return [server for server in self.satchel.catalog.servers if server.state != "disabled"]

    @property
    def chosen(self) -> Mode:
        """The mode that counts: the nearest to the one who asks decides."""
        settings = self.settings
        by_client: Mode | None = next(
            (
                chosen.mode
                for name, chosen in settings.clients.items()
                if chosen.mode and fits(name.lower(), self.client.lower())
            ),
            None,
        )
        return self.asked or by_client or self.agent_settings.mode or settings.mode

    @property
    def mode(self) -> Shown:
        """The current offer."""
        chosen = self.chosen
        if chosen != "auto":
            return chosen
        if any(server.state == "not listed" for server in self.satchel.catalog.servers):
            return "code"  # how many tools there are is not known yet, and programs find out
        return "direct" if self._count() <= self.settings.auto_threshold else "code"

    @property
    def has_skills(self) -> bool:
        return bool(self.satchel.skills.of(self.agent))

    @property
    def has_more_skills(self) -> bool:
        """Whether there are skills that the router is not told of."""
        return len(self.satchel.skills.told(self.agent)) > MOST_SKILLS

    @property
    def has_packages(self) -> bool:
        """Whether a skill may bring a context of its own."""
        return self.satchel.packages.any(self.agent)

    @property
    def first_level(self) -> Level:
        """Where a conversation of Satchel's own loop begins."""
        contexts = self.agent_settings.contexts
        routed = contexts == "router" or (contexts == "auto" and self.has_packages)
        return ROUTER if routed else FLAT

    def has_memory_tool(self, mode: Shown) -> bool:
        """Whether a model gets a tool for its memory. Where it writes programs, those have the files."""
        memory = self.agent_settings.memory
        return memory.enabled and (memory.tool or mode != "code")

    @property
    def asks_people(self) -> bool:
        """Whether a person may have to agree to calls, so that programs stop and are resumed."""
        return bool(self.agent_settings.approve or self.settings.flows.rules)

    def allowed(self) -> list[Tool]:
        """The tools of servers that the agent may call."""
        agent = self.agent_settings
        return [
            tool
            for server in self.servers
            for tool in server.tools
            if is_allowed(agent, tool.server, tool.name, tool.aliases)
        ]

    def direct(self, mode: Shown) -> list[Tool]:
        """Those that are shown as they are."""
        if self.level.name != "flat":
            scoped = self.level.context.tools if self.level.context is not None else ()
            return [*scoped, *self.satchel.packages.universal_tools(self.agent)]
        if mode == "direct" and not self._begins_with_skills:
            return self.allowed()
        universal = self.satchel.packages.universal_tools(self.agent) if mode == "direct" else []
        if not self.settings.in_context_tools:
            return universal
        return [*universal, *(tool for tool in self.allowed() if self.is_in_context(tool))]

    def brought(self, mode: Shown, active: ActiveSkill) -> list[Tool]:
        """The tools of the package that was viewed last, where the model's list of tools can grow."""
        if not active.brought or not self.relists or mode == "code":
            return []
        if all(skill.identity != active.package for skill in self.satchel.skills.used(self.agent)):
            return []  # it is gone, or disabled
        return [tool for tool in self.allowed() if tool.qualified_name in active.brought]

    @property
    def _begins_with_skills(self) -> bool:
        """Whether a model that is shown tools as they are gets to those of servers by skills only."""
        return self.relists and self.agent_settings.contexts == "router"

    def only_tool_called(self, name: str) -> Tool | None:
        """The one tool that has this name of its own, whatever its server."""
        named = [tool for tool in self.allowed() if tool.name == name]
        return named[0] if len(named) == 1 else None

    def is_in_context(self, tool: Tool) -> bool:
        return any(names_tool(pattern, tool) for pattern in self.settings.in_context_tools)

    def usable_servers(self) -> list[Server]:
        """Those with anything that the agent may use."""
        agent, servers = self.agent_settings, self.servers
        if _may_do_anything(agent):
            return servers
        return [
            server
            for server in servers
            if any(is_allowed(agent, server.name, label, server.aliases) for label in _labels(server))
        ]

    def _count(self) -> int:
        """How many tools the agent may call."""
        if _may_do_anything(self.agent_settings):
            return sum(server.tool_count for server in self.servers)  # without reading their definitions
        return len(self.allowed())


def _may_do_anything(agent: AgentSettings) -> bool:
    return agent.allow == ("*",) and not agent.deny


def _labels(server: Server) -> Iterator[str]:
    """All that a server has, as permissions name it."""
    for what in (*server.tools, *server.resources, *server.prompts):
        yield what.label

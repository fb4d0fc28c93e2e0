"""The toolset of one agent: what its model is offered, and what it gets for a call.

A model is shown every tool (`direct`), or a few that lead to all of them: by programs (`code`), or by search
and call (`search`). Which one is decided by the surface, the client, the agent and the settings.
"""

import logging
from collections.abc import Mapping
from typing import Any, get_args

from satchel.calls.policy import is_allowed
from satchel.config.agents import Mode
from satchel.context.prompts import TEMPLATES, render
from satchel.errors import ArgumentError, NotFoundError, SatchelError, ToolError
from satchel.model import (
    Call,
    Caller,
    CallResult,
    Client,
    Conversation,
    Json,
    Tell,
    ToldMemory,
    Tool,
    is_object,
    silent,
)
from satchel.toolset.advice import how_to_call, what_there_is
from satchel.toolset.offer import PATIENCE, SILENCE, Offer, Shown
from satchel.toolset.own_tools import OWN_TOOLS, ActiveSkill, Asked, own_tools, still_listing
from satchel.verbs.satchel import Satchel

logger = logging.getLogger(__name__)

_FOR_CLIENTS = (-32021, -32042)  # the protocol's codes for: be able to do more, have a page opened first
_LOOK_WITH_TOOL = "The tool memory (view, search) has all of it."
_LOOK_IN_FILES = "All of it is in the files in memory/; programs can call semantic_search, too."
_LONGEST_INSTRUCTIONS = 20_000  # characters: those of many servers together can be any number


class Toolset:
    """The tools of one agent. `client` is the name that an MCP client gives itself, if it is one.

    A call waits `patience` seconds for servers that nothing is known of yet; a program that runs is reported
    at least every `silence` seconds. All calls belong to one conversation, unless they say otherwise.
    """

    def __init__(
        self,
        satchel: Satchel,
        *,
        agent: str = "default",
        client: str = "",
        mode: Mode | None = None,
        patience: float = PATIENCE,
        silence: float = SILENCE,
        conversation: Conversation | None = None,
    ) -> None:
        satchel.project.agent(agent)
        if mode is not None and mode not in get_args(Mode):
            known = ", ".join(get_args(Mode))
            raise ArgumentError(f"mode is '{str(mode)[:40]}'; it can be {known}", argument="mode")
        self._satchel = satchel
        self._offer = Offer(
            satchel=satchel, agent=agent, client=client, asked=mode, patience=patience, silence=silence
        )
        self._told: ToldMemory | None = None
        self.active = ActiveSkill()
        self.conversation = conversation or Conversation()
        self.agent = agent
        self.client = client

    @property
    def mode(self) -> Shown:
        """The current offer."""
        return self._offer.mode

    @property
    def reaches_any(self) -> bool:
        """Whether a model may find tools of servers: not where it is shown them, and none is known yet."""
        mode = self.mode
        return mode != "direct" or bool(self._offer.direct(mode))

    def definitions(self) -> list[Json]:
        """The tools that are shown, as MCP describes tools; always in the same order."""
        self._satchel.project.follow()
        mode = self.mode
        direct = [{**tool.definition, "name": tool.wire_name} for tool in self._offer.direct(mode)]
        return [*own_tools(self._offer, mode).values(), *direct]

    def fingerprint(self) -> object:
        """A value that differs whenever `definitions` do."""
        self._satchel.project.follow()
        mode = self.mode
        direct = [(tool.wire_name, tool.digest) for tool in self._offer.direct(mode)]
        return str(list(own_tools(self._offer, mode).values())), direct

    def memory(self, *, plain: bool = False) -> ToldMemory:
        """What a model would be told of its memory now. Reads files."""
        self._satchel.project.follow()
        look = _LOOK_IN_FILES if not self._offer.has_memory_tool(self.mode) else _LOOK_WITH_TOOL
        return self._satchel.memory.prompt(self.agent, look=look, plain=plain)

    def instructions(self, *, plain: bool = False, memory: ToldMemory | None = None) -> str:
        """What a model is told besides its tools; by the project's own template where it has one.

        With `plain` by Satchel's in any case. ConfigError says what is wrong with the project's. `memory` is
        what this conversation is told of that; without it, what was told first with this toolset: a prompt
        that changes loses its cache.
        """
        if memory is None:
            memory = self._told = self._told or self._tell_memory(plain=plain)
        configuration = self._satchel.project.follow()
        settings = configuration.settings
        mode = self.mode
        project = None if plain else configuration.paths.project / settings.templates.path
        direct = [tool.wire_name for tool in self._offer.direct(mode)] if mode != "direct" else []
        variables = {
            "mode": mode,
            "agent": self.agent,
            "language": settings.code_execution.language,
            "timeout": f"{settings.code_execution.timeout:g}",
            "max_timeout": f"{settings.code_execution.max_timeout:g}",
            "max_output_chars": settings.code_execution.max_output_chars,
            "code_api": "/mnt/code-api",
            "direct_tools": direct,
            "has_memory": self._offer.agent_settings.memory.enabled,
            "servers": self._offer.usable_servers(),
        }
        told = render(TEMPLATES[mode], variables, project)[:_LONGEST_INSTRUCTIONS]
        skills = self._satchel.skills.prompt(self.agent, plain=plain)
        commands = self._satchel.commands.prompt(self.agent, plain=plain)
        return "\n\n".join(part for part in (told, skills, commands, memory.text) if part)

    def _tell_memory(self, *, plain: bool) -> ToldMemory:
        told = self.memory(plain=plain)
        self._satchel.memory.record(told, self.agent, self.conversation.id)
        return told

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        client: Client | None = None,
        tell: Tell = silent,
        active: ActiveSkill | None = None,
        conversation: Conversation | None = None,
    ) -> CallResult:
        """What a model is told. Failures are told as well: nothing is raised but a cancellation.

        `active` is the skill that this caller has read last, and `conversation` the one that the call belongs
        to; without them, those of all who use this toolset.
        """
        try:
            self._satchel.project.follow()
            talk = conversation or self.conversation
            return await self._call(name, arguments or {}, client, tell, active or self.active, talk)
        except SatchelError as error:
            if client is not None and isinstance(error, ToolError) and error.code in _FOR_CLIENTS:
                raise  # an MCP client is to do something, and to ask again
            return _told(f"{error.message}\nhint: {error.hint}" if error.hint else error.message)
        except Exception:  # the model must hear of it, and the person who runs Satchel find out why
            logger.exception("tool %s failed", name[:100])
            return _told(f"{name[:100]}: Satchel failed; its log says why")

    async def _call(
        self,
        name: str,
        given: Mapping[str, Any],
        client: Client | None,
        tell: Tell,
        active: ActiveSkill,
        conversation: Conversation,
    ) -> CallResult:
        enforced = self._offer.agent_settings.enforce_allowed_tools
        caller = Caller(
            agent=self.agent,
            client=client,
            only=active.tools if enforced else None,
            conversation=conversation.id,
            reads=conversation.reads,
        )
        asked = Asked(
            offer=self._offer,
            mode=self.mode,
            caller=caller,
            tell=tell,
            active=active,
        )
        own = self._own(name)
        if own is not None:
            tool = next(tool for tool in OWN_TOOLS if tool.name == name)
            return await tool.call(asked, own, given)
        return await self._call_directly(name, given, asked)

    def _own(self, name: str) -> Json | None:
        """The definition of one of Satchel's own, if it can be called.

        In mode auto the tools change on their own, so those of both modes are accepted: a client may not have
        listed them anew.
        """
        modes: tuple[Shown, ...] = ("code", "direct") if self._offer.chosen == "auto" else (self.mode,)
        for about_skills in (False, True):  # the latter looks for skills
            for mode in modes:
                shown = own_tools(self._offer, mode, about_skills=about_skills)
                if name in shown:
                    return shown[name]
        unshown = [tool for tool in OWN_TOOLS if tool.name == name and self.mode in tool.answers_unshown]
        return next((tool.define(self._offer, self.mode) for tool in unshown), None)

    async def _call_directly(self, name: str, arguments: Mapping[str, Any], asked: Asked) -> CallResult:
        mode = self.mode
        try:
            tool = await self._find(name, asked)
        except NotFoundError as error:
            hint = what_there_is(self._offer, name[:100], error, mode)
            hint = still_listing(self._satchel.servers.being_listed, hint)
            raise NotFoundError("tool", name[:100], closest=error.closest, hint=hint) from error
        agent = self._offer.agent_settings
        # A tool that the agent may not call is refused in the chain, and journaled.
        allowed = is_allowed(agent, tool.server, tool.name, tool.aliases)
        if mode == "direct" or self._offer.is_in_context(tool) or not allowed:
            given = arguments if is_object(arguments) else {}
            return await self._satchel.call_tool(
                Call(what=tool, arguments=given, caller=asked.caller, tell=asked.tell)
            )
        return _told(how_to_call(self._offer, tool, name, mode))

    async def _find(self, name: str, asked: Asked) -> Tool:
        """A tool by any spelling, or by its own name alone where only one tool has it."""
        servers = self._satchel.servers
        try:
            return servers.describe_tool(name)
        except NotFoundError:
            named = servers.known().servers_of([name])
            await servers.list_new(self._offer.patience, named, client=asked.caller.client)
        try:
            return servers.describe_tool(name)
        except NotFoundError:
            only = self._offer.only_tool_called(name)
            if only is None:
                raise
            return only


def _told(text: str) -> CallResult:
    return CallResult(content=({"type": "text", "text": text},), is_error=True)

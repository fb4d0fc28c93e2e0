"""The toolset of one agent: what its model is offered, and what it gets for a call.

A model is shown every tool (`direct`), or a few that lead to all of them: by programs (`code`), or by search
and call (`search`). Which one is decided by the surface, the client, the agent and the settings.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from satchel.calls.policy import is_allowed
from satchel.config.agents import Mode
from satchel.context.levels import router_prompt, specialist_prompt
from satchel.context.privacy import PRIVACY
from satchel.context.prompts import TEMPLATES, render
from satchel.errors import ArgumentError, NotFoundError, SatchelError, ToolError, UndecidedError
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
from satchel.names import closest
from satchel.toolset.active import ActiveSkill
from satchel.toolset.advice import how_to_call, what_there_is
from satchel.toolset.asked import Asked
from satchel.toolset.levels import FLAT, MOST_SKILLS, Level, short_names
from satchel.toolset.offer import PATIENCE, SILENCE, Offer, Shown
from satchel.toolset.own_tools import OWN_TOOLS, own_tools, still_listing
from satchel.verbs.satchel import Satchel

logger = logging.getLogger(__name__)

_FOR_CLIENTS = (-32021, -32042)  # the protocol's codes for: be able to do more, have a page opened first
_LOOK_WITH_TOOL = "The tool memory (view, search) has all of it."
_LOOK_IN_FILES = "All of it is in the files in memory/; programs can call semantic_search, too."
_LONGEST_INSTRUCTIONS = 20_000  # characters: those of many servers together can be any number


class Toolset:
    """The tools of one agent. `client` is the name that an MCP client gives itself, if it is one.

    A call waits `patience` seconds for servers that nothing is known of yet; a program that runs is reported
    at least every `silence` seconds. All calls belong to one conversation, unless they say otherwise. `level`
    is where the model is; see levels.py. With `relists`, the tools of a package are shown once
    the model has viewed it.
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
        level: Level = FLAT,
        relists: bool = False,
    ) -> None:
        satchel.project.agent(agent)
        if mode is not None and mode not in get_args(Mode):
            known = ", ".join(get_args(Mode))
            raise ArgumentError(f"mode is '{str(mode)[:40]}'; it can be {known}", argument="mode")
        self._satchel = satchel
        self._offer = Offer(
            satchel=satchel,
            agent=agent,
            client=client,
            asked=mode,
            patience=patience,
            silence=silence,
            level=level,
            relists=relists,
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
    def level(self) -> Level:
        """Where the model is."""
        return self._offer.level

    @property
    def first_level(self) -> Level:
        """Where a conversation begins that is not an MCP client's."""
        return self._offer.first_level

    @property
    def reaches_any(self) -> bool:
        """Whether a model may find tools of servers: not where it is shown them, and none is known yet."""
        mode = self.mode
        return mode != "direct" or bool(self._offer.direct(mode))

    def definitions(self, active: ActiveSkill | None = None) -> list[Json]:
        """The tools that are shown, as MCP describes tools; always in the same order."""
        self._satchel.project.follow()
        mode = self.mode
        own = own_tools(self._offer, mode)
        direct = [{**tool.definition, "name": name} for name, tool in self._named(own, active).items()]
        return [*own.values(), *direct]

    def _named(self, own: Collection[str], active: ActiveSkill | None = None) -> dict[str, Tool]:
        """The tools of servers that are shown, by the names that the model knows."""
        mode = self.mode
        direct = self._offer.direct(mode)
        if self.level.name == "flat":
            brought = self._offer.brought(mode, active or self.active)
            return {tool.wire_name: tool for tool in (*direct, *brought)}
        return short_names(direct, own)

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

    def instructions(
        self,
        *,
        plain: bool = False,
        memory: ToldMemory | None = None,
        conversation: Conversation | None = None,
    ) -> str:
        """The instructions for a model besides its tools, from the project's own template if it has one.

        With `plain` by Satchel's in any case. ConfigError says what is wrong with the project's. `memory` is
        what this conversation is told of that; without it, what was told first with this toolset: a prompt
        that changes loses its cache.
        """
        if memory is None:
            memory = self._told = self._told or self._tell_memory(plain=plain)
        told = self.hidden(memory.text, conversation)
        parts = (*self.sections(plain=plain).values(), told)
        return "\n\n".join(part for part in parts if part)

    def sections(self, *, plain: bool = False) -> dict[str, str]:
        """What a model is told of tools, skills and commands, by these names. Empty where there is none."""
        configuration = self._satchel.project.follow()
        project = None if plain else configuration.paths.project / configuration.settings.templates.path
        level = self.level.name
        tools = [
            self._level_text(project) if level != "flat" else "",
            self._mode_text(project) if level == "flat" or self.mode == "code" else "",
            PRIVACY if self._satchel.privacy.is_on else "",
        ]
        return {
            "tools": "\n\n".join(part for part in tools if part),
            "skills": self._satchel.skills.prompt(self.agent, plain=plain) if level == "flat" else "",
            "commands": self._satchel.commands.prompt(self.agent, plain=plain)
            if level != "specialist"
            else "",
        }

    def _mode_text(self, project: Path | None) -> str:
        """How the tools of servers are reached."""
        settings, mode = self._offer.settings, self.mode
        variables = {
            "mode": mode,
            "agent": self.agent,
            "language": settings.code_execution.language,
            "timeout": f"{settings.code_execution.timeout:g}",
            "max_timeout": f"{settings.code_execution.max_timeout:g}",
            "max_output_chars": settings.code_execution.max_output_chars,
            "code_api": "/mnt/code-api",
            "direct_tools": list(self._named(own_tools(self._offer, mode))) if mode != "direct" else [],
            "has_memory": self._offer.agent_settings.memory.enabled,
            "servers": self._offer.usable_servers(),
        }
        return render(TEMPLATES[mode], variables, project)[:_LONGEST_INSTRUCTIONS]

    def _level_text(self, project: Path | None) -> str:
        """What the router or a specialist is told of its own tools."""
        packages, context = self._satchel.packages, self.level.context
        resources = packages.global_resources(self.agent)
        own = own_tools(self._offer, self.mode)
        named = self._named(own)
        scoped = {tool.qualified_name for tool in context.tools} if context is not None else set[str]()
        shown = {name: {**tool.definition, "name": name} for name, tool in named.items()}
        universal = [
            *own.values(),
            *(shown[name] for name, tool in named.items() if tool.qualified_name not in scoped),
        ]
        if context is None:
            skills = self._satchel.skills.told(self.agent)
            return router_prompt(
                skills=skills[:MOST_SKILLS],
                more_skills=max(0, len(skills) - MOST_SKILLS),
                tools=universal,
                resources=resources,
                templates=project,
            )
        return specialist_prompt(
            context,
            scoped=[shown[name] for name, tool in named.items() if tool.qualified_name in scoped],
            universal=universal,
            resources=resources,
            templates=project,
        )

    def _tell_memory(self, *, plain: bool) -> ToldMemory:
        told = self.memory(plain=plain)
        self._satchel.memory.hear(self.agent, self.conversation.reads)
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
        """The answer for a model. Failures are answers, too: only a cancellation is raised.

        `active` is the skill that this caller has read last, and `conversation` the one that the call belongs
        to; without them, those of all who use this toolset.
        """
        talk = conversation or self.conversation
        try:
            self._satchel.project.follow()
            return await self._call(name, arguments or {}, client, tell, active or self.active, talk)
        except SatchelError as error:
            if client is not None and isinstance(error, ToolError) and error.code in _FOR_CLIENTS:
                raise  # an MCP client is to do something, and to ask again
            text = f"{error.message}\nhint: {error.hint}" if error.hint else error.message
            scope = await self._satchel.privacy.open(Caller(agent=self.agent, conversation=talk.id))
            told = _told(text if scope is None else await scope.hidden(text, ""))
            if isinstance(error, UndecidedError):
                return replace(told, waiting=({"approval": error.approval, "tool": error.tool},))
            return told
        except Exception:  # the model must hear of it, and the person who runs Satchel find out why
            logger.exception("tool %s failed", name[:100])
            return _told(f"{name[:100]}: Satchel failed; its log says why")

    def hidden(self, text: str, conversation: Conversation | None = None) -> str:
        """A text without personal data, where that is to be hidden from this model."""
        talk = conversation or self.conversation
        scope = self._satchel.privacy.scope_of(Caller(agent=self.agent, conversation=talk.id))
        return text if scope is None else scope.hidden_now(text, "")

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
            if tool.about_skills:  # programs save skills, with what they had read
                self._satchel.memory.hear(self.agent, conversation.reads)
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
        if self.level.name != "flat":
            return await self._call_shown(name, arguments, asked)
        try:
            tool = await self._find(name, asked)
        except NotFoundError as error:
            hint = what_there_is(self._offer, name[:100], error, mode)
            hint = still_listing(self._satchel.servers.being_listed, hint)
            raise NotFoundError("tool", name[:100], closest=error.closest, hint=hint) from error
        agent = self._offer.agent_settings
        # A tool that the agent may not call is refused in the chain, and journaled.
        allowed = is_allowed(agent, tool.server, tool.name, tool.aliases)
        shown = self._offer.is_in_context(tool) or tool in self._offer.brought(mode, asked.active)
        if mode == "direct" or shown or not allowed:
            given = arguments if is_object(arguments) else {}
            return await self._satchel.call_tool(
                Call(what=tool, arguments=given, caller=asked.caller, tell=asked.tell)
            )
        return _told(how_to_call(self._offer, tool, name, mode))

    async def _call_shown(self, name: str, arguments: Mapping[str, Any], asked: Asked) -> CallResult:
        """One of the tools that the router or a specialist is shown, and no other."""
        own = own_tools(self._offer, self.mode)
        named = self._named(own)
        shown = named | {wire: tool for tool in named.values() for wire in tool.wire_names}
        tool = shown.get(name)
        if tool is None:
            known = [*own, *named]
            hint = f"the tools here are {', '.join(known)}"
            raise NotFoundError("tool", name[:100], closest=closest(name[:100], known), hint=hint)
        given = arguments if is_object(arguments) else {}
        return await self._satchel.call_tool(
            Call(what=tool, arguments=given, caller=asked.caller, tell=asked.tell)
        )

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

"""What a model is offered, and what it gets for a call: the same for every surface.

A model is shown every tool (`direct`), or a few that lead to all of them: by programs (`code`), or by search
and call (`search`). Which, is decided by who asks: the surface, the client, the agent, the settings.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from satchel.app import Satchel
from satchel.calls.arguments import check_arguments
from satchel.calls.policy import fits, is_allowed, names_tool
from satchel.codegen.places import folder_of
from satchel.config.settings import Mode
from satchel.context import tools as own
from satchel.context.executions import execution_as_text
from satchel.context.lists import servers_as_text, skill_as_text, skills_as_text, tools_as_text
from satchel.context.prompts import TEMPLATES, render
from satchel.discover import selected
from satchel.errors import ArgumentError, NotFoundError, SatchelError, ToolError
from satchel.languages import LANGUAGES, Language
from satchel.model import Call, CallResult, Client, Json, Progress, Server, Tool, is_object
from satchel.names import Spelling, closest, count

if TYPE_CHECKING:
    from satchel.execute import OnCall

logger = logging.getLogger(__name__)

Shown = Literal["code", "search", "direct"]
_FOR_CLIENTS = (-32021, -32042)  # the protocol's codes for: be able to do more, have a page opened first
PATIENCE = 5.0
"""Seconds that a request waits for servers that nothing is known of yet."""
_BETWEEN_REPORTS = 0.2  # seconds between two reports of how many calls a program has made
_LONGEST_SILENCE = 4.0  # seconds without a report: clients give up on what they hear nothing of
_STEP = 0.001  # of progress, for a report without another call
_LONGEST_INSTRUCTIONS = 20_000  # characters: those of many servers together can be any number
_ABOUT_SKILLS = (own.SEARCH_SKILLS, own.VIEW_SKILL, own.READ_FILE)
_OTHER_NAMES = {own.SEARCH_TOOLS: {"keyword": "query", "detail_level": "detail"}}


@dataclass
class ActiveSkill:
    """The skill that was read last: the tools that it allows, if it names any."""

    tools: tuple[str, ...] | None = None


class Toolset:
    """The tools of one agent. `client` is the name that an MCP client gives itself, if it is one."""

    def __init__(
        self, satchel: Satchel, *, agent: str = "default", client: str = "", mode: Mode | None = None
    ) -> None:
        satchel.agent_settings(agent)
        if mode is not None and mode not in get_args(Mode):
            known = ", ".join(get_args(Mode))
            raise ArgumentError(f"mode is '{str(mode)[:40]}'; it can be {known}", argument="mode")
        self._satchel = satchel
        self._mode: Mode | None = mode
        self.active = ActiveSkill()
        self.agent = agent
        self.client = client

    @property
    def mode(self) -> Shown:
        """What is shown now. The nearest to who asks decides."""
        mode = self._chosen
        if mode != "auto":
            return mode
        if any(server.state == "not listed" for server in self._satchel.catalog.servers):
            return "code"  # how many tools there are is not known yet, and programs find out
        return "direct" if self._count() <= self._satchel.configuration.settings.auto_threshold else "code"

    @property
    def _chosen(self) -> Mode:
        settings = self._satchel.configuration.settings
        by_client: Mode | None = next(
            (
                chosen.mode
                for name, chosen in settings.clients.items()
                if chosen.mode and fits(name.lower(), self.client.lower())
            ),
            None,
        )
        by_agent = self._satchel.agent_settings(self.agent).mode
        return self._mode or by_client or by_agent or settings.mode

    def _count(self) -> int:
        """How many tools the agent may call, or more than `auto_threshold`, whatever is quicker to know."""
        agent = self._satchel.agent_settings(self.agent)
        servers = [server for server in self._satchel.catalog.servers if server.state != "disabled"]
        everything = sum(server.tool_count for server in servers)
        if agent.allow == ("*",) and not agent.deny:
            return everything
        return len(self._allowed())

    def definitions(self) -> list[Json]:
        """The tools that are shown, as MCP describes tools; always in the same order."""
        mode = self.mode
        direct = [_direct(tool) for tool in self._direct_ones(mode)]
        return [*self._own_ones(mode), *self._skill_ones(mode), *direct]

    def instructions(self, *, plain: bool = False) -> str:
        """What a model is told besides its tools; by the project's own template where it has one.

        With `plain` by Satchel's in any case. ConfigError says what is wrong with the project's.
        """
        configuration = self._satchel.configuration
        settings = configuration.settings
        mode = self.mode
        project = None if plain else configuration.paths.project / settings.templates.path
        variables = {
            "mode": mode,
            "agent": self.agent,
            "language": settings.code_execution.language,
            "timeout": f"{settings.code_execution.timeout:g}",
            "max_timeout": f"{settings.code_execution.max_timeout:g}",
            "max_output_chars": settings.code_execution.max_output_chars,
            "code_api": "/mnt/code-api",
            "direct_tools": [tool.wire_name for tool in self._direct_ones(mode)] if mode != "direct" else [],
            "servers": self._usable_servers(),
        }
        told = render(TEMPLATES[mode], variables, project)[:_LONGEST_INSTRUCTIONS]
        skills = self._satchel.shown_skills.prompt(self.agent, plain=plain)
        return "\n\n".join(part for part in (told, skills) if part)

    def fingerprint(self) -> object:
        """Another whenever `definitions` are others."""
        mode = self.mode
        direct = [(tool.wire_name, tool.digest) for tool in self._direct_ones(mode)]
        return str([*self._own_ones(mode), *self._skill_ones(mode)]), direct

    def _direct_ones(self, mode: Shown) -> list[Tool]:
        """Those that are shown as they are."""
        if mode == "direct":
            return self._allowed()
        if not self._satchel.configuration.settings.in_context_tools:
            return []
        return [tool for tool in self._allowed() if self._is_in_context(tool)]

    def _own_ones(self, mode: Shown) -> list[Json]:
        """Satchel's own."""
        if mode == "direct":
            return []
        if mode == "search":
            return [own.search_tools_tool(with_code=False), own.call_tool_tool()]
        settings = self._satchel.configuration.settings.code_execution
        shown = [
            own.list_servers_tool(),
            own.search_tools_tool(with_code=True),
            own.execute_code_tool(settings.language),
        ]
        if settings.read_only_tool:
            shown.append(own.execute_code_tool(settings.language, read_only=True))
        return shown

    def _skill_ones(self, mode: Shown) -> list[Json]:
        """Those for skills, where there are any. Programs read files themselves."""
        if not self._satchel.shown_skills.of(self.agent):
            return []
        read = [own.read_file_tool(self._satchel.shown_skills.base)] if mode != "code" else []
        return [own.search_skills_tool(), own.view_skill_tool(), *read]

    def _allowed(self) -> list[Tool]:
        agent = self._satchel.agent_settings(self.agent)
        return [
            tool
            for server in self._satchel.catalog.servers
            if server.state != "disabled"
            for tool in server.tools
            if is_allowed(agent, tool.server, tool.name)
        ]

    def _usable_servers(self) -> list[Server]:
        """Those with anything that the agent may use."""
        agent = self._satchel.agent_settings(self.agent)
        servers = [server for server in self._satchel.catalog.servers if server.state != "disabled"]
        if agent.allow == ("*",) and not agent.deny:
            return servers
        return [
            server for server in servers if any(is_allowed(agent, server.name, it) for it in _offers(server))
        ]

    def _is_in_context(self, tool: Tool) -> bool:
        patterns = self._satchel.configuration.settings.in_context_tools
        return any(names_tool(pattern, tool) for pattern in patterns)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        client: Client | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        active: ActiveSkill | None = None,
    ) -> CallResult:
        """What a model is told. Whatever goes wrong is told as well: nothing is raised but a cancellation.

        `active` is the skill that whoever calls has read last; without it, that of all who use this toolset.
        """
        try:
            return await self._call(name, arguments or {}, client, on_progress, active or self.active)
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
        on_progress: Callable[[Progress], None] | None,
        active: ActiveSkill,
    ) -> CallResult:
        mode = self.mode
        # What is shown by itself becomes another by itself: who has not heard of it can go on for now.
        known = self._own_ones("code" if self._chosen == "auto" else mode)
        definition = next((tool for tool in known if tool["name"] == name), None)
        if definition is None and name in _ABOUT_SKILLS:
            shown = self._skill_ones("direct" if self._chosen == "auto" else mode)
            definition = next((tool for tool in shown if tool["name"] == name), None)
            if definition is not None:  # else it may be the name of a server's tool
                return self._answer_about_skills(definition, given, active)
        if definition is None:
            return await self._call_directly(name, given, client, on_progress, active)
        arguments = _meant(definition, given)
        check_arguments(_as_tool(definition), arguments)
        match name:
            case own.LIST_SERVERS:
                waiting = await self._satchel.list_new_servers(PATIENCE)
                answer = self._satchel.list_servers()
                for row in answer.get("servers", ()):
                    if row["name"] in waiting:
                        row["state"] = "being listed"  # and not running without any tools
                return _answered(answer, servers_as_text(answer))
            case own.SEARCH_TOOLS:
                named = self._satchel.catalog.servers_of(selected(arguments.get("query", "")))
                if server := arguments.get("server"):
                    named.add(server)
                waiting = await self._satchel.list_new_servers(PATIENCE, named)
                answer = self._satchel.search_tools(**arguments, agent=self.agent)
                if waiting:
                    answer["note"] = still_listing(waiting, answer.get("note"), "search again")
                with_code = mode != "search"
                wrapper_of = self._wrapper_of if with_code else None
                return _answered(answer, tools_as_text(answer, with_code=with_code, wrapper_of=wrapper_of))
            case own.CALL_TOOL:
                tool, parameters = await self._named(arguments["name"]), arguments.get("arguments", {})
                return await self._send(tool, parameters, client, on_progress, active)
            case _:
                return await self._execute(name, arguments, client, on_progress, active)

    def _answer_about_skills(
        self, definition: Json, given: Mapping[str, Any], active: ActiveSkill
    ) -> CallResult:
        skills = self._satchel.shown_skills
        arguments = _meant(definition, given)
        check_arguments(_as_tool(definition), arguments)
        match definition["name"]:
            case own.SEARCH_SKILLS:
                answer = skills.search(
                    arguments.get("query", ""), self.agent, limit=arguments.get("limit", 10)
                )
                return _answered(answer, skills_as_text(answer))
            case own.VIEW_SKILL:
                answer = skills.view(arguments["name"], self.agent)
                active.tools = tuple(answer["allowed_tools"]) or None
                return _answered(answer, skill_as_text(answer))
            case _:
                text = skills.read_text(arguments["path"], self.agent)
                with suppress(SatchelError):  # any other file of a skill makes none the active one
                    active.tools = skills.find(arguments["path"], self.agent).allowed_tools or None
                return CallResult(content=({"type": "text", "text": text},))

    def _only(self, active: ActiveSkill) -> tuple[str, ...] | None:
        """The tools of the skill that was read last, where the agent has to keep to them."""
        return active.tools if self._satchel.agent_settings(self.agent).enforce_allowed_tools else None

    async def _execute(
        self,
        name: str,
        arguments: Json,
        client: Client | None,
        on_progress: Callable[[Progress], None] | None,
        active: ActiveSkill,
    ) -> CallResult:
        with _reporting(on_progress) as report:
            execution = await self._satchel.execute(
                **arguments,
                agent=self.agent,
                read_only=name == own.EXECUTE_CODE_READ_ONLY,
                only=self._only(active),
                client=client,
                on_call=report,
                patience=PATIENCE,
            )
        answer = _answered(execution.as_json(), execution_as_text(execution))
        return replace(answer, is_error=execution.exit_code != 0)

    async def _call_directly(
        self,
        name: str,
        arguments: Mapping[str, Any],
        client: Client | None,
        on_progress: Callable[[Progress], None] | None,
        active: ActiveSkill,
    ) -> CallResult:
        mode = self.mode
        try:
            tool = await self._find(name)
        except NotFoundError as error:
            hint = still_listing(self._satchel.being_listed, self._what_there_is(name[:100], error, mode))
            raise NotFoundError("tool", name[:100], closest=error.closest, hint=hint) from error
        agent = self._satchel.agent_settings(self.agent)
        # What the agent may not call is refused there, and journaled.
        if mode == "direct" or self._is_in_context(tool) or not is_allowed(agent, tool.server, tool.name):
            return await self._send(tool, arguments, client, on_progress, active)
        return _told(self._how_to_call(tool, name, mode))

    def _what_there_is(self, name: str, error: NotFoundError, mode: Shown) -> str:
        """For a model that has called what there is not: what it may have meant, and what it can call."""
        shown = [tool["name"] for tool in (*self._own_ones(mode), *self._skill_ones(mode))]
        here = f"the tools here are {', '.join(shown)}"
        if mode == "direct":
            here = "the tools here are those that are listed to you"
        if near := self._near(name, shown, error):
            meant = f"did you mean {' or '.join(near)}?"
            return meant if mode == "direct" else f"{meant} {here}"
        server = self._satchel.catalog.begun_with(name)
        if server is not None and not server.tool_count:
            if server.name in self._satchel.being_listed:
                return here
            why = f"satchel doctor {server.name}"
            return f"{server.name} ({server.state}) has no tools; tell the person to run {why}; {here}"
        return here

    def _near(self, name: str, shown: Sequence[str], error: NotFoundError) -> list[str]:
        """What may have been meant: Satchel's own tools first, unless servers have one of that very name."""
        ours, theirs = closest(name, shown), self._shown_names(error.closest)
        is_theirs = any(tool.name == name for tool in self._satchel.catalog.tools)
        return [*theirs, *ours] if is_theirs else [*ours, *theirs]

    def _shown_names(self, names: Sequence[str]) -> Sequence[str]:
        """Names of tools as a model has them: where it is shown all, those of the wire."""
        if self.mode != "direct":
            return names
        known = self._satchel.catalog.tools
        return [tool.wire_name for tool in known if tool.qualified_name in names or tool.wire_name in names]

    async def _find(self, name: str) -> Tool:
        """A tool by any spelling, or by its own name alone where only one tool has it."""
        try:
            return self._satchel.describe(name)
        except NotFoundError:
            await self._satchel.list_new_servers(PATIENCE, self._satchel.catalog.servers_of([name]))
        try:
            return self._satchel.describe(name)
        except NotFoundError:
            named = self._called(name)
            if named is None:
                raise
            return named

    def _called(self, name: str) -> Tool | None:
        """The one tool that has this name of its own."""
        named = [tool for tool in self._allowed() if tool.name == name]
        return named[0] if len(named) == 1 else None

    async def _named(self, name: str) -> Tool:
        """The tool that a model names in a call of `call_tool`."""
        try:
            return await self._satchel.find_tool(name)
        except NotFoundError as error:
            named = self._called(name)
            if named is not None:
                return named
            near = " or ".join(error.closest)
            hint = f"did you mean {near}?" if near else "search_tools finds tools"
            raise NotFoundError("tool", name[:100], closest=error.closest, hint=hint) from error

    async def _send(
        self,
        tool: Tool,
        arguments: Any,
        client: Client | None,
        on_progress: Callable[[Progress], None] | None,
        active: ActiveSkill,
    ) -> CallResult:
        return await self._satchel.call_tool(
            Call(
                tool=tool,
                arguments=arguments if is_object(arguments) else {},
                agent=self.agent,
                only=self._only(active),
                client=client,
                on_progress=on_progress,
            )
        )

    def _how_to_call(self, tool: Tool, name: str, mode: Shown) -> str:
        """For a model that has a name and takes it for a tool of its own."""
        if mode == "search":
            return f"{name} is not a tool of its own here: call_tool with name '{tool.wire_name}' calls it"
        language = self._satchel.configuration.settings.code_execution.language
        return (
            f"{name} is called from a program, with execute_code:\n"
            f"{_import_line(self._satchel, tool, language)}\n"
            f"its signature, from {self._satchel.describe_tool(tool, self.agent)['wrapper_path']}:\n"
            f"{self._satchel.wrapper_of(tool)}"
        )

    def _wrapper_of(self, row: Json) -> str:
        return self._satchel.wrapper_of(self._satchel.describe(row["name"]))


@contextmanager
def _reporting(on_progress: Callable[[Progress], None] | None) -> Generator["OnCall"]:
    """Hears of a program's calls, and tells how many there were; now and then also that it still runs."""
    began = time.monotonic()
    told = began - _BETWEEN_REPORTS  # so that the first call is told at once
    calls = 0
    last = 0.0

    def tell(message: str, pause: float) -> None:
        nonlocal told, last
        if on_progress is not None and time.monotonic() - told >= pause:
            told = time.monotonic()
            last = max(calls, last + _STEP)  # it has to grow with every report
            on_progress(Progress(progress=last, message=message))

    def report(made: int, tool: str) -> None:
        nonlocal calls
        calls = made
        tell(f"{count(made, 'call')} made; last {tool}", _BETWEEN_REPORTS)

    async def tick() -> None:
        while True:
            await asyncio.sleep(_LONGEST_SILENCE / 4)
            seconds = time.monotonic() - began
            tell(f"{count(calls, 'call')} made; running for {seconds:.0f} s", _LONGEST_SILENCE)

    ticking = asyncio.ensure_future(tick()) if on_progress is not None else None
    try:
        yield report
    finally:
        if ticking is not None:
            ticking.cancel()


def _offers(server: Server) -> Iterator[str]:
    """All that a server has, as permissions name it."""
    yield from (tool.name for tool in server.tools)
    yield from (f"resource:{resource.uri}" for resource in server.resources)
    yield from (f"prompt:{prompt.name}" for prompt in server.prompts)


def _import_line(satchel: Satchel, tool: Tool, language: Language) -> str:
    conventions, server = LANGUAGES[language], satchel.catalog.server(tool.server)
    return conventions.imported(folder_of(server, language), conventions.spelled(tool.spelling))


def _direct(tool: Tool) -> Json:
    """A tool as its server describes it, under a name that no other has."""
    return {**tool.definition, "name": tool.wire_name}


def _as_tool(definition: Json) -> Tool:
    """One of Satchel's own as a Tool, to be checked like any."""
    return Tool(
        server="satchel",
        name=definition["name"],
        spelling=Spelling(python="", typescript="", wire=""),
        wire_name=definition["name"],
        digest=f"satchel {definition}",
        read_definition=lambda: definition,
    )


def _meant(definition: Json, given: Mapping[str, Any]) -> Json:
    """The arguments as they were meant: by their own names, without nulls, and 10.0 as the number 10."""
    renamed = _OTHER_NAMES.get(definition["name"], {})
    parameters = definition["inputSchema"]["properties"]
    arguments: Json = {}
    for key, value in given.items():
        name = renamed.get(key, key)
        whole = isinstance(value, float) and value.is_integer()
        if whole and parameters.get(name, {}).get("type") == "integer":
            value = int(value)
        if value is not None and not arguments.get(name):  # of two names for the same, the one that says more
            arguments[name] = value
    return arguments


def _answered(value: Json, text: str) -> CallResult:
    return CallResult(content=({"type": "text", "text": text},), structured=value, has_structured=True)


def _told(text: str) -> CallResult:
    return CallResult(content=({"type": "text", "text": text},), is_error=True)


def still_listing(servers: Sequence[str], note: str | None, advice: str = "try again") -> str:
    """What is to be said, and which servers may have what was not found."""
    if not servers:
        return note or ""
    waiting = f"still being listed, {advice} in a moment: {', '.join(servers[:20])}"
    return f"{note}; {waiting}" if note else waiting

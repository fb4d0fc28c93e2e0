"""Satchel's own tools: one table. Each entry says where the tool is shown, what it is, and what answers it.

What a model writes becomes a value of a type of its own before anything is called with it.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Generic, TypeVar

from satchel.calls.arguments import check_call
from satchel.catalog.states import sentence, shows_no_tools
from satchel.context.executions import execution_as_text
from satchel.context.lists import servers_as_text, tools_as_text
from satchel.errors import ArgumentError, NotFoundError
from satchel.model import Call, CallResult, ExecutionRequest, Json, Tool, is_object
from satchel.names import Spelling
from satchel.support.charging import apart
from satchel.toolset import definitions
from satchel.toolset.asked import Asked, answered
from satchel.toolset.levels import EVERY_LEVEL, LevelName
from satchel.toolset.offer import Offer, Shown
from satchel.toolset.progress import reporting
from satchel.toolset.skill_answers import (
    LeaveSkill,
    ReadFile,
    ReadResource,
    SearchSkills,
    ViewSkill,
    leave_skill,
    read_file,
    read_resource,
    search_skills,
    view_skill,
)
from satchel.verbs.memory.command import MemoryCommand
from satchel.verbs.tool_search import selected

Arguments = TypeVar("Arguments")


@dataclass(frozen=True, kw_only=True)
class OwnTool(Generic[Arguments]):
    name: str
    modes: frozenset[Shown]
    define: Callable[[Offer, Shown], Json]
    arguments: type[Arguments]
    answer: Callable[[Asked, Arguments], Awaitable[CallResult]]
    about_skills: bool = False  # shown only where the agent has any
    answers_unshown: frozenset[Shown] = frozenset()  # modes in which it answers though it is not shown
    is_on: Callable[[Offer, Shown], bool] = lambda offer, mode: True
    levels: frozenset[LevelName] = EVERY_LEVEL
    other_names: Mapping[str, str] = field(default_factory=dict[str, str])  # of arguments, from elsewhere

    async def call(self, asked: Asked, definition: Json, given: Mapping[str, Any]) -> CallResult:
        """Answer a model. ArgumentError for arguments that don't fit."""
        arguments = self._meant(definition, given)
        check_call(_as_tool(definition), arguments)
        named = {one.name: arguments[one.name] for one in fields(self._type) if one.name in arguments}
        return await self.answer(asked, self.arguments(**named))

    @property
    def _type(self) -> Any:
        return self.arguments

    def _meant(self, definition: Json, given: Mapping[str, Any]) -> Json:
        """The arguments as they were meant: by their own names, without nulls, and 10.0 as the number 10."""
        parameters = definition["inputSchema"]["properties"]
        arguments: Json = {}
        for key, value in given.items():
            name = self.other_names.get(key, key)
            whole = isinstance(value, float) and value.is_integer()
            if whole and parameters.get(name, {}).get("type") == "integer":
                value = int(value)
            if value is not None and not arguments.get(name):  # of two names, the one that says more
                arguments[name] = value
        return arguments


def own_tools(offer: Offer, mode: Shown, *, about_skills: bool | None = None) -> dict[str, Json]:
    """The definitions that are shown in a mode, by name, in their order."""
    has_skills = about_skills is not False and offer.has_skills  # which walks all folders of skills
    return {
        tool.name: tool.define(offer, mode)
        for tool in OWN_TOOLS
        if mode in tool.modes
        and offer.level.name in tool.levels
        and tool.is_on(offer, mode)
        and (has_skills or not tool.about_skills)
        and about_skills in (None, tool.about_skills)
    }


@dataclass(frozen=True, kw_only=True)
class _Nothing:
    pass


async def _list_servers(asked: Asked, arguments: _Nothing) -> CallResult:
    servers = asked.offer.satchel.servers
    waiting = await servers.list_new(asked.offer.patience, client=asked.caller.client)
    answer = servers.list_all()
    for row in answer.get("servers", ()):
        if row["name"] in waiting:
            row["state"] = "being listed"  # and not running without any tools
    return answered(answer, servers_as_text(answer))


@dataclass(frozen=True, kw_only=True)
class _SearchTools:
    query: str = ""
    server: str | None = None
    detail: str = "desc"
    limit: int = 10
    offset: int = 0


async def _search_tools(asked: Asked, arguments: _SearchTools) -> CallResult:
    satchel = asked.offer.satchel
    named = satchel.servers.known().servers_of(selected(arguments.query))
    if arguments.server:
        named.add(arguments.server)
    waiting = await satchel.servers.list_new(asked.offer.patience, named, client=asked.caller.client)
    answer = await satchel.tools.find(
        arguments.query,
        server=arguments.server or None,
        detail=arguments.detail,
        limit=arguments.limit,
        offset=arguments.offset,
        agent=asked.caller.agent,
    )
    if waiting:
        answer["note"] = still_listing(waiting, answer.get("note"), "search again")

    known = satchel.servers.known()

    def wrapper_of(row: Json) -> str:
        return satchel.tools.wrapper_of(known.tool(row["name"]))

    with_code = asked.mode != "search"
    as_text = partial(tools_as_text, with_code=with_code, wrapper_of=wrapper_of if with_code else None)
    return answered(answer, await apart(as_text, answer))


async def _execute_code(asked: Asked, arguments: ExecutionRequest) -> CallResult:
    if arguments.resume is None and not arguments.code:
        raise ArgumentError("missing argument 'code'", argument="code", hint="it is a string: the program")
    if arguments.resume is not None and arguments.code:
        raise ArgumentError("either 'code' or 'resume'", argument="resume", hint="leave code out")
    async with reporting(asked.tell, silence=asked.offer.silence) as tell:
        execution = await asked.offer.satchel.executions.run(
            arguments, asked.caller, tell=tell, patience=asked.offer.patience
        )
    answer = answered(execution.as_json(), execution_as_text(execution))
    is_error = execution.exit_code != 0 and execution.ended != "approval"
    waiting = execution.waiting if execution.ended == "approval" else ()
    return replace(answer, is_error=is_error, waiting=waiting)


async def _execute_code_read_only(asked: Asked, arguments: ExecutionRequest) -> CallResult:
    return await _execute_code(replace(asked, caller=replace(asked.caller, read_only=True)), arguments)


@dataclass(frozen=True, kw_only=True)
class _CallTool:
    name: str
    arguments: object = None


async def _call_tool(asked: Asked, arguments: _CallTool) -> CallResult:
    tool = await _named(asked, arguments.name)
    given = arguments.arguments
    return await asked.offer.satchel.call_tool(
        Call(what=tool, arguments=given if is_object(given) else {}, caller=asked.caller, tell=asked.tell)
    )


async def _named(asked: Asked, name: str) -> Tool:
    try:
        return await asked.offer.satchel.servers.find_tool(name, client=asked.caller.client)
    except NotFoundError as error:
        named = asked.offer.only_tool_called(name)
        if named is not None:
            return named
        near = " or ".join(error.closest)
        hint = f"did you mean {near}?" if near else "search_tools finds tools"
        server = asked.offer.satchel.servers.now().begun_with(name)
        if server is not None and shows_no_tools(server):
            hint = sentence(server)
        raise NotFoundError("tool", name[:100], closest=error.closest, hint=hint) from error


async def _memory(asked: Asked, arguments: MemoryCommand) -> CallResult:
    memory, scope = asked.offer.satchel.memory, await asked.offer.satchel.privacy.open(asked.caller)
    if scope is None:
        text = await memory.tool.run(arguments, asked.caller)
    else:  # tokens end with the conversation, and memory stays
        text = await memory.tool.run(MemoryCommand(**scope.revealed(vars(arguments))), asked.caller)
        text = await scope.hidden_from_program(text, None)
    return CallResult(content=({"type": "text", "text": text},))


_FLAT: frozenset[LevelName] = frozenset({"flat"})
_ROUTER: frozenset[LevelName] = frozenset({"router"})
_SPECIALIST: frozenset[LevelName] = frozenset({"specialist"})
_CODE: frozenset[Shown] = frozenset({"code"})
_SEARCH: frozenset[Shown] = frozenset({"search"})
_EVERY: frozenset[Shown] = frozenset({"code", "search", "direct"})
OWN_TOOLS: tuple[OwnTool[Any], ...] = (
    OwnTool(
        name=definitions.LIST_SERVERS,
        modes=_CODE,
        define=lambda offer, mode: definitions.list_servers_tool(),
        arguments=_Nothing,
        answer=_list_servers,
    ),
    OwnTool(
        name=definitions.SEARCH_TOOLS,
        modes=_CODE | _SEARCH,
        define=lambda offer, mode: definitions.search_tools_tool(with_code=mode == "code"),
        arguments=_SearchTools,
        answer=_search_tools,
        # Elsewhere, what it finds could not be called: the router and specialists have tools of their own.
        is_on=lambda offer, mode: mode == "code" or offer.level.name == "flat",
        other_names={"keyword": "query", "detail_level": "detail"},
    ),
    OwnTool(
        name=definitions.EXECUTE_CODE,
        modes=_CODE,
        define=lambda offer, mode: definitions.execute_code_tool(
            offer.settings.code_execution.language, resumes=offer.asks_people
        ),
        arguments=ExecutionRequest,
        answer=_execute_code,
    ),
    OwnTool(
        name=definitions.EXECUTE_CODE_READ_ONLY,
        modes=_CODE,
        define=lambda offer, mode: definitions.execute_code_tool(
            offer.settings.code_execution.language, read_only=True, resumes=offer.asks_people
        ),
        arguments=ExecutionRequest,
        answer=_execute_code_read_only,
        is_on=lambda offer, mode: offer.settings.code_execution.read_only_tool,
    ),
    OwnTool(
        name=definitions.CALL_TOOL,
        modes=_SEARCH,
        define=lambda offer, mode: definitions.call_tool_tool(),
        arguments=_CallTool,
        answer=_call_tool,
        levels=_FLAT,
    ),
    OwnTool(
        name=definitions.SEARCH_SKILLS,
        modes=_EVERY,
        define=lambda offer, mode: definitions.search_skills_tool(),
        arguments=SearchSkills,
        answer=search_skills,
        about_skills=True,
        is_on=lambda offer, mode: offer.level.name == "flat" or offer.has_more_skills,
        levels=_FLAT | _ROUTER,
    ),
    OwnTool(
        name=definitions.VIEW_SKILL,
        modes=_EVERY,
        define=lambda offer, mode: definitions.view_skill_tool(),
        arguments=ViewSkill,
        answer=view_skill,
        about_skills=True,
        other_names={"skill_name": "name"},
    ),
    OwnTool(
        name=definitions.READ_FILE,
        modes=_EVERY,
        define=lambda offer, mode: definitions.read_file_tool(
            offer.satchel.skills.base, with_code=mode == "code"
        ),
        arguments=ReadFile,
        answer=read_file,
        about_skills=True,
        levels=_FLAT,  # specialists read the files of their skill as resources
        answers_unshown=_CODE,  # a wrapper_path can be read without any skill; three tools are enough to see
    ),
    OwnTool(
        name=definitions.READ_RESOURCE,
        modes=_EVERY,
        define=lambda offer, mode: definitions.read_resource_tool(),
        arguments=ReadResource,
        answer=read_resource,
        is_on=lambda offer, mode: offer.level.name != "flat" or offer.has_packages,
    ),
    OwnTool(
        name=definitions.LEAVE_SKILL,
        modes=_EVERY,
        define=lambda offer, mode: definitions.leave_skill_tool(),
        arguments=LeaveSkill,
        answer=leave_skill,
        levels=_SPECIALIST,
    ),
    OwnTool(
        name=definitions.MEMORY,
        modes=_EVERY,
        define=lambda offer, mode: definitions.memory_tool(),
        arguments=MemoryCommand,
        answer=_memory,
        is_on=lambda offer, mode: offer.has_memory_tool(mode),
    ),
)


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


def still_listing(servers: list[str], note: str | None, advice: str = "try again") -> str:
    """A note, and which servers may have what was not found."""
    if not servers:
        return note or ""
    waiting = f"still being listed, {advice} in a moment: {', '.join(servers[:20])}"
    return f"{note}; {waiting}" if note else waiting

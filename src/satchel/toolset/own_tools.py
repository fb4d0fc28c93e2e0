"""Satchel's own tools: one table. Each entry says where the tool is shown, what it is, and what answers it.

What a model writes becomes a value of a type of its own before anything is called with it.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Generic, TypeVar

from satchel.calls.arguments import check_call
from satchel.catalog.states import sentence, shows_no_tools
from satchel.context.executions import execution_as_text
from satchel.context.lists import servers_as_text, skill_as_text, skills_as_text, tools_as_text
from satchel.errors import NotFoundError, SatchelError
from satchel.model import Call, Caller, CallResult, ExecutionRequest, Json, Tell, Tool, is_object
from satchel.names import Spelling
from satchel.support.charging import apart
from satchel.support.program_paths import (
    AGENTS,
    CODE_API,
    MEMORY,
    SHARED,
    TASKS,
    WORKSPACE,
    is_within,
    seen_at,
)
from satchel.support.text import label
from satchel.toolset import definitions
from satchel.toolset.offer import Offer, Shown
from satchel.toolset.progress import reporting
from satchel.verbs.memory.command import MemoryCommand
from satchel.verbs.tool_search import selected

Arguments = TypeVar("Arguments")


@dataclass
class ActiveSkill:
    """The skill that was read last: the tools that it allows, if it names any."""

    tools: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The caller of one of the tools, with the context of its request."""

    offer: Offer
    mode: Shown
    caller: Caller
    tell: Tell
    active: ActiveSkill


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
    return _answered(answer, servers_as_text(answer))


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
    return _answered(answer, await apart(as_text, answer))


async def _execute_code(asked: Asked, arguments: ExecutionRequest) -> CallResult:
    async with reporting(asked.tell, silence=asked.offer.silence) as tell:
        execution = await asked.offer.satchel.executions.run(
            arguments, asked.caller, tell=tell, patience=asked.offer.patience
        )
    answer = _answered(execution.as_json(), execution_as_text(execution))
    return replace(answer, is_error=execution.exit_code != 0)


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


@dataclass(frozen=True, kw_only=True)
class _SearchSkills:
    query: str = ""
    limit: int = 10


async def _search_skills(asked: Asked, arguments: _SearchSkills) -> CallResult:
    skills = asked.offer.satchel.skills
    answer = await apart(partial(skills.search, limit=arguments.limit), arguments.query, asked.caller.agent)
    return _answered(answer, skills_as_text(answer))


@dataclass(frozen=True, kw_only=True)
class _ViewSkill:
    name: str


async def _view_skill(asked: Asked, arguments: _ViewSkill) -> CallResult:
    answer = await apart(asked.offer.satchel.skills.view, arguments.name, asked.caller.agent)
    asked.active.tools = tuple(answer["allowed_tools"]) or None
    return _answered(answer, skill_as_text(answer))


_FILES_OF_PROGRAMS = "a program reads those: execute_code with print(open(…).read())"


@dataclass(frozen=True, kw_only=True)
class _ReadFile:
    path: str


async def _read_file(asked: Asked, arguments: _ReadFile) -> CallResult:
    satchel, agent = asked.offer.satchel, asked.caller.agent
    skills, path = satchel.skills, seen_at(arguments.path, skills=satchel.skills.base)
    if is_within(path, [CODE_API]):
        text = await satchel.executions.read_wrapper(path)
    elif is_within(path, [WORKSPACE, MEMORY, TASKS, AGENTS, SHARED, "/tmp"]):
        raise NotFoundError("file", label(path), hint=_FILES_OF_PROGRAMS)
    else:
        text = await apart(skills.read_text, path, agent)
        with suppress(SatchelError):  # any other file of a skill makes none the active one
            asked.active.tools = (await apart(skills.find, path, agent)).allowed_tools or None
    return CallResult(content=({"type": "text", "text": text},))


async def _memory(asked: Asked, arguments: MemoryCommand) -> CallResult:
    text = await asked.offer.satchel.memory.tool.run(arguments, asked.caller)
    return CallResult(content=({"type": "text", "text": text},))


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
        other_names={"keyword": "query", "detail_level": "detail"},
    ),
    OwnTool(
        name=definitions.EXECUTE_CODE,
        modes=_CODE,
        define=lambda offer, mode: definitions.execute_code_tool(offer.settings.code_execution.language),
        arguments=ExecutionRequest,
        answer=_execute_code,
    ),
    OwnTool(
        name=definitions.EXECUTE_CODE_READ_ONLY,
        modes=_CODE,
        define=lambda offer, mode: definitions.execute_code_tool(
            offer.settings.code_execution.language, read_only=True
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
    ),
    OwnTool(
        name=definitions.SEARCH_SKILLS,
        modes=_EVERY,
        define=lambda offer, mode: definitions.search_skills_tool(),
        arguments=_SearchSkills,
        answer=_search_skills,
        about_skills=True,
    ),
    OwnTool(
        name=definitions.VIEW_SKILL,
        modes=_EVERY,
        define=lambda offer, mode: definitions.view_skill_tool(),
        arguments=_ViewSkill,
        answer=_view_skill,
        about_skills=True,
        other_names={"skill_name": "name"},
    ),
    OwnTool(
        name=definitions.READ_FILE,
        modes=_EVERY,
        define=lambda offer, mode: definitions.read_file_tool(
            offer.satchel.skills.base, with_code=mode == "code"
        ),
        arguments=_ReadFile,
        answer=_read_file,
        about_skills=True,
        answers_unshown=_CODE,  # a wrapper_path can be read without any skill; three tools are enough to see
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


def _answered(value: Json, text: str) -> CallResult:
    return CallResult(content=({"type": "text", "text": text},), structured=value, has_structured=True)


def still_listing(servers: list[str], note: str | None, advice: str = "try again") -> str:
    """A note, and which servers may have what was not found."""
    if not servers:
        return note or ""
    waiting = f"still being listed, {advice} in a moment: {', '.join(servers[:20])}"
    return f"{note}; {waiting}" if note else waiting

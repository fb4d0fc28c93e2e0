"""What Satchel's own tools about skills, files and resources answer."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from satchel.context.lists import skill_as_text, skills_as_text
from satchel.errors import NotFoundError, SatchelError
from satchel.model import CallResult, Json, is_object
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
from satchel.toolset.asked import Asked, answered
from satchel.toolset.levels import file_of_skill


@dataclass(frozen=True, kw_only=True)
class SearchSkills:
    query: str = ""
    limit: int = 10


async def search_skills(asked: Asked, arguments: SearchSkills) -> CallResult:
    skills = asked.offer.satchel.skills
    answer = await apart(partial(skills.search, limit=arguments.limit), arguments.query, asked.caller.agent)
    return answered(answer, skills_as_text(answer))


@dataclass(frozen=True, kw_only=True)
class ViewSkill:
    name: str


async def view_skill(asked: Asked, arguments: ViewSkill) -> CallResult:
    satchel, agent = asked.offer.satchel, asked.caller.agent
    answer = await apart(satchel.skills.view, arguments.name, agent)
    skill = satchel.skills.find(arguments.name, agent)
    asked.active.read(skill)
    if satchel.packages.has(skill):  # where nobody can begin a new run, its context is told in place
        await satchel.servers.list_new(asked.offer.patience, client=asked.caller.client)
        context = await apart(satchel.packages.context, skill, agent)
        asked.active.bring(skill, context.tools)
        answer |= context.as_json()
    return answered(answer, skill_as_text(answer))


_FILES_OF_PROGRAMS = "a program reads those: execute_code with print(open(…).read())"


@dataclass(frozen=True, kw_only=True)
class ReadFile:
    path: str


async def read_file(asked: Asked, arguments: ReadFile) -> CallResult:
    satchel, agent = asked.offer.satchel, asked.caller.agent
    skills, path = satchel.skills, seen_at(arguments.path, skills=satchel.skills.base)
    if is_within(path, [CODE_API]):
        text = await satchel.executions.read_wrapper(path)
    elif is_within(path, [WORKSPACE, MEMORY, TASKS, AGENTS, SHARED, "/tmp"]):
        raise NotFoundError("file", label(path), hint=_FILES_OF_PROGRAMS)
    else:
        text = await apart(skills.read_text, path, agent)
        with suppress(SatchelError):  # any other file of a skill makes none the active one
            asked.active.read(await apart(skills.find, path, agent))
    return CallResult(content=({"type": "text", "text": text},))


@dataclass(frozen=True, kw_only=True)
class ReadResource:
    uri: str
    server: str = ""


async def read_resource(asked: Asked, arguments: ReadResource) -> CallResult:
    satchel, agent = asked.offer.satchel, asked.caller.agent
    path = file_of_skill(arguments.uri, asked.offer.level, satchel.skills.base)
    if path is not None:
        text = await apart(satchel.skills.read_text, path, agent)
        return CallResult(content=({"type": "text", "text": text},))
    await satchel.servers.list_new(asked.offer.patience, client=asked.caller.client)
    found = satchel.packages.resource(arguments.uri, agent, arguments.server)
    answer = await satchel.resources.read(found.server, found.uri, caller=asked.caller)
    contents: list[Json] = [part for part in answer.get("contents") or () if is_object(part)]
    return CallResult(content=tuple({"type": "resource", "resource": part} for part in contents))


@dataclass(frozen=True, kw_only=True)
class LeaveSkill:
    summary: str


async def leave_skill(asked: Asked, arguments: LeaveSkill) -> CallResult:
    """For whoever does not begin a new run when a model says so: nothing is left but to go on."""
    return CallResult(content=({"type": "text", "text": "go on"},))

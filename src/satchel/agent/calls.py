"""The calls of one answer of a model: carried out, in an order that is safe, each with exactly one result.

Calls run beside one another, except those that change the turn itself. A change of context comes last: what
else was asked for in the same answer was asked for in the context before.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio

from satchel.agent.own_tools import LOOP_TOOLS, Turn
from satchel.agent.transcript import arguments_of
from satchel.agent.wire import INTERRUPTED
from satchel.errors import NotFoundError, SatchelError
from satchel.model import (
    CallResult,
    Json,
    Message,
    SkillContext,
    TellTurn,
    ToolBegan,
    ToolEnded,
    ToolTold,
    is_object,
)
from satchel.support.charging import apart
from satchel.toolset import Toolset
from satchel.toolset.definitions import LEAVE_SKILL, MEMORY, VIEW_SKILL
from satchel.toolset.levels import entered, short_names
from satchel.toolset.results import text_of
from satchel.verbs.satchel import Satchel

_AT_ONCE = 8
_MOST = 128  # calls of one answer
_ALONE = frozenset({MEMORY})
_LONGEST = 200_000  # characters of a result that a model reads
_MORE = "\n… {} characters were left out"


@dataclass(frozen=True, kw_only=True)
class Result:
    text: str
    outcome: str = "ok"
    waiting: tuple[Json, ...] = ()  # approvals without which it can't go on
    again: Json | None = None  # the arguments with which it goes on after a decision


@dataclass(frozen=True, kw_only=True)
class Switch:
    """A change of context, and the call that asked for it."""

    skills: tuple[str, ...]
    call: Json
    text: str
    tools: frozenset[str] = frozenset()  # of the skill that was entered, as the model is shown them


class Calls:
    """Carries out the calls of one message. `results` has those that are done, in the order of the calls."""

    def __init__(self, satchel: Satchel, toolset: Toolset, turn: Turn, tell: TellTurn) -> None:
        self._satchel = satchel
        self._toolset = toolset
        self._turn = turn
        self._tell = tell
        self.results: dict[int, Result] = {}
        self.switch: Switch | None = None

    async def carry_out(self, calls: list[Json]) -> None:
        switching: list[int] = []
        alone: list[int] = []
        limiter = anyio.CapacityLimiter(_AT_ONCE)

        async def one(place: int) -> None:
            async with limiter:
                await self._carry_out(place, calls[place])

        async with anyio.create_task_group() as tasks:
            for place, call in enumerate(calls):
                if place >= _MOST:
                    text = f"one answer may have {_MOST} calls: this one was not made"
                    self.results[place] = Result(text=text, outcome="error")
                elif await self._is_switch(call):
                    switching.append(place)
                elif self._is_alone(call["name"]):
                    alone.append(place)
                else:
                    tasks.start_soon(one, place)
        for place in alone:
            await one(place)
        for place in switching:
            await self._carry_out(place, calls[place], self._switched)
        self._tell_of_new_tools(calls)

    def message(self, calls: list[Json]) -> Message:
        """A result for each call; those without one were interrupted."""
        unknown = Result(text=INTERRUPTED, outcome="interrupted")
        results: list[Json] = []
        for place, call in enumerate(calls):
            result = self.results.get(place, unknown)
            row: Json = {
                "id": call["id"],
                "name": call["name"],
                "text": result.text,
                "outcome": result.outcome,
            }
            if result.waiting:
                row |= {"waiting": list(result.waiting), "again": result.again}
            results.append(row)
        return Message(role="tools", content={"results": results})

    @property
    def waiting(self) -> tuple[Json, ...]:
        return tuple(each for place in sorted(self.results) for each in self.results[place].waiting)

    def _is_alone(self, name: str) -> bool:
        return name in _ALONE or (name in LOOP_TOOLS and LOOP_TOOLS[name].alone)

    async def _carry_out(
        self, place: int, call: Json, work: "Callable[[Json, Json], Awaitable[Result]] | None" = None
    ) -> None:
        began = time.monotonic()
        id, name = str(call["id"]), str(call["name"])
        try:
            arguments = arguments_of(call)
            self._tell(ToolBegan(id=id, name=name, arguments=arguments))
            result = await (work or self._answered)(call, arguments)
        except SatchelError as error:
            text = f"{error.message}\nhint: {error.hint}" if error.hint else error.message
            result = Result(text=text, outcome="error")
        self.results[place] = result
        ms = (time.monotonic() - began) * 1000
        self._tell(ToolEnded(id=id, name=name, outcome=result.outcome, ms=ms, text=result.text))

    async def _answered(self, call: Json, arguments: Json) -> Result:
        name = str(call["name"])
        tool = LOOP_TOOLS.get(name)
        if tool is not None and tool.is_on(self._turn):
            return Result(text=await tool.answer(self._turn, arguments))
        tell = partial(self._told, str(call["id"]))
        answer = await self._toolset.call(name, arguments, tell=tell)
        return Result(
            text=_cut(text_of(answer)),
            outcome=_outcome(answer),
            waiting=answer.waiting,
            again=_again(answer, arguments),
        )

    def _told(self, id: str, event: Any) -> None:
        self._tell(ToolTold(id=id, event=event))

    # Changes of context

    async def _is_switch(self, call: Json) -> bool:
        """Whether a call changes the context, and does not only read."""
        level = self._toolset.level
        if call["name"] == LEAVE_SKILL:
            return level.context is not None
        if call["name"] != VIEW_SKILL or level.name == "flat":
            return False
        try:
            skill = await self._viewed(call)
        except SatchelError:  # whoever carries it out says what is wrong
            return False
        return self._satchel.packages.has(skill)

    async def _viewed(self, call: Json):  # its type is the skill's
        given = arguments_of(call)
        name = given.get("name") or given.get("skill_name")
        if not isinstance(name, str):
            raise NotFoundError("skill", "")
        return await apart(self._satchel.skills.find, name, self._toolset.agent)

    async def _switched(self, call: Json, arguments: Json) -> Result:
        if self.switch is not None:
            return Result(
                text="one change of context at a time: this one was not done; ask for it again if need be",
                outcome="error",
            )
        level = self._toolset.level
        stack = level.stack
        tools: frozenset[str] = frozenset()
        if call["name"] == LEAVE_SKILL:
            summary = str(arguments.get("summary") or "")
            left = stack[-1].partition(":")[2]
            skills, text = stack[:-1], f"You have left the skill {left}. Its summary: {summary}"
        else:
            context = await self._context(call)
            skills = entered(level, context).stack
            tools = frozenset(short_names(context.tools, ()))
            text = f"You work with the skill {context.skill.name} now, on what the user has asked for."
        self.switch = Switch(skills=skills, call=call, text=text, tools=tools)
        return Result(text=text)

    async def _context(self, call: Json) -> SkillContext:
        skill = await self._viewed(call)
        return await apart(self._satchel.packages.context, skill, self._toolset.agent)

    def _tell_of_new_tools(self, calls: list[Json]) -> None:
        """A model may call the tools of a skill together with viewing it: they are there from then on."""
        if self.switch is None or not self.switch.tools:
            return
        new = self.switch.tools - {each["name"] for each in self._toolset.definitions()}
        for place, call in enumerate(calls):
            if call["name"] in new and self.results[place].outcome == "error":
                text = f"{call['name']} is available from your next answer on"
                self.results[place] = Result(text=text, outcome="error")


def _outcome(answer: CallResult) -> str:
    if answer.waiting:
        return "approval"
    return "error" if answer.is_error else "ok"


def _again(answer: CallResult, arguments: Json) -> Json | None:
    """How a call that waits goes on: a direct one as it is, a program if it can be resumed."""
    if not answer.waiting:
        return None
    value = answer.structured if answer.has_structured else None
    if not is_object(value):
        return arguments
    return {"resume": value["resume"]} if value.get("resume") else None


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return text[:_LONGEST] + _MORE.format(f"{len(text) - _LONGEST:,}")

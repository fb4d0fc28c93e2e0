"""One turn: a model is asked, its calls are carried out, until it answers or a limit is reached.

Every step is committed before anything follows from it, so that a turn that was broken off goes on where it
stopped, and nothing that was done is done again. A change of context is a change of the instructions and the
tools of the next request, and of what it is shown of the conversation.
"""

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import cast

import anyio

from satchel.agent.asking import AskedModel, asked_model
from satchel.agent.calls import Calls
from satchel.agent.commands import expanded
from satchel.agent.limits import Allowance, Clock
from satchel.agent.own_tools import loop_tools
from satchel.agent.people import People, people_of
from satchel.agent.transcript import skill_read_last, source_of, undecided, visible
from satchel.config.agents import AgentSettings, Mode
from satchel.errors import ArgumentError, NotFoundError, SatchelError
from satchel.model import (
    Answer,
    Conversation,
    ConversationRecord,
    Json,
    Message,
    ModelAnswered,
    ModelAsked,
    PersonAnswered,
    PersonAsked,
    Reads,
    SkillSwitched,
    TellTurn,
    TextDelta,
    TodosWritten,
    ToldMemory,
    ToolTold,
    TurnBegan,
    TurnEnded,
    TurnEvent,
    TurnRequest,
    Usage,
    Writer,
)
from satchel.support.charging import apart
from satchel.toolset import PATIENCE, Toolset
from satchel.toolset.prompting import instructions_for, level_within
from satchel.verbs.satchel import Satchel

_OUTCOME = 500  # characters of an answer that a task remembers
_TITLE = 100


async def run_turn(
    satchel: Satchel,
    request: TurnRequest,
    tell: TellTurn,
    *,
    allowance: Allowance | None = None,
    environment: Mapping[str, str] | None = None,
    within: Reads | None = None,
) -> Answer:
    """Have an agent do what it is asked. `allowance` and `within` are those of a turn that delegates."""
    settings = satchel.project.agent(request.agent)
    record = await satchel.conversations.get(request.conversation) if request.conversation else None
    if record is not None and record.agent != request.agent:
        raise ArgumentError(
            f"the conversation {record.id} is one of the agent {record.agent}",
            argument="agent",
            hint=f"--agent {record.agent}",
        )
    if record is None and not request.text.strip():
        raise ArgumentError("there is nothing to do", hint="write a task")
    environment = os.environ if environment is None else environment
    model = asked_model(request, settings, satchel.configuration.settings.models, environment)
    if request.text.startswith("/"):
        request = replace(request, text=await expanded(satchel, request))
    await satchel.servers.list_new(PATIENCE)
    turn = LoopTurn(
        satchel,
        request,
        settings,
        model,
        tell,
        allowance=allowance,
        environment=environment,
        within=within,
    )
    async with model.model:  # which closes its connections
        return await turn.run(record)


class LoopTurn:
    """One turn of one agent."""

    def __init__(
        self,
        satchel: Satchel,
        request: TurnRequest,
        settings: AgentSettings,
        model: AskedModel,
        tell: TellTurn,
        *,
        allowance: Allowance | None,
        environment: Mapping[str, str],
        within: Reads | None,
    ) -> None:
        self._satchel = satchel
        self._request = request
        self._model = model
        self._report = tell
        self._clock = Clock()
        self._mode: Mode | None = cast("Mode | None", request.mode)  # the toolset refuses any other text
        self._environment = environment
        self._limits = replace(
            settings.limits,
            requests=request.requests or settings.limits.requests,
            seconds=request.seconds or settings.limits.seconds,
        )
        self._is_delegated = allowance is not None
        self._allowance = allowance or Allowance(limits=self._limits)
        self._reads = Reads(within=(within,) if within is not None else ())
        self._talk = Conversation(reads=self._reads)
        self._told = ToldMemory()
        self._messages: list[Message] = []
        self._usage = Usage()
        self._before = Usage()
        self._files: list[str] = []
        self._people = People()
        self.delegates = () if self._is_delegated else settings.delegates
        self.can_ask = request.ask is not None

    # What the loop's own tools do

    def write_todos(self, todos: tuple[Json, ...]) -> None:
        self._tell(TodosWritten(todos=todos))

    def present(self, paths: tuple[str, ...]) -> None:
        self._files += paths

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        assert self._request.ask is not None
        self._clock.stop(question)
        shown = self._people.shown
        try:
            return await self._people.typed(await self._request.ask(shown(question), shown(options)))
        finally:
            self._clock.go_on(question)

    async def delegate(self, agent: str, task: str) -> str:
        """Another agent does a part, with its own permissions, within what is left of this turn's limits."""
        if agent not in self.delegates:
            raise NotFoundError("agent", agent, hint=f"agents to delegate to: {', '.join(self.delegates)}")
        request = TurnRequest(agent=agent, text=task, stream=self._request.stream, mode=self._request.mode)
        async with self._allowance.places:
            answer = await run_turn(
                self._satchel,
                request,
                self._tell_of_questions,
                allowance=self._allowance,
                environment=self._environment,
                within=self._reads,
            )
        if answer.ended != "answered":
            return f"[{agent} did not finish: {answer.reason or answer.ended}]\n{answer.text}"
        return answer.text

    # The turn

    async def run(self, record: ConversationRecord | None) -> Answer:
        """Work until there is an answer. What was done until then is kept, whichever way it ends."""
        await self._begin(record)
        self._tell(TurnBegan(conversation=self._talk.id, agent=self._request.agent, model=self._model.name))
        answer = self._ended("cancelled", "it was interrupted")
        try:
            with self._clock.running(self._limits.seconds) as scope:
                answer = await self._work()
            if scope.cancelled_caught:
                answer = self._ended("seconds", f"it took longer than {self._limits.seconds:g} s")
        except SatchelError as error:
            answer = self._ended("failed", error.message)
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await self._finish(answer)
        self._tell(TurnEnded(answer=answer))
        return answer

    async def _begin(self, record: ConversationRecord | None) -> None:
        """Take up the conversation that is to go on, or begin one."""
        store, agent = self._satchel.conversations, self._request.agent
        id = secrets.token_hex(6) if record is None else record.id
        if not self._is_delegated:
            self._people = await people_of(self._satchel.privacy, agent, id)
            self._report = self._people.telling(self._report)
        if record is None:
            self._told = await apart(Toolset(self._satchel, agent=agent, mode=self._mode).memory)
            title = " ".join((await self._people.typed(self._request.text)).split())[:_TITLE]
            new = ConversationRecord(id=id, agent=agent, title=title, state="running", memory=self._told.text)
            record = await store.begin(new)
            self._satchel.memory.record(self._told, agent, record.id)
        else:
            record = await store.claim(record.id)
            self._told = ToldMemory(text=record.memory)
        self._reads.begin_with(*map(source_of, record.reads))
        self._satchel.memory.hear(agent, self._reads)
        self._talk = Conversation(id=record.id, reads=self._reads)
        self._messages = list(record.messages)
        self._before = record.usage

    async def _go_on(self) -> tuple[Json, ...]:
        """Carry out the calls that a person has decided on meanwhile; gives those that wait still.

        Nothing of them was sent before. While nobody has decided, a new message comes first.
        """
        calls = undecided(self._messages)
        if self._request.text and not await self._is_any_decided(calls):
            return ()
        return await self._carry_out(calls) if calls else ()

    async def _is_any_decided(self, calls: list[Json]) -> bool:
        for call in calls:
            for each in call["waiting"]:
                if (await self._satchel.approvals.find(each["approval"])).state != "waiting":
                    return True
        return False

    async def _say_what_to_do(self) -> None:
        """Calls that an earlier turn was broken off in get no answer but that; none of them is made again."""
        last = self._messages[-1] if self._messages else None
        if last is not None and last.role == "model" and last.calls:
            await self._add(Calls(self._satchel, self._toolset(), self, self._tell).message(last.calls))
        if self._request.text:
            await self._add(
                Message(role="user", content={"text": await self._people.typed(self._request.text)})
            )
            if not self._is_delegated:
                await self._satchel.agents.begin_task(
                    self._request.agent,
                    id=secrets.token_hex(4),
                    description=self._request.text[:_OUTCOME],
                    conversation=self._talk.id,
                )
        if self._request.skill:
            skill = await apart(self._satchel.skills.find, self._request.skill, self._request.agent)
            if skill.identity not in self._stack:
                await self._enter((skill.identity,), {})

    async def _work(self) -> Answer:
        waiting = await self._go_on()
        if self._request.text or not waiting:
            waiting = ()
            await self._say_what_to_do()
        while True:
            if waiting:
                return self._ended("approval", "it waits for a person's decision", waiting=waiting)
            exceeded = self._allowance.exceeded()
            if exceeded is not None:
                return self._ended(*exceeded)
            answered = await self._ask_model()
            if not answered.calls:
                return self._ended("answered", "", text=answered.text)
            waiting = await self._carry_out(answered.calls)

    async def _finish(self, answer: Answer) -> None:
        """Keep what the turn took and read."""
        await self._satchel.conversations.release(
            self._talk.id, usage=self._before + self._usage, reads=self._read_so_far()
        )
        if not self._is_delegated and answer.ended != "approval":
            writer = Writer(
                kind="model", conversation=self._talk.id, reads=self._reads.sources, agent=self._request.agent
            )
            await self._satchel.agents.complete_task(
                self._request.agent,
                status="completed" if answer.ended == "answered" else "failed",
                outcome=(answer.text or answer.reason)[:_OUTCOME],
                writer=writer,
            )

    def _read_so_far(self) -> list[Json]:
        return [
            {"server": each.server, "what": each.what, "labels": sorted(each.labels), "cut": each.is_cut}
            for each in self._reads.sources
        ]

    def _ended(self, ended: str, reason: str, *, text: str = "", waiting: tuple[Json, ...] = ()) -> Answer:
        return Answer(
            text=self._people.shown(text),
            conversation=self._talk.id,
            ended=ended,
            reason=self._people.shown(reason),
            waiting=self._people.shown(waiting),
            usage=self._usage,
            files=tuple(dict.fromkeys(self._files)),
        )

    def _tell(self, event: TurnEvent) -> None:
        """Tell whoever follows the turn. While a person is asked, the time of the turn stands still."""
        if isinstance(event, ToolTold):
            if isinstance(event.event, PersonAsked):
                self._clock.stop(event.event.approval)
            elif isinstance(event.event, PersonAnswered):
                self._clock.go_on(event.event.approval)
        self._report(event)

    def _tell_of_questions(self, event: TurnEvent) -> None:
        """Of what another agent does for this one, a person hears only what a person has to decide."""
        if isinstance(event, ToolTold) and isinstance(event.event, PersonAsked | PersonAnswered):
            self._tell(event)

    # Requests and calls

    async def _ask_model(self) -> Message:
        """Ask the model, and commit its answer before anything is done with it."""
        toolset = await apart(self._toolset)
        definitions = [*toolset.definitions(), *loop_tools(self).values()]
        instructions = await apart(self._instructions, toolset)
        context = toolset.level.context
        self._tell(
            ModelAsked(
                number=self._usage.requests + 1, skill=context.skill.name if context is not None else ""
            )
        )
        response = await self._model.ask(
            visible(self._messages), definitions, instructions, lambda text: self._tell(TextDelta(text=text))
        )
        self._usage += response.usage
        self._allowance.take(response.usage)
        content = {
            "parts": list(response.parts),
            "model": self._model.name,
            "usage": response.usage.as_json(),
        }
        message = await self._add(Message(role="model", content=content))
        self._tell(ModelAnswered(text=message.text, calls=len(message.calls), usage=response.usage))
        return message

    def _instructions(self, toolset: Toolset) -> str:
        return instructions_for(
            self._satchel, toolset, self._told.text, delegates=self.delegates, can_ask=self.can_ask
        )

    async def _carry_out(self, asked: list[Json]) -> tuple[Json, ...]:
        """Do what the model has asked for; gives the approvals that this waits for."""
        calls = Calls(self._satchel, await apart(self._toolset), self, self._tell)
        try:
            await calls.carry_out(asked)
        finally:  # what was done is known, also where the rest was cancelled
            with anyio.CancelScope(shield=True):
                await self._satchel.conversations.note_reads(self._talk.id, self._read_so_far())
                await self._add(calls.message(asked))
        if calls.switch is not None:
            await self._enter(calls.switch.skills, {"call": calls.switch.call, "text": calls.switch.text})
        return calls.waiting

    async def _enter(self, skills: tuple[str, ...], how: Json) -> None:
        """From here on the model is in the context of the last of these skills."""
        await self._add(Message(role="switch", content={"skills": list(skills), **how}))
        self._tell(SkillSwitched(skills=skills))

    async def _add(self, message: Message) -> Message:
        added = await self._satchel.conversations.add(self._talk.id, len(self._messages), message)
        self._messages.append(added)
        return added

    # Where the model is

    @property
    def _stack(self) -> tuple[str, ...]:
        switches = (each for each in reversed(self._messages) if each.role == "switch")
        last = next(switches, None)
        return tuple(last.content["skills"]) if last is not None else ()

    def _toolset(self) -> Toolset:
        """The tools of the context that the model is in."""
        make = partial(
            Toolset,
            self._satchel,
            agent=self._request.agent,
            mode=self._mode,
            conversation=self._talk,
        )
        first = make().first_level
        level = level_within(self._satchel, self._request.agent, first, self._stack)
        toolset = make(level=level)
        read = skill_read_last(self._messages)
        if read is not None:  # the tools that it allows are enforced for as long as it is the last
            with suppress(SatchelError):
                toolset.active.read(self._satchel.skills.find(read, self._request.agent))
        return toolset

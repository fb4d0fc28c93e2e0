"""The agents of a project, for the person who keeps them: listed, shown, added, cleared, removed.

What an agent may do is written in satchel.yaml, and decided in `calls/policy.py`; here it is only told.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from anyio.abc import TaskGroup

from satchel.config import Configuration
from satchel.config.agents import AgentSettings, may_read
from satchel.config.follow import LiveConfiguration
from satchel.config.settings import find_agent, read_settings_file
from satchel.errors import ArgumentError, NotFoundError
from satchel.library.memory.marks import TASKS, is_marked
from satchel.library.memory.places import agent_directory, tasks_of
from satchel.model import UNTRUSTED, ExecutionRecord, Remembered, Source, TurnRequest, Writer
from satchel.names import closest
from satchel.store.journal import Journal
from satchel.support.charging import apart
from satchel.verbs.agents.places import (
    Space,
    left_over,
    nothing_running,
    places_of,
    remove_files,
    saved_by,
    space_of,
)
from satchel.verbs.agents.turns import AgentTurn, RunTurn
from satchel.verbs.executions import Executions
from satchel.verbs.memory.opening import is_there, open_memory
from satchel.verbs.programs.tracing import trace_outcome

if TYPE_CHECKING:  # a call needs nothing of this, and would wait for its loading
    from satchel.config.agent_entries import Value
    from satchel.library.memory.tasks import Task, Tasks

DEFAULT = "default"
_LAST = 5  # executions that are shown


@dataclass(frozen=True, kw_only=True)
class AgentSummary:
    """An agent in a line: what it may do, how much its workspace takes, and what it ran last."""

    name: str
    settings: AgentSettings
    may_read: Mapping[str, bool]  # the memory of these agents; true where it may write to it as well
    workspace: Space
    last: ExecutionRecord | None


@dataclass(frozen=True, kw_only=True)
class AgentInfo:
    """All that is known of an agent."""

    name: str
    settings: AgentSettings
    mode: str  # of its own, or of the project
    may_read: Mapping[str, bool]
    read_by: Mapping[str, bool]  # the agents that may use its memory
    workspace: Space
    memory: Space
    tasks_place: Space
    skills_place: Space
    skills: tuple[str, ...]
    tasks: "Tasks"
    remembered: Remembered  # nothing where its memory is off
    executions: tuple[ExecutionRecord, ...]  # the last ones, newest first


@dataclass(frozen=True, kw_only=True)
class Removal:
    """An agent that can be removed, and what it has."""

    name: str
    workspace: Space
    tasks: Space
    memory: Space
    own_memory: bool  # else the memory is in a folder that a person has chosen, and stays
    skills: tuple[str, ...]


class Agents:
    """The agents of one open Satchel."""

    def __init__(
        self,
        configuration: LiveConfiguration,
        journal: Journal,
        executions: Executions,
        run_turn: RunTurn,
        tasks: TaskGroup,
    ) -> None:
        self._configuration = configuration
        self._journal = journal
        self._executions = executions
        self._run_turn = run_turn
        self._tasks = tasks

    def run(self, name: str, text: str = "", **how: Any) -> AgentTurn:
        """Have an agent do a task. `how` are other fields of a `TurnRequest`.

        Await it for the `Answer`, or follow its events with `async for`.
        """
        return self.turn(TurnRequest(agent=name, text=text, **how))

    def turn(self, request: TurnRequest) -> AgentTurn:
        """The same for a request at hand."""
        return AgentTurn(self._run_turn, request, self._tasks)

    def names(self) -> list[str]:
        """All agents. There is always the agent `default`."""
        return list(dict.fromkeys((DEFAULT, *self._now().settings.agents)))

    def left_over(self) -> list[str]:
        """Agents that satchel.yaml no longer names, and whose files are still there."""
        return left_over(self._now().paths, set(self.names()))

    async def summaries(self) -> list[AgentSummary]:
        """All agents, in the order of the file."""
        now = self._now()
        found: list[AgentSummary] = []
        for name in self.names():
            last = await self._last(now, name, 1)
            found.append(
                AgentSummary(
                    name=name,
                    settings=find_agent(now.settings, name),
                    may_read=may_read(now.settings.agents, name),
                    workspace=await apart(space_of, places_of(now, name).workspace),
                    last=last[0] if last else None,
                )
            )
        return found

    async def show(self, name: str) -> AgentInfo:
        """All that is known of an agent."""
        from satchel.library.memory.tasks import Tasks, read_tasks  # a call reads no tasks

        now = self._now()
        settings = find_agent(now.settings, name)
        agents = now.settings.agents
        places = places_of(now, name)
        grants = {other: may_read(agents, other) for other in self.names()}
        return AgentInfo(
            name=name,
            settings=settings,
            mode=settings.mode or now.settings.mode,
            may_read=grants[name],
            read_by={other: granted[name] for other, granted in grants.items() if name in granted},
            workspace=await apart(space_of, places.workspace),
            memory=await apart(space_of, places.memory),
            tasks_place=await apart(space_of, places.tasks),
            skills_place=await apart(space_of, places.skills),
            skills=tuple(skill.name for skill in await apart(saved_by, now, name)),
            tasks=await apart(read_tasks, places.tasks) if now.paths.is_state_ours else Tasks(),
            remembered=await apart(open_memory(now, name).read) if is_there(now, name) else Remembered(),
            executions=tuple(await self._last(now, name, _LAST)),
        )

    async def add(self, name: str, values: "Mapping[str, Value]") -> AgentSettings:
        """Write an agent into satchel.yaml. `values` are settings of it, texts and lists of texts."""
        from satchel.config.agent_entries import add_agent  # few commands change the file

        return await apart(add_agent, self._now().paths, name, values)

    async def workspace(self, name: str) -> Space:
        """How much the workspace of an agent takes."""
        now = self._now()
        find_agent(now.settings, name)
        return await apart(space_of, places_of(now, name).workspace)

    async def clear_workspace(self, name: str) -> None:
        """Remove all files of a workspace. The agent's memory, tasks and skills stay."""
        await self._executions.clear_workspace(name)

    async def removal(self, name: str) -> Removal:
        """What removing an agent means. Refused for `default`, and while others may use its memory."""
        now = self._now()
        self._refuse_removal(now, name)
        places = places_of(now, name)
        return Removal(
            name=name,
            workspace=await apart(space_of, places.workspace),
            tasks=await apart(space_of, places.tasks),
            memory=await apart(space_of, places.memory),
            own_memory=places.own_memory,
            skills=tuple(skill.name for skill in await apart(saved_by, now, name)),
        )

    async def remove(self, name: str, *, memory: bool = False, skills: bool = False) -> None:
        """Take an agent out of satchel.yaml, and remove its workspace and tasks; more only if asked to."""
        from satchel.config.agent_entries import remove_agent  # few commands change the file

        now = self._now()
        self._refuse_removal(now, name)

        def work() -> None:
            with nothing_running(now.paths, name):
                remove_agent(now.paths, name)
                remove_files(now, name, memory=memory, skills=skills)

        await apart(work)

    async def begin_task(self, name: str, *, id: str, description: str, conversation: str = "") -> None:
        """Write down what an agent begins to work on."""
        from satchel.library.memory.tasks import begin_task  # a call begins none

        now = self._now()
        find_agent(now.settings, name)
        place = tasks_of(now.paths, name)

        def work() -> None:
            now.paths.prepare_state()
            begin_task(place, id=id, description=description, at=datetime.now(UTC), conversation=conversation)

        await apart(work)

    async def complete_task(self, name: str, *, status: str, outcome: str, writer: Writer) -> "Task | None":
        """Move what an agent worked on to what is done, and have it remember that; None for nothing.

        `writer` says what had been read before the outcome was written, and in which conversation.
        """
        from satchel.library.memory.tasks import complete_task  # a call completes none

        now = self._now()
        settings = find_agent(now.settings, name)
        place = tasks_of(now.paths, name)
        if is_marked(agent_directory(now.paths, name), TASKS):  # a program may have written the description
            tasks = Source(what="tasks", labels=frozenset({UNTRUSTED}))
            writer = replace(writer, reads=(*writer.reads, tasks))

        def work() -> "Task | None":
            now.paths.prepare_state()
            trace_outcome(now, name, writer.reads)
            task = complete_task(
                place,
                status=status,
                outcome=outcome,
                at=datetime.now(UTC),
                conversation=writer.conversation or "",
            )
            if task is not None and settings.memory.enabled:
                told = {key: value for key, value in asdict(task).items() if value and key != "file"}
                open_memory(now, name).append_task(told, writer)
            return task

        return await apart(work)

    def _now(self) -> Configuration:
        return self._configuration.follow()

    async def _last(self, now: Configuration, name: str, limit: int) -> list[ExecutionRecord]:
        if now.settings.database is None and not now.paths.database.exists():
            return []  # reading makes none
        return await self._journal.executions(agent=name, limit=limit)

    def _refuse_removal(self, now: Configuration, name: str) -> None:
        if name == DEFAULT:
            raise ArgumentError(
                f"the agent '{DEFAULT}' always exists",
                hint=f"satchel agents clear-workspace {DEFAULT} removes what its programs left",
            )
        known = self.names()
        if name not in known:
            left = left_over(now.paths, set(known))
            if name not in left:
                raise NotFoundError("agent", name, closest=closest(name, [*known, *left]))
        grants = [
            ("agents", other, "memory", key)
            for other, agent in now.settings.agents.items()
            for key in ("allow_read_from", "allow_write_to")
            if name in getattr(agent.memory, key)
        ]
        if grants:
            locate = read_settings_file(now.paths.settings_file).locate
            places = [(*locate(key), ".".join(key)) for key in grants]
            told = "\n".join(f"{file.name}:{line}: {key}" for file, line, key in places)
            raise ArgumentError(
                f"other agents may use the memory of '{name}':\n{told}", hint=f"remove '{name}' there first"
            )

"""What runs programs: the sandbox that the settings name, sessions, and the bridge for scripts outside.

Importing this loads the sandbox; `executions.py` does so with the first program.
"""

import secrets
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary

from anyio import CancelScope

from satchel.calls.policy import is_read_only
from satchel.config import Configuration
from satchel.config.settings import SandboxSettings
from satchel.errors import ArgumentError, NotFoundError
from satchel.languages import Language, language_of, with_wrappers
from satchel.library.memory.marks import WORKSPACE, unmark
from satchel.library.memory.places import agent_directory
from satchel.library.memory.traces import forget
from satchel.model import (
    Ask,
    Caller,
    Client,
    Execution,
    ExecutionRequest,
    Json,
    PersonAnswered,
    PersonAsked,
    Reads,
    Tell,
    Tool,
)
from satchel.names import servers_in_program
from satchel.sandbox.bridge.local import open_bridge
from satchel.sandbox.choose import capped, check_memories, limits_of, open_sandbox, read_grants
from satchel.sandbox.running.budget import Budget
from satchel.sandbox.running.machine import totals_of
from satchel.sandbox.running.sessions import NEW, Sessions, reading
from satchel.sandbox.sandbox import Answer, Door, Outcome, Program, Sandbox, Shown
from satchel.store.suspensions import Suspensions
from satchel.support.charging import apart
from satchel.verbs.executions import Surroundings
from satchel.verbs.privacy.boundary import Privacy
from satchel.verbs.programs.around import Around
from satchel.verbs.programs.recorded import Recorded
from satchel.verbs.programs.recording import Leave, execute, refuse_long
from satchel.verbs.programs.resuming import Resumed, Resuming
from satchel.verbs.programs.showing import persons_memories, shown_in_sessions, shown_to
from satchel.verbs.programs.suspending import Keeping
from satchel.verbs.requests import ProgramVerbs, Reach, Requests


class Runner:
    """Runs the programs of one open Satchel."""

    def __init__(self, around: Surroundings, privacy: Privacy) -> None:
        self._around = around
        self._configuration = around.configuration
        self._verbs = ProgramVerbs(
            servers=around.servers,
            tools=around.tools,
            save_skill=around.saved_skills.save_for,
            promote_skill=around.saved_skills.promote_for,
            privacy=privacy,
        )
        self._sandboxes: dict[SandboxSettings, Sandbox] = {}
        self._granted: tuple[Configuration, SandboxSettings] | None = None
        self._budget = Budget()
        self._budgeted: Configuration | None = None
        self._sessions = Sessions(self._idle_timeout, self._budget)
        self._marks: WeakKeyDictionary[Reads, str] = WeakKeyDictionary()

    async def run(
        self,
        request: ExecutionRequest,
        caller: Caller,
        *,
        reach: Reach,
        tell: Tell,
        patience: float | None,
    ) -> Execution:
        """See `Executions.run`."""
        self._configuration.follow()
        self._configuration.agent(caller.agent)
        if request.resume is None:
            return await self._run(request, caller, None, reach=reach, tell=tell, patience=patience)
        around = self._around
        resuming = Resuming(suspensions=self._suspensions, approvals=around.approvals, journal=around.journal)
        taken = await resuming.take(request.resume, caller)
        if isinstance(taken, Execution):
            if caller.reads is not None:  # who is told how it ended hears of what it had read
                caller.reads.add(*taken.read_before, *taken.reads)
            return taken
        # The tokens in its text are those of the conversation that it was written in.
        caller = replace(
            caller, read_only=taken.read_only, only=taken.only, conversation=self._talk_of(taken, caller)
        )
        return await self._run(taken.request, caller, taken, reach=reach, tell=tell, patience=patience)

    async def _run(
        self,
        request: ExecutionRequest,
        caller: Caller,
        resumed: Resumed | None,
        *,
        reach: Reach,
        tell: Tell,
        patience: float | None,
    ) -> Execution:
        """Run a program, for the first time or again."""
        configuration = self._configuration.now  # the one whose grants `_sandbox` looks at
        settings = configuration.settings.code_execution
        language = language_of(request.language or settings.language)
        wrappers = with_wrappers(language)  # none for the shell
        _refuse_odd(request, has_wrappers=wrappers is not None)
        waiting = Waiting(caller.client, tell)
        limits = limits_of(settings, request.timeout)
        self._follow_budget()
        sandbox = self._sandbox(settings.sandbox)
        # What a program that may only read has left in a session must not act when another may do more.
        sharer = reading(caller.agent) if caller.read_only else caller.agent
        refuse_long(request.code)
        await self._around.servers.list_unlisted(
            patience, servers_in_program(request.code), client=caller.client, tell=tell
        )
        shown = await self._shown(caller.agent, wrappers or settings.language, configuration)
        # A file that it leaves could be a module that a program which may do more imports.
        home = await sandbox.home(caller.agent, shown, writable=not caller.read_only)
        shows: dict[str, object] = {}
        if request.session is not None:
            shows = shown_in_sessions(shown, self._around.saved_skills.plugins().seen())

        session = None
        if request.session == NEW:
            session = Reads()
        elif request.session is not None:
            await self._sessions.follow(request.session, sharer, shows)
            session = self._sessions.find(request.session, sharer).reads
        around = Around(
            configuration,
            replace(
                caller,
                client=waiting.client,
                asked=waiting.asked,
                purpose=request.description,
                session=self._mark_of(session),
            ),
            session,
            owner=sandbox.about.owner,
            is_here=sandbox.about.is_here,
            execution=None if resumed is None else resumed.execution,
        )
        if resumed is not None and around.caller.reads is not None:
            around.caller.reads.begin_with(*resumed.reads)
        recorded = self._recorded(caller.agent, resumed)
        keeping = None
        if recorded is not None and request.session is None:
            seconds = configuration.settings.approvals.expire_seconds
            keeping = Keeping(store=self._suspensions, request=request, recorded=recorded, seconds=seconds)

        async def run(program: Program, answer: Answer, leave: Leave) -> Outcome:
            share = self._around.host.share(caller.agent)
            door = Door(answer=answer, waited=waiting.seconds, tell=tell, leave=leave, share=share)
            # One that waits for another program of its session has no place yet, or it would be in its way.
            if request.session not in (None, NEW):
                return await self._sessions.run(
                    request.session, sharer, program, door, limits, shows, around.running
                )
            async with self._budget.place(caller.agent, tell):
                if request.check:
                    from satchel.sandbox.checking.check import check_program  # few programs are checked

                    failure = await check_program(sandbox, program, home, limits)
                    if failure is not None:
                        return failure
                async with around.running():
                    if request.session == NEW:
                        make = partial(sandbox.open_session, language, home, limits)
                        return await self._sessions.run_new(
                            make, sharer, program, door, limits, shows, session
                        )
                    return await sandbox.run(program, home, door, limits)

        return await execute(
            Program(code=request.code, language=language),
            caller=around.caller,
            description=request.description,
            run=run,
            home=home,
            verbs=self._verbs,
            reach=reach,
            journal=self._around.journal,
            note=capped(request.timeout, limits) if resumed is None else resumed.note,
            tell=tell,
            recorded=recorded,
            keeping=keeping,
            privacy=await self._verbs.privacy.open(caller),
        )

    def _talk_of(self, taken: Resumed, caller: Caller) -> str | None:
        return taken.conversation if self._verbs.privacy.is_on else caller.conversation

    @property
    def _suspensions(self) -> Suspensions:
        suspensions = self._around.approvals.suspensions
        assert suspensions is not None  # there is one in every open Satchel
        return suspensions

    def _recorded(self, agent: str, resumed: Resumed | None) -> Recorded | None:
        """What notes the answers of a program that a person may be asked about; others need none."""
        asks = self._configuration.agent(agent).approve or self._configuration.now.settings.flows.rules
        if not asks and resumed is None:
            return None

        def only_reads(tool: Tool) -> bool:
            return is_read_only(tool, self._configuration.read_only_tools())

        if resumed is None:
            return Recorded(only_reads=only_reads)
        return Recorded(only_reads=only_reads, before=resumed.answers, expected=resumed.expected)

    async def end_session(self, session: str, agent: str) -> None:
        """See `Executions.end_session`."""
        try:
            await self._sessions.end(session, agent)
        except NotFoundError:
            await self._sessions.end(session, reading(agent))

    @asynccontextmanager
    async def bridge(
        self, socket: Path, agent: str, reach: Reach, report: Callable[[str], None]
    ) -> AsyncGenerator[str]:
        """See `Executions.bridge`."""
        self._configuration.agent(agent)
        limits = limits_of(self._configuration.now.settings.code_execution, None)
        # People's own scripts may be long.
        patient = replace(limits, calls=1_000_000, sent=1 << 40, cpu_seconds=float("inf"))

        with tempfile.TemporaryDirectory(prefix="satchel-results-", ignore_cleanup_errors=True) as results:

            def write(ending: str, content: bytes) -> str:
                descriptor, path = tempfile.mkstemp(suffix=ending, dir=results)
                with open(descriptor, "wb") as stream:
                    stream.write(content)
                return path

            async def save(ending: str, content: bytes) -> str:
                return await apart(write, ending, content)

            requests = Requests(self._verbs, reach, Caller(agent=agent, reads=Reads()), save=save, keep=False)
            share = self._around.host.share(agent)
            async with open_bridge(socket, requests.answer, patient, report, share=share) as address:
                yield address

    async def aclose(self) -> None:
        """End all sessions and boxes, even if the caller gives up waiting."""
        with CancelScope(shield=True):
            await self._sessions.aclose()
            for sandbox in self._sandboxes.values():
                await sandbox.aclose()
            self._budget.close()

    def _idle_timeout(self) -> float:
        return self._configuration.now.settings.code_execution.session_idle_timeout

    def _mark_of(self, session: Reads | None) -> str | None:
        """What tells the programs of one session from all others, before the session has a handle."""
        return None if session is None else self._marks.setdefault(session, secrets.token_hex(6))

    def _follow_budget(self) -> None:
        configuration = self._configuration.now
        if self._budgeted is not configuration:
            self._budgeted = configuration
            agents = {"default", *configuration.settings.agents}
            self._budget.follow(totals_of(configuration.settings.code_execution, len(agents)))

    def _sandbox(self, settings: SandboxSettings) -> Sandbox:
        configuration = self._configuration.now
        if self._granted == (configuration, settings):  # nothing has changed since it was looked at
            return self._sandboxes[settings]
        paths = configuration.paths
        code = configuration.code(self._around.environment)
        # Other agents' skills are in there, and what is written there is run by all. Where skills and plugins
        # are shown, nothing else may be mounted.
        shown = configuration.settings.skills.container_path, configuration.settings.plugins.container_path
        private = (*paths.private, *self._around.saved_skills.roots, *map(Path, shown))
        grants = read_grants(settings, paths.project, private, self._around.environment, code)
        check_memories(persons_memories(configuration), grants, private, code)
        if settings not in self._sandboxes:
            self._sandboxes[settings] = open_sandbox(
                settings,
                paths.project,
                private,
                self._around.environment,
                code,
                agents=paths.state / "agents",
                budget=self._budget,
            )
        self._granted = (configuration, settings)
        return self._sandboxes[settings]

    async def clear_workspace(self, agent: str) -> None:
        """See `Executions.clear_workspace`."""
        self._configuration.follow()
        self._configuration.agent(agent)
        configuration = self._configuration.now
        settings = configuration.settings.code_execution
        sandbox = self._sandbox(settings.sandbox)
        shown = await self._shown(agent, settings.language, configuration)
        await (await sandbox.home(agent, shown)).clear()
        own = agent_directory(configuration.paths, agent)
        unmark(own, WORKSPACE)
        forget(own, WORKSPACE)

    async def _shown(self, agent: str, language: Language, configuration: Configuration) -> Shown:
        """What the agent's programs in a language see besides its own files, brought up to date."""
        around = self._around
        return await shown_to(agent, language, configuration, around.wrappers, around.saved_skills)


def _refuse_odd(request: ExecutionRequest, *, has_wrappers: bool) -> None:
    """What can't be asked for together."""
    if request.check and (request.session is not None or not has_wrappers):
        raise ArgumentError(
            "only a program that stands alone can be checked, not one of a session or of the shell",
            argument="check",
            hint="leave check out",
        )
    if request.session is not None and not has_wrappers:
        raise ArgumentError(
            "the shell has no sessions", argument="session", hint="use files in the workspace instead"
        )


class Waiting:
    """A client, and for how long a person has been asked: that does not count as a program's time."""

    def __init__(self, client: Client | None, tell: Tell) -> None:
        self._tell = tell
        self._asked = 0
        self._since = 0.0
        self._seconds = 0.0
        self.client = None if client is None else replace(client, ask=self._asking(client))

    def seconds(self) -> float:
        return self._seconds + (time.monotonic() - self._since if self._asked else 0.0)

    @asynccontextmanager
    async def asked(self, asked: PersonAsked) -> AsyncGenerator[None]:
        """While a person decides on one of the program's calls."""
        self._tell(asked)
        try:
            with self._paused():
                yield
        finally:
            self._tell(PersonAnswered(approval=asked.approval))

    @contextmanager
    def _paused(self) -> Generator[None]:
        if not self._asked:
            self._since = time.monotonic()
        self._asked += 1
        try:
            yield
        finally:
            self._asked -= 1
            if not self._asked:
                self._seconds += time.monotonic() - self._since

    def _asking(self, client: Client) -> Ask:
        async def ask(method: str, params: Json, key: str) -> Json:
            with self._paused():
                return await client.ask(method, params, key)

        return ask

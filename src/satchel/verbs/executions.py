"""Executions: programs in the sandbox, their sessions, the shell, and the bridge for scripts outside."""

import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from anyio import CancelScope, to_thread

from satchel.config import Configuration
from satchel.config.follow import LiveConfiguration
from satchel.config.settings import SandboxSettings
from satchel.errors import ArgumentError, NotFoundError
from satchel.languages import Language, language_of, with_wrappers
from satchel.model import DEFAULT_CALLER, Caller, CallTool, Client, Execution, ExecutionRequest, Tell, silent
from satchel.names import servers_in_program
from satchel.sandbox.bridge.local import open_bridge
from satchel.sandbox.choose import limits_of, open_sandbox, read_grants, warning_of
from satchel.sandbox.running.sessions import NEW, Sessions
from satchel.sandbox.sandbox import Answer, Door, Outcome, Program, Sandbox, Shown
from satchel.store.journal import Journal
from satchel.verbs.execution import Waiting, execute
from satchel.verbs.requests import ProgramVerbs, Reach, Requests
from satchel.verbs.saved_skills import SavedSkills
from satchel.verbs.servers import Servers
from satchel.verbs.tools import Tools
from satchel.verbs.wrappers import Wrappers


class Executions:
    """The executions of one open Satchel."""

    def __init__(
        self,
        configuration: LiveConfiguration,
        environment: Mapping[str, str],
        *,
        servers: Servers,
        wrappers: Wrappers,
        saved_skills: SavedSkills,
        journal: Journal,
        tools: Tools,
        call: CallTool,
    ) -> None:
        self._configuration = configuration
        self._environment = environment
        self._servers = servers
        self._wrappers = wrappers
        self._saved_skills = saved_skills
        self._journal = journal
        self._call = call
        self._verbs = ProgramVerbs(
            servers=servers,
            tools=tools,
            save_skill=saved_skills.save_for,
            promote_skill=saved_skills.promote_for,
        )
        self._sandboxes: dict[SandboxSettings, Sandbox] = {}
        self._granted: tuple[Configuration, SandboxSettings] | None = None
        self._sessions = Sessions(lambda: configuration.now.settings.code_execution.session_idle_timeout)

    async def run(
        self,
        request: ExecutionRequest,
        caller: Caller = DEFAULT_CALLER,
        *,
        tell: Tell = silent,
        patience: float | None = None,
        reach: Reach | None = None,
    ) -> Execution:
        """Run a program in the sandbox. However it ends, what it did is in the result and in the journal.

        Servers that nothing is known of yet are waited for; with `patience`, those that the program does not
        import only for so many seconds. `reach` is where its calls go, if not to the servers.

        Raises SandboxError where it can't be run safely, and ArgumentError for what can't be run at all.
        """
        self._configuration.follow()
        self._configuration.agent(caller.agent)
        settings = self._configuration.now.settings.code_execution
        language = language_of(request.language or settings.language)
        wrappers = with_wrappers(language)  # none for the shell
        _refuse_odd(request, has_wrappers=wrappers is not None)
        waiting = Waiting(caller.client)
        limits = limits_of(settings, request.timeout)
        sandbox = self._sandbox(settings.sandbox)
        # What a program that may only read has left in a session must not act when another may do more.
        sharer = _reading(caller.agent) if caller.read_only else caller.agent
        await self._servers.list_unlisted(
            patience, servers_in_program(request.code), client=caller.client, tell=tell
        )
        shown = await self._shown(caller.agent, wrappers or settings.language)
        # A file that it leaves could be a module that a program which may do more imports.
        home = await sandbox.home(caller.agent, shown, writable=not caller.read_only)

        async def run(program: Program, answer: Answer) -> Outcome:
            door = Door(answer=answer, waited=waiting.seconds, tell=tell)
            if request.check:
                from satchel.sandbox.checking.check import check_program  # few programs are checked

                failure = await check_program(sandbox, program, home, limits)
                if failure is not None:
                    return failure
            if request.session is None:
                return await sandbox.run(program, home, door, limits)
            if request.session != NEW:
                return await self._sessions.run(request.session, sharer, program, door, limits)
            return await self._sessions.run_new(
                lambda: sandbox.open_session(language, home, limits), sharer, program, door, limits
            )

        if request.session not in (None, NEW):
            self._sessions.find(request.session, sharer)
        return await execute(
            Program(code=request.code, language=language),
            caller=replace(caller, client=waiting.client),
            description=request.description,
            run=run,
            home=home,
            verbs=self._verbs,
            reach=reach or self.reach(self._call, client=caller.client),
            journal=self._journal,
            tell=tell,
        )

    async def shell(
        self,
        command: str,
        *,
        timeout: float | None = None,
        description: str = "",
        agent: str = "default",
        tell: Tell = silent,
    ) -> Execution:
        """Run a command of the shell in the same box: to look around in what an agent's programs see."""
        request = ExecutionRequest(code=command, language="bash", timeout=timeout, description=description)
        return await self.run(request, Caller(agent=agent), tell=tell)

    def reach(self, call: CallTool, *, client: Client | None = None) -> Reach:
        """Where a program's calls go: tools are those of the catalog, and `call` sends."""
        return Reach(find_tool=partial(self._servers.find_tool, client=client), call=call)

    def warning(self) -> str | None:
        """What a person should know before a program is run, if anything."""
        return warning_of(self._configuration.follow().settings.code_execution.sandbox)

    async def end_session(self, session: str, *, agent: str = "default") -> None:
        """End a session, and forget what it holds."""
        try:
            await self._sessions.end(session, agent)
        except NotFoundError:
            await self._sessions.end(session, _reading(agent))

    @asynccontextmanager
    async def bridge(
        self, socket: Path, *, agent: str = "default", report: Callable[[str], None] = lambda text: None
    ) -> AsyncGenerator[str]:
        """Let scripts outside of the sandbox call tools as `agent`. Gives the address for SATCHEL_BRIDGE."""
        self._configuration.agent(agent)
        limits = limits_of(self._configuration.now.settings.code_execution, None)
        patient = replace(limits, calls=1_000_000, sent=1 << 40)  # people's own scripts may be long

        with tempfile.TemporaryDirectory(prefix="satchel-results-", ignore_cleanup_errors=True) as results:

            def write(ending: str, content: bytes) -> str:
                descriptor, path = tempfile.mkstemp(suffix=ending, dir=results)
                with open(descriptor, "wb") as stream:
                    stream.write(content)
                return path

            async def save(ending: str, content: bytes) -> str:
                return await to_thread.run_sync(write, ending, content)

            requests = Requests(
                self._verbs, self.reach(self._call), Caller(agent=agent), save=save, keep=False
            )
            async with open_bridge(socket, requests.answer, patient, report) as address:
                yield address

    async def aclose(self) -> None:
        """End all sessions and boxes, whoever gives up waiting for that."""
        with CancelScope(shield=True):
            await self._sessions.aclose()
            for sandbox in self._sandboxes.values():
                await sandbox.aclose()

    def _sandbox(self, settings: SandboxSettings) -> Sandbox:
        configuration = self._configuration.now
        if self._granted == (configuration, settings):  # nothing has changed since it was looked at
            return self._sandboxes[settings]
        paths = configuration.paths
        code = configuration.code(self._environment)
        # Other agents' skills are in there, and what is written there is run by all.
        shown = Path(configuration.settings.skills.container_path)  # where nothing else may be mounted
        private = (*paths.private, self._saved_skills.root, shown)
        if settings not in self._sandboxes:
            self._sandboxes[settings] = open_sandbox(
                settings, paths.project, private, self._environment, code, agents=paths.state / "agents"
            )
        else:  # there may be servers by now whose code could be written to
            read_grants(settings, paths.project, private, self._environment, code)
        self._granted = (configuration, settings)
        return self._sandboxes[settings]

    async def _shown(self, agent: str, language: Language) -> Shown:
        """What the agent's programs in a language see besides its own files, brought up to date."""
        code_api = await self._wrappers.update(language)
        skills, modules = self._saved_skills.shown_to(agent, language)
        return Shown(
            code_api=code_api,
            skills=skills,
            skills_at=self._configuration.now.settings.skills.container_path,
            modules=modules,
        )


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


def _reading(agent: str) -> str:
    """Whose sessions are those of an agent's programs that may only read."""
    return f"{agent}\nread-only"

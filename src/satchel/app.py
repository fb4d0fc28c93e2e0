"""The composition root: opens each stage and passes functions from one to the next.

`read_catalog` is enough for whatever needs no server: it is quick, imports no SDK and starts nothing.
`open_satchel` adds the connections and the call chain; its verbs are what every surface calls.
"""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.catalog import Catalog, Snapshot
from satchel.config import (
    Configuration,
    ConfigurationSource,
    Paths,
    ServerEntry,
    Target,
    find_paths,
    read_configuration,
    resolve,
)
from satchel.config.database import database_of
from satchel.config.paths import PROJECTS
from satchel.config.settings import AgentSettings, SandboxSettings, SearchSettings, find_agent
from satchel.config.variables import UnresolvedVariableError, expand
from satchel.errors import (
    ArgumentError,
    ClosedError,
    ConfigError,
    NeedsSetupError,
    NotAllowedError,
    NotFoundError,
    SatchelError,
    ServerError,
    ServerFailedError,
    ToolError,
)
from satchel.model import (
    Call,
    CallResult,
    CallTool,
    Client,
    Execution,
    Json,
    Listing,
    Progress,
    Server,
    Tool,
)
from satchel.names import Spelling, closest, servers_in_program

if TYPE_CHECKING:
    import asyncio

    from satchel.codegen.places import Language
    from satchel.codegen.tree import Outcome
    from satchel.discover import Describer, Discovery
    from satchel.execute import OnCall, Verbs
    from satchel.sandbox.sandbox import Sandbox, Workspace
    from satchel.saved_skills import SavedSkills
    from satchel.shown_skills import ShownSkills
    from satchel.store.journal import Journal
    from satchel.upstream.later import PoolLater
    from satchel.upstream.pool import Authorize, Pool

_NOT_IN_TREES = ("__pycache__", "satchel_check", "satchel_guest", "satchel-guest")
_PATIENCE = 3.0  # seconds that a command waits to search by meaning
_LONGEST_WAIT = 45.0  # seconds for a server that somebody names: many clients give up after a minute

Report = Callable[[str, Server | ServerError | None], None]
"""Told when a server starts to be listed (None), and how that ended."""


def read_catalog(paths: Paths, environment: Mapping[str, str] | None = None) -> Catalog:
    """What is known without starting anything."""
    return Catalog(read_configuration(paths), environment)


class Satchel:
    """The verbs. Use through `open_satchel`."""

    def __init__(
        self,
        paths: Paths,
        source: ConfigurationSource,
        catalog: Catalog,
        pool: "PoolLater",
        records: "Journal",
        environment: Mapping[str, str],
    ) -> None:
        from satchel.calls.chain import build_chain
        from satchel.sandbox.running.sessions import Sessions

        self._paths = paths
        self._source = source
        self._configuration = source.current()
        self._catalog = catalog
        self._pool = pool
        self._environment = environment
        self._sandboxes: dict[SandboxSettings, Sandbox] = {}
        self._granted: tuple[Configuration, SandboxSettings] | None = None
        self._generated: dict[Language, Snapshot] = {}
        self._shown_skills: ShownSkills | None = None
        self._discovered: tuple[SearchSettings, Discovery] | None = None
        self.can: frozenset[str] = frozenset()
        """What the one client can be asked whose Satchel this is; servers are told when they are listed."""
        self.handshake = False
        """Whether it is of the era before 2026."""
        self._is_closed = False
        self._listings: dict[str, tuple[asyncio.Task[None], float]] = {}  # by server: since when it is listed
        self._sessions = Sessions(lambda: self.configuration.settings.code_execution.session_idle_timeout)
        self._saved_skills: SavedSkills | None = None
        self.records = records
        self.call_tool: CallTool = build_chain(
            self._send,
            connect=self._connect,
            timeout_of=self._timeout_of,
            settings_of=self.agent_settings,
            journal=records,
            reading=lambda: self.configuration.settings.read_only_tools,
        )

    @property
    def catalog(self) -> Snapshot:
        """Every server and tool, as known now. Changes of the configuration files count at once."""
        self._follow_configuration()
        return self._catalog.snapshot

    @property
    def configuration(self) -> Configuration:
        return self._source.current()

    @property
    def configuration_error(self) -> ConfigError | None:
        """Why a newer configuration is not used, while that is so."""
        self._source.current()
        return self._source.error

    def remarks(self) -> list[str]:
        """What a person should know of the configuration and the servers as they are now."""
        from satchel.upstream.listing import NESTED

        configuration, error, servers = self.configuration, self.configuration_error, self.catalog.servers
        remarks = [*configuration.notes, *configuration.warnings]
        if configuration.settings.code_execution.sandbox.backend == "process":
            from satchel.sandbox.backends.process import WARNING

            remarks.append(WARNING)
        if error is not None:
            hint = f"; {error.hint}" if error.hint else ""
            remarks.append(f"{error.message}; what was there before still counts{hint}")
        for server in servers:
            problems = [problem for problem in server.problems if problem.startswith(NESTED)]
            remarks += [f"{server.name}: {problem}" for problem in problems]
        return [*remarks, *self.unused_patterns()]

    def unused_patterns(self) -> list[str]:
        """Patterns of the settings that fit no tool, once all servers are known."""
        from satchel.calls.patterns import unused_patterns

        servers = self.catalog.servers
        if any(server.state == "not listed" for server in servers):
            return []
        return unused_patterns(self.configuration.settings, servers)

    def list_servers(self) -> Json:
        """All servers, short enough to be read by a model."""
        from satchel.discover import list_servers

        return list_servers([self._with_live_state(server) for server in self.catalog.servers])

    def describe(self, name: str) -> Tool:
        """One tool, by any of its spellings. NotFoundError carries the closest names."""
        return self.catalog.tool(name)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        agent: str = "default",
        timeout: float | None = None,
        client: Client | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> CallResult:
        """Call a tool. A tool that reports an error raises ToolError, like every other failure.

        `client` is whom its server may ask for input.
        """
        tool = await self.find_tool(name)
        result = await self.call_tool(
            Call(
                tool=tool,
                arguments=arguments or {},
                agent=agent,
                timeout=timeout,
                client=client,
                on_progress=on_progress,
            )
        )
        if result.is_error:
            message = result.text.strip() or "the tool reported an error without a text"
            # Of the user's own code the traceback counts as well; a server's lines may be about anything.
            is_custom = self._entry(tool.server).custom
            stderr = (await self._open_pool()).last_words(tool.server) if is_custom else ()
            raise ToolError(tool.server, tool.name, message, kind="tool", stderr=stderr)
        return result

    async def refresh(
        self, names: Sequence[str] = (), report: Report = lambda name, outcome: None
    ) -> list[Server]:
        """List servers anew, all at once. A failing one is recorded, reported, and stops no other.

        One that is removed meanwhile is not in the answer.
        """
        import anyio

        if self._is_closed:
            raise ClosedError
        self._follow_configuration()
        entries = [self._entry(self.catalog.server(name).name) for name in names]
        if not names:
            entries = [entry for entry in self._catalog.entries.values() if entry.enabled]
        outcomes: dict[str, Server] = {}

        async def refresh_one(entry: ServerEntry) -> None:
            report(entry.name, None)
            failure: ServerError | None = None
            try:
                self._refuse_disabled(entry)
                await (await self._open_pool()).list_server(entry)
            except ServerError as error:
                failure = error
                if entry.enabled and self._catalog.is_current(entry):
                    self._catalog.record_failure(entry, error)
            if entry.name not in self._catalog.entries:
                report(entry.name, failure or ServerFailedError(entry.name, "has been removed meanwhile"))
                return
            server = self._catalog.snapshot.server(entry.name)
            outcomes[entry.name] = replace(server, error=failure.message) if failure is not None else server
            report(entry.name, failure or server)

        async with anyio.create_task_group() as tasks:
            for entry in entries:
                tasks.start_soon(refresh_one, entry)
        return [outcomes[entry.name] for entry in entries if entry.name in outcomes]

    async def read_resource(
        self,
        server: str,
        uri: str,
        *,
        agent: str = "default",
        execution: str | None = None,
        client: Client | None = None,
    ) -> Json:
        """The contents of one resource, as the server sends them."""
        entry = self._entry(self.catalog.server(server).name)
        call = Call(tool=_stand_in(entry.name, f"resource:{uri}"), agent=agent, execution=execution)
        return await self._recorded(call, lambda pool: pool.read_resource(entry, uri, client))

    async def follow_resource(
        self,
        server: str,
        uri: str,
        *,
        updated: Callable[[], None],
        begin: Callable[[], None] = lambda: None,
        agent: str = "default",
        client: Client | None = None,
    ) -> None:
        """Call `updated` whenever a resource has changed, until its server goes away or this is cancelled.

        `begin` is called once the server has agreed to tell.
        """
        from satchel.calls.policy import is_allowed

        entry = self._entry(self.catalog.server(server).name)
        self._refuse_disabled(entry)

        def permitted() -> bool:
            with suppress(NotFoundError):  # there is no such agent any more
                return is_allowed(self.agent_settings(agent), entry.name, f"resource:{uri}")
            return False

        if not permitted():
            raise NotAllowedError(agent, f"{entry.name}.resource:{uri}")
        pool = await self._open_pool()
        await pool.follow(entry, uri, begin, lambda: updated() if permitted() else None, client)

    async def get_prompt(
        self,
        server: str,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        agent: str = "default",
        execution: str | None = None,
        client: Client | None = None,
    ) -> Json:
        """One prompt, filled in."""
        found = self.catalog.server(server)
        if found.prompts and name not in {prompt.name for prompt in found.prompts}:
            known = [prompt.name for prompt in found.prompts]
            raise NotFoundError("prompt", f"{server}.{name}", closest=closest(name, known))
        call = Call(
            tool=_stand_in(found.name, f"prompt:{name}"),
            arguments=arguments or {},
            agent=agent,
            execution=execution,
        )
        return await self._recorded(
            call, lambda pool: pool.get_prompt(self._entry(found.name), name, arguments or {}, client)
        )

    async def complete(
        self, server: str, parameters: Json, *, agent: str = "default", client: Client | None = None
    ) -> Json:
        """Proposals for an argument of a prompt or a resource template, asked for as the protocol has it."""
        from satchel.calls.policy import is_allowed

        entry = self._entry(self.catalog.server(server).name)
        asked: Json = parameters.get("ref", {})
        about = f"prompt:{asked.get('name')}" if "name" in asked else f"resource:{asked.get('uri')}"
        if not is_allowed(self.agent_settings(agent), entry.name, about):
            raise NotAllowedError(agent, f"{entry.name}.{about}")
        return await (await self._open_pool()).complete(entry, parameters, client)

    async def _recorded(self, call: Call, fetch: "Callable[[Pool], Awaitable[Json]]") -> Json:
        """What is no tool is permitted and journaled as if it were one."""
        from satchel.calls.journal import journal_calls
        from satchel.calls.policy import check_permission

        async def send(call: Call) -> CallResult:
            return CallResult(structured=await fetch(await self._open_pool()), has_structured=True)

        link = check_permission(journal_calls(send, self.records), self.agent_settings, self.records.denied)
        return (await link(call)).structured

    def search_tools(
        self,
        query: str = "",
        *,
        server: str | None = None,
        detail: str = "desc",
        limit: int = 10,
        offset: int = 0,
        agent: str = "default",
        keyword: str = "",
        detail_level: str = "",
    ) -> Json:
        """Tools that fit the query, best first; those that the agent may not call are marked.

        "select:server.tool,server.tool" fetches exactly those; an empty query with a server all of its tools.
        `keyword` and `detail_level` are other names of `query` and `detail`.
        """
        return self._discovery.search_tools(
            self._describer(agent),
            query or keyword,
            server=server or None,
            detail=detail_level or detail,
            limit=limit,
            offset=offset,
        )

    def semantic_search(self, query: str, limit: int = 10, agent: str = "default") -> list[Json]:
        """What fits the query, best first: tools, skills, files of the agent's memory, by path and score."""
        from satchel.search.texts import documents_in

        self.agent_settings(agent)
        base = self.configuration.settings.skills.container_path
        home = self._paths.prepare_state() / "agents" / agent
        skills = self.saved_skills.shelf(agent).visible(agent)  # and none of another agent
        places = {
            "memory": documents_in(home / "memory", "/mnt/memory"),
            "skill": [
                document
                for category, path in skills.items()
                for document in documents_in(path, f"{base}/{category}", "SKILL.md")
            ],
        }
        return self._discovery.semantic_search(self._describer(agent), query, places, max(1, min(limit, 50)))

    def describe_tool(self, tool: Tool, agent: str = "default") -> Json:
        """All there is to know of a tool, as a search with every detail tells it."""
        return self._describer(agent).describe(tool, "full")

    def wrapper_of(self, tool: Tool) -> str:
        """A tool as programs in the configured language see it: the text of its wrapper."""
        from satchel.codegen.signature import read_signature

        if self.configuration.settings.code_execution.language == "python":
            from satchel.codegen.python.tool import tool_file
        else:
            from satchel.codegen.typescript.tool import tool_file
        return tool_file(read_signature(tool)).strip()

    def _describer(self, agent: str) -> "Describer":
        from satchel.discover import Describer

        language = self.configuration.settings.code_execution.language
        return Describer(self.catalog, language, self.agent_settings(agent))

    @property
    def shown_skills(self) -> "ShownSkills":
        """The verbs for skills as agents see them."""
        if self._shown_skills is None:
            from satchel.shown_skills import ShownSkills

            self._shown_skills = ShownSkills(lambda: self.configuration)
        return self._shown_skills

    @property
    def _discovery(self) -> "Discovery":
        settings = self.configuration.settings.search
        if self._discovered is None or self._discovered[0] != settings:
            if self._discovered is not None:
                self._discovered[1].close()
            self._discovered = settings, open_discovery(self._paths, settings, self._environment)
        return self._discovered[1]

    def agent_settings(self, agent: str) -> AgentSettings:
        """What an agent may do. There is always the agent `default`."""
        return find_agent(self.configuration.settings, agent)

    async def execute(
        self,
        code: str,
        *,
        language: str | None = None,
        timeout: float | None = None,
        session: str | None = None,
        check: bool = False,
        agent: str = "default",
        description: str = "",
        read_only: bool = False,
        only: tuple[str, ...] | None = None,
        client: Client | None = None,
        on_call: "OnCall" = lambda count, tool: None,
        patience: float | None = None,
        report: Report = lambda name, outcome: None,
        answering: "Callable[[Verbs], Verbs]" = lambda verbs: verbs,
    ) -> Execution:
        """Run a program in the sandbox. However it ends, what it did is in the result and in the journal.

        `session` is a handle of an earlier execution, whose variables this one shares, or "new" for one whose
        variables are kept. With `check`, nothing is run unless the program's types fit. With `read_only`, it
        may only call tools that read; with `only`, those that these patterns name. `client` is whom servers
        may ask for input; `on_call` hears of calls; servers that nothing is known of yet are waited for,
        those that the program does not import `patience` seconds at most. `answering` may put others in the
        place of what answers its requests.

        Raises SandboxError where it can't be run safely, and ArgumentError for what can't be run at all.
        """
        from satchel import execute
        from satchel.sandbox.checking.check import check_program
        from satchel.sandbox.choose import limits_of
        from satchel.sandbox.jobs import language_of
        from satchel.sandbox.running.sessions import NEW
        from satchel.sandbox.sandbox import Answer, Outcome, Program

        self.agent_settings(agent)
        settings = self.configuration.settings.code_execution
        spoken = language_of(language or settings.language)
        if check and (session is not None or spoken == "bash"):
            raise ArgumentError(
                "only a program that stands alone can be checked, not one of a session or of the shell",
                argument="check",
                hint="leave check out",
            )
        if session is not None and spoken == "bash":
            raise ArgumentError(
                "the shell has no sessions", argument="session", hint="use files in the workspace instead"
            )
        waiting = execute.Waiting(client)
        limits = replace(limits_of(settings, timeout), waited=waiting.seconds)
        sandbox = self._sandbox(settings.sandbox)
        # What a program that may only read has left in a session must not act when another may do more.
        sharer = _reading(agent) if read_only else agent
        owner = execute.program_owner(settings.sandbox.backend)
        wrappers = settings.language if spoken == "bash" else spoken
        workspace = await self._workspace(
            agent, owner, settings.sandbox.backend == "bubblewrap", wrappers, code, patience, report
        )
        # A file that it leaves could be a module that a program which may do more imports.
        workspace = replace(workspace, writable=not read_only)

        async def run(program: Program, answer: Answer) -> Outcome:
            if check and (failure := await check_program(sandbox, program, workspace, limits)) is not None:
                return failure
            if session is None:
                return await sandbox.run(program, workspace, answer, limits)
            if session != NEW:
                return await self._sessions.run(session, sharer, program, answer, limits)
            return await self._sessions.run_new(
                lambda: sandbox.open_session(spoken, workspace, limits), sharer, program, answer, limits
            )

        if session not in (None, NEW):
            self._sessions.find(session, sharer)
        return await execute.execute(
            Program(code=code, language=spoken),
            caller=execute.Caller(agent=agent, client=waiting.client, read_only=read_only, only=only),
            description=description,
            run=run,
            workspace=workspace,
            verbs=answering(self._verbs()),
            journal=self.records,
            owner=owner,
            on_call=on_call,
        )

    async def execute_bash(
        self,
        command: str,
        *,
        timeout: float | None = None,
        agent: str = "default",
        description: str = "",
        report: Report = lambda name, outcome: None,
    ) -> Execution:
        """Run a command of the shell in the same box: to look around in what an agent's programs see."""
        return await self.execute(
            command, language="bash", timeout=timeout, agent=agent, description=description, report=report
        )

    async def end_session(self, session: str, *, agent: str = "default") -> None:
        """End a session, and forget what it holds."""
        try:
            await self._sessions.end(session, agent)
        except NotFoundError:
            await self._sessions.end(session, _reading(agent))

    def _verbs(self) -> "Verbs":
        from satchel.execute import Verbs

        async def describe_tool(name: str, agent: str) -> Json:
            return self.describe_tool(await self.find_tool(name), agent)

        return Verbs(
            find_tool=self.find_tool,
            call_tool=self.call_tool,
            read_resource=lambda server, uri, caller: self.read_resource(
                server, uri, agent=caller.agent, execution=caller.execution, client=caller.client
            ),
            get_prompt=lambda server, name, arguments, caller: self.get_prompt(
                server,
                name,
                arguments,
                agent=caller.agent,
                execution=caller.execution,
                client=caller.client,
            ),
            list_servers=self.list_servers,
            search_tools=self.search_tools,
            semantic_search=self.semantic_search,
            describe_tool=describe_tool,
            save_skill=self.saved_skills.save_for,
            promote_skill=self.saved_skills.promote_for,
        )

    @property
    def saved_skills(self) -> "SavedSkills":
        """The verbs for skills that agents save."""
        if self._saved_skills is None:
            from satchel.saved_skills import SavedSkills

            self._saved_skills = SavedSkills(
                self._paths,
                configuration=lambda: self.configuration,
                known_tools=lambda: self.catalog.tool,
                is_silent=lambda name: bool(self._catalog.silent(name)),
                agent_settings=self.agent_settings,
                execute=self.execute,
            )
        return self._saved_skills

    @asynccontextmanager
    async def bridge(
        self, socket: Path, *, agent: str = "default", report: Callable[[str], None] = lambda text: None
    ) -> AsyncGenerator[str]:
        """Let scripts outside of the sandbox call tools as `agent`. Gives the address for SATCHEL_BRIDGE."""
        import tempfile

        from satchel.execute import Caller, Requests
        from satchel.sandbox.bridge.local import open_bridge
        from satchel.sandbox.choose import limits_of

        self.agent_settings(agent)
        limits = limits_of(self.configuration.settings.code_execution, None)
        patient = replace(limits, calls=1_000_000, sent=1 << 40)  # people's own scripts may be long

        with tempfile.TemporaryDirectory(prefix="satchel-results-", ignore_cleanup_errors=True) as results:

            def save(ending: str, content: bytes) -> str:
                descriptor, path = tempfile.mkstemp(suffix=ending, dir=results)
                with open(descriptor, "wb") as stream:
                    stream.write(content)
                return path

            requests = Requests(self._verbs(), Caller(agent=agent), save=save, keep=False)
            async with open_bridge(socket, requests.answer, patient, report) as address:
                yield address

    def _sandbox(self, settings: SandboxSettings) -> "Sandbox":
        from satchel.sandbox.choose import open_sandbox, read_grants

        configuration = self.configuration
        if self._granted == (configuration, settings):  # nothing has changed since it was looked at
            return self._sandboxes[settings]
        paths = configuration.paths
        code = configuration.code(self._environment)
        # Other agents' skills are in there, and what is written there is run by all.
        shown = Path(configuration.settings.skills.container_path)  # where nothing else may be mounted
        private = (*paths.private, self.saved_skills.shelf().root, shown)
        if settings not in self._sandboxes:
            self._sandboxes[settings] = open_sandbox(
                settings, paths.project, private, self._environment, code
            )
        else:  # there may be servers by now whose code could be written to
            read_grants(settings, paths.project, private, self._environment, code)
        self._granted = (configuration, settings)
        return self._sandboxes[settings]

    async def _workspace(
        self,
        agent: str,
        owner: int | None,
        isolated: bool,
        language: "Language",
        code: str,
        patience: float | None,
        report: Report,
    ) -> "Workspace":
        from satchel.sandbox.running.workspace import prepare_workspace

        state = self._paths.prepare_state()
        await self._write_code_api(language, code, patience, report)
        code_api = state / "code-api" / language
        base = self.configuration.settings.skills.container_path
        workspace = prepare_workspace(
            state / "agents", agent, code_api, owner, isolated=isolated, skills=base
        )
        return self.saved_skills.shown_to(agent, workspace, language)

    async def _write_code_api(
        self, language: "Language", code: str, patience: float | None, report: Report
    ) -> None:
        """Bring the wrappers up to date, where the catalog has changed since they were."""
        from anyio import to_thread

        self._follow_configuration()
        unlisted = self._catalog.unlisted()
        if unlisted and patience is not None:
            await self.list_new_servers(patience, servers_in_program(code))
        elif unlisted:
            await self.refresh([entry.name for entry in unlisted], report)
        snapshot = self.catalog
        if snapshot is not self._generated.get(language):
            await to_thread.run_sync(lambda: generate_code(self._catalog, self._paths, languages=(language,)))
            self._generated[language] = snapshot

    async def list_new_servers(self, patience: float, named: Collection[str] = ()) -> list[str]:
        """List servers that nothing is known of yet, in the background; tell which are still awaited.

        Each is waited for until `patience` seconds after it was started: one that hangs delays nobody twice.
        One that is among the `named`, in any spelling, is waited for until it is known or has failed.
        """
        import asyncio

        self._begin_to_list()
        clock = asyncio.get_running_loop().time
        now = clock()
        waiting = {task for task, began in self._listings.values() if now - began < patience}
        if waiting:
            await asyncio.wait(waiting, timeout=patience)
        for _ in range(2):  # its entry may be corrected while it is waited for
            wanted = self._listings_of(named)
            if not wanted:
                break
            await asyncio.wait(wanted, timeout=max(0, now + _LONGEST_WAIT - clock()))
            self._begin_to_list()
        return self.being_listed

    def _begin_to_list(self) -> None:
        import asyncio

        if self._is_closed:
            return
        self._follow_configuration()
        self._listings = {name: going for name, going in self._listings.items() if not going[0].done()}
        now = asyncio.get_running_loop().time()
        for entry in self._catalog.unlisted():
            if entry.name not in self._listings:
                self._listings[entry.name] = asyncio.create_task(self._list_new(entry.name)), now

    def _listings_of(self, named: Collection[str]) -> "list[asyncio.Task[None]]":
        """Those under way of servers that are called so in any spelling."""
        servers = self._catalog.snapshot.named(named)
        return [task for name, (task, _) in self._listings.items() if name in servers]

    @property
    def being_listed(self) -> list[str]:
        """The servers that nothing is known of yet and that have been asked."""
        return [name for name, (task, _) in self._listings.items() if not task.done()]

    async def _list_new(self, name: str) -> None:
        try:
            await self.refresh([name])
        except SatchelError:
            pass  # it is recorded; and the server may have been removed meanwhile
        except Exception:
            import logging  # a command that only looks must start quickly

            logging.getLogger(__name__).exception("server %s: it could not be listed", name)

    async def aclose(self) -> None:
        import asyncio

        self._is_closed = True
        async with AsyncExitStack() as closing:  # from the last to the first, whatever goes wrong with one
            for sandbox in self._sandboxes.values():
                closing.push_async_callback(sandbox.aclose)
            closing.push_async_callback(self._sessions.aclose)
            if self._discovered is not None:
                closing.callback(self._discovered[1].close)
            for task, _ in self._listings.values():
                task.cancel()
            if self._listings:
                await asyncio.wait([task for task, _ in self._listings.values()])

    def refuse_to_serve_itself(self) -> None:
        """Refuse where this Satchel is a server of its own project: each would start another, without end."""
        if self._paths.mark in self._environment.get(PROJECTS, "").split(":"):
            raise ConfigError(
                "one of its servers is Satchel itself, for this same project: remove that entry",
                file=self._paths.extensions_file,
                hint="a project of another directory (--config) can be a server",
            )

    def accept_changes(self, name: str) -> None:
        """Take a server's definitions as they are now for the right ones."""
        self._catalog.accept_changes(self._entry(self.catalog.server(name).name))

    async def find_tool(self, name: str, report: Report = lambda name, outcome: None) -> Tool:
        """Like `describe`, but a server that nothing is known of yet is asked first."""
        try:
            return self.catalog.tool(name)
        except NotFoundError:
            asked = self._catalog.silent(name) or self._catalog.unlisted()
            if not asked:
                raise
        failures: list[ServerError] = []

        def note(server: str, outcome: Server | ServerError | None) -> None:
            report(server, outcome)
            if isinstance(outcome, ServerError):
                failures.append(outcome)

        await self.refresh([entry.name for entry in asked], note)
        if failures and len(failures) == len(asked):
            raise failures[0]
        return self.catalog.tool(name)

    async def _open_pool(self) -> "Pool":
        pool = await self._pool.get()
        pool.can, pool.handshake = self.can, self.handshake
        return pool

    async def _send(self, call: Call) -> CallResult:
        entry = self._entry(call.tool.server)
        self._refuse_disabled(entry)  # it may have been since it was connected to
        return await (await self._open_pool()).call(entry, call)

    async def _connect(self, call: Call) -> None:
        entry = self._entry(call.tool.server)
        self._refuse_disabled(entry)
        await (await self._open_pool()).connect(entry, call.client)

    def _refuse_disabled(self, entry: ServerEntry) -> None:
        if not entry.enabled:
            raise NeedsSetupError(entry.name, "is disabled", hint=f"satchel enable {entry.name}")

    def _timeout_of(self, call: Call) -> float:
        return self._entry(call.tool.server).timeout or self._configuration.settings.servers.timeout

    def _entry(self, name: str) -> ServerEntry:
        entry = self._catalog.entries.get(name)
        if entry is None:
            raise NotFoundError("server", name, hint="it has been removed meanwhile")
        return entry

    def _follow_configuration(self) -> None:
        configuration = self._source.current()
        if configuration is self._configuration:
            return
        self._configuration = configuration
        pool = self._pool.opened
        if pool is not None:
            pool.settings = configuration.settings.servers
        entries = {entry.name: entry for entry in configuration.servers}
        for name, entry in self._catalog.entries.items():
            is_gone = name not in entries or not entries[name].enabled
            if pool is not None and (is_gone or entries[name].written != entry.written):
                pool.forget(name)
        self._catalog.load(configuration)

    def _with_live_state(self, server: Server) -> Server:
        if self._pool.opened is None:
            return server
        state, error = self._pool.opened.state(server.name)
        return replace(server, state=state, error=error) if state else server


@asynccontextmanager
async def open_satchel(
    paths: Paths | Path | str | None = None,
    *,
    authorize: "Authorize | None" = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[Satchel]:
    """Open Satchel on a project: the directory with its configuration, or the nearest one above here.

    async with open_satchel() as satchel:
        result = await satchel.call("google-drive.get_document", {"document_id": "…"})
    """
    from anyio import CancelScope

    from satchel.store.journal import Journal
    from satchel.store.writer import Writer
    from satchel.upstream.later import PoolLater

    environment = os.environ if environment is None else environment
    if not isinstance(paths, Paths):
        paths = find_paths(config=Path(paths) if paths else None, environment=environment)
    source = ConfigurationSource(paths)
    catalog = Catalog(source.current(), environment)

    def record(entry: ServerEntry, listing: Listing) -> None:
        if catalog.is_current(entry):
            catalog.record(entry, listing)

    def open_pool() -> "AbstractAsyncContextManager[Pool]":
        from satchel.upstream.auth import stored_authorization
        from satchel.upstream.pool import open_pool

        settings = source.current().settings
        return open_pool(
            settings.servers,
            on_listing=record,
            is_legacy=catalog.is_legacy,
            authorize=authorize or stored_authorization(paths.credentials, settings.credentials),
            environment=environment,
            projects=f"{environment.get(PROJECTS, '')}:{paths.mark}",
        )

    pool = PoolLater(open_pool)
    records = Journal(Writer(lambda: database_of(source.current(), environment)))
    satchel = Satchel(paths, source, catalog, pool, records, environment)
    is_failing = True
    try:
        yield satchel
        is_failing = False
    finally:
        with CancelScope(shield=True):
            async with AsyncExitStack() as closing:
                closing.push_async_callback(records.aclose)  # last: what is called until then has an end
                closing.push_async_callback(pool.aclose, is_failing=is_failing)
                closing.push_async_callback(satchel.aclose)


def open_discovery(
    paths: Paths,
    settings: SearchSettings,
    environment: Mapping[str, str] | None = None,
    *,
    patience: float = 0.0,
) -> "Discovery":
    """The search over a catalog; by meaning as well, where there are embeddings."""
    environment = os.environ if environment is None else environment
    from satchel.discover import Discovery

    if not settings.embeddings:
        return Discovery(paths.index)
    from satchel.search.meaning import Meaning, open_embedder

    try:
        key = expand(settings.api_key, environment)
    except UnresolvedVariableError as error:
        raise ConfigError(f"search.api_key: {error}", file=paths.settings_file) from error
    source = settings.embeddings
    if not source.startswith(("http:", "https:")) and (paths.project / source).is_dir():
        source = str(paths.project / source)
    meaning = Meaning(
        lambda: open_embedder(source, model=settings.model, api_key=key), paths.user_cache / "vectors"
    )
    return Discovery(paths.index, meaning, patience=patience)


def search_catalog(paths: Paths, query: str, **options: Any) -> Json:
    """What `search_tools` answers, for the agent `default` and without anything being started."""
    from satchel.discover import Describer

    catalog = read_catalog(paths)
    settings = read_configuration(paths).settings
    agent = find_agent(settings, "default")
    describer = Describer(catalog.snapshot, settings.code_execution.language, agent)
    discovery = open_discovery(paths, settings.search, patience=_PATIENCE)
    try:
        return discovery.search_tools(describer, query, **options)
    finally:
        discovery.close()


async def log_in(paths: Paths, entry: ServerEntry, show: Callable[[str], None], *, browser: bool) -> bool:
    """Log in to a remote server with the browser, then list it; false if it wants no login."""
    from satchel.upstream.auth import LOGIN_TIMEOUT, Authorization, open_login
    from satchel.upstream.credentials import Credentials
    from satchel.upstream.pool import open_pool

    configuration = read_configuration(paths)
    catalog = Catalog(configuration)
    target = resolve(entry)
    credentials = Credentials(paths.credentials, target.url, configuration.settings.credentials)
    login = await open_login(target, credentials, show, browser=browser)
    patient = replace(configuration.settings.servers, startup_timeout=LOGIN_TIMEOUT, timeout=LOGIN_TIMEOUT)
    entry = replace(entry, startup_timeout=None, timeout=None)
    async with (
        login,
        open_pool(patient, authorize=lambda target: Authorization(target, credentials, login)) as pool,
    ):
        catalog.record(entry, await pool.list_server(entry))
    return "tokens" in credentials.load()


def generate_code(
    catalog: Catalog,
    paths: Paths,
    output: Path | None = None,
    *,
    languages: "Sequence[Language]" = ("python", "typescript"),
    only: Sequence[str] = (),
    clean: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> "list[Outcome]":
    """Write the wrappers of all servers, or of `only` some; to `output`, or where the project keeps them."""
    from satchel.codegen.generate import generate

    servers = [server for server in catalog.snapshot.servers if server.state != "disabled"]
    return generate(
        paths.prepare_state() / "code-api" if output is None else output.expanduser().resolve(),
        [server for server in servers if server.tool_count or server.resources or server.prompts],
        records=paths.trees,
        support=_guest_files,
        languages=languages,
        only=only,
        kept=[server for server in servers if server.listed_at is None],
        clean=clean,
        adopt=output is None or clean,
        progress=progress,
    )


def _guest_files(language: str) -> dict[str, dict[str, bytes]]:
    """What every tree has besides wrappers, by folder: the files that run inside a sandbox."""
    root = Path(__file__).parent / "sandbox" / "guest" / language
    folders: dict[str, dict[str, bytes]] = {}
    for file in sorted(root.rglob("*")):
        if file.is_file() and file.parent.name not in _NOT_IN_TREES:
            folder = file.parent.relative_to(root).as_posix()
            folders.setdefault("" if folder == "." else folder, {})[file.name] = file.read_bytes()
    return folders


def _reading(agent: str) -> str:
    """Whose sessions are those of an agent's programs that may only read."""
    return f"{agent}\nread-only"


def _stand_in(server: str, name: str) -> Tool:
    """What is permitted and journaled like a tool, and is none: a resource or a prompt."""
    spelling = Spelling(python="", typescript="", wire="")
    return Tool(server=server, name=name, spelling=spelling, wire_name="", digest="", read_definition=dict)


def log_out(paths: Paths, target: Target) -> bool:
    """Forget the tokens of a remote server; tell whether there were any."""
    from satchel.upstream.credentials import Credentials

    store = read_configuration(paths).settings.credentials
    return Credentials(paths.credentials, target.url, store).forget()

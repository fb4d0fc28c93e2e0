"""The composition root: opens each stage and passes functions from one to the next.

`read_catalog` is enough for whatever needs no server: it is quick, imports no SDK and starts nothing.
`open_satchel` adds the connections and the call chain; its verbs are what every surface calls.
"""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
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
from satchel.config.settings import AgentSettings, SandboxSettings, SearchSettings
from satchel.config.variables import UnresolvedVariableError, expand
from satchel.errors import (
    ArgumentError,
    ConfigError,
    JournalError,
    NeedsSetupError,
    NotFoundError,
    ServerError,
    ToolError,
)
from satchel.model import (
    Call,
    CallResult,
    CallTool,
    Execution,
    Json,
    Listing,
    Progress,
    Server,
    Tool,
)
from satchel.names import Spelling, closest

if TYPE_CHECKING:
    from satchel.codegen.places import Language
    from satchel.codegen.tree import Outcome
    from satchel.discover import Describer, Discovery
    from satchel.execute import Verbs
    from satchel.records import Records
    from satchel.sandbox.sandbox import Sandbox, Workspace
    from satchel.upstream.later import PoolLater
    from satchel.upstream.pool import Authorize, Pool

_NOT_IN_TREES = ("__pycache__", "satchel_check", "satchel_guest", "satchel-guest")
_PATIENCE = 3.0  # seconds that a command waits to search by meaning
_AGENT_HINT = "agents in satchel.yaml are the ones there are"

Report = Callable[[str, Server | ServerError | None], None]
"""Told when a server starts to be listed (None), and how that ended."""


def read_catalog(paths: Paths, environment: Mapping[str, str] = os.environ) -> Catalog:
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
        records: "Records",
        environment: Mapping[str, str],
    ) -> None:
        from satchel.calls.chain import build_chain
        from satchel.sandbox.sessions import Sessions

        self._paths = paths
        self._source = source
        self._configuration = source.current()
        self._catalog = catalog
        self._pool = pool
        self._environment = environment
        self._sandboxes: dict[SandboxSettings, Sandbox] = {}
        self._granted: tuple[Configuration, SandboxSettings] | None = None
        self._generated: dict[Language, Snapshot] = {}
        self._discovered: tuple[SearchSettings, Discovery] | None = None
        self._sessions = Sessions(lambda: self.configuration.settings.code_execution.session_idle_timeout)
        self.records = records
        self.call_tool: CallTool = build_chain(
            self._send,
            connect=self._connect,
            timeout_of=self._timeout_of,
            settings_of=self.agent_settings,
            journal=records,
        )

    @property
    def catalog(self) -> Snapshot:
        """Every server and tool, as known now. Changes of the configuration files count at once."""
        self._follow_configuration()
        return self._catalog.snapshot

    @property
    def configuration(self) -> Configuration:
        return self._source.current()

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
        on_progress: Callable[[Progress], None] | None = None,
    ) -> CallResult:
        """Call a tool. A tool that reports an error raises ToolError, like every other failure."""
        tool = await self.find_tool(name)
        result = await self.call_tool(
            Call(tool=tool, arguments=arguments or {}, agent=agent, timeout=timeout, on_progress=on_progress)
        )
        if result.is_error:
            message = result.text.strip() or "the tool reported an error without a text"
            # Of the user's own code the traceback counts as well; a server's lines may be about anything.
            is_custom = self._entry(tool.server).custom
            stderr = (await self._pool.get()).last_words(tool.server) if is_custom else ()
            raise ToolError(tool.server, tool.name, message, kind="tool", stderr=stderr)
        return result

    async def refresh(
        self, names: Sequence[str] = (), report: Report = lambda name, outcome: None
    ) -> list[Server]:
        """List servers anew, all at once. A failing one is recorded, reported, and stops no other."""
        import anyio

        self._follow_configuration()
        entries = [self._entry(self.catalog.server(name).name) for name in names]
        if not names:
            entries = [entry for entry in self._catalog.entries.values() if entry.enabled]
        outcomes: dict[str, Server] = {}

        async def refresh_one(entry: ServerEntry) -> None:
            report(entry.name, None)
            try:
                self._refuse_disabled(entry)
                await (await self._pool.get()).list_server(entry)
            except ServerError as error:
                if entry.enabled:
                    self._catalog.record_failure(entry, error)
                outcomes[entry.name] = replace(self._catalog.snapshot.server(entry.name), error=error.message)
                report(entry.name, error)
            else:
                outcomes[entry.name] = self._catalog.snapshot.server(entry.name)
                report(entry.name, outcomes[entry.name])

        async with anyio.create_task_group() as tasks:
            for entry in entries:
                tasks.start_soon(refresh_one, entry)
        return [outcomes[entry.name] for entry in entries]

    async def read_resource(
        self, server: str, uri: str, *, agent: str = "default", execution: str | None = None
    ) -> Json:
        """The contents of one resource, as the server sends them."""
        entry = self._entry(self.catalog.server(server).name)
        call = Call(tool=_stand_in(entry.name, f"resource:{uri}"), agent=agent, execution=execution)
        return await self._recorded(call, lambda pool: pool.read_resource(entry, uri))

    async def get_prompt(
        self,
        server: str,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        agent: str = "default",
        execution: str | None = None,
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
            call, lambda pool: pool.get_prompt(self._entry(found.name), name, arguments or {})
        )

    async def _recorded(self, call: Call, fetch: "Callable[[Pool], Awaitable[Json]]") -> Json:
        """What is no tool is permitted and journaled as if it were one."""
        from satchel.calls.journal import journal_calls
        from satchel.calls.policy import check_permission

        async def send(call: Call) -> CallResult:
            return CallResult(structured=await fetch(await self._pool.get()), has_structured=True)

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
        settings = self.configuration.settings.skills
        home = self._paths.prepare_state() / "agents" / agent
        places = {
            "memory": documents_in(home / "memory", "/mnt/memory"),
            "skill": documents_in(self._paths.project / settings.path, settings.container_path, "SKILL.md"),
        }
        return self._discovery.semantic_search(self._describer(agent), query, places, max(1, min(limit, 50)))

    def _describer(self, agent: str) -> "Describer":
        from satchel.discover import Describer

        language = self.configuration.settings.code_execution.language
        return Describer(self.catalog, language, self.agent_settings(agent))

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
        agents = self.configuration.settings.agents
        if agent in agents:
            return agents[agent]
        if agent == "default":
            return AgentSettings()
        raise NotFoundError("agent", agent, closest=closest(agent, agents), hint=_AGENT_HINT)

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
        report: Report = lambda name, outcome: None,
    ) -> Execution:
        """Run a program in the sandbox. However it ends, what it did is in the result and in the journal.

        `session` is a handle of an earlier execution, whose variables this one shares, or "new" for one whose
        variables are kept. With `check`, nothing is run unless the program's types fit.

        Raises SandboxError where it can't be run safely, and ArgumentError for what can't be run at all.
        """
        from satchel import execute
        from satchel.sandbox.check import check_program
        from satchel.sandbox.choose import limits_of
        from satchel.sandbox.jobs import language_of
        from satchel.sandbox.sandbox import Answer, Outcome, Program
        from satchel.sandbox.sessions import NEW

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
        limits = limits_of(settings, timeout)
        sandbox = self._sandbox(settings.sandbox)
        owner = execute.program_owner(settings.sandbox.backend)
        wrappers = settings.language if spoken == "bash" else spoken
        workspace = await self._workspace(
            agent, owner, settings.sandbox.backend == "bubblewrap", wrappers, report
        )

        async def run(program: Program, answer: Answer) -> Outcome:
            if check and (failure := await check_program(sandbox, program, workspace, limits)) is not None:
                return failure
            if session is None:
                return await sandbox.run(program, workspace, answer, limits)
            if session != NEW:
                return await self._sessions.run(session, agent, program, answer, limits)
            return await self._sessions.run_new(
                lambda: sandbox.open_session(spoken, workspace, limits), agent, program, answer, limits
            )

        if session not in (None, NEW):
            self._sessions.find(session, agent)
        return await execute.execute(
            Program(code=code, language=spoken),
            agent=agent,
            description=description,
            run=run,
            workspace=workspace,
            verbs=self._verbs(),
            journal=self.records,
            owner=owner,
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
        await self._sessions.end(session, agent)

    def _verbs(self) -> "Verbs":
        from satchel.execute import Verbs

        async def describe_tool(name: str, agent: str) -> Json:
            return self._describer(agent).describe(await self.find_tool(name), "full")

        return Verbs(
            find_tool=self.find_tool,
            call_tool=self.call_tool,
            read_resource=lambda server, uri, agent, execution: self.read_resource(
                server, uri, agent=agent, execution=execution
            ),
            get_prompt=lambda server, name, arguments, agent, execution: self.get_prompt(
                server, name, arguments, agent=agent, execution=execution
            ),
            list_servers=self.list_servers,
            search_tools=self.search_tools,
            semantic_search=self.semantic_search,
            describe_tool=describe_tool,
        )

    @asynccontextmanager
    async def bridge(
        self, socket: Path, *, agent: str = "default", report: Callable[[str], None] = lambda text: None
    ) -> AsyncGenerator[str]:
        """Let scripts outside of the sandbox call tools as `agent`. Gives the address for SATCHEL_BRIDGE."""
        import tempfile

        from satchel.execute import Requests
        from satchel.sandbox.choose import limits_of
        from satchel.sandbox.local import open_bridge

        self.agent_settings(agent)
        limits = limits_of(self.configuration.settings.code_execution, None)
        patient = replace(limits, calls=1_000_000, sent=1 << 40)  # people's own scripts may be long

        with tempfile.TemporaryDirectory(prefix="satchel-results-", ignore_cleanup_errors=True) as results:

            def save(ending: str, content: bytes) -> str:
                descriptor, path = tempfile.mkstemp(suffix=ending, dir=results)
                with open(descriptor, "wb") as stream:
                    stream.write(content)
                return path

            requests = Requests(self._verbs(), agent=agent, execution=None, save=save, keep=False)
            async with open_bridge(socket, requests.answer, patient, report) as address:
                yield address

    def _sandbox(self, settings: SandboxSettings) -> "Sandbox":
        from satchel.sandbox.choose import open_sandbox, read_grants

        configuration = self.configuration
        if self._granted == (configuration, settings):  # nothing has changed since it was looked at
            return self._sandboxes[settings]
        paths = configuration.paths
        code = configuration.code(self._environment)
        if settings not in self._sandboxes:
            self._sandboxes[settings] = open_sandbox(
                settings, paths.project, paths.private, self._environment, code
            )
        else:  # there may be servers by now whose code could be written to
            read_grants(settings, paths.project, paths.private, self._environment, code)
        self._granted = (configuration, settings)
        return self._sandboxes[settings]

    async def _workspace(
        self, agent: str, owner: int | None, isolated: bool, language: "Language", report: Report
    ) -> "Workspace":
        from satchel.sandbox.workspace import prepare_workspace

        state = self._paths.prepare_state()
        await self._write_code_api(language, report)
        code_api = state / "code-api" / language
        return prepare_workspace(state / "agents", agent, code_api, owner, isolated=isolated)

    async def _write_code_api(self, language: "Language", report: Report) -> None:
        """Bring the wrappers up to date, where the catalog has changed since they were."""
        from anyio import to_thread

        self._follow_configuration()
        if self._catalog.unlisted():
            await self.refresh([entry.name for entry in self._catalog.unlisted()], report)
        snapshot = self.catalog
        if snapshot is not self._generated.get(language):
            await to_thread.run_sync(lambda: generate_code(self._catalog, self._paths, languages=(language,)))
            self._generated[language] = snapshot

    async def aclose(self) -> None:
        if self._discovered is not None:
            self._discovered[1].close()
        await self._sessions.aclose()
        for sandbox in self._sandboxes.values():
            await sandbox.aclose()
        await self.records.aclose()

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

    async def _send(self, call: Call) -> CallResult:
        return await (await self._pool.get()).call(self._entry(call.tool.server), call)

    async def _connect(self, call: Call) -> None:
        entry = self._entry(call.tool.server)
        self._refuse_disabled(entry)
        await (await self._pool.get()).connect(entry)

    def _refuse_disabled(self, entry: ServerEntry) -> None:
        if not entry.enabled:
            raise NeedsSetupError(entry.name, "is disabled", hint=f"satchel enable {entry.name}")

    def _timeout_of(self, call: Call) -> float:
        return self._entry(call.tool.server).timeout or self._configuration.settings.servers.timeout

    def _entry(self, name: str) -> ServerEntry:
        return self._catalog.entries[name]

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
    environment: Mapping[str, str] = os.environ,
) -> AsyncGenerator[Satchel]:
    """Open Satchel on a project: the directory with its configuration, or the nearest one above here.

    async with open_satchel() as satchel:
        result = await satchel.call("google-drive.get_document", {"document_id": "…"})
    """
    from anyio import CancelScope

    from satchel.records import Records
    from satchel.upstream.later import PoolLater

    if not isinstance(paths, Paths):
        paths = find_paths(config=Path(paths) if paths else None, environment=environment)
    source = ConfigurationSource(paths)
    catalog = Catalog(source.current(), environment)

    def record(entry: ServerEntry, listing: Listing) -> None:
        if entry.name in catalog.entries:
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
        )

    pool = PoolLater(open_pool)
    records = Records(lambda: database_of(source.current(), environment))
    satchel = Satchel(paths, source, catalog, pool, records, environment)
    is_failing = True
    try:
        yield satchel
        is_failing = False
    finally:
        with CancelScope(shield=True):
            try:
                await satchel.aclose()
            finally:
                await pool.aclose(is_failing=is_failing)


def open_discovery(
    paths: Paths,
    settings: SearchSettings,
    environment: Mapping[str, str] = os.environ,
    *,
    patience: float = 0.0,
) -> "Discovery":
    """The search over a catalog; by meaning as well, where there are embeddings."""
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
    agent = settings.agents.get("default", AgentSettings())
    describer = Describer(catalog.snapshot, settings.code_execution.language, agent)
    discovery = open_discovery(paths, settings.search, patience=_PATIENCE)
    try:
        return discovery.search_tools(describer, query, **options)
    finally:
        discovery.close()


def database_of(configuration: Configuration, environment: Mapping[str, str] = os.environ) -> Path | str:
    """Where the journal is: the file of the project, made ready to be written, or what the settings name."""
    chosen = configuration.settings.database
    if chosen is None:
        configuration.paths.prepare_state()
        return configuration.paths.database
    try:
        return expand(chosen, environment)
    except UnresolvedVariableError as error:
        raise JournalError(
            f"database in satchel.yaml refers to {error.variable}, which is not set",
            hint=f"export {error.variable}=…",
        ) from error


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


def _stand_in(server: str, name: str) -> Tool:
    """What is permitted and journaled like a tool, and is none: a resource or a prompt."""
    spelling = Spelling(python="", typescript="", wire="")
    return Tool(server=server, name=name, spelling=spelling, wire_name="", digest="", read_definition=dict)


def log_out(paths: Paths, target: Target) -> bool:
    """Forget the tokens of a remote server; tell whether there were any."""
    from satchel.upstream.credentials import Credentials

    store = read_configuration(paths).settings.credentials
    return Credentials(paths.credentials, target.url, store).forget()

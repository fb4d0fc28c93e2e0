"""The composition root: opens each stage and passes functions from one to the next.

`read_catalog` is enough for whatever needs no server: it is quick, imports no SDK and starts nothing.
`open_satchel` adds the connections and the call chain; its verbs are what every surface calls.
"""

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
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
from satchel.errors import NeedsSetupError, NotFoundError, ServerError, ToolError
from satchel.model import Call, CallResult, CallTool, Json, Listing, Progress, Server, Tool
from satchel.names import closest

if TYPE_CHECKING:
    from satchel.codegen.places import Language
    from satchel.codegen.tree import Outcome
    from satchel.upstream.pool import Authorize, Pool

Report = Callable[[str, Server | ServerError | None], None]
"""Told when a server starts to be listed (None), and how that ended."""


def read_catalog(paths: Paths, environment: Mapping[str, str] = os.environ) -> Catalog:
    """What is known without starting anything."""
    return Catalog(read_configuration(paths), environment)


class Satchel:
    """The verbs. Use through `open_satchel`."""

    def __init__(self, source: ConfigurationSource, catalog: Catalog, pool: "Pool") -> None:
        from satchel.calls.chain import build_chain

        self._source = source
        self._configuration = source.current()
        self._catalog = catalog
        self._pool = pool
        self.call_tool: CallTool = build_chain(self._send, connect=self._connect, timeout_of=self._timeout_of)

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
        servers = [self._with_live_state(server) for server in self.catalog.servers]
        return {
            "servers": [
                {
                    "name": server.name,
                    "description": server.description,
                    "transport": server.shown_transport,
                    "state": server.state,
                    "tool_count": server.tool_count,
                }
                for server in servers
            ],
            "total_tools": sum(server.tool_count for server in servers),
        }

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
            stderr = self._pool.last_words(tool.server) if self._entry(tool.server).custom else ()
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
                await self._pool.list_server(entry)
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

    async def read_resource(self, server: str, uri: str) -> Json:
        """The contents of one resource, as the server sends them."""
        return await self._pool.read_resource(self._entry(self.catalog.server(server).name), uri)

    async def get_prompt(self, server: str, name: str, arguments: Mapping[str, str] | None = None) -> Json:
        """One prompt, filled in."""
        found = self.catalog.server(server)
        if found.prompts and name not in {prompt.name for prompt in found.prompts}:
            known = [prompt.name for prompt in found.prompts]
            raise NotFoundError("prompt", f"{server}.{name}", closest=closest(name, known))
        return await self._pool.get_prompt(self._entry(found.name), name, arguments or {})

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
        return await self._pool.call(self._entry(call.tool.server), call)

    async def _connect(self, call: Call) -> None:
        entry = self._entry(call.tool.server)
        self._refuse_disabled(entry)
        await self._pool.connect(entry)

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
        self._pool.settings = configuration.settings.servers
        entries = {entry.name: entry for entry in configuration.servers}
        for name, entry in self._catalog.entries.items():
            if name not in entries or not entries[name].enabled or entries[name].written != entry.written:
                self._pool.forget(name)
        self._catalog.load(configuration)

    def _with_live_state(self, server: Server) -> Server:
        state, error = self._pool.state(server.name)
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
    from satchel.upstream.auth import stored_authorization
    from satchel.upstream.pool import open_pool

    if not isinstance(paths, Paths):
        paths = find_paths(config=Path(paths) if paths else None, environment=environment)
    source = ConfigurationSource(paths)
    catalog = Catalog(source.current(), environment)

    def record(entry: ServerEntry, listing: Listing) -> None:
        if entry.name in catalog.entries:
            catalog.record(entry, listing)

    async with open_pool(
        source.current().settings.servers,
        on_listing=record,
        is_legacy=catalog.is_legacy,
        authorize=authorize or stored_authorization(paths.credentials, source.current().settings.credentials),
        environment=environment,
    ) as pool:
        yield Satchel(source, catalog, pool)


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
        paths.prepare_code_api() if output is None else output.expanduser().resolve(),
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
        if file.is_file() and file.parent.name != "__pycache__":
            folder = file.parent.relative_to(root).as_posix()
            folders.setdefault("" if folder == "." else folder, {})[file.name] = file.read_bytes()
    return folders


def log_out(paths: Paths, target: Target) -> bool:
    """Forget the tokens of a remote server; tell whether there were any."""
    from satchel.upstream.credentials import Credentials

    store = read_configuration(paths).settings.credentials
    return Credentials(paths.credentials, target.url, store).forget()

"""A real `satchel serve` in its own process, clients of both eras, and sockets for what no client says."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
from mcp import Client
from mcp.client.session import MessageHandlerFnT
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Implementation, TextContent

from satchel.model import CallRecord, ExecutionRecord
from satchel.store.journal import Journal
from satchel.store.writer import Writer
from tests.projects import Outcome, Project

Era = Literal["legacy", "auto"]
ERAS: tuple[Era, Era] = ("legacy", "auto")
WAIT = 60.0
"""Seconds; only a hang reaches it."""

_URL = re.compile(r"http://\S+?:(\d+)/mcp")


# Satchel


@dataclass(kw_only=True)
class Served:
    """A Satchel that listens: where, for whom, and what it has written to standard error."""

    project: Project
    process: "subprocess.Popen[bytes]"
    environment: Mapping[str, str]
    url: str = ""
    port: int = 0
    lines: list[str] = field(default_factory=list[str])

    def run(self, *arguments: str) -> Outcome:
        """Another `satchel` on the same project."""
        return self.project.run(*arguments, environment=self.environment)

    def token(self, agent: str = "default") -> str:
        done = self.run("token", agent)
        assert done.code == 0, done.err
        return done.out.strip()

    @property
    def said(self) -> str:
        return "".join(self.lines)

    @property
    def home(self) -> Path:
        return Path(self.environment["HOME"])

    def settings(self, settings: Mapping[str, Any]) -> None:
        write_settings(self.project, settings)

    def recorded(self) -> tuple[list[ExecutionRecord], list[CallRecord]]:
        return recorded(self.project)


def recorded(project: Project) -> tuple[list[ExecutionRecord], list[CallRecord]]:
    """What the journal has; read in a thread, for the tests have a loop of their own."""

    async def read() -> tuple[list[ExecutionRecord], list[CallRecord]]:
        records = Journal(Writer(project.directory / ".satchel" / "satchel.db"))
        try:
            return await records.executions(limit=100_000), await records.calls(limit=100_000)
        finally:
            await records.aclose()

    return anyio.run(read)


def write_settings(project: Project, settings: Mapping[str, Any]) -> None:
    """In one step, as editors that are careful do."""
    file = project.directory / "satchel.yaml"
    new = file.with_suffix(".new")
    new.write_text(json.dumps(settings, indent=2))
    new.replace(file)


def write_servers(project: Project, servers: Mapping[str, Mapping[str, Any]]) -> None:
    new = project.directory / "servers.new"
    new.write_text(json.dumps({"mcpServers": servers}, indent=2))
    new.replace(project.file)


def own_environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Of a person who has nothing but this project."""
    home.mkdir(parents=True, exist_ok=True)
    foreign = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "SATCHEL_CONFIG")
    kept = {name: value for name, value in os.environ.items() if name not in foreign}
    return {**kept, "HOME": str(home), **(more or {})}


@contextmanager
def serving(
    directory: Path,
    servers: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any] | None = None,
    *,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    address: str = "127.0.0.1:0",
    before: Sequence[str] = (),
    limit: str = "",
    anew: bool = False,
) -> Generator[Served]:
    """Run `satchel serve --http` on a new project until the end of the block.

    `before` are global options; `limit` are options of the shell's `ulimit`. `anew` is for who looks at the
    process itself.
    """
    project = Project(directory / "project", servers)
    if settings is not None:
        write_settings(project, settings)
    own = own_environment(directory / "home", environment)
    write_command = project.command if anew or limit else project.forked_command
    command = write_command(*before, "serve", "--http", address, *arguments)
    process = subprocess.Popen(
        ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh", *command] if limit else command,
        cwd=project.directory,
        env=own,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    served = Served(project=project, process=process, environment=own)
    ready = threading.Event()
    reader = threading.Thread(target=_read, args=(served, ready), daemon=True)
    reader.start()
    try:
        assert ready.wait(WAIT) and served.url, served.said
        yield served
    finally:
        process.terminate()
        try:
            process.wait(60)  # it may have many servers to stop
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(30)
            raise
        finally:
            reader.join(30)
            assert process.stderr is not None
            process.stderr.close()


def _read(served: Served, ready: threading.Event) -> None:
    assert served.process.stderr is not None
    for line in served.process.stderr:
        served.lines.append(line.decode("utf-8", "replace"))
        if not served.url and (found := _URL.search(served.lines[-1])):
            served.url, served.port = found[0], int(found[1])
            ready.set()
    ready.set()


# Clients


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@asynccontextmanager
async def connected(
    url: str,
    token: str,
    era: Era,
    *,
    name: str = "tester",
    message_handler: MessageHandlerFnT | None = None,
    read_timeout: float = WAIT,
) -> AsyncGenerator[Client]:
    """An MCP client over HTTP."""
    async with (
        httpx2.AsyncClient(headers=bearer(token), timeout=httpx2.Timeout(WAIT, read=120)) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=era,
            read_timeout_seconds=read_timeout,
            client_info=Implementation(name=name, version="1"),
            message_handler=message_handler,
        ) as client,
    ):
        yield client


def over_stdio(
    project: Project, environment: Mapping[str, str], *arguments: str, anew: bool = False
) -> StdioServerParameters:
    write_command = project.command if anew else project.forked_command
    command, *rest = write_command("serve", *arguments)
    return StdioServerParameters(command=command, args=rest, env=dict(environment), cwd=project.directory)


@asynccontextmanager
async def connected_over_stdio(
    project: Project,
    environment: Mapping[str, str],
    era: Era,
    *arguments: str,
    anew: bool = False,
    message_handler: MessageHandlerFnT | None = None,
) -> AsyncGenerator[Client]:
    server = over_stdio(project, environment, *arguments, anew=anew)
    async with Client(server, mode=era, read_timeout_seconds=WAIT, message_handler=message_handler) as client:
        yield client


async def execute(client: Client, code: str, **more: Any) -> dict[str, Any]:
    """Run a program; what its execution was like, whether it failed or not."""
    answer = await client.call_tool("execute_code", {"code": code, **more})
    assert isinstance(answer, CallToolResult)
    assert answer.structured_content is not None, text_of(answer)
    found: dict[str, Any] = answer.structured_content
    return found


async def run(client: Client, code: str, **more: Any) -> str:
    """The output of a program that ends well."""
    execution = await execute(client, code, **more)
    assert execution["exit_code"] == 0, execution
    return str(execution["stdout"])


def text_of(answer: CallToolResult) -> str:
    return "\n".join(block.text for block in answer.content if isinstance(block, TextContent))


async def call(client: Client, name: str, **arguments: Any) -> CallToolResult:
    answer = await client.call_tool(name, arguments)
    assert isinstance(answer, CallToolResult)
    return answer


# Whatever else can be sent


@dataclass(frozen=True, kw_only=True)
class Reply:
    status: int
    headers: Sequence[tuple[str, str]]
    body: str

    def header(self, name: str) -> str | None:
        found = [value for key, value in self.headers if key == name]
        assert len(found) <= 1, found
        return found[0] if found else None


def initialize(version: str = "2025-11-25") -> bytes:
    """The first message of a client of the 2025 era."""
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "1"},
    }
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()


def listing() -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}).encode()


JSON = ("Content-Type: application/json", "Accept: application/json, text/event-stream")


def ask(
    port: int,
    target: str = "/mcp",
    headers: Iterable[str] = (),
    *,
    method: str = "POST",
    host: str | None = "localhost",
    body: bytes = b"",
    raw_host: bytes | None = None,
) -> Reply:
    """One request, byte by byte as given, and what is answered."""
    rows = [f"{method} {target} HTTP/1.1".encode()]
    if raw_host is not None:
        rows.append(raw_host)
    elif host is not None:
        rows.append(f"Host: {host}".encode())
    rows += [row.encode("latin-1") for row in headers]
    if body or method == "POST":
        rows.append(f"Content-Length: {len(body)}".encode())
    rows.append(b"Connection: close")
    return exchange(port, b"\r\n".join(rows) + b"\r\n\r\n" + body)


def exchange(port: int, data: bytes) -> Reply:
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as connection:
        connection.sendall(data)
        return read_reply(connection)


def read_reply(connection: socket.socket) -> Reply:
    """Until the server closes the connection. Event streams that stay open are not for this."""
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    return parse_reply(received)


def parse_reply(received: bytes) -> Reply:
    head, _, body = received.partition(b"\r\n\r\n")
    first, *rows = head.decode("latin-1").split("\r\n")
    pairs = [row.split(": ", 1) for row in rows]
    return Reply(
        status=int(first.split(" ")[1]) if first else 0,
        headers=[(name.lower(), value) for name, value in pairs],
        body=body.decode("utf-8", "replace"),
    )


# Waiting


def wait_for(happened: Callable[[], bool], seconds: float = WAIT) -> None:
    """For what other processes do, of which nobody tells."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it has not happened"
        time.sleep(0.02)


async def wait_until(happened: Callable[[], bool], seconds: float = WAIT) -> None:
    await anyio.to_thread.run_sync(wait_for, happened, seconds)


def children_of(process: int) -> list[int]:
    """All processes below one."""
    parents: dict[int, int] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                status = (path / "stat").read_text()
            except OSError:
                continue
            parents[int(path.name)] = int(status.rpartition(")")[2].split()[1])
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {process})


PYTHON = sys.executable

"""Satchel's MCP surface in this process, the server that asks, and clients of both eras that can be asked."""

import json
import os
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import httpx2
import mcp_types as types
import pytest
import uvicorn
from anyio.abc import ByteReceiveStream
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client
from mcp.client._memory import InMemoryTransport
from mcp.client.session import LoggingFnT, MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Implementation, TextContent

from satchel import Satchel, open_satchel
from satchel.config.agents import Mode
from satchel.config.settings import HttpSettings
from satchel.server.mcp_http import open_door
from satchel.server.surface import Surface
from satchel.store.journal import Journal
from satchel.store.writer import Writer
from tests.projects import Project
from tests.servers import HERE

LEGACY, MODERN = "legacy", "2026-07-28"
WAIT = 60.0
"""Seconds; only a hang reaches it."""

CLIENT_ERAS = pytest.mark.parametrize("client_era", [LEGACY, MODERN])
SERVER_ERAS = pytest.mark.parametrize("server_era", ["legacy", "modern"])


def asking(era: str = "both", **options: object) -> dict[str, Any]:
    """The entry of a server that runs asking.py."""
    pairs = [f"{key}={value}" for key, value in options.items()]
    return {"command": sys.executable, "args": [str(HERE / "asking.py"), f"era={era}", *pairs]}


# Satchel


def own_project(
    directory: Path, servers: Mapping[str, Mapping[str, Any]], settings: Mapping[str, Any] | None = None
) -> Project:
    project = Project(directory / "project", servers)
    write_settings(project, settings or {})
    return project


def write_settings(project: Project, settings: Mapping[str, Any]) -> None:
    """In one step, so that no half of it is ever read."""
    new = project.directory / "settings.new"
    new.write_text(json.dumps(settings, indent=2))
    new.replace(project.directory / "satchel.yaml")


def write_servers(project: Project, servers: Mapping[str, Mapping[str, Any]]) -> None:
    new = project.directory / "servers.new"
    new.write_text(json.dumps({"mcpServers": servers}, indent=2))
    new.replace(project.file)


@dataclass(frozen=True, kw_only=True)
class Served:
    satchel: Satchel
    surface: Surface


@asynccontextmanager
async def served(
    project: Project, *, mode: Mode | None = None, agent: str = "default", listed: bool = True
) -> AsyncGenerator[Served]:
    """Satchel for clients of this process; its servers have been listed, unless that is what is tested."""
    home = project.directory.parent / "home"
    home.mkdir(exist_ok=True)
    async with open_satchel(project.directory, environment={**os.environ, "HOME": str(home)}) as satchel:
        surface = Surface(satchel, agent=agent, mode=mode)
        async with surface.running():
            if listed:
                await satchel.servers.list_new(WAIT)
            yield Served(satchel=satchel, surface=surface)


# Clients


@dataclass
class Person:
    """Whoever sits in front of a client: what was asked, and what is answered.

    `answer` is an action, or a function that makes the result of one question.
    """

    answer: str | Callable[[Any], Awaitable[types.ElicitResult | types.ErrorData]] = "accept"
    text: str = "yes"
    asked: list[Any] = field(default_factory=list[Any])

    @property
    def questions(self) -> list[str]:
        return [params.message for params in self.asked]

    async def elicit(
        self, context: object, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        self.asked.append(params)
        if not isinstance(self.answer, str):
            return await self.answer(params)
        is_form = isinstance(params, types.ElicitRequestFormParams)
        content: Any = {"answer": self.text} if self.answer == "accept" and is_form else None
        action: Any = self.answer
        return types.ElicitResult(action=action, content=content)


async def sample(
    context: object, params: types.CreateMessageRequestParams
) -> types.CreateMessageResult | types.ErrorData:
    """A model that repeats what it is told."""
    content = params.messages[0].content
    said = content.text if isinstance(content, TextContent) else "?"
    return types.CreateMessageResult(
        role="assistant", content=TextContent(text=f"about {said}"), model="parrot", stop_reason="endTurn"
    )


def client_of(
    surface: Surface,
    era: str,
    *,
    person: Person | None = None,
    samples: bool | None = None,
    name: str = "tester",
    log: LoggingFnT | None = None,
    message_handler: MessageHandlerFnT | None = None,
) -> Client:
    """A client that is connected while it is entered, and bounds each of its waits.

    Where there is a person, there is a model, unless `samples` says otherwise.
    """
    samples = person is not None if samples is None else samples
    return Client(
        InMemoryTransport(surface.server),
        mode=era,
        read_timeout_seconds=WAIT,
        elicitation_callback=person.elicit if person is not None else None,
        sampling_callback=sample if samples else None,
        logging_callback=log,
        log_level="debug" if log is not None and era != LEGACY else None,
        client_info=Implementation(name=name, version="1"),
        message_handler=message_handler,
        cache=None,
    )


async def call(client: Client, name: str, /, **arguments: Any) -> CallToolResult:
    answer = await client.call_tool(name, arguments)
    assert isinstance(answer, CallToolResult)
    return answer


async def text_from(client: Client, name: str, /, **arguments: Any) -> str:
    """The text of a result that is no error."""
    answer = await call(client, name, **arguments)
    assert not answer.is_error, text_of(answer)
    return text_of(answer)


def text_of(answer: CallToolResult) -> str:
    return "\n".join(block.text for block in answer.content if isinstance(block, TextContent))


async def execute(client: Client, code: str, **more: Any) -> dict[str, Any]:
    """Run a program; what its execution was like, whether it failed or not."""
    answer = await call(client, "execute_code", code=code, **more)
    assert answer.structured_content is not None, text_of(answer)
    found: dict[str, Any] = answer.structured_content
    return found


# Over HTTP, for several clients at once


@asynccontextmanager
async def listening(surface: Surface) -> AsyncGenerator[str]:
    """The surface over HTTP while the block lasts; an agent's token is its name."""
    bound = socket.create_server(("127.0.0.1", 0))
    async with (
        open_door(surface, agent_of=str, is_agent=bool, settings=HttpSettings) as door,
        anyio.create_task_group() as tasks,
    ):
        config = uvicorn.Config(door, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        server.capture_signals = nullcontext  # pyright: ignore[reportAttributeAccessIssue]
        tasks.start_soon(server.serve, [bound])
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/mcp"
        server.should_exit = True


@asynccontextmanager
async def client_over_http(
    url: str, era: str, *, person: Person | None = None, agent: str = "default", log: LoggingFnT | None = None
) -> AsyncGenerator[Client]:
    headers = {"Authorization": f"Bearer {agent}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(WAIT, read=120)) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=era,
            read_timeout_seconds=WAIT,
            elicitation_callback=person.elicit if person is not None else None,
            sampling_callback=sample if person is not None else None,
            logging_callback=log,
            log_level="debug" if log is not None and era != LEGACY else None,
            cache=None,
        ) as client,
    ):
        yield client


# A process, and what is written to it byte by byte


class Process:
    """A `satchel serve` over stdio, told whatever a test wants to tell it."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process = process
        self.stdin = process.stdin
        self.lines = BufferedByteReceiveStream(process.stdout)
        self.noise: list[bytes] = []
        """Lines on standard output that are no messages."""
        self.errors = b""
        self._number = 0

    async def write(self, data: bytes) -> None:
        await self.stdin.send(data)

    async def send(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> int:
        """A request; its number is returned."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}, **more}
        await self.write(json.dumps(message).encode() + b"\n")
        return self._number

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        await self.write(json.dumps(message).encode() + b"\n")

    async def receive(self) -> dict[str, Any]:
        """The next message."""
        with anyio.fail_after(WAIT):
            while True:
                line = await self.lines.receive_until(b"\n", 1 << 26)
                try:
                    return json.loads(line)
                except ValueError:
                    self.noise.append(line)

    async def answer(self, number: int) -> dict[str, Any]:
        """The answer to a request; what comes before it is passed over."""
        while True:
            message = await self.receive()
            if message.get("id") == number and "method" not in message:
                return message

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return await self.answer(await self.send(method, params))

    async def initialize(self, capabilities: Mapping[str, Any] | None = None) -> dict[str, Any]:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities or {},
            "clientInfo": {"name": "by hand", "version": "1"},
        }
        answer = await self.request("initialize", params)
        await self.notify("notifications/initialized")
        return answer["result"]

    async def ended(self, seconds: float = WAIT) -> int:
        with anyio.fail_after(seconds):
            return await self.process.wait()


@asynccontextmanager
async def process_of(
    project: Project, *arguments: str, environment: Mapping[str, str] | None = None
) -> AsyncGenerator[Process]:
    """Run `satchel serve` until the end of the block."""
    home = project.directory.parent / "home"
    home.mkdir(exist_ok=True)
    # What Python reads from its environment when it starts is of no use to a fork.
    write_command = project.command if environment else project.forked_command
    started = await anyio.open_process(
        write_command("serve", *arguments),
        cwd=project.directory,
        env={**os.environ, "HOME": str(home), **(environment or {})},
        start_new_session=True,
    )
    process = Process(started)
    assert started.stderr is not None

    async def read(stream: ByteReceiveStream) -> None:
        async for chunk in stream:
            process.errors += chunk

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read, started.stderr)
        try:
            yield process
        finally:
            if started.returncode is None:
                started.terminate()
            with anyio.CancelScope(shield=True):
                with anyio.move_on_after(10):
                    await started.wait()
                if started.returncode is None:
                    started.kill()
                tasks.cancel_scope.cancel()
                await started.aclose()


async def outcomes(project: Project) -> list[dict[str, Any] | None]:
    """How the executions that the journal has ended, the newest first."""
    records = Journal(Writer(project.directory / ".satchel" / "satchel.db"))
    try:
        return [record.outcome for record in await records.executions(limit=100)]
    finally:
        await records.aclose()

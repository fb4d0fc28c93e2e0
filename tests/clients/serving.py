"""Satchel as an MCP server in a process of its own, the clients that `make setup` installed, and their story.

Every client does the same, in a driver of its own that runs in the client's environment: it lists the tools,
looks for one, runs a program that calls it, a program that fails and one that it cancels, and asks for a tool
that isn't there. The driver prints what it got as JSON, and `check` reads it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import ByteReceiveStream
from anyio.streams.buffered import BufferedByteReceiveStream

from satchel import open_satchel
from tests.projects import Project
from tests.servers import raw

ROOT = Path(__file__).resolve().parents[2]
DRIVERS = Path(__file__).parent / "drivers"
SERVERS = ROOT / ".servers"
NODE_MODULES = SERVERS / "clients-node" / "node_modules"
START_SECONDS = 60
DRIVER_SECONDS = 90

TRANSPORTS = pytest.mark.parametrize("transport", ["stdio", "http"])


# What is installed


def python_of(era: str) -> str:
    """The Python that has the clients on the MCP SDK of this era."""
    python = SERVERS / f"clients-{era}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"the clients on the {era} MCP SDK are not installed: run make setup")
    return str(python)


def node() -> str:
    """A Node that is new enough for the clients on it: the one installed with them, or the machine's."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not here, so clients on Node can't be installed")
    if not NODE_MODULES.is_dir():
        pytest.skip("the clients on Node are not installed: run make setup")
    for found in (*NODE_MODULES.glob("node-linux-*/bin/node"), shutil.which("node")):
        if found and major_version(str(found)) >= 22:
            return str(found)
    pytest.skip("the clients on Node need Node 22, and there is none for this machine")


def major_version(node: str) -> int:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.", said)
    return int(found[1]) if found else 0


# Satchel


async def listed_project(directory: Path, mode: str, servers: Mapping[str, Mapping[str, Any]]) -> Project:
    """A project whose servers have been listed; here, because this process has loaded the SDK already."""
    project = Project(directory, servers)
    (directory / "satchel.yaml").write_text(f"mode: {mode}\n")
    async with open_satchel(directory) as satchel:
        await satchel.servers.refresh()
    return project


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a Satchel listens, what it wants to be told, and what it has written to standard error."""

    url: str
    token: str
    said: list[str] = field(default_factory=list[str])


@asynccontextmanager
async def listening(project: Project) -> AsyncGenerator[Address]:
    """Run `satchel serve --http` until the end of the block."""
    command = project.forked_command("serve", "--http", "127.0.0.1:0")
    process = await anyio.open_process(command, cwd=project.directory, stdin=subprocess.DEVNULL)
    assert process.stderr is not None
    lines = BufferedByteReceiveStream(process.stderr)
    said: list[str] = []
    try:
        with anyio.fail_after(START_SECONDS):
            url = await _said_url(lines, said)
        async with anyio.create_task_group() as group:
            group.start_soon(_collect, lines, said)
            token = (await anyio.to_thread.run_sync(project.run, "token")).out.strip()
            yield Address(url=url, token=token, said=said)
            group.cancel_scope.cancel()
    finally:
        if process.returncode is None:
            process.terminate()
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(10):
                await process.wait()
            if process.returncode is None:
                process.kill()
            await process.aclose()


async def _said_url(lines: BufferedByteReceiveStream, said: list[str]) -> str:
    while True:
        try:
            line = (await lines.receive_until(b"\n", 10_000)).decode()
        except (anyio.EndOfStream, anyio.IncompleteRead):
            raise AssertionError(f"satchel serve ended: {said}") from None
        said.append(line)
        if found := re.search(r"http://127\.0\.0\.1:\d+/mcp", line):
            return found[0]


async def _collect(stream: ByteReceiveStream, said: list[str]) -> None:
    async for chunk in stream:
        said.append(chunk.decode(errors="replace"))


# The story

PROGRAM = """
from servers.work import add

total = 0
for number in range(10):
    total = (await add(a=total, b=number))["sum"]
print("total", total)
"""
FAILING = "raise ValueError('as it was told to')"
ENDLESS = "from servers.work import sleep\nawait sleep(seconds=100)"


@asynccontextmanager
async def told(directory: Path, transport: str) -> AsyncGenerator[dict[str, Any]]:
    """What a driver is told: how to reach a Satchel with the server `work`, and what to do with it."""
    log = directory / "log"
    project = await listed_project(directory / "project", "code", {"work": raw("good", log=log)})
    log.write_text("")
    story = {"program": PROGRAM, "failing": FAILING, "endless": ENDLESS, "log": str(log)}
    if transport == "http":
        async with listening(project) as address:
            yield {**story, "url": address.url, "token": address.token}
    else:
        command = [sys.executable, "-m", "satchel", "--config", str(project.directory), "serve"]
        environment = {name: os.environ[name] for name in ("HOME", "PATH")}
        yield {**story, "command": command, "env": environment}


async def drive(command: list[str], story: Mapping[str, Any]) -> dict[str, Any]:
    """Run a driver, and return what it reports: the last line that it prints."""
    with anyio.fail_after(DRIVER_SECONDS):
        done = await anyio.run_process([*command, json.dumps(story)], check=False)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0 and lines, done.stderr.decode()[-4000:]
    return json.loads(lines[-1])


def check(report: Mapping[str, Any], *, without: tuple[str, ...] = ()) -> None:
    """What every client gets; `without` names what a client can't do."""
    assert {"list_servers", "search_tools", "execute_code"} <= set(report["tools"])
    found = report["found"]
    assert not found["is_error"]
    assert ("work", "add") in [(tool["server"], tool["short_name"]) for tool in found["structured"]["tools"]]
    check_executed(report["executed"])
    check_failed(report["failed"])
    if "unknown" not in without:
        assert "no_such_tool" in report["unknown"]
    if "cancel" not in without:
        assert report["cancelled"]
    if "after" in report:
        assert report["after"]["structured"]["servers"][0]["name"] == "work"


def check_executed(executed: Mapping[str, Any]) -> None:
    assert not executed["is_error"], executed
    structured = executed["structured"]
    assert (structured["exit_code"], structured["stdout"]) == (0, "total 45\n")
    assert [call["status"] for call in structured["tools_called"]] == ["ok"] * 10
    assert "total 45" in executed["text"]


def check_failed(failed: Mapping[str, Any]) -> None:
    assert failed["is_error"]
    assert "ValueError: as it was told to" in failed["text"]

"""The command line of MCP Inspector, which makes a connection for every request.

It has no way to cancel one; whoever does not want to wait any longer ends it.
"""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.clients.drivers.story import cancelled
from tests.clients.serving import (
    DRIVER_SECONDS,
    NODE_MODULES,
    check,
    node,
    told,
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

INSPECTOR = (
    NODE_MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
)
AT_ONCE = 2


class Inspector:
    """One server of one configuration file."""

    def __init__(self, directory: Path, story: Mapping[str, Any], era: str) -> None:
        self.file = directory / "mcp.json"
        self.command = [node(), str(INSPECTOR), "--cli", "--config", str(self.file), "--server", "satchel"]
        self.command += ["--protocol-era", era]
        if "url" in story:
            headers = {"Authorization": f"Bearer {story['token']}"}
            entry = {"type": "streamable-http", "url": story["url"], "headers": headers}
        else:
            command, *arguments = story["command"]
            entry = {"type": "stdio", "command": command, "args": arguments, "env": story["env"]}
        self.file.write_text(json.dumps({"mcpServers": {"satchel": entry}}))
        self.turns = anyio.CapacityLimiter(AT_ONCE)

    async def ask(self, method: str, *options: str) -> tuple[str, str]:
        async with self.turns:
            with anyio.fail_after(DRIVER_SECONDS):
                done = await anyio.run_process([*self.command, "--method", method, *options], check=False)
        return done.stdout.decode(), done.stderr.decode()

    async def names(self) -> list[str]:
        out, errors = await self.ask("tools/list")
        assert out, errors
        return [tool["name"] for tool in json.loads(out)["tools"]]

    async def call(self, name: str, **arguments: str) -> dict[str, Any]:
        pairs = [f"{key}={value}" for key, value in arguments.items()]
        options = ["--tool-arg", *pairs] if pairs else []
        out, errors = await self.ask("tools/call", "--tool-name", name, *options)
        if not out:
            return {"is_error": True, "structured": None, "text": errors}
        answer = json.loads(out)
        text = "\n".join(block["text"] for block in answer["content"] if block["type"] == "text")
        structured = answer.get("structuredContent")
        return {"is_error": answer.get("isError", False), "structured": structured, "text": text}


@pytest.mark.parametrize(("transport", "era"), [("stdio", "legacy"), ("http", "modern")])
async def test_it_finds_and_runs_tools_cancels_and_is_told_of_errors(
    transport: str, era: str, tmp_path: Path
) -> None:
    report: dict[str, Any] = {}
    async with told(tmp_path, transport) as story:
        inspector = Inspector(tmp_path, story, era)

        async def note(key: str, name: str, **arguments: str) -> None:
            report[key] = await inspector.call(name, **arguments)

        report["tools"] = await inspector.names()
        async with anyio.create_task_group() as group:
            for key, name, arguments in (
                ("found", "search_tools", {"query": "add two numbers"}),
                ("executed", "execute_code", {"code": story["program"]}),
                ("failed", "execute_code", {"code": story["failing"]}),
            ):
                group.start_soon(lambda k=key, n=name, a=arguments: note(k, n, **a))

        scope = anyio.CancelScope()

        async def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            with scope:
                return await inspector.call(name, **arguments)
            return {}

        async def end(running: "asyncio.Task[dict[str, Any]]") -> None:
            scope.cancel()

        report["cancelled"] = await cancelled(story, call, end)
    check(report, without=("unknown",))  # it calls only what is listed

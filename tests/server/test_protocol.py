"""What every message about a request repeats, and what is kept of a client, is short."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_types import INVALID_REQUEST

from satchel import open_satchel
from tests.projects import Project
from tests.server.clients_helpers import MODERN
from tests.server.helpers import initialize
from tests.test_costs import opened_door, talking

pytestmark = pytest.mark.anyio

LONG = "m" * 1_001
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@asynccontextmanager
async def talking_to_a_project(directory: Path) -> AsyncGenerator[httpx2.AsyncClient]:
    project = Project(directory / "project", {})
    (project.directory / "satchel.yaml").write_text(json.dumps({"agents": {"hostile": {}}}))
    async with (
        open_satchel(project.directory) as satchel,
        opened_door(satchel) as door,
        talking(door) as client,
    ):
        yield client


@pytest.mark.parametrize("era", ["2025-11-25", MODERN])
async def test_a_request_with_a_long_id_or_progress_token_is_refused(tmp_path: Path, era: str) -> None:
    more = MODERN_META if era == MODERN else {}
    async with talking_to_a_project(tmp_path) as client:
        if era == MODERN:
            del client.headers["Mcp-Session-Id"]
            client.headers.update({"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"})

        async def ask(mark: Any, token: Any) -> dict[str, Any]:
            params = {"_meta": {**more, "progressToken": token}}
            body = json.dumps({"jsonrpc": "2.0", "id": mark, "method": "tools/list", "params": params})
            reply = await client.post("/mcp", content=body.encode())
            lines = [line.removeprefix("data: ") for line in reply.text.splitlines()]
            answers: list[dict[str, Any]] = [json.loads(line) for line in lines if line.startswith("{")]
            return next(answer for answer in answers if "id" in answer)

        for short in (LONG[1:], 2**63):
            assert "tools" in (await ask(short, short))["result"]
        for mark, token in ((LONG, 1), (1, LONG), (2**64, 1), (1, 2**64)):
            assert (await ask(mark, token))["error"]["code"] == INVALID_REQUEST


async def test_a_client_that_says_too_much_of_itself_is_refused(tmp_path: Path) -> None:
    async with talking_to_a_project(tmp_path) as client:
        del client.headers["Mcp-Session-Id"]
        hello = json.loads(initialize())
        for size, answer in (200_000, "result"), (300_000, "error"):
            hello["params"]["clientInfo"]["websiteUrl"] = "https://example.com/" + "x" * size
            reply = await client.post("/mcp", content=json.dumps(hello).encode())
            assert f'"{answer}":' in reply.text, size

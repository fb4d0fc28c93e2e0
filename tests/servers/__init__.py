"""MCP servers for tests, and how to start them.

raw("crash_call", log=path)                 an entry for `mcpServers`; the behaviours are listed in raw.py
async with http_server("sse") as url: …     see remote.py
async with oauth_server(deny=1) as url: …   see oauth.py
"""

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

HERE = Path(__file__).parent
START_SECONDS = 60


def raw(behaviour: str, **options: object) -> dict[str, Any]:
    """The entry of a stdio server; `env` and `cwd` can be added to it."""
    # Isolated and without site-packages: it needs only the standard library, and starts faster.
    script = ["-I", "-S", str(HERE / "raw.py")]
    return {"command": sys.executable, "args": [*script, behaviour, *_pairs(options)]}


@asynccontextmanager
async def http_server(transport: str = "http", **options: object) -> AsyncGenerator[str]:
    """Run remote.py with `http` or `sse`, and yield its url."""
    async with _listening("remote.py", transport, *_pairs(options)) as port:
        yield f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"


@asynccontextmanager
async def oauth_server(**options: object) -> AsyncGenerator[str]:
    """Run oauth.py, and yield the url of the protected MCP server."""
    async with _listening("oauth.py", *_pairs(options)) as port:
        yield f"http://127.0.0.1:{port}/mcp"


def _pairs(options: dict[str, object]) -> list[str]:
    return [f"{key}={value}" for key, value in options.items()]


@asynccontextmanager
async def _listening(script: str, *arguments: str) -> AsyncGenerator[int]:
    """Run a script that prints `PORT n`. Its stdin is a pipe, so it ends even if this process is killed."""
    command = [sys.executable, str(HERE / script), *arguments]
    process = await anyio.open_process(command, stdin=subprocess.PIPE, stderr=None)
    try:
        assert process.stdout is not None
        with anyio.fail_after(START_SECONDS):
            line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 100)
        yield int(line.removeprefix(b"PORT "))
    finally:
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()

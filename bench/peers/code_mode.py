"""FastMCP's CodeMode over connected proxies, as a process that is told what to run.

Runs in an environment that has fastmcp. Its argument is a JSON object of servers; each line on standard input
is a program for `execute`, and is answered with the milliseconds it took and what it returned.
"""

import asyncio
import json
import sys
import time
from contextlib import AsyncExitStack
from typing import Any

from fastmcp import Client, FastMCP  # pyright: ignore
from fastmcp.experimental.transforms.code_mode import CodeMode  # pyright: ignore
from fastmcp.server import create_proxy  # pyright: ignore


async def main(servers: dict[str, Any]) -> None:
    gateway: Any = FastMCP("bench", transforms=[CodeMode(max_tool_calls=None)])
    async with AsyncExitStack() as stack:
        for name, entry in servers.items():
            upstream: Any = await stack.enter_async_context(Client({"mcpServers": {name: entry}}))
            gateway.mount(create_proxy(upstream), namespace=name)
        client: Any = await stack.enter_async_context(Client(gateway))
        print(json.dumps({"tools": [tool.name for tool in await client.list_tools()]}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            began = time.perf_counter()
            result = await client.call_tool("execute", {"code": json.loads(line)})
            took = (time.perf_counter() - began) * 1000
            print(json.dumps({"ms": took, "result": str(result.data)[:200]}), flush=True)


asyncio.run(main(json.loads(sys.argv[1])))

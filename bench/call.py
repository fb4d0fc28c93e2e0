"""A call on a warm connection, through Satchel and through the SDK's own client.

Both in one process and event loop, over stdio, each with a server process of its own of the same kind. They
don't do the same work: Satchel checks the arguments before it sends them, the SDK checks the result.
"""

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from statistics import median, quantiles
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from bench.rows import Row
from bench.surroundings import Entry, Home, example_server, raw_server, temporary_home
from satchel import Satchel, open_satchel
from satchel.config import find_paths

CALLS = 500
BLOCK = 25
LIMIT = 1.2

Once = Callable[[], Awaitable[object]]


def measure_call() -> list[Row]:
    return anyio.run(_measure)


async def _measure() -> list[Row]:
    kinds: dict[str, tuple[Entry, str, dict[str, Any]]] = {
        "raw": (raw_server("good"), "echo", {"text": "hello"}),
        "slack": (example_server("slack"), "list_channels", {}),
    }
    rows: list[Row] = []
    with temporary_home() as home:
        home.configure({name: entry for name, (entry, _, _) in kinds.items()})
        paths = find_paths(config=home.project, environment=home.environment)
        async with open_satchel(paths, environment=home.environment) as satchel:
            await satchel.servers.refresh()
            for name, (entry, tool, arguments) in kinds.items():
                async with AsyncExitStack() as stack:
                    client = await stack.enter_async_context(Client(_parameters(entry, home)))
                    rows.append(await _compare(satchel, client, name, tool, arguments))
    return rows


async def _compare(satchel: Satchel, client: Client, server: str, tool: str, arguments: Any) -> Row:
    async def through_satchel() -> object:
        return (await satchel.call(f"{server}.{tool}", arguments)).structured

    async def through_sdk() -> object:
        return (await client.call_tool(tool, arguments)).structured_content

    if await through_satchel() != await through_sdk():
        raise RuntimeError(f"{server}.{tool} returns one thing through Satchel and another through the SDK")
    ours, theirs = await _in_turn(through_satchel, through_sdk)
    return Row(
        name=f"call: {tool}",
        compared=f"Satchel.call of {server}.{tool} on a warm connection, to mcp.Client.call_tool",
        value=median(ours) / median(theirs),
        limit=LIMIT,
        notes=(
            f"{median(ours):.2f} ms to {median(theirs):.2f} ms, 95 % within {_percentile(ours):.2f} ms and"
            f" {_percentile(theirs):.2f} ms; medians of {CALLS} in blocks of {BLOCK},"
            f" protocol {client.protocol_version}",
            "Satchel checks the arguments against the input schema,"
            " the SDK the result against the output schema",
        ),
    )


async def _in_turn(first: Once, second: Once) -> tuple[list[float], list[float]]:
    """Milliseconds of each call, after one block of each that is not counted."""
    times: tuple[list[float], list[float]] = ([], [])
    for block in range(CALLS // BLOCK + 1):
        # Who goes first changes, so that neither always has the warmer caches.
        for side in (0, 1) if block % 2 else (1, 0):
            once = (first, second)[side]
            for _ in range(BLOCK):
                began = time.perf_counter()
                await once()
                if block:
                    times[side].append((time.perf_counter() - began) * 1000)
    return times


def _parameters(entry: Entry, home: Home) -> StdioServerParameters:
    # The SDK expands no variables; Satchel has done so for its own process of this kind.
    directory = home.environment["HOME"]
    env = {name: value.replace("${HOME}", directory) for name, value in entry.get("env", {}).items()}
    return StdioServerParameters(command=entry["command"], args=entry["args"], env=env, cwd=str(home.project))


def _percentile(times: list[float]) -> float:
    return quantiles(times, n=20)[-1]

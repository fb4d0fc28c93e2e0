"""What the drivers in Python share: the order of the story, and how it is reported."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Call = Callable[[str, Json], Awaitable[Json]]
"""Calls a tool; returns `is_error`, `structured` and `text`, or raises what the client raises."""

SECONDS = 40


def read_story() -> Json:
    return json.loads(sys.argv[1])


async def tell(story: Json, tools: list[str], call: Call) -> Json:
    """The part that needs no more than calls."""
    return {
        "tools": tools,
        "found": await call("search_tools", {"query": "add two numbers"}),
        "executed": await call("execute_code", {"code": story["program"]}),
        "failed": await call("execute_code", {"code": story["failing"]}),
    }


async def refused(call: Call) -> str:
    """What the client makes of a tool that isn't there."""
    try:
        answer = await call("no_such_tool", {})
    except Exception as error:  # noqa: BLE001  each client has errors of its own
        return str(error)
    return answer["text"] if answer["is_error"] else ""


async def cancelled(
    story: Json, call: Call, cancel: Callable[["asyncio.Task[Json]"], Awaitable[None]]
) -> bool:
    """Whether the tool that a program waits for is told when the client no longer waits for the program."""
    running = asyncio.ensure_future(call("execute_code", {"code": story["endless"]}))
    if not await logged(story, 0, "tools/call sleep"):
        return False
    before = len(lines_of(story))
    await cancel(running)
    return await logged(story, before, "cancelled ", "eof")


def lines_of(story: Json) -> list[str]:
    log = Path(story["log"])
    return log.read_text().splitlines() if log.exists() else []


async def logged(story: Json, after: int, *beginnings: str) -> bool:
    """Wait until the server has logged a line that begins like this."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if any(line.startswith(beginnings) for line in lines_of(story)[after:]):
            return True
        await asyncio.sleep(0.05)
    return False


def report(report: Json) -> None:
    print(json.dumps(report))

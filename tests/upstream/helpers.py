"""What the tests of connections share."""

import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from satchel.config import ServerEntry
from satchel.config.entries import read_entry
from satchel.config.settings import ServersSettings
from satchel.model import Call, Prompt, Resource, Tool
from satchel.names import assign_servers, assign_tools, wire_name
from satchel.upstream.guardian import marked

QUICK = ServersSettings(startup_timeout=30, timeout=30)
ANY = {"type": "object"}


def entry(name: str, written: Mapping[str, Any], directory: Path, **more: Any) -> ServerEntry:
    """A server entry as it would stand in a file in `directory`."""
    return read_entry(name, {**written, **more}, directory / "extensions_config.json")


def call(server: str, name: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> Call:
    """A call of a tool whose schema takes anything."""
    schema = more.pop("schema", ANY)
    spelling = assign_tools([name])[name]
    tool = Tool(
        server=server,
        name=name,
        spelling=spelling,
        wire_name=wire_name(assign_servers([server])[server], spelling),
        digest="0" * 64,
        read_definition=lambda: {"name": name, "inputSchema": schema},
    )
    return Call(what=tool, arguments=arguments or {}, **more)


def reading(uri: str) -> Call:
    """A reading of a resource."""
    return Call(what=Resource(server="any", uri=uri, name=uri))


def prompting(name: str, arguments: Mapping[str, str]) -> Call:
    """A filling in of a prompt."""
    return Call(what=Prompt(server="any", name=name), arguments=arguments)


def lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


async def until(condition: Any, seconds: float = 60) -> None:
    """Wait for something that other processes do; fails rather than hangs."""
    with anyio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110  other processes set no events
            await anyio.sleep(0.01)


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def heed_interrupts() -> None:
    """For a child about to start: a shell's background jobs ignore SIGINT, and those of nohup SIGHUP."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def leftovers() -> list[int]:
    """Every living process that any Satchel of this test process started."""
    import os

    return marked(f"{os.getpid()}-")


def see_that_none_is_left(seconds: float = 30) -> None:
    """What was killed may take a while to be gone; nobody ends what was not."""
    deadline = time.monotonic() + seconds
    while found := leftovers():
        assert time.monotonic() < deadline, found
        time.sleep(0.02)

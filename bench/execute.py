"""Programs in the sandbox: what a cold start costs, and what the bridge adds to a call.

Everything is taken in turn within one run: a start beside bubblewrap's own, a call from inside a program
beside one by the SDK's client to another process of the same server, and FastMCP's CodeMode on the same work.
"""

import asyncio
import json
import os
import subprocess
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import anyio
from mcp import Client

from bench.call import _parameters, _percentile
from bench.rows import Row, Skipped
from bench.surroundings import ROOT, Entry, example_server, raw_server, temporary_home
from satchel import Satchel, open_satchel
from satchel.config import find_paths
from satchel.sandbox.backends.bubblewrap import seccomp
from satchel.sandbox.backends.bubblewrap.contents import options_of, sources_of
from satchel.sandbox.jobs import Job
from satchel.sandbox.limits import Limits
from satchel.sandbox.programs import find_bwrap, interpreter
from satchel.sandbox.running.home import LocalHome
from satchel.sandbox.sandbox import Grants, Shown

STARTS = 41
START_LIMIT = 3.0
BLOCKS = 12
BLOCK = 50
CALL_LIMIT = 1.5
CATALOG_LIMIT = 1.15
FLIGHT = 50
FLIGHT_LIMIT = 1 / 0.7
FEW, MANY = 50, 2000
COLD = "code_execution: { sandbox: { prepared: 0 } }\n"
"""Settings with which every program gets a box that is made for it."""
PEER = ROOT / ".servers" / "peers" / "bin" / "python"
PEER_ROUNDS = 7

# A server on the SDK, as nearly all are, and one that answers as fast as any can.
CALLED: dict[str, tuple[str, dict[str, Any]]] = {
    "slack": ("list_channels", {}),
    "raw": ("echo", {"text": "hello"}),
}


def one_by_one(server: str) -> str:
    """A program that times its calls."""
    tool, arguments = CALLED[server]
    return f"""
import time
from satchel_runtime import call_tool
times = []
for _ in range({BLOCK}):
    began = time.perf_counter()
    await call_tool({server!r}, {tool!r}, {arguments!r})
    times.append((time.perf_counter() - began) * 1000)
result = times
"""


AT_ONCE = f"""
import asyncio, time
from satchel_runtime import call_tool
await call_tool("raw", "echo", {{"text": "hello"}})
began = time.perf_counter()
for _ in range(4):
    await asyncio.gather(*[call_tool("raw", "echo", {{"text": "hello"}}) for _ in range({FLIGHT})])
result = (time.perf_counter() - began) * 1000
"""
PEER_PROGRAMS = {
    "print(1)": ("print(1)", "return 1"),
    "one call": (
        'from satchel_runtime import call_tool\nprint(await call_tool("raw", "echo", {"text": "a"}))',
        'return await call_tool("raw_echo", {"text": "a"})',
    ),
    "100 calls": (
        "from satchel_runtime import call_tool\n"
        'for _ in range(100):\n    await call_tool("raw", "echo", {"text": "a"})',
        'for _ in range(100):\n    await call_tool("raw_echo", {"text": "a"})\nreturn 1',
    ),
}


def measure_execute() -> list[Row]:
    return anyio.run(_measure)


def measure_code_mode() -> list[Row]:
    if not PEER.exists():
        raise Skipped("fastmcp is not installed; make bench does that")
    return anyio.run(_measure_code_mode)


async def _measure() -> list[Row]:
    rows: list[Row] = []
    times: dict[int, list[float]] = {}
    async with _opened(FEW, COLD) as cold:
        rows.append(await _cold_start(cold))
    async with _opened(FEW) as few, _opened(MANY) as many, _direct("raw") as direct:
        async with _direct("slack") as typical:
            rows.append(await _nested(few, typical, "slack", "a server on the SDK"))
        rows.append(await _nested(few, direct, "raw", "the fastest server there is"))
        times = await _by_catalog({FEW: few, MANY: many})
        rows.append(
            Row(
                name="execute: catalog",
                compared=f"the same call with {MANY:,} tools in the catalog, to {FEW}",
                value=median(times[MANY]) / median(times[FEW]),
                limit=CATALOG_LIMIT,
                notes=(_figures(times[MANY], times[FEW]),),
            )
        )
        rows.append(await _in_flight(few, direct))
    return rows


@asynccontextmanager
async def _opened(tools: int, settings: str = "") -> AsyncGenerator[Satchel]:
    """A project with that many tools, two of them those that are called."""
    with temporary_home() as home:
        home.configure(_servers(tools))
        (home.project / "satchel.yaml").write_text(settings)
        paths = find_paths(config=home.project, environment=home.environment)
        async with open_satchel(paths, environment=home.environment) as satchel:
            await satchel.servers.refresh()
            for server in CALLED:
                await _run(satchel, one_by_one(server))
            yield satchel


def _servers(tools: int) -> dict[str, Entry]:
    called = {"raw": raw_server("good"), "slack": example_server("slack")}
    return {**called, "many": raw_server("many_tools", f"tools={tools - 14}")}


@asynccontextmanager
async def _direct(server: str) -> AsyncGenerator[Client]:
    with temporary_home() as home:
        async with Client(_parameters(_servers(FEW)[server], home)) as client:
            await client.call_tool(*CALLED[server])
            yield client


# Starting


async def _cold_start(satchel: Satchel) -> Row:
    ours: list[float] = []
    theirs: list[float] = []
    inside: list[float] = []
    with tempfile.TemporaryDirectory(prefix="satchel-bench-") as place:
        for number in range(STARTS + 1):
            began = time.perf_counter()
            execution = await satchel.execute("print(1)")
            took = (time.perf_counter() - began) * 1000
            if execution.stdout != "1\n":
                raise RuntimeError(f"print(1) did not print 1: {execution}")
            bare = _bare_start(Path(place))
            if number:
                ours.append(took)
                theirs.append(bare)
                inside.append(execution.duration_ms)
    return Row(
        name="execute: cold",
        compared="execute('print(1)') with an agent's workspace, to bwrap … python -I -S -c pass, same flags",
        value=median(ours) / median(theirs),
        limit=START_LIMIT,
        notes=(f"{_figures(ours, theirs)}; of it {median(inside):.1f} ms from start to end of the box",),
    )


def _bare_start(place: Path) -> float:
    """Milliseconds of the same box with nothing but an interpreter that ends at once."""
    for name in ("files", "memory", "tasks", "code-api"):
        (place / name).mkdir(exist_ok=True)
    workspace = LocalHome(
        files=place / "files",
        memory=place / "memory",
        tasks=place / "tasks",
        shown=Shown(code_api=place / "code-api"),
    )
    sources = sources_of(find_bwrap(), workspace, Grants())
    with tempfile.TemporaryFile() as code, tempfile.TemporaryFile() as rules:
        rules.write(seccomp.build_filter())
        rules.seek(0)
        options = options_of(
            "program",
            lambda name: str(sources[name]),
            sources,
            workspace,
            Grants(),
            Limits(),
            Job(file="main.py"),
            code=code.fileno(),
            rules=rules.fileno(),
        )
        command = [find_bwrap(), *options, str(interpreter()), "-I", "-S", "-c", "pass"]
        began = time.perf_counter()
        subprocess.run(command, pass_fds=[code.fileno(), rules.fileno()], env={}, check=True)
        return (time.perf_counter() - began) * 1000


# Calling


async def _nested(satchel: Satchel, client: Client, server: str, what: str) -> Row:
    async def inside() -> list[float]:
        return (await _run(satchel, one_by_one(server))).result

    async def direct() -> list[float]:
        return [await _timed(lambda: client.call_tool(*CALLED[server])) for _ in range(BLOCK)]

    ours, theirs = await _in_turn(inside, direct)
    return Row(
        name=f"execute: call {server}",
        compared=f"a call from inside a program, to mcp.Client.call_tool, of {what}",
        value=median(ours) / median(theirs),
        limit=CALL_LIMIT,
        notes=(_figures(ours, theirs),),
    )


async def _by_catalog(satchels: dict[int, Satchel]) -> dict[int, list[float]]:
    async def with_tools(count: int) -> list[float]:
        return (await _run(satchels[count], one_by_one("raw"))).result

    few, many = await _in_turn(lambda: with_tools(FEW), lambda: with_tools(MANY))
    return {FEW: few, MANY: many}


async def _in_flight(satchel: Satchel, client: Client) -> Row:
    async def inside() -> list[float]:
        return [(await _run(satchel, AT_ONCE)).result]

    async def direct() -> list[float]:
        async def batch() -> None:
            for _ in range(4):
                await asyncio.gather(*[client.call_tool("echo", {"text": "hello"}) for _ in range(FLIGHT)])

        return [await _timed(batch)]

    ours, theirs = await _in_turn(inside, direct)
    calls = 4 * FLIGHT * 1000
    return Row(
        name="execute: in flight",
        compared=f"time of {FLIGHT} calls at once from a program, to {FLIGHT} by the SDK (0.7 × its rate)",
        value=median(ours) / median(theirs),
        limit=FLIGHT_LIMIT,
        notes=(f"{calls / median(ours):.0f} to {calls / median(theirs):.0f} calls a second",),
    )


async def _in_turn(
    first: Callable[[], Awaitable[list[float]]], second: Callable[[], Awaitable[list[float]]]
) -> tuple[list[float], list[float]]:
    times: tuple[list[float], list[float]] = ([], [])
    for block in range(BLOCKS + 1):
        for side in (0, 1) if block % 2 else (1, 0):
            taken = await (first, second)[side]()
            if block:
                times[side].extend(taken)
    return times


async def _run(satchel: Satchel, program: str) -> Any:
    execution = await satchel.execute(program)
    if not execution.has_result:
        raise RuntimeError(f"a program failed: {execution}")
    return execution


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


def _figures(ours: Sequence[float], theirs: Sequence[float]) -> str:
    return (
        f"{median(ours):.2f} ms to {median(theirs):.2f} ms, 95 % within {_percentile(list(ours)):.2f} ms and"
        f" {_percentile(list(theirs)):.2f} ms"
    )


# Beside FastMCP's CodeMode


async def _measure_code_mode() -> list[Row]:
    rows: list[Row] = []
    for tools in (FEW, MANY):
        async with AsyncExitStack() as stack:
            satchel = await stack.enter_async_context(_opened(tools))
            peer = await stack.enter_async_context(_peer(_servers(tools)))
            for name, (ours, theirs) in PEER_PROGRAMS.items():
                rows.append(await _beside(satchel, peer, tools, name, ours, theirs))
    return rows


async def _beside(satchel: Satchel, peer: "Peer", tools: int, name: str, ours: str, theirs: str) -> Row:
    times: tuple[list[float], list[float]] = ([], [])
    rounds = PEER_ROUNDS if tools == FEW or "100" not in name else 2  # of CodeMode, each takes a minute
    for number in range(rounds + 1):
        began = time.perf_counter()
        execution = await satchel.execute(ours)
        took = (time.perf_counter() - began) * 1000
        if execution.exit_code:
            raise RuntimeError(f"a program failed: {execution}")
        other = await peer.run(theirs)
        if number:
            times[0].append(took)
            times[1].append(other)
    return Row(
        name=f"CodeMode: {name}, {tools:,} tools",
        compared="execute to FastMCP CodeMode's execute (in-process client, connected proxies)",
        value=median(times[0]) / median(times[1]),
        limit=0.5 if tools == FEW else 0.1,
        notes=(_figures(*times),),
    )


class Peer:
    """The process that runs CodeMode."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def run(self, program: str) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(program).encode() + b"\n")
        return (await self.answer())["ms"]

    async def answer(self) -> Any:
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), 300)
        if not line:
            raise RuntimeError("CodeMode ended")
        return json.loads(line)


@asynccontextmanager
async def _peer(servers: dict[str, Entry]) -> AsyncGenerator[Peer]:
    process = await asyncio.create_subprocess_exec(
        str(PEER),
        str(ROOT / "bench" / "peers" / "code_mode.py"),
        json.dumps(servers),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
        limit=1 << 24,
    )
    try:
        peer = Peer(process)
        await peer.answer()
        yield peer
    finally:
        process.kill()
        await process.wait()

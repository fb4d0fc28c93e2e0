"""Boxes that are prepared: what is left of a cold start, in both languages and in sessions; and the price."""

import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

import anyio

from bench.execute import COLD, FEW, _figures, _opened
from bench.rows import Row
from satchel import Satchel
from satchel.model import Execution
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes
from satchel.sandbox.running.processes import descendants

STARTS = 41
AT_ONCE, IN_ALL = 8, 160
IDLE = 5.0  # seconds
PROGRAMS = {"python": "print(1)", "typescript": "console.log(1)"}


def measure_pool() -> list[Row]:
    return anyio.run(_measure)


async def _measure() -> list[Row]:
    rows: list[Row] = []
    async with _opened(FEW) as warm, _opened(FEW, COLD) as cold:
        for language, limit in (("python", 0.2), ("typescript", 0.5)):
            rows.append(await _prepared(warm, cold, language, limit))
        rows.append(await _session(warm, cold))
        rows.append(await _rate(warm, cold))
        rows.append(await _idle(warm))
    return rows


async def _prepared(warm: Satchel, cold: Satchel, language: str, limit: float) -> Row:
    """One start of each in turn. What is missing is prepared in between, as between two turns of a model."""
    pool = _pool(warm)
    ours, theirs = await _in_turn(
        lambda: _execute(warm, language), lambda: _execute(cold, language), pool.settle
    )
    return Row(
        name=f"pool: {language}",
        compared=f"execute({PROGRAMS[language]!r}) with an agent's workspace, prepared, to a cold start",
        value=median(ours) / median(theirs),
        limit=limit,
        notes=(_figures(ours, theirs),),
    )


async def _session(warm: Satchel, cold: Satchel) -> Row:
    opened = await warm.execute("x = 1", session="new")
    ours, theirs = await _in_turn(
        lambda: warm.execute("print(1)", session=opened.session),
        lambda: _execute(cold, "python"),
        _pool(warm).settle,
    )
    await warm.executions.end_session(opened.session or "")
    return Row(
        name="pool: session",
        compared="the next program of a session, to a cold start",
        value=median(ours) / median(theirs),
        limit=0.1,
        notes=(_figures(ours, theirs),),
    )


async def _rate(warm: Satchel, cold: Satchel) -> Row:
    """Without a pause in which something could be prepared."""
    ours = [await _many(warm, IN_ALL) for _ in range(3)]
    theirs = [await _many(cold, IN_ALL // 4) for _ in range(3)]
    return Row(
        name="pool: rate",
        compared=f"time of an execution, {AT_ONCE} at a time, to the same cold (5 × its rate)",
        value=median(ours) / median(theirs),
        limit=0.2,
        notes=(f"{1 / median(ours):.0f} to {1 / median(theirs):.0f} executions a second",),
    )


async def _many(satchel: Satchel, count: int) -> float:
    """Seconds of each."""
    turns = anyio.CapacityLimiter(AT_ONCE)

    async def one() -> None:
        async with turns:
            await _execute(satchel, "python")

    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(count):
            tasks.start_soon(one)
    return (time.perf_counter() - began) / count


async def _idle(satchel: Satchel) -> Row:
    """With everything prepared and a session open."""
    pool = _pool(satchel)
    opened = await satchel.execute("x = 1", session="new")
    await pool.settle()
    boxes = {
        language: [_memory(box.started.process.pid) for box in ready]
        for stock in pool._stocks.values()
        for language, ready in stock.ready.items()
    }
    zygotes = [_memory(stock.zygote.pid) for stock in pool._stocks.values() if stock.zygote is not None]
    used = _processor_time()
    await anyio.sleep(IDLE)
    used = _processor_time() - used
    await satchel.executions.end_session(opened.session or "")
    sizes = ", ".join(f"{median(sizes):.1f} MB for {name}" for name, sizes in boxes.items() if sizes)
    everything = max(zygotes, default=0.0)
    return Row(
        name="pool: idle",
        compared=f"processor time of Satchel with a full pool and a session, to the {IDLE:g} s that passed",
        value=used / IDLE,
        limit=0.005,
        notes=(
            f"memory of its own (proportional) of a prepared box: {sizes}; the zygote with all it has made:"
            f" {everything:.1f} MB",
        ),
    )


async def _in_turn(
    first: Callable[[], Awaitable[Execution]],
    second: Callable[[], Awaitable[Execution]],
    rest: Callable[[], Awaitable[Any]],
) -> tuple[list[float], list[float]]:
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(STARTS + 1):
        for side in (0, 1):
            await rest()
            began = time.perf_counter()
            await (first, second)[side]()
            took = (time.perf_counter() - began) * 1000
            if number:
                times[side].append(took)
    return times


async def _execute(satchel: Satchel, language: str) -> Execution:
    execution = await satchel.execute(PROGRAMS[language], language=language)
    if execution.stdout != "1\n":
        raise RuntimeError(f"{PROGRAMS[language]} did not print 1: {execution}")
    return execution


def _pool(satchel: Satchel) -> ReadyBoxes:
    (sandbox,) = satchel.executions._sandboxes.values()
    assert isinstance(sandbox, ReadyBoxes)
    return sandbox


def _memory(process: int) -> float:
    """Megabytes of a process and those below it, shared pages by halves, thirds and so on."""
    total = 0
    for number in (process, *descendants(process)):
        for row in Path(f"/proc/{number}/smaps_rollup").read_text().splitlines():
            if row.startswith("Pss:"):
                total += int(row.split()[1])
    return total / 1000


def _processor_time() -> float:
    """Seconds of this process and all below it."""
    ticks = 0
    for number in (os.getpid(), *descendants(os.getpid())):
        fields = Path(f"/proc/{number}/stat").read_bytes().rpartition(b")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")

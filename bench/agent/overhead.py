"""What the loop takes itself, for each request to a model, and in memory. As a program, it measures memory.

The yardstick of time is the same bodies sent to the same scripted model by a plain HTTP client. Processor
time is taken, on both sides with the scripted model's own: other programs may be running.
"""

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx2
from tests.agent.wires import Say, ScriptedModel, Sent, Step, Use, scripted_model

from bench.agent.playing import SCRIPTED, open_place
from bench.surroundings import PYTHON, ROOT, temporary_home
from satchel import Satchel

REQUESTS = 30
CONVERSATIONS = 50
ROUNDS = 5
_TODOS = {"todos": [{"content": "measure", "status": "in_progress"}]}


@dataclass(frozen=True, kw_only=True)
class Overhead:
    """`turn` is with the loop, `bare` without it: milliseconds of a processor for each request, medians."""

    turn: float
    bare: float


@dataclass(frozen=True, kw_only=True)
class Memory:
    """MB of a process: before the loop is loaded, after its first turn, after many conversations."""

    before: float
    first: float
    many: float


async def measure_overhead(satchel: Satchel, model: ScriptedModel) -> Overhead:
    turns: list[float] = []
    bares: list[float] = []
    await _turn(satchel, model, 2)  # loads the library
    for _ in range(ROUNDS):
        began = time.process_time()
        await _turn(satchel, model, REQUESTS)
        turns.append((time.process_time() - began) / REQUESTS)
        bodies = [sent.raw for sent in model.requests]
        began = time.process_time()
        model.answer = lambda sent: Say("done")
        async with httpx2.AsyncClient() as client:
            for body in bodies:
                await client.post(f"http://127.0.0.1:{model.port}/v1/chat/completions", json=body)
        bares.append((time.process_time() - began) / REQUESTS)
    return Overhead(turn=1000 * sorted(turns)[ROUNDS // 2], bare=1000 * sorted(bares)[ROUNDS // 2])


async def _turn(satchel: Satchel, model: ScriptedModel, requests: int) -> None:
    """One turn of so many requests; all but the last call a tool that reaches no server."""

    def answer(sent: Sent) -> Step:
        if len(model.requests) < requests:
            return Say(uses=(Use("write_todos", _TODOS),))
        return Say("done")

    model.requests.clear()
    model.answer = answer
    await satchel.agents.run("default", "Count.", model=SCRIPTED)


def measure_memory() -> Memory:
    """In a process of its own."""
    done = subprocess.run(
        [PYTHON, "-m", "bench.agent.overhead"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return Memory(**json.loads(done.stdout))


async def _measure_memory() -> dict[str, float]:
    with temporary_home() as home:
        async with scripted_model([]) as model, open_place(home, {SCRIPTED: model.settings()}) as satchel:
            before = _resident()
            await _turn(satchel, model, 2)
            first = _resident()
            for _ in range(CONVERSATIONS):
                await _turn(satchel, model, 2)
            return {"before": before, "first": first, "many": _resident()}


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    print(json.dumps(anyio.run(_measure_memory)))

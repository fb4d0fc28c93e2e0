"""What approvals add to calls that need none, what one costs that does, and 10,000 calls that wait.

Whole calls go over stdio, in turns, through two Satchels in one process: one without rules, and one with
`approve`, rules about data and quarantine, none of which fits the call. This process then agrees to calls, as
a person would. The waiting rows are written in bulk.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

import anyio
from tests.fakes import make_tool

from bench.rows import Row
from bench.surroundings import raw_server, temporary_home
from satchel import Satchel, open_satchel
from satchel.calls.approvals import Agreement, ask_person, use_approval
from satchel.calls.chain import chain
from satchel.config import find_paths
from satchel.errors import UndecidedError
from satchel.model import Approval, Call, CallResult, Decision, Question
from satchel.store.approval_rows import requested
from satchel.store.approvals import ApprovalStore
from satchel.store.writer import Writer
from satchel.support.sealing import Sealer

CALLS = 400
BLOCK = 20
ALONE = 20_000  # calls of a block of the links alone
WAITING = 10_000
DECISIONS = 500
AGREED = 100
RULED = """
approvals: { wait: 0s }
definitions: quarantine
flows:
  - { from: sensitive, to: egress, then: deny }
  - { from: "other", to: "raw.note", then: ask }
agents: { default: { approve: ["raw.add", "other.*", "*.delete_*"] } }
"""


def measure_approvals() -> list[Row]:
    return [anyio.run(_links), *anyio.run(_calls), anyio.run(_rows)]


class _Nobody:
    """Nothing is asked of it: no call has a question."""

    async def agree(self, call: Call) -> Agreement:
        raise AssertionError(call)

    async def use(self, approval: str, record: int) -> bool:
        raise AssertionError(approval)


async def _links() -> Row:
    async def send(call: Call) -> CallResult:
        return CallResult()

    asking = _Nobody()
    call = Call(what=make_tool({"name": "get"}, server="drive"))
    ways = (chain([], send), chain([ask_person(asking), use_approval(asking)], send))
    added: list[float] = []
    for _ in range(7):
        seconds: list[float] = []
        for way in ways:
            began = time.process_time()  # of this process alone, on a machine that may be busy
            for _ in range(ALONE):
                await way(call)
            seconds.append(time.process_time() - began)
        added.append((seconds[1] - seconds[0]) / ALONE * 1_000_000)
    return Row(
        name="approvals: links",
        compared="both links, beside a chain without them, for a call without a question",
        value=median(added),
        limit=10.0,
        unit="µs",
    )


@asynccontextmanager
async def _opened(settings: str) -> AsyncGenerator[Satchel]:
    with temporary_home() as home:
        home.configure({"raw": raw_server("good")})
        (home.project / "satchel.yaml").write_text(settings)
        paths = find_paths(config=home.project, environment=home.environment)
        async with open_satchel(paths, environment=home.environment) as satchel:
            await satchel.servers.refresh()
            yield satchel


async def _calls() -> list[Row]:
    async with _opened("") as free, _opened(RULED) as ruled:

        async def plain() -> object:
            return await free.call("raw.echo", {"text": "hello"})

        async def checked() -> object:
            return await ruled.call("raw.echo", {"text": "hello"})

        without, configured = await _in_turns(plain, checked)
        asked, decided, sent = await _agreed(ruled)
    return [
        Row(
            name="approvals: a call that needs none",
            compared="with `approve`, `flows` and quarantine that don't fit it, to a Satchel without any",
            value=configured / without,
            limit=1.25,
            notes=(f"{configured:.2f} ms to {without:.2f} ms; medians of {CALLS}, in turns",),
        ),
        Row(
            name="approvals: a call that a person agreed to",
            compared="from the call to its answer, once decided, to a call that needs nobody",
            value=sent / without,
            limit=float("inf"),
            notes=(
                f"asked for in {asked:.1f} ms, shown and decided in {decided:.1f} ms, sent in {sent:.1f} ms",
                f"medians of {AGREED}; `approvals.wait` is 0s, so a person's time is not in it",
            ),
        ),
    ]


async def _in_turns(*ways: Callable[[], Awaitable[object]]) -> list[float]:
    times: list[list[float]] = [[] for _ in ways]
    for block in range(CALLS // BLOCK + 1):
        for way, taken in zip(ways, times, strict=True):
            for _ in range(BLOCK):
                milliseconds = await _milliseconds(way)
                if block:  # the first one warms up
                    taken.append(milliseconds)
    return [median(each) for each in times]


async def _agreed(satchel: Satchel) -> tuple[float, float, float]:
    asked: list[float] = []
    decided: list[float] = []
    sent: list[float] = []
    for number in range(AGREED):
        began = time.perf_counter()
        try:
            await satchel.call("raw.add", {"a": number, "b": 0})
        except UndecidedError as error:
            identity = error.approval
        else:
            raise RuntimeError("raw.add was sent although nobody had agreed to it")
        asked.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        await satchel.approvals.allow(await satchel.approvals.find(identity), by="bench")
        decided.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        await satchel.call("raw.add", {"a": number, "b": 0})
        sent.append((time.perf_counter() - began) * 1000)
    return median(asked), median(decided), median(sent)


async def _rows() -> Row:
    with temporary_home() as home:
        writer, sealer = Writer(home.project / "satchel.db"), Sealer(home.project / "keys", lambda: "file")
        store = ApprovalStore(writer, sealer)
        try:
            rows = [requested(_approval(number), sealer) for number in range(WAITING)]
            await writer.begin(*rows, quick=False)
            ways: dict[str, Callable[[], Awaitable[object]]] = {
                "list": lambda: store.list_all(limit=50),
                "find": lambda: store.find(_identity(WAITING // 2)),
                "due": store.expire,
                "look": lambda: store.states([_identity(number) for number in range(50)]),
            }
            found = {name: median([await _milliseconds(way) for _ in range(9)]) for name, way in ways.items()}
            began = time.perf_counter()
            for number in range(DECISIONS):
                if not await store.decide(_identity(number), Decision(agrees=True, by="bench")):
                    raise RuntimeError("a call that waited could not be decided on")
            each = (time.perf_counter() - began) / DECISIONS
            size = _size(home.project)
        finally:
            await writer.aclose()
    return Row(
        name=f"approvals: {WAITING:,} that wait",
        compared="to list 50 of them",
        value=found["list"],
        limit=100.0,
        unit="ms",
        notes=(
            f"one found by its id in {found['find']:.1f} ms, those that are due in {found['due']:.1f} ms,"
            f" the states of 50 in {found['look']:.1f} ms",
            f"{1 / each:.0f} decisions a second, each a transaction of its own; {size / 1e6:.1f} MB in files",
        ),
    )


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.glob("satchel.db*"))


def _identity(number: int) -> str:
    return f"{number:012x}"


def _approval(number: int) -> Approval:
    return Approval(
        id=_identity(number),
        state="waiting",
        agent="default",
        server="raw",
        tool="add",
        arguments_digest=f"{number:064x}",
        arguments={"a": number, "b": 0},
        questions=(Question(rule="agents.default.approve", why="it is in the list"),),
        requested_at=f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000+00:00",
        expires_at="2099-01-01T00:00:00.000+00:00",
    )


async def _milliseconds(once: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await once()
    return (time.perf_counter() - began) * 1000

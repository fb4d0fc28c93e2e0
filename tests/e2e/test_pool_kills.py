"""Many programs through prepared boxes, while somebody kills processes of the pool at random.

Whatever is killed, every execution ends: with its right result, or with a word that says that it was killed.
SATCHEL_TEST_SEED says which chance decides.
"""

import gc
import os
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from satchel.errors import SandboxError
from satchel.languages import ProgramLanguage
from satchel.model import Json
from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes
from satchel.sandbox.limits import Limits
from satchel.sandbox.running.processes import descendants
from satchel.sandbox.sandbox import Door, Grants, Outcome, Program
from tests.e2e.test_many_executions import memory
from tests.sandbox.helpers import make_home, traces, wait_until_none_has
from tests.scale import scaled
from tests.upstream.helpers import until

EXECUTIONS = scaled(80, 1000)
SEED = int(os.environ.get("SATCHEL_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1_000_000)
AT_ONCE = 8
SECONDS = 20.0  # that a program may take; nothing here comes near, whatever is killed
GROWTH = 10 * 1024  # KiB that the second half may end above the first
LIMITS = Limits(seconds=SECONDS)

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.e2e,
    pytest.mark.long,
    pytest.mark.timeout(120 + 3 * EXECUTIONS),
]


async def double(method: str, params: Json) -> Any:
    await anyio.sleep(0.002)
    return {"number": params["arguments"]["number"] * 2}


@dataclass(kw_only=True)
class Field:
    """A pool that is shot at, and how its programs fared."""

    pool: ReadyBoxes
    workspaces: list[Any]
    chance: random.Random
    fates: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])
    kills: Counter[str] = field(default_factory=Counter[str])
    begun: int = 0
    others: frozenset[int] = frozenset()
    """Processes below this one that are not of the pool, such as a database for other tests."""

    def targets(self) -> list[int]:
        """All processes of the pool, and of its programs; the newest are last."""
        spared = self.others.union(*map(descendants, self.others))
        return [process for process in descendants(os.getpid()) if process not in spared]

    async def run(self, code: str, language: ProgramLanguage = "python") -> Outcome:
        program = Program(code=code, language=language)
        return await self.pool.run(program, self.chance.choice(self.workspaces), Door(answer=double), LIMITS)

    @property
    def is_hit_enough(self) -> bool:
        """Shots come by the clock, and programs as the machine lets them: most must be left to end well."""
        ruined = self.fates["killed"] + self.fates["refused"]
        return self.kills.total() >= self.begun / 2 or ruined >= self.begun / 3

    def judge(self, kind: str, outcome: Outcome, *, is_right: bool) -> None:
        if is_right:
            self.fates["right"] += 1
        elif was_killed(outcome):
            self.fates["killed"] += 1
        else:
            self.wrong.append(f"{kind}: {outcome}")


def was_killed(outcome: Outcome) -> bool:
    return (outcome.ended, outcome.exit_code) == ("killed", 137) and not outcome.has_result


# What is run


async def prints(ground: Field, number: int) -> None:
    outcome = await ground.run(f"print({number} * 2)")
    ground.judge("prints", outcome, is_right=outcome.stdout.text == f"{number * 2}\n" and is_well(outcome))


async def returns(ground: Field, number: int) -> None:
    outcome = await ground.run(f"import os, time\ntime.sleep(0.02)\nresult = [{number}, os.listdir('/tmp')]")
    ground.judge("returns", outcome, is_right=outcome.result == [number, []] and is_well(outcome))


async def calls(ground: Field, number: int) -> None:
    code = f"""
import asyncio
answers = await asyncio.gather(*(call_mcp_tool("x", {{"number": {number} + n}}) for n in range(10)))
result = [answer["number"] for answer in answers]
"""
    outcome = await ground.run(code)
    expected = [2 * (number + n) for n in range(10)]
    ground.judge("calls", outcome, is_right=outcome.result == expected and is_well(outcome))


async def fails(ground: Field, number: int) -> None:
    outcome = await ground.run(f"raise ValueError({number})")
    told = outcome.stderr.text.endswith(f"ValueError: {number}\n")
    is_right = told and (outcome.exit_code, outcome.ended, outcome.has_result) == (1, None, False)
    ground.judge("fails", outcome, is_right=is_right)


async def exits(ground: Field, number: int) -> None:
    outcome = await ground.run(f"import os\nos._exit({number % 100})")
    ground.judge("exits", outcome, is_right=(outcome.exit_code, outcome.ended) == (number % 100, None))


async def leaves_children(ground: Field, number: int) -> None:
    code = f"""
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
result = {number}
"""
    outcome = await ground.run(code)
    ground.judge("leaves children", outcome, is_right=outcome.result == number and is_well(outcome))


async def shells(ground: Field, number: int) -> None:
    outcome = await ground.run(f"echo $(({number} * 2)); exit 3", "bash")
    is_right = (outcome.stdout.text, outcome.exit_code, outcome.ended) == (f"{number * 2}\n", 3, None)
    ground.judge("shells", outcome, is_right=is_right)


async def typescript(ground: Field, number: int) -> None:
    code = f'export const result = (await callMCPTool("x", {{ number: {number} }}) as any).number;'
    outcome = await ground.run(code, "typescript")
    ground.judge("typescript", outcome, is_right=outcome.result == 2 * number and is_well(outcome))


async def in_a_session(ground: Field, number: int) -> None:
    session = await ground.pool.open_session("python", ground.chance.choice(ground.workspaces), LIMITS)
    results: list[Any] = []
    try:
        for code in (f"x = {number}", 'y = await call_mcp_tool("x", {"number": x})', "result = y"):
            outcome = await session.run(Program(code=code), Door(answer=double), LIMITS)
            if was_killed(outcome):
                assert not session.is_alive
                ground.judge("in a session", outcome, is_right=False)
                return
            assert is_well(outcome), outcome
            results.append(outcome.result)
            await anyio.sleep(ground.chance.uniform(0, 0.02))
    finally:
        await session.aclose()
    assert results == [None, None, {"number": 2 * number}]
    ground.fates["right"] += 1


def is_well(outcome: Outcome) -> bool:
    return (outcome.exit_code, outcome.ended, outcome.stderr.text) == (0, None, "")


KINDS: list[tuple[Callable[[Field, int], Awaitable[None]], int]] = [
    (prints, 5),
    (returns, 5),
    (calls, 5),
    (fails, 3),
    (exits, 2),
    (leaves_children, 2),
    (shells, 2),
    (in_a_session, 3),
    (typescript, 1),
]


# Who kills


async def shoot(ground: Field, is_over: anyio.Event) -> None:
    """Kill one process of the pool after the other: a zygote, a box that waits, a program, anything."""
    chance = ground.chance
    while not is_over.is_set():
        await anyio.sleep(chance.uniform(0.005, 0.12))
        if ground.is_hit_enough:
            continue
        first = ground.pool.processes()
        below = ground.targets()
        sort, among = chance.choices(
            [("anything", below), ("a zygote or a box that waits", first), ("what is newest", below[-2:])],
            weights=[6, 2, 2],
        )[0]
        if among:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(among), signal.SIGKILL)
                ground.kills[sort] += 1


async def run_some(ground: Field, count: int) -> None:
    numbers = iter(range(count))
    kinds, weights = [kind for kind, _ in KINDS], [weight for _, weight in KINDS]

    async def work() -> None:
        for number in numbers:
            kind = ground.chance.choices(kinds, weights=weights)[0]
            ground.begun += 1
            try:
                with anyio.fail_after(3 * SECONDS):
                    await kind(ground, number)
            except SandboxError as error:
                ground.fates["refused"] += 1
                if not error.message or "Traceback" in error.message:
                    ground.wrong.append(f"{kind.__name__}: {error!r}")
            except Exception as error:  # noqa: BLE001  the seed has to be told with it
                ground.wrong.append(f"{kind.__name__}: {type(error).__name__}: {error}")

    async with anyio.create_task_group() as tasks:
        for _ in range(AT_ONCE):
            tasks.start_soon(work)


async def test_programs_end_as_they_should_while_processes_of_the_pool_are_killed(tmp_path: Path) -> None:
    token = f"kills-{os.urandom(8).hex()}"
    before = traces()
    boxes = Bubblewrap(Grants(environment={"MARK": token}))
    ground = Field(
        pool=ReadyBoxes(boxes, tmp_path / "agents", size=3),
        workspaces=[make_home(tmp_path / name) for name in ("one", "two")],
        chance=random.Random(SEED),
        others=before.processes,
    )
    told = f"SATCHEL_TEST_SEED={SEED}"
    try:
        await run_some(ground, 2 * AT_ONCE)  # in peace
        assert (ground.wrong, ground.fates) == ([], Counter(right=2 * AT_ONCE)), told
        is_over, halfway = anyio.Event(), 0
        ground.begun = 0
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(shoot, ground, is_over)
            await run_some(ground, EXECUTIONS // 2)
            gc.collect()
            halfway = memory()
            await run_some(ground, EXECUTIONS - EXECUTIONS // 2)
            is_over.set()
        growth = memory() - halfway
        told = f"{told}: {dict(ground.fates)} with {dict(ground.kills)}"
        assert ground.wrong == [], told
        assert ground.kills.total() > EXECUTIONS / 20, told
        assert ground.fates["right"] > EXECUTIONS / 2, told
        assert growth < GROWTH, f"{growth} KiB more; {told}"
        ground.fates.clear()
        with anyio.fail_after(SECONDS):
            await ground.pool.settle()
        await run_some(ground, 2 * AT_ONCE)  # in peace again, but for what was dying
        assert ground.wrong == [], told
        assert ground.fates["right"] >= 2 * AT_ONCE - AT_ONCE, told
        assert (ground.pool.way, ground.pool.refusal) == ("zygote", ""), told
    finally:
        with anyio.fail_after(2 * SECONDS):
            await ground.pool.aclose()
    await until(lambda: traces().has_nothing_beyond(before))
    wait_until_none_has(token)

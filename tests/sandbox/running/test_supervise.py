"""One program from its start to its end, alone and in a session: what its caller hears, when it is ended."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import anyio
import pytest

from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes
from satchel.sandbox.limits import Ended, Limits, reason_of
from satchel.sandbox.sandbox import Door, Outcome, Program
from tests.sandbox.helpers import echo, make_home

pytestmark = pytest.mark.anyio

LIMITS = Limits(seconds=20)
WAIT = 50  # seconds; only a hang reaches it
Run = Callable[[str, Door, Limits], Awaitable[Outcome]]


@pytest.fixture(params=["alone", "in a session"])
async def run(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Run]:
    sandbox, home = ReadyBoxes(Bubblewrap(), tmp_path / "agents", size=0), make_home(tmp_path)

    async def run_alone(code: str, door: Door, limits: Limits) -> Outcome:
        with anyio.fail_after(WAIT):
            return await sandbox.run(Program(code=code), home, door, limits)

    async def run_in_session(code: str, door: Door, limits: Limits) -> Outcome:
        with anyio.fail_after(WAIT):
            session = await sandbox.open_session("python", home, limits)
            try:
                return await session.run(Program(code=code), door, limits)
            finally:
                await session.aclose()

    yield run_alone if request.param == "alone" else run_in_session
    await sandbox.aclose()


@pytest.mark.slow
async def test_the_clock_stands_still_while_a_person_is_asked(run: Run) -> None:
    code, short = "import time\ntime.sleep(2)\nresult = 7", replace(LIMITS, seconds=1)
    outcome = await run(code, Door(answer=echo, waited=lambda: 60.0), short)
    assert (outcome.ended, outcome.result) == (None, 7)
    outcome = await run(code, Door(answer=echo, waited=lambda: 0.5), short)
    assert (outcome.ended, outcome.has_result) == ("timeout", False)


@pytest.mark.parametrize("ended", get_args(Ended))
def test_every_end_that_a_program_does_not_choose_has_a_reason(ended: Ended) -> None:
    assert len(reason_of(ended, LIMITS)) > 10

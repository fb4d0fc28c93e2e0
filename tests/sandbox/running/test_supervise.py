"""One program from its start to its end, alone and in a session: what its caller hears, when it is ended."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest

from satchel.model import Event, Json, Output
from satchel.sandbox.backends.bubblewrap.boxes import Bubblewrap
from satchel.sandbox.backends.bubblewrap.ready import ReadyBoxes
from satchel.sandbox.limits import Ended, Limits, reason_of
from satchel.sandbox.sandbox import Door, Outcome, Program
from tests.sandbox.helpers import echo, make_home
from tests.upstream.helpers import until

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


# Output, told while the program runs


@dataclass
class Listener:
    """Notes what it is told, and what of it was there whenever the program asked for something."""

    told: list[Output] = field(default_factory=list[Output])
    seen: list[str] = field(default_factory=list[str])

    @property
    def door(self) -> Door:
        return Door(answer=self._answer, tell=self._hear)

    def _hear(self, event: Event) -> None:
        assert isinstance(event, Output)
        self.told.append(event)

    def text(self, stream: str = "stdout") -> str:
        return "".join(output.text for output in self.told if output.stream == stream)

    async def _answer(self, method: str, params: Json) -> Any:
        await until(lambda: self.text() == params["arguments"]["printed"])
        self.seen.append(self.text())


@pytest.mark.slow
async def test_what_a_program_prints_is_told_while_it_runs(run: Run) -> None:
    listener = Listener()
    code = """
import os, sys
print("one", flush=True)
await call_mcp_tool("x", {"printed": "one\\n"})
os.write(1, "ü".encode()[:1])
print("three", file=sys.stderr, flush=True)
await call_mcp_tool("x", {"printed": "one\\n"})
os.write(1, "ü".encode()[1:])
await call_mcp_tool("x", {"printed": "one\\nü"})
print("two")
os.write(2, b"\\xff\\xc3")
"""
    outcome = await run(code, listener.door, LIMITS)
    assert outcome.exit_code == 0, outcome
    assert listener.seen == ["one\n", "one\n", "one\nü"]
    assert listener.text() == outcome.stdout.text == "one\nütwo\n"
    assert listener.text("stderr") == outcome.stderr.text == "three\n\ufffd\ufffd"


@pytest.mark.slow
async def test_of_a_flood_no_more_is_told_than_is_kept(run: Run) -> None:
    listener = Listener()
    code = "import sys\nfor stream in (sys.stdout, sys.stderr):\n    stream.write('ü' * 1_000_000)"
    outcome = await run(code, listener.door, replace(LIMITS, kept_output=1_000, kept_errors=100))
    assert (outcome.exit_code, outcome.stdout.omitted > 0) == (0, True)
    assert (listener.text(), listener.text("stderr")) == ("ü" * 1_000, "ü" * 100)


@pytest.mark.slow
async def test_what_was_told_of_a_program_that_is_ended_is_what_its_outcome_has(run: Run) -> None:
    listener = Listener()
    code = "print('begun', flush=True)\nimport time\ntime.sleep(60)"
    outcome = await run(code, listener.door, replace(LIMITS, seconds=2))
    assert (outcome.ended, outcome.stdout.text, listener.text()) == ("timeout", "begun\n", "begun\n")


@pytest.mark.slow
async def test_every_line_is_told_when_it_is_printed(run: Run) -> None:
    listener = Listener()
    code = """
print("one")
await call_mcp_tool("x", {"printed": "one\\n"})
print("two")
import os, signal
os.kill(os.getpid(), signal.SIGKILL)
"""
    outcome = await run(code, listener.door, LIMITS)
    assert (outcome.ended, listener.seen) == ("killed", ["one\n"])
    assert listener.text() == outcome.stdout.text == "one\ntwo\n"

"""What a client is told while a program has not even begun."""

import pytest

from satchel.model import Event, ProgramWaits, Progress
from satchel.toolset.progress import reporting


@pytest.mark.anyio
async def test_a_program_that_waits_for_its_place_says_so() -> None:
    told: list[Event] = []
    async with reporting(told.append, silence=60) as tell:
        tell(ProgramWaits(running=3))
    (progress,) = [event for event in told if isinstance(event, Progress)]
    assert progress.message == "waiting for a free place: 3 programs running"
    assert ProgramWaits(running=3) in told

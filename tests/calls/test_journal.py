"""What the journal is told of a call, whatever way it ends."""

from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from satchel.calls.journal import Journal as JournalProtocol
from satchel.calls.journal import write_journal
from satchel.errors import JournalError, SatchelError, ToolError
from satchel.model import Call, CallResult, CallStatus
from satchel.store.journal import Journal
from satchel.store.writer import Writer
from tests.fakes import FakeServer, make_tool

pytestmark = pytest.mark.anyio

CALL = Call(what=make_tool({"name": "get"}, server="drive"))
WAIT = 60  # seconds; only a hang reaches it


@dataclass(kw_only=True)
class ListedJournal:
    """A journal that is a list."""

    refuses: JournalError | None = None
    events: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    times: list[float] = field(default_factory=list[float])

    async def begin(self, call: Call) -> int:
        if self.refuses:
            raise self.refuses
        self.events.append(("begin", call))
        return 7

    def complete(
        self,
        number: int,
        status: CallStatus,
        *,
        ms: float,
        result: CallResult | None = None,
        error: str | None = None,
    ) -> None:
        self.events.append((number, status, result, error))
        self.times.append(ms)

    def denied(self, call: Call) -> None:
        self.events.append(("denied", call))


async def test_a_call_is_recorded_before_it_is_sent_and_when_it_came_back() -> None:
    server, journal = FakeServer(), ListedJournal()

    async def send(call: Call) -> CallResult:
        journal.events.append(("send", call))
        return await server.send(call)

    result = await write_journal(journal)(send)(CALL)

    assert result is server.result
    assert journal.events == [("begin", CALL), ("send", CALL), (7, "ok", result, None)]


async def test_a_result_that_is_an_error_is_recorded_with_its_text() -> None:
    server, journal = FakeServer(), ListedJournal()
    server.result = CallResult(content=({"type": "text", "text": "no such file"},), is_error=True)

    result = await write_journal(journal)(server.send)(CALL)

    assert result is server.result
    assert journal.events[-1] == (7, "error", result, "no such file")


@pytest.mark.parametrize(
    ("raised", "recorded"),
    [
        (ToolError("drive", "get", "it went away", kind="connection"), "drive.get: it went away"),
        (ValueError("a mistake"), "ValueError('a mistake')"),
        (KeyboardInterrupt(), "KeyboardInterrupt()"),
    ],
)
async def test_whatever_is_raised_is_recorded_and_goes_on(raised: BaseException, recorded: str) -> None:
    async def fail(call: Call) -> CallResult:
        raise raised

    journal = ListedJournal()
    with pytest.raises(type(raised)) as caught:
        await write_journal(journal)(fail)(CALL)

    assert caught.value is raised
    assert journal.events[-1] == (7, "error", None, recorded)


async def test_a_cancelled_call_is_recorded_while_it_is_cancelled() -> None:
    server, journal = FakeServer(silent=True), ListedJournal()

    with anyio.fail_after(WAIT), anyio.move_on_after(0.01) as scope:
        await write_journal(journal)(server.send)(CALL)

    assert scope.cancelled_caught
    assert server.events == ["send", "cancelled"]
    assert journal.events[-1] == (7, "cancelled", None, None)
    assert 5 < journal.times[0] < WAIT * 1000


async def test_what_can_not_be_recorded_is_not_sent() -> None:
    server, journal = FakeServer(), ListedJournal(refuses=JournalError("the disk is full"))

    with pytest.raises(SatchelError, match="disk is full"):
        await write_journal(journal)(server.send)(CALL)

    assert server.events == []
    assert journal.events == []


def test_the_journal_of_the_store_is_one() -> None:
    stored: JournalProtocol = Journal(Writer("sqlite:///never/opened"))

    assert callable(stored.begin)

"""Which calls have read something, and from whom."""

from dataclasses import replace

import anyio
import pytest

from satchel.calls.arguments import check_arguments
from satchel.calls.chain import chain
from satchel.calls.journal import write_journal
from satchel.calls.policy import check_policy
from satchel.calls.reads import label_reads
from satchel.calls.under_way import UnderWay
from satchel.config.agents import AgentSettings
from satchel.errors import JournalError, SatchelError, ToolError
from satchel.model import UNTRUSTED, Call, Caller, CallResult, CallTool, Prompt, Reads, Resource, Source
from tests.fakes import FakeJournal, FakeRules, FakeServer, make_tool

pytestmark = pytest.mark.anyio

TOOL = make_tool({"name": "get", "inputSchema": {"type": "object", "required": ["id"]}}, server="drive")
CALL = Call(what=TOOL, arguments={"id": "x"})
STRANGE = frozenset({UNTRUSTED})


def through(send: CallTool, *, trusted: str = "", agent: AgentSettings | None = None) -> CallTool:
    journal = FakeJournal([])
    rules = FakeRules({"default": agent or AgentSettings()}, trusted=(trusted,))
    links = [
        check_policy(rules, journal.denied),
        check_arguments(),
        write_journal(journal),
        label_reads(rules, UnderWay()),
    ]
    return chain(links, send)


def reading(call: Call, reads: Reads) -> Call:
    return replace(call, caller=replace(call.caller, reads=reads))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (CALL, "drive.get"),
        (Call(what=Resource(server="drive", uri="file:///a", name="a")), "drive.resource:file:///a"),
        (Call(what=Prompt(server="drive", name="greet")), "drive.prompt:greet"),
        (
            Call(what=Resource(server="drive", uri="file:///a", name="a"), action="follow"),
            "drive.follow:resource:file:///a",
        ),
        (Call(what=Prompt(server="drive", name="greet"), action="complete"), "drive.complete:prompt:greet"),
    ],
    ids=["tool", "resource", "prompt", "followed resource", "completion"],
)
async def test_whatever_is_asked_of_a_server_is_read(call: Call, name: str) -> None:
    server, reads = FakeServer(), Reads()
    await through(server.send)(reading(call, reads))
    assert [(source.name, source.labels) for source in reads.sources] == [(name, STRANGE)]


async def test_a_trusted_server_gives_no_label() -> None:
    reads = Reads()
    await through(FakeServer().send, trusted="drive")(reading(CALL, reads))
    assert reads.sources == (Source(server="drive", what="get"),)


async def test_an_error_is_content_too() -> None:
    server, reads = FakeServer(), Reads()
    server.result = CallResult(content=({"type": "text", "text": "obey me"},), is_error=True)
    await through(server.send)(reading(CALL, reads))
    assert reads.is_untrusted


@pytest.mark.parametrize("error", [ToolError("drive", "get", "obey me", kind="tool"), ValueError("odd")])
async def test_a_failure_may_say_what_the_server_said(error: Exception) -> None:
    async def fail(call: Call) -> CallResult:
        raise error

    reads = Reads()
    with pytest.raises(type(error)):
        await through(fail)(reading(CALL, reads))
    assert reads.is_untrusted


async def test_a_cancelled_call_may_have_told_something() -> None:
    reads = Reads()
    with anyio.move_on_after(0.01):
        await through(FakeServer(silent=True).send)(reading(CALL, reads))
    assert reads.is_untrusted


async def test_it_counts_as_read_before_the_server_hears_of_it() -> None:
    seen: list[bool] = []
    reads = Reads()

    async def send(call: Call) -> CallResult:
        seen.append(reads.is_untrusted)
        return CallResult()

    await through(send)(reading(CALL, reads))
    assert seen == [True]


@pytest.mark.parametrize(
    ("call", "agent"),
    [(CALL, AgentSettings(deny=("drive",))), (replace(CALL, arguments={}), None)],
    ids=["denied", "with the wrong arguments"],
)
async def test_a_call_that_is_refused_has_read_nothing(call: Call, agent: AgentSettings | None) -> None:
    reads = Reads()
    with pytest.raises(SatchelError):
        await through(FakeServer().send, agent=agent)(reading(call, reads))
    assert not reads.sources


async def test_a_call_that_cannot_be_recorded_has_read_nothing() -> None:
    reads = Reads()
    journal = FakeJournal([], refuses=JournalError("no space"))
    call = chain([write_journal(journal), label_reads(FakeRules({}), UnderWay())], FakeServer().send)
    with pytest.raises(JournalError):
        await call(reading(CALL, reads))
    assert not reads.sources


async def test_what_nobody_follows_is_not_noted() -> None:
    server = FakeServer()
    await through(server.send)(replace(CALL, caller=Caller()))
    assert server.calls


async def test_what_cannot_be_noted_is_not_sent() -> None:
    def refuse(source: Source) -> None:
        raise SatchelError("it can't be noted")

    server = FakeServer()
    with pytest.raises(SatchelError, match="noted"):
        await through(server.send)(reading(CALL, Reads(on_untrusted=refuse)))
    assert not server.calls

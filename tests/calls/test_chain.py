"""The order in which a call meets the links of the chain, and what each of them does."""

import math
from typing import Any

import anyio
import pytest

from satchel.calls.arguments import check_arguments
from satchel.calls.chain import chain
from satchel.calls.connect import connect_first
from satchel.calls.journal import write_journal
from satchel.calls.policy import check_policy
from satchel.calls.time_limit import limit_time
from satchel.config.agents import AgentSettings
from satchel.errors import ArgumentError, JournalError, NotAllowedError, ServerFailedError, ToolError
from satchel.model import Call, CallTool
from tests.fakes import FakeJournal, FakeRules, FakeServer, make_tool

pytestmark = pytest.mark.anyio

TOOL = make_tool(
    {
        "name": "get",
        "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    },
    server="drive",
)
WAIT = 60  # seconds; only a hang reaches it
LONG = 3600.0
SHORT = 0.01


def chain_to(
    server: FakeServer,
    *,
    timeout: float = LONG,
    send: CallTool | None = None,
    agent: AgentSettings | None = None,
    journal: FakeJournal | None = None,
) -> CallTool:
    journal = journal or FakeJournal([])
    return chain(
        [
            check_policy(FakeRules({"default": agent or AgentSettings()}), journal.denied),
            check_arguments(),
            write_journal(journal),
            connect_first(server.connect),
            limit_time(lambda call: timeout),
        ],
        send or server.send,
    )


def call(timeout: float | None = None, **arguments: Any) -> Call:
    return Call(what=TOOL, arguments=arguments or {"id": "x"}, timeout=timeout)


async def test_a_call_is_connected_then_sent_and_its_result_comes_back() -> None:
    server = FakeServer()
    sent = call(id="x")

    with anyio.fail_after(WAIT):
        result = await chain_to(server)(sent)

    assert result is server.result
    assert server.events == ["connect", "send"]
    assert server.calls == [sent]
    assert server.calls[0] is sent


async def test_a_call_is_recorded_before_anything_is_started_and_after_it_was_answered() -> None:
    server = FakeServer()

    await chain_to(server, journal=FakeJournal(server.events))(call())

    assert server.events == ["begun", "connect", "send", "ok"]


async def test_what_can_not_be_recorded_is_not_sent() -> None:
    server = FakeServer()

    with pytest.raises(JournalError):
        await chain_to(server, journal=FakeJournal([], refuses=JournalError("full")))(call())

    assert server.events == []


async def test_what_the_agent_may_not_call_is_recorded_as_denied_and_goes_nowhere() -> None:
    server = FakeServer()
    chain = chain_to(server, agent=AgentSettings(deny=("drive.*",)), journal=FakeJournal(server.events))

    with pytest.raises(NotAllowedError) as caught:
        await chain(call(id=5))  # not even its arguments are looked at

    assert caught.value.message == "agent 'default' may not call 'drive.get'"
    assert server.events == ["denied"]


async def test_a_failure_to_connect_is_recorded() -> None:
    server = FakeServer(refuses=ServerFailedError("drive", "exited with code 1"))

    with pytest.raises(ServerFailedError):
        await chain_to(server, journal=FakeJournal(server.events))(call())

    assert server.events == ["begun", "connect", "error"]


@pytest.mark.parametrize("arguments", [{"id": 5}, {"ID": "x"}, {"id": "x", "more": 1}])
async def test_wrong_arguments_are_refused_before_a_server_is_even_started(arguments: dict[str, Any]) -> None:
    server = FakeServer()

    with pytest.raises(ArgumentError):
        await chain_to(server)(call(**arguments))

    assert server.events == []


async def test_a_server_that_can_not_be_connected_to_is_sent_nothing() -> None:
    server = FakeServer(refuses=ServerFailedError("drive", "exited with code 1"))

    with pytest.raises(ServerFailedError, match="exited with code 1"):
        await chain_to(server)(call())

    assert server.events == ["connect"]


async def test_a_call_without_answer_times_out_and_is_cancelled() -> None:
    server = FakeServer(silent=True)

    with anyio.fail_after(WAIT), pytest.raises(ToolError) as caught:
        await chain_to(server, timeout=SHORT)(call())

    assert server.events == ["connect", "send", "cancelled"]
    error = caught.value
    assert (error.kind, error.server, error.tool) == ("timeout", "drive", "get")
    assert "0.01 s" in error.message
    assert error.hint is not None
    assert "--timeout" in error.hint


async def test_connecting_is_not_on_the_clock_of_the_call() -> None:
    server = FakeServer()

    await chain_to(server, timeout=SHORT)(call())

    assert server.deadlines["connect"] == math.inf
    assert server.deadlines["send"] < math.inf


async def test_the_servers_time_out_counts_where_the_call_has_none() -> None:
    server = FakeServer()

    now = anyio.current_time()
    await chain_to(server, timeout=500)(call())

    assert now + 500 <= server.deadlines["send"] < now + 500 + WAIT


async def test_the_time_out_of_a_call_beats_the_servers_when_it_is_longer() -> None:
    server = FakeServer()

    now = anyio.current_time()
    await chain_to(server, timeout=SHORT)(call(timeout=LONG))

    assert now + LONG <= server.deadlines["send"] < now + LONG + WAIT


async def test_the_time_out_of_a_call_beats_the_servers_when_it_is_shorter() -> None:
    server = FakeServer(silent=True)

    with anyio.fail_after(WAIT), pytest.raises(ToolError) as caught:
        await chain_to(server)(call(timeout=SHORT))

    assert caught.value.kind == "timeout"


async def test_an_error_of_the_tool_passes_as_it_is() -> None:
    problem = ToolError("drive", "get", "no such document", kind="tool")

    async def send(_: Call) -> Any:
        raise problem

    with pytest.raises(ToolError) as caught:
        await chain_to(FakeServer(), send=send)(call())

    assert caught.value is problem


async def test_a_caller_that_gives_up_cancels_the_call_and_gets_no_time_out() -> None:
    server = FakeServer(silent=True)

    with anyio.move_on_after(SHORT) as given_up:
        await chain_to(server)(call())

    assert given_up.cancelled_caught
    assert server.events == ["connect", "send", "cancelled"]


async def test_calls_do_not_wait_for_each_other() -> None:
    silent, quick = FakeServer(silent=True), FakeServer()

    async def call_silent() -> None:
        await chain_to(silent)(call())

    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call_silent)
            assert await chain_to(quick)(call()) is quick.result
            tasks.cancel_scope.cancel()

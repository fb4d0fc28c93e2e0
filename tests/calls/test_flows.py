"""Calls that flows refuse, ask about, or let through after what was read."""

from dataclasses import replace

import anyio
import pytest

from satchel.calls.chain import chain
from satchel.calls.flows import check_flows
from satchel.calls.reads import label_reads
from satchel.calls.under_way import UnderWay
from satchel.config.control.flows import FlowRule, FlowsSettings
from satchel.errors import NotAllowedError
from satchel.model import Call, Caller, CallResult, CallTool, Prompt, Reads, Resource, Source
from tests.fakes import FakeRules, FakeServer, make_tool

pytestmark = pytest.mark.anyio

WAIT = 30
SECRET = Call(what=make_tool({"name": "get_contact", "annotations": {"readOnlyHint": True}}, server="crm"))
SEARCH = Call(what=make_tool({"name": "search", "annotations": {"readOnlyHint": True}}, server="web"))
POST = Call(what=make_tool({"name": "post_message"}, server="slack"))
DENY = FlowRule(sources=("crm",), sinks=("slack",), then="deny")
ASK = FlowRule(sources=("untrusted",), sinks=("egress",), then="ask")


class Through:
    """The links that flows are about, with the calls that arrive at the servers."""

    def __init__(self, *rules: FlowRule, send: CallTool | None = None, longest_wait: float = WAIT) -> None:
        self.server, self.denied = FakeServer(), list[Call]()
        settings, under_way = FakeRules({}, flow=FlowsSettings(rules=rules)), UnderWay()
        links = [
            check_flows(settings, under_way, self.denied.append, longest_wait=longest_wait),
            self._note,
            label_reads(settings, under_way),
        ]
        self.passed: list[Call] = []
        self._chain = chain(links, send or self.server.send)

    async def call(self, call: Call) -> CallResult:
        return await self._chain(call)

    def _note(self, call_next: CallTool) -> CallTool:
        async def note(call: Call) -> CallResult:
            self.passed.append(call)
            return await call_next(call)

        return note


def of(reads: Reads | None, call: Call) -> Call:
    return replace(call, caller=Caller(reads=reads))


async def test_what_was_read_is_not_sent_where_a_rule_denies_it_and_the_refusal_says_why() -> None:
    through, reads = Through(DENY), Reads()
    await through.call(of(reads, POST))
    await through.call(of(reads, SECRET))
    with pytest.raises(NotAllowedError) as refused:
        await through.call(of(reads, POST))
    assert "slack.post_message" in refused.value.message
    assert "crm.get_contact" in refused.value.message
    assert "flows.rules[0]" in refused.value.message
    assert [call.label for call in through.denied] == ["post_message"]
    assert len(through.server.calls) == 2
    await through.call(of(Reads(), POST))  # of somebody else


async def test_what_is_to_be_asked_is_a_question_for_the_links_behind() -> None:
    through, reads = Through(ASK, DENY), Reads()
    await through.call(of(reads, SEARCH))
    await through.call(of(reads, POST))
    question = through.passed[-1].questions[0]
    assert question.rule == "flows.rules[0]"
    assert "web.search" in question.why


@pytest.mark.parametrize(
    "call",
    [
        Call(what=Resource(server="slack", uri="https://slack/?q=secret", name="x")),
        Call(what=Resource(server="slack", uri="https://slack/?q=secret", name="x"), action="follow"),
        Call(what=Prompt(server="slack", name="say"), arguments={"text": "secret"}),
        Call(what=Prompt(server="slack", name="say"), action="complete"),
        Call(what=Resource(server="slack", uri="slack:{x}", name="x", template=True), action="complete"),
    ],
    ids=["resource", "subscription", "prompt", "completion", "completion of a template"],
)
async def test_resources_prompts_subscriptions_and_completions_carry_data_out_as_well(call: Call) -> None:
    through, reads = Through(DENY), Reads()
    await through.call(of(reads, SECRET))
    with pytest.raises(NotAllowedError):
        await through.call(of(reads, call))
    assert len(through.server.calls) == 1


async def test_an_error_of_a_server_was_read() -> None:
    through, reads = Through(DENY), Reads()
    through.server.result = CallResult(is_error=True)
    await through.call(of(reads, SECRET))
    with pytest.raises(NotAllowedError):
        await through.call(of(reads, POST))


async def test_a_session_and_a_conversation_count_as_far_as_they_hear() -> None:
    through = Through(DENY)
    conversation = Reads()
    first, second = Reads(within=(conversation,)), Reads(within=(conversation,))
    await through.call(of(first, SECRET))
    for reads in (conversation, second):
        with pytest.raises(NotAllowedError):
            await through.call(of(reads, POST))


async def test_what_others_leave_in_files_counts_at_the_moment_of_the_call() -> None:
    found: list[Source] = []
    through, reads = Through(DENY), Reads(look=lambda: found)
    await through.call(of(reads, POST))
    found.append(Source(server="crm", what="get_contact"))
    with pytest.raises(NotAllowedError):
        await through.call(of(reads, POST))


async def test_so_many_reads_that_they_are_not_named_hide_no_server() -> None:
    through, reads = Through(DENY), Reads()
    for number in range(300):
        reads.add(Source(server="web", what=f"resource:{number}"))
    await through.call(of(reads, SECRET))
    with pytest.raises(NotAllowedError):
        await through.call(of(reads, POST))


async def test_a_completion_of_addresses_has_read_what_they_lead_to() -> None:
    rule = FlowRule(sources=("crm.resource:file:///secret/*",), sinks=("slack",), then="deny")
    through, reads = Through(rule), Reads()
    template = Resource(server="crm", uri="file:///{path}", name="x", template=True)
    arguments = {"argument": {"name": "path", "value": "a/../secret/"}}
    await through.call(of(reads, Call(what=template, action="complete", arguments=arguments)))
    with pytest.raises(NotAllowedError):
        await through.call(of(reads, POST))


async def test_without_rules_nothing_is_looked_at_and_a_person_who_has_read_nothing_is_free() -> None:
    def refuse() -> tuple[Source, ...]:
        raise AssertionError

    await Through().call(of(Reads(look=refuse), POST))
    await Through(DENY).call(of(None, POST))


async def test_a_sink_waits_for_reads_under_way_in_its_execution_and_conversation() -> None:
    began, finish, events = anyio.Event(), anyio.Event(), list[str]()

    async def send(call: Call) -> CallResult:
        if call.what.server == "web":
            began.set()
            await finish.wait()
        events.append(call.what.server)
        return CallResult()

    through, conversation = Through(ASK, send=send), Reads()
    first, second = Reads(within=(conversation,)), Reads(within=(conversation,))
    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(through.call, of(first, SEARCH))
            await began.wait()
            tasks.start_soon(through.call, of(second, POST))
            tasks.start_soon(through.call, of(Reads(), POST))  # of somebody else
            await anyio.sleep(0.1)
            assert events == ["slack"]
            finish.set()
    assert events == ["slack", "web", "slack"]
    assert [bool(call.questions) for call in through.passed] == [False, False, True]


async def test_parallel_sinks_of_one_server_do_not_wait_for_each_other() -> None:
    arrived, all_there = 0, anyio.Event()

    async def send(call: Call) -> CallResult:
        nonlocal arrived
        arrived += 1
        if arrived == 20:
            all_there.set()
        await all_there.wait()
        return CallResult()

    through, reads = Through(ASK, send=send), Reads()
    with anyio.fail_after(WAIT):
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(through.call, of(reads, POST))


async def test_a_read_that_waits_for_the_sink_itself_does_not_hold_it_for_ever() -> None:
    reads, sent = Reads(), list[str]()

    async def send(call: Call) -> CallResult:
        if call.what.server == "web":  # it asks the client, whose model calls the sink
            await through.call(of(reads, POST))
        sent.append(call.what.server)
        return CallResult()

    through = Through(ASK, send=send, longest_wait=0.05)
    with anyio.fail_after(WAIT):
        await through.call(of(reads, SEARCH))
    assert sent == ["slack", "web"]

"""The link of flows: what was read before decides whether a call may be sent, asked about, or refused.

It knows whole executions, sessions and conversations, not single values: a program can encode what it has
read in any way. What was read is noted when a read is sent (`calls/reads.py`), so no answer comes before its
label.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from satchel.calls.flow_rules import (
    FlowSettings,
    Match,
    could_count,
    fitting,
    matches,
    names_of_call,
    sink_of,
)
from satchel.calls.under_way import UnderWay
from satchel.errors import NotAllowedError
from satchel.model import Call, CallResult, CallTool, Link, Question, Reads, Source

_LONGEST_WAIT = 30.0  # seconds: a read may wait for the very one who calls, where its server asks a client


def check_flows(
    settings: FlowSettings,
    under_way: UnderWay,
    note_denied: Callable[[Call], None],
    *,
    longest_wait: float = _LONGEST_WAIT,
) -> Link:
    """Refuse what a rule denies after what was read, and have a person asked where a rule says so."""

    def link(call_next: CallTool) -> CallTool:
        async def check(call: Call) -> CallResult:
            flows, reads = settings.flows(), call.caller.reads
            if not flows.rules or reads is None:
                return await call_next(call)
            sink = sink_of(settings, call.what, names_of_call(call))
            strict = [(rule, terms) for _, rule, terms in fitting(flows.rules, sink) if rule.then != "allow"]
            if not strict:
                return await call_next(call)

            def matters(server: str) -> bool:
                return any(could_count(rule, terms, server, sink) for rule, terms in strict)

            await under_way.wait(reads, matters, longest_wait)
            found = matches(settings, sink, heard(reads))
            for match in found:
                if match.rule.then == "deny":
                    note_denied(call)
                    raise _refusal(call, match)
            questions = (
                Question(rule=match.name, why=match.why) for match in found if match.rule.then == "ask"
            )
            return await call_next(replace(call, questions=(*call.questions, *questions)))

        return check

    return link


def heard(reads: Reads) -> Iterator[Source]:
    """All that a caller may have heard of: what it read, and what others left where it can see it."""
    seen: dict[Source, None] = {}
    for each in reads.around:
        if each.look is not None:
            seen.update(dict.fromkeys(each.look()))
        seen.update(dict.fromkeys(each.sources))
    yield from seen


def _refusal(call: Call, match: Match) -> NotAllowedError:
    source = match.sources[0].name
    return NotAllowedError(
        call.caller.agent,
        call.what.qualified_name,
        why=f"{match.why}; {match.name} in satchel.yaml denies it",
        hint=f"do it without reading {source[:80]} before, or ask the person who configures Satchel",
    )

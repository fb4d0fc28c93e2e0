"""The link that notes what is read: every answer of a server is content, an error as well.

It is noted before the call is sent, so that whatever comes of it, and whenever, is known to have been read. A
call that was refused before has read nothing.
"""

from satchel.calls.flow_rules import FlowSettings, labels_of_part, names_of_call
from satchel.calls.under_way import UnderWay
from satchel.model import Call, CallResult, CallTool, Link, Source


def label_reads(settings: FlowSettings, under_way: UnderWay) -> Link:
    """Note for the caller that it reads from a server, untrusted unless that server is trusted."""

    def link(call_next: CallTool) -> CallTool:
        async def label(call: Call) -> CallResult:
            reads = call.caller.reads
            if reads is None:
                return await call_next(call)
            server, names = call.what.server, names_of_call(call)
            labels = labels_of_part(settings, server, names)
            # The addresses that a completion is about are not part of its name.
            reads.add(Source(server=server, what=call.label, labels=labels, is_cut=len(names) > 1))
            if call.action == "follow" or not settings.flows().rules:  # one that is followed has no end
                return await call_next(call)
            with under_way.reading(reads, server):
                return await call_next(call)

        return label

    return link

"""The link that notes what is read: every answer of a server is content, an error as well.

It is noted before the call is sent, so that whatever comes of it, and whenever, is known to have been read. A
call that was refused before has read nothing.
"""

from collections.abc import Callable

from satchel.model import UNTRUSTED, Call, CallResult, CallTool, Link, Source

_NO_LABELS: frozenset[str] = frozenset()
_UNTRUSTED = frozenset({UNTRUSTED})


def label_reads(is_trusted: Callable[[str], bool]) -> Link:
    """Note for the caller that it reads from a server, untrusted unless that server is trusted."""

    def link(call_next: CallTool) -> CallTool:
        async def label(call: Call) -> CallResult:
            if call.caller.reads is not None:
                server = call.what.server
                labels = _NO_LABELS if is_trusted(server) else _UNTRUSTED
                call.caller.reads.add(Source(server=server, what=call.label, labels=labels))
            return await call_next(call)

        return label

    return link

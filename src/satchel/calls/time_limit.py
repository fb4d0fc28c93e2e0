"""The link that ends a call that takes too long. The cancellation reaches the server."""

from collections.abc import Callable
from dataclasses import replace

import anyio

from satchel.errors import ToolError
from satchel.model import Call, CallResult, CallTool, Event, Link, ResourceFollowed
from satchel.support.waiting import patient


def limit_time(timeout_of: Callable[[Call], float]) -> Link:
    """Following a resource lasts; only the server's agreement is limited."""

    def link(call_next: CallTool) -> CallTool:
        async def limit(call: Call) -> CallResult:
            seconds = call.timeout or timeout_of(call)
            with anyio.move_on_after(seconds) as scope:
                return await call_next(_with_clock(call, scope))
            assert scope.cancelled_caught
            raise ToolError(
                call.what.server,
                call.what.label,
                f"no answer within {seconds:g} s; the call was cancelled",
                kind="timeout",
                hint="it may have had its effect. Give it longer: --timeout, 'timeout' in the server's entry,"
                " or servers.timeout in satchel.yaml",
            )

        return limit

    return link


def _with_clock(call: Call, scope: anyio.CancelScope) -> Call:
    """The same call; the clock stands still while a person is asked, and ends once a resource is followed."""
    if call.caller.client is not None:
        client = patient(call.caller.client, scope)
        call = replace(call, caller=replace(call.caller, client=client))
    if call.action == "follow":
        call = replace(call, tell=_stopping(call.tell, scope))
    return call


def _stopping(tell: Callable[[Event], None], scope: anyio.CancelScope) -> Callable[[Event], None]:
    def told(event: Event) -> None:
        if isinstance(event, ResourceFollowed):
            scope.deadline = float("inf")
        tell(event)

    return told

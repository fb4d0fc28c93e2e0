"""The links of the chain, each a function from CallTool to CallTool.

Read `build_chain` from bottom to top: that is the order in which a call meets them.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import anyio

from satchel.calls.arguments import check_arguments
from satchel.calls.journal import Journal, journal_calls
from satchel.calls.policy import check_permission
from satchel.config.settings import AgentSettings
from satchel.errors import ToolError
from satchel.model import Call, CallResult, CallTool
from satchel.support.waiting import patient


def build_chain(
    send: CallTool,
    *,
    connect: Callable[[Call], Awaitable[None]],
    timeout_of: Callable[[Call], float],
    settings_of: Callable[[str], AgentSettings],
    journal: Journal,
    reading: Callable[[], Sequence[str]] = tuple,
) -> CallTool:
    """Wrap `send`, the way to the server."""
    call_tool = limit_time(send, timeout_of)
    call_tool = connect_first(call_tool, connect)
    call_tool = journal_calls(call_tool, journal)
    call_tool = check_first(call_tool)
    return check_permission(call_tool, settings_of, journal.denied, reading)


def check_first(call_next: CallTool) -> CallTool:
    """Refuse arguments that don't fit before a server is even started."""

    async def check(call: Call) -> CallResult:
        check_arguments(call.tool, call.arguments)
        return await call_next(call)

    return check


def connect_first(call_next: CallTool, connect: Callable[[Call], Awaitable[None]]) -> CallTool:
    """Have the connection before the clock starts: starting a server has a time-out of its own."""

    async def connected(call: Call) -> CallResult:
        await connect(call)
        return await call_next(call)

    return connected


def limit_time(call_next: CallTool, timeout_of: Callable[[Call], float]) -> CallTool:
    """End a call that takes too long. The cancellation reaches the server."""

    async def limit(call: Call) -> CallResult:
        seconds = call.timeout or timeout_of(call)
        with anyio.move_on_after(seconds) as scope:
            if call.client is not None:
                call = replace(call, client=patient(call.client, scope))
            return await call_next(call)
        assert scope.cancelled_caught
        tool = call.tool
        raise ToolError(
            tool.server,
            tool.name,
            f"no answer within {seconds:g} s; the call was cancelled",
            kind="timeout",
            hint="it may have had its effect. Give it longer: --timeout, 'timeout' in the server's entry,"
            " or servers.timeout in satchel.yaml",
        )

    return limit

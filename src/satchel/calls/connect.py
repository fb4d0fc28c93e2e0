"""The link that connects before the clock starts: starting a server has a time limit of its own."""

from collections.abc import Awaitable, Callable

from satchel.model import Call, CallResult, CallTool, Link


def connect_first(connect: Callable[[Call], Awaitable[None]]) -> Link:
    def link(call_next: CallTool) -> CallTool:
        async def connected(call: Call) -> CallResult:
            await connect(call)
            return await call_next(call)

        return connected

    return link

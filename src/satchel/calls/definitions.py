"""The link that holds tools back whose definition is new or changed, until a person has accepted it."""

from collections.abc import Callable

from satchel.errors import NotAllowedError
from satchel.model import Call, CallResult, CallTool, Link, Tool
from satchel.names import in_shell


def hold_definitions(
    is_held: Callable[[Tool], bool], note_denied: Callable[[Call], None] = lambda call: None
) -> Link:
    """Refuse calls of tools that are held."""

    def link(call_next: CallTool) -> CallTool:
        async def check(call: Call) -> CallResult:
            what = call.what
            if isinstance(what, Tool) and is_held(what):
                note_denied(call)
                raise NotAllowedError(
                    call.caller.agent,
                    what.qualified_name,
                    why="its definition is new or has changed, and no person has accepted it yet",
                    hint=f"a person decides at a terminal: satchel changes {in_shell(what.server)} --accept",
                )
            return await call_next(call)

        return check

    return link

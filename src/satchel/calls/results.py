"""Results of calls that report an error, as the error that every caller gets for them."""

from collections.abc import Sequence
from typing import NoReturn

from satchel.errors import ToolError
from satchel.model import CallResult, Tool


def raise_tool_error(tool: Tool, result: CallResult, *, stderr: Sequence[str] = ()) -> NoReturn:
    """`stderr` is what the server wrote last, where that belongs to the call."""
    message = result.text.strip() or "the tool reported an error without a text"
    raise ToolError(tool.server, tool.name, message, kind="tool", stderr=stderr)

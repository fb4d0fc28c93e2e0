"""Code that all requests share: the caller, and how lists and errors are answered."""

import json
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST

from satchel.errors import ArgumentError, NotFoundError, SatchelError, ToolError
from satchel.model import Json
from satchel.server.pending import Context
from satchel.server.wire import is_modern
from satchel.support.text import whole_characters

COMPLETE: Json = {"resultType": "complete"}
_RESOURCE_NOT_FOUND = -32002  # of the 2025 era
_LONGEST_MARK = 1_000  # characters
_MOST_BITS = 64  # of a mark that is a number
_LONGEST_GREETING = 256 * 1024  # characters of `initialize`, of which most is kept with the session


class NamedByUri(types.RequestParams):
    uri: str


def check_size(context: Context) -> None:
    """Refuse long ids and progress tokens, which are repeated, and what would be kept of a client."""
    marks = {"id": context.request_id, "progress token": progress_token_from_params(context.params)}
    for name, mark in marks.items():
        if _is_long(mark):
            limit = f"at most {_LONGEST_MARK:,} characters, or {_MOST_BITS} bits"
            raise MCPError(code=INVALID_REQUEST, message=f"the {name} of a request may have {limit}")
    if context.method == "initialize" and len(json.dumps(context.params)) > _LONGEST_GREETING:
        message = f"initialize may have at most {_LONGEST_GREETING:,} characters"
        raise MCPError(code=INVALID_REQUEST, message=message)


def _is_long(mark: str | int | None) -> bool:
    if isinstance(mark, str):
        return len(mark) > _LONGEST_MARK
    return mark is not None and mark.bit_length() > _MOST_BITS


def listed(key: str, items: Any) -> Json:
    """Not to be kept: it may be another in a moment. The SDK leaves out what the era does not know."""
    return {key: items if isinstance(items, list) else [], **COMPLETE, "ttlMs": 0, "cacheScope": "private"}


def as_protocol_error(error: SatchelError, context: Context) -> MCPError:
    hint = f"; {error.hint}" if error.hint else ""
    message = whole_characters(f"{error.message}{hint}")
    if isinstance(error, ToolError) and error.code is not None:
        return MCPError(code=error.code, message=message, data=error.data)
    if isinstance(error, NotFoundError) and error.kind == "resource":
        code = INVALID_PARAMS if is_modern(context.protocol_version) else _RESOURCE_NOT_FOUND
        return MCPError(code=code, message=message, data={"uri": whole_characters(error.name)})
    is_theirs = isinstance(error, NotFoundError | ArgumentError)
    return MCPError(code=INVALID_PARAMS if is_theirs else INTERNAL_ERROR, message=message)


class ChangingServer(Server[Any]):
    """One that says to clients of the 2025 era as well that its lists may change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        changing = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(
            notification_options or changing, experimental_capabilities, extensions
        )

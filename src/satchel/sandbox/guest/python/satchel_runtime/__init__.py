"""What programs and wrappers use besides the wrappers themselves.

A program talks to Satchel through one connection; the program's runner sets it with `connect`.
"""

from satchel_runtime.connection import Connection, connect, connection
from satchel_runtime.errors import NotConnectedError, ToolError, UnavailableError, WrongCallError
from satchel_runtime.loading import blocking, lazy, renamed
from satchel_runtime.records import JsonOrText, Record, omit
from satchel_runtime.verbs import (
    Found,
    Prompt,
    PromptMessage,
    Resource,
    ResourceContent,
    call,
    call_custom_tool,
    call_mcp_tool,
    call_tool,
    describe_tool,
    get_prompt,
    hide,
    list_servers,
    promote_skill,
    read_resource,
    reveal,
    save_skill,
    search_tools,
    semantic_search,
)

__all__ = [
    "Connection",
    "Found",
    "JsonOrText",
    "NotConnectedError",
    "Prompt",
    "PromptMessage",
    "Record",
    "Resource",
    "ResourceContent",
    "ToolError",
    "UnavailableError",
    "WrongCallError",
    "blocking",
    "call",
    "call_custom_tool",
    "call_mcp_tool",
    "call_tool",
    "connect",
    "connection",
    "describe_tool",
    "get_prompt",
    "hide",
    "lazy",
    "list_servers",
    "omit",
    "promote_skill",
    "read_resource",
    "renamed",
    "reveal",
    "save_skill",
    "search_tools",
    "semantic_search",
]

"""The requests that a program can make of Satchel."""

import sys
from collections.abc import Mapping, Sequence
from importlib import invalidate_caches
from typing import Any, cast

from satchel_runtime import blocking_calls
from satchel_runtime.both_ways import at_once, both_ways
from satchel_runtime.connection import connection
from satchel_runtime.records import JsonOrText, Record, omit, read_as


async def call(
    server: str,
    tool: str,
    arguments: dict[str, Any],
    shape: Any = None,
    *,
    names: Mapping[str, str | None] | None = None,
    unwrap: bool = False,
) -> Any:
    """What wrappers do. `arguments` are the wrapper's own; those left at `omit` are not sent.

    `names` gives the real names of arguments that Python can't spell; None is for further arguments, whose
    names are their own. `unwrap` takes the value out of the `result` that some servers put every value into.
    """
    sent: dict[str, Any] = {}
    for name, value in arguments.items():
        key = names.get(name, name) if names else name
        if key is None:
            sent.update({extra: part for extra, part in value.items() if part is not omit})
        elif value is not omit:
            sent[key] = value
    value = await _request("call_tool", {"server": server, "tool": tool, "arguments": sent})
    if unwrap and isinstance(value, dict):
        value = cast("dict[str, Any]", value).get("result", value)
    return read_as(shape, value)


@both_ways
async def call_tool(server: str, tool: str, arguments: Mapping[str, Any] | None = None) -> JsonOrText:
    """Call a tool by its names. Raises ToolError when it fails, PermissionError when it is not allowed."""
    return await _request("call_tool", {"server": server, "tool": tool, "arguments": dict(arguments or {})})


@both_ways
async def call_mcp_tool(
    name: str = "",
    arguments: Mapping[str, Any] | str | None = None,
    more: Mapping[str, Any] | None = None,
    *,
    server: str = "",
    tool: str = "",
) -> JsonOrText:
    """Call a tool by any of its spellings, such as "google_drive__get_document".

    Or by its two names: `call_mcp_tool("google-drive", "get_document", {…})`, also as `server` and `tool`.
    """
    if isinstance(arguments, str):
        server, tool, arguments = name, arguments, more
    names = {"server": server, "tool": tool} if tool else {"name": name}
    return await _request("call_tool", {**names, "arguments": dict(arguments or {})})


@both_ways
async def call_custom_tool(tool_name: str, /, **arguments: Any) -> JsonOrText:
    """Call a custom tool, such as "web.playwright_navigate"."""
    return await _request("call_tool", {"name": tool_name, "arguments": arguments})


@at_once
async def list_servers() -> Any:
    """All servers: {"servers": [{"name", "description", "state", "tool_count", …}], "total_tools", …}.

    More than a hundred come as "groups" instead, each with names of "servers".
    """
    return await _request("list_servers", {})


@at_once
async def search_tools(
    query: str = "",
    server: str | None = None,
    detail: str = "desc",
    limit: int = 10,
    offset: int = 0,
    *,
    keyword: str = "",
    detail_level: str = "",
) -> Any:
    """Tools that fit the query, best first. `detail` is name, desc or full."""
    detail, query = detail_level or detail, query or keyword
    asked = {"query": query, "server": server, "detail": detail, "limit": limit, "offset": offset}
    return await _request("search_tools", asked)


class Found(Record):
    """One result of a search. `kind` is tool, skill or memory, `path` that of a file to read on.

    Of memory, `line` is where to read; what is `waiting` for a person's review is data only, and `agent` is
    who wrote it, if another one did.
    """

    kind: str
    path: str
    score: float
    text: str
    line: int | None = None
    waiting: bool = False
    agent: str | None = None

    @property
    def relevance_score(self) -> float:
        return self.score


@at_once
async def semantic_search(
    query: str, limit: int = 10, *, search_paths: Sequence[str] = (), top_k: int | None = None
) -> list[Found]:
    """What fits the query, best first; with `search_paths`, such as "servers/", only what lies there."""
    asked: dict[str, Any] = {"query": query, "limit": limit if top_k is None else top_k}
    if search_paths:
        asked["search_paths"] = [search_paths] if isinstance(search_paths, str) else list(search_paths)
    return read_as(list[Found], await _request("semantic_search", asked))


@at_once
async def describe_tool(name: str) -> Any:
    """One tool, by any of its spellings: description, input and output schema."""
    return await _request("describe_tool", {"name": name})


class ResourceContent(Record, mime_type="mimeType"):
    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None


class Resource(Record):
    contents: list[ResourceContent]

    @property
    def text(self) -> str:
        """The texts of its parts, one after the other."""
        return _texts(self.get("contents"))


async def read_resource(server: str, uri: str) -> Resource:
    """A resource of a server. `.text` is its text; `.contents` has its parts with type and data."""
    return read_as(Resource, await _request("read_resource", {"server": server, "uri": uri}))


class PromptMessage(Record):
    role: str
    content: dict[str, Any]


class Prompt(Record):
    messages: list[PromptMessage]
    description: str | None = None

    @property
    def text(self) -> str:
        """The texts of its messages, one after the other."""
        messages = self.get("messages")
        contents = [_part(message, "content") for message in _list(messages)]
        return _texts(contents)


async def get_prompt(
    server: str, name: str, arguments: dict[str, Any] | None = None, *, names: Mapping[str, str] | None = None
) -> Prompt:
    """A prompt of a server, filled in. `.text` is its text; `.messages` has them one by one."""
    given = {(names or {}).get(key, key): text for key, text in (arguments or {}).items() if text is not omit}
    return read_as(Prompt, await _request("get_prompt", {"server": server, "name": name, "arguments": given}))


@at_once
async def save_skill(
    name: str, code: str, description: str, *, example: str | None = None, language: str = "python"
) -> Any:
    """Keep a working program as a skill: a module with a function of that name, for later programs to import.

    `create-report` is imported with `from skills.create_report import create_report`. `example` is a program
    that uses it, for a test. Returns {"name", "import", "path", "signature", "tools"}.
    """
    asked = {"name": name, "code": code, "description": description, "language": language}
    saved = await _request("save_skill", asked if example is None else {**asked, "example": example})
    invalidate_caches()  # of this program, which may have looked for it before
    for module in [module for module in sys.modules if module.startswith("skills.")]:
        is_package = hasattr(sys.modules[module], "__path__")  # of an agent or the community
        if is_package or module.rpartition(".")[2] == name.replace("-", "_"):
            del sys.modules[module]
    return saved


@at_once
async def promote_skill(name: str) -> Any:
    """Give a tested skill to all agents. Raises PermissionError where that is for people to do."""
    return await _request("promote_skill", {"name": name})


@at_once
async def reveal(text: str) -> str:
    """What the privacy tokens in a text stand for. PermissionError where programs see tokens only."""
    return await _request("reveal", {"text": text})


@at_once
async def hide(text: str) -> str:
    """A privacy token for a text that is personal, for output."""
    return await _request("hide", {"text": text})


async def _request(method: str, params: dict[str, Any]) -> Any:
    way_out = connection()
    if blocking_calls.is_active():
        return way_out.request_blocking(method, params)
    return await way_out.request(method, params)


def _texts(parts: Any) -> str:
    """The texts among the parts of a result, which need not be what they should."""
    found = [_part(part, "text") for part in _list(parts)]
    return "\n".join(text for text in found if isinstance(text, str))


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _part(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None

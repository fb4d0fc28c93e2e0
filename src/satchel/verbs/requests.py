"""The requests that a program may make: a table from the method of a request to the verb that answers it.

How a request travels is the bridge's. Every call goes through the chain that all surfaces use, so a program
can do nothing that its agent may not.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

import anyio

from satchel.calls.arguments import check_count
from satchel.calls.results import raise_tool_error
from satchel.calls.values import LARGEST_TEXT, Save, value_of
from satchel.catalog.states import trouble
from satchel.errors import (
    ArgumentError,
    NotAllowedError,
    NotFoundError,
    SatchelError,
    ServerError,
    ToolError,
    UndecidedError,
)
from satchel.model import (
    Call,
    CallBegan,
    CallEnded,
    Caller,
    CallResult,
    CallTool,
    Json,
    Tell,
    Tool,
    ToolUse,
    is_list,
    is_object,
    silent,
)
from satchel.support.charging import apart
from satchel.support.text import label as shown
from satchel.verbs.privacy.boundary import Privacy
from satchel.verbs.resources import Resources
from satchel.verbs.servers import Servers
from satchel.verbs.tools import Tools

_MOST_TEXTS = 100
_LONGEST_TEXT = 2_000  # of a name, an address or a query
_NEVER_SENT = ("arguments", "not_found")  # the kinds of errors of calls that no server has heard of
_LONGEST_ERROR = 500
_TOLD_IN_FULL = 20


@dataclass(frozen=True, kw_only=True)
class Reach:
    """How a program's calls find their tools and where they go: the chain, or a recording in its place."""

    find_tool: Callable[[str], Awaitable[Tool]]
    call: CallTool


@dataclass(frozen=True, kw_only=True)
class ProgramVerbs:
    """The verbs that a program can ask for."""

    servers: Servers
    tools: Tools
    save_skill: Callable[[Caller, Json], Awaitable[Json]]
    promote_skill: Callable[[Caller, str], Awaitable[Json]]
    privacy: Privacy


class Requests:
    """Answers what one program asks for. Everything in `params` was written by the program."""

    def __init__(
        self,
        verbs: ProgramVerbs,
        reach: Reach,
        caller: Caller,
        *,
        save: Save,
        keep: bool = True,
        tell: Tell = silent,
    ) -> None:
        self._keep = keep  # the calls made, for the report at the end
        self._verbs = verbs
        self._reach = reach
        self._resources = Resources(verbs.servers, reach.call)
        self._caller = caller
        self._save = save
        self._tell = tell
        self._made: list[ToolUse] = []

    @property
    def made(self) -> tuple[ToolUse, ...]:
        """The calls so far, in the order in which they began."""
        return tuple(self._made)

    async def answer(self, method: str, params: Json) -> Any:
        """What a program gets for a request, or one of Satchel's errors."""
        answer = _METHODS.get(method)
        if answer is None:
            raise ArgumentError(f"Satchel has no '{method[:40]}' for programs")
        return await answer(self, params)

    async def list_servers(self, params: Json) -> Json:
        return self._verbs.servers.list_all()

    async def search_tools(self, params: Json) -> Json:
        # Runtimes send null for a server that was not given.
        server = _text(params, "server") if params.get("server") is not None else None
        return await self._verbs.tools.find(
            _text(params, "query", "") or _text(params, "keyword", ""),
            server=server,
            detail=_text(params, "detail", "") or _text(params, "detail_level", "desc"),
            limit=_number(params, "limit", 10),
            offset=_number(params, "offset", 0),
            agent=self._caller.agent,
        )

    async def semantic_search(self, params: Json) -> list[Json]:
        query, limit = _text(params, "query"), _number(params, "limit", 10)
        within = _texts(params, "search_paths")
        return await self._verbs.tools.find_everything(query, limit, within=within, agent=self._caller.agent)

    async def describe_tool(self, params: Json) -> Json:
        tool = await self._reach.find_tool(_text(params, "name"))
        return await self._verbs.tools.read(tool, agent=self._caller.agent)

    async def read_resource(self, params: Json) -> Json:
        server, uri = _text(params, "server"), _text(params, "uri")
        with self._use(f"{server}.resource:{uri}"):
            return await self._resources.read(server, uri, caller=self._caller)

    async def get_prompt(self, params: Json) -> Json:
        server, name = _text(params, "server"), _text(params, "name")
        given = _object(params, "arguments")
        check_count(given)
        arguments = {key: str(value) for key, value in given.items()}
        _check_texts(arguments)
        with self._use(f"{server}.prompt:{name}"):
            return await self._resources.prompt(server, name, arguments, caller=self._caller)

    async def save_skill(self, params: Json) -> Json:
        return await self._verbs.save_skill(self._caller, params)

    async def promote_skill(self, params: Json) -> Json:
        return await self._verbs.promote_skill(self._caller, _text(params, "name"))

    async def reveal(self, params: Json) -> str:
        """What the tokens in a text stand for, for a program that sees values."""
        scope, text = self._verbs.privacy.scope_of(self._caller), _long_text(params, "text")
        if scope is None:
            return text
        if not scope.shows_values:
            raise NotAllowedError(
                self._caller.agent,
                "reveal",
                why="privacy.programs is 'tokens'",
                hint="pass tokens to tools as they are: servers that the values came from get the values",
            )
        return str(await apart(scope.revealed, text))

    async def hide(self, params: Json) -> str:
        """A token for a text that a program says is personal."""
        scope, text = self._verbs.privacy.scope_of(self._caller), _long_text(params, "text")
        return text if scope is None or not text else await apart(scope.hide_value, text)

    async def call_tool(self, params: Json) -> Any:
        name = _text(params, "name", "")
        server, tool = ("", name) if name else (_text(params, "server"), _text(params, "tool"))
        arguments = _object(params, "arguments")
        use = self._use(name or f"{server}.{tool}")
        with use:
            try:
                _check_texts(arguments)
                found = await self._reach.find_tool(name or f"{server}.{tool}")
                server, tool = found.server, found.name
                use.label = found.wire_name  # as searches show it
                result = await self._reach.call(Call(what=found, arguments=arguments, caller=self._caller))
                return await self._value(result, found)
            except (NotAllowedError, ToolError, UndecidedError):
                raise
            except SatchelError as error:
                raise _as_tool_error(server, tool, error) from error
            except OSError as error:
                raise ToolError(
                    server, tool, f"its result could not be kept in the workspace: {error}", kind="request"
                ) from error

    def _use(self, label: str) -> "_Use":
        return _Use(self._made if self._keep else [], label, self._tell)

    async def _value(self, result: CallResult, tool: Tool) -> Any:
        if result.is_error:
            raise_tool_error(tool, result)
        return await value_of(result, self._save)


class _Use:
    """One call among those that are made: `cancelled` until it has ended in another way."""

    def __init__(self, made: list[ToolUse], label: str, tell: Tell) -> None:
        self.label = label
        self._tell = tell
        self._made = made
        self._place = len(made)
        self._began = time.monotonic()
        made.append(ToolUse(tool=shown(label), status="cancelled", ms=0))

    def __enter__(self) -> None:
        self._tell(CallBegan(tool=shown(self.label)))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        status: Literal["ok", "error", "denied", "refused", "cancelled"] = "error"
        if error is None:
            status = "ok"
        elif isinstance(error, NotAllowedError):
            status = "denied"
        elif isinstance(error, UndecidedError) or (
            isinstance(error, ToolError) and error.kind in _NEVER_SENT
        ):
            status = "refused"
        elif isinstance(error, anyio.get_cancelled_exc_class()):
            status = "cancelled"
        text = error.reason if isinstance(error, ToolError) else str(error) if error is not None else ""
        # A thousand long errors would be more than anyone wants to be told.
        most = _LONGEST_ERROR if self._place < _TOLD_IN_FULL else _LONGEST_ERROR // 10
        use = self._made[self._place] = ToolUse(
            tool=shown(self.label),
            status=status,
            ms=(time.monotonic() - self._began) * 1000,
            error=text[:most] or None,
        )
        self._tell(CallEnded(use=use, count=len(self._made)))


_METHODS: dict[str, Callable[[Requests, Json], Awaitable[Any]]] = {
    "call_tool": Requests.call_tool,
    "list_servers": Requests.list_servers,
    "search_tools": Requests.search_tools,
    "semantic_search": Requests.semantic_search,
    "describe_tool": Requests.describe_tool,
    "read_resource": Requests.read_resource,
    "get_prompt": Requests.get_prompt,
    "reveal": Requests.reveal,
    "hide": Requests.hide,
    "save_skill": Requests.save_skill,
    "promote_skill": Requests.promote_skill,
}


def _check_texts(arguments: Json) -> None:
    """Refuse what is no Unicode: no server could be sent it. Numbers would take long to write."""
    waiting: list[Any] = [arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            _check_text(value)
        elif is_object(value):
            waiting += value
            waiting += value.values()
        elif is_list(value):
            waiting += value


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            reason = f"an argument has text that is not valid Unicode: {error.reason}"
            raise ArgumentError(reason) from None


def _as_tool_error(server: str, tool: str, error: SatchelError) -> ToolError:
    """Every failure of a call is a ToolError inside a program, told apart by its kind."""
    kind = "request"
    message = error.message
    if isinstance(error, ArgumentError):
        kind = "arguments"
    elif isinstance(error, NotFoundError):
        kind = "not_found"
    elif isinstance(error, ServerError):
        return ToolError(server, tool, trouble(error), kind="server")
    hint = f"; {error.hint}" if error.hint else ""
    return ToolError(server, tool, message + hint, kind=kind)


def _text(params: Json, key: str, default: str | None = None) -> str:
    value = params.get(key, default)
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise ArgumentError(f"'{key}' must be a text of at most {_LONGEST_TEXT:,} characters", argument=key)
    try:
        value.encode()
    except UnicodeEncodeError as error:  # half a surrogate pair can be sent to nobody
        raise ArgumentError(f"'{key}' is not valid Unicode: {error.reason}", argument=key) from None
    return value


def _long_text(params: Json, key: str) -> str:
    value: object = params.get(key)
    if not isinstance(value, str) or len(value) > LARGEST_TEXT:
        raise ArgumentError(f"'{key}' must be a text of at most {LARGEST_TEXT:,} characters", argument=key)
    _check_text(value)
    return value


def _texts(params: Json, key: str) -> tuple[str, ...]:
    value: object = params.get(key) or []
    if not is_list(value) or len(value) > _MOST_TEXTS:
        raise ArgumentError(f"'{key}' must be a list of at most {_MOST_TEXTS} texts", argument=key)
    return tuple(_text({key: each}, key) for each in value)


def _number(params: Json, key: str, default: int) -> int:
    value = params.get(key, default)
    if type(value) is not int or value < 0:
        raise ArgumentError(f"'{key}' must be a whole number, 0 or more", argument=key)
    return value


def _object(params: Json, key: str) -> Json:
    value: object = params.get(key)
    if value is None:
        return {}
    if not is_object(value):
        raise ArgumentError(f"'{key}' must be an object", argument=key)
    return value

"""The links of privacy: tokens become values on the way to a server, and values tokens on the way back.

`name_values` comes first: what a program sends is named by its tokens, so that rules, approvals and the
journal see tokens whoever calls. `restore_tokens` comes after the journal and the connection: it puts the
values back, for servers that may have them, and checks the arguments strictly. On the way back it hides.
What is hidden for whom is `verbs/privacy/`'s.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Protocol

from referencing import Registry

from satchel.calls.arguments import check_call
from satchel.calls.schemas import bounded, checkable, schema_problem, start_work, validator_class
from satchel.errors import ArgumentError, SatchelError, ToolError
from satchel.model import (
    PRIVATE,
    Ask,
    Call,
    Caller,
    CallResult,
    CallTool,
    Client,
    Event,
    Json,
    Link,
    Progress,
    Resource,
    Source,
    Tell,
    Tool,
)


class Scope(Protocol):
    """The tokens of one caller."""

    @property
    def shows_values(self) -> bool:
        """Whether the caller is a program that sees values."""
        ...

    def named(self, value: Any) -> Any:
        """Tokens in place of known values."""
        ...

    def restored(self, value: Any, call: Call, schema: object = None) -> Any:
        """Values in place of tokens; NotAllowedError if the server may not have one."""
        ...

    def hidden_now(self, value: Any, server: str) -> Any:
        """Tokens in place of personal data that came from a server."""
        ...

    async def hidden(self, value: Any, server: str, schema: object = None) -> Any:
        """The same, kept; in a thread if it takes long."""
        ...

    async def keep(self) -> None:
        """Commit the tokens that are new, before a model gets them."""
        ...


ScopeOf = Callable[[Caller], Scope | None]
OpenScope = Callable[[Caller], Awaitable[Scope | None]]


def name_values(open_scope: OpenScope) -> Link:
    """The first link: known values in a program's call become tokens."""

    def link(call_next: CallTool) -> CallTool:
        async def name(call: Call) -> CallResult:
            scope = await open_scope(call.caller)
            if scope is None or not scope.shows_values:
                return await call_next(call)
            what = call.what
            if isinstance(what, Resource):
                what = replace(what, uri=scope.named(what.uri))
            return await call_next(replace(call, what=what, arguments=scope.named(dict(call.arguments))))

        return name

    return link


def restore_tokens(scope_of: ScopeOf) -> Link:
    """The link before the server: values for it, and tokens for whoever asked."""

    def link(call_next: CallTool) -> CallTool:
        async def restore(call: Call) -> CallResult:
            scope = scope_of(call.caller)
            if scope is None:
                return await call_next(call)
            try:
                result = await call_next(_sent(call, scope))
            except SatchelError as error:
                hidden = _hidden_error(error, scope, call.what.server)
                await scope.keep()
                raise hidden from None
            return await _answer(result, call, scope)

        return restore

    return link


def _sent(call: Call, scope: Scope) -> Call:
    """The call as the server gets it. Whoever it asks or tells something hears of tokens only."""
    what = call.what
    if isinstance(what, Resource):
        what = replace(what, uri=scope.restored(what.uri, call))
    given = dict(call.arguments)
    schema = what.input_schema if isinstance(what, Tool) else None
    arguments = scope.restored(given, call, schema)
    if arguments is not given and call.action == "use":
        try:
            check_call(what, arguments)
        except ArgumentError as error:
            raise ArgumentError(
                scope.hidden_now(error.message, call.what.server), argument=error.argument, hint=error.hint
            ) from None
    client = call.caller.client
    caller = call.caller if client is None else replace(call.caller, client=_client(client, call, scope))
    return replace(call, what=what, arguments=arguments, caller=caller, tell=_telling(call, scope))


def _client(client: Client, call: Call, scope: Scope) -> Client:
    server = call.what.server
    ask: Ask = client.ask

    async def asked(method: str, params: Json, key: str) -> Json:
        answer = await ask(method, await scope.hidden(params, server), key)
        return scope.restored(answer, call)

    def log(params: Json) -> None:
        client.log(scope.hidden_now(params, server))

    return replace(client, ask=asked, log=log)


def _telling(call: Call, scope: Scope) -> Tell:
    def tell(event: Event) -> None:
        if isinstance(event, Progress) and event.message:
            event = replace(event, message=scope.hidden_now(event.message, call.what.server))
        call.tell(event)

    return tell


async def _answer(result: CallResult, call: Call, scope: Scope) -> CallResult:
    """What the caller gets: tokens, or for a program that sees values the result itself."""
    server = call.what.server
    schema = call.what.output_schema if isinstance(call.what, Tool) else None
    structured = await scope.hidden(result.structured, server, schema) if result.has_structured else None
    content = await scope.hidden([_shown(block) for block in result.content], server)
    meta = await scope.hidden(result.meta, server) if result.meta is not None else None
    pairs = zip(content, result.content, strict=True)
    blocks = tuple(_whole(new, old) for new, old in pairs)
    hidden = replace(result, structured=structured, content=blocks, meta=meta)
    if hidden == result:
        return result
    if schema is not None and structured is not result.structured and not _fits(structured, schema):
        # No token fits there, and clients refuse what doesn't fit. The text has it all.
        hidden = replace(hidden, structured=None, has_structured=False)
    if call.caller.reads is not None:
        source = Source(server=server, what=call.label, labels=frozenset({PRIVATE}))
        call.caller.reads.add(source)
    return result if scope.shows_values and not result.is_error else hidden


def _fits(value: Any, schema: Any) -> bool:
    if schema_problem(schema) is not None:
        return True
    try:
        start_work()
        nothing: Any = Registry[Any]()  # nothing is ever fetched for a $ref
        validator = bounded(validator_class(schema))(checkable(schema), registry=nothing)
        return next(iter(validator.iter_errors(value)), None) is None
    except Exception:  # noqa: BLE001  any failure here is the schema's
        return True


def _shown(block: Json) -> Json:
    """A block without its data, which is not text."""
    if "data" in block and isinstance(block["data"], str) and block.get("type") in ("image", "audio"):
        return {key: value for key, value in block.items() if key != "data"}
    return block


def _whole(new: Json, old: Json) -> Json:
    return old if new == _shown(old) else {**old, **new}


def _hidden_error(error: SatchelError, scope: Scope, server: str) -> SatchelError:
    """The error without personal data: what a server said is in many of them."""
    message, hint = scope.hidden_now(error.message, server), scope.hidden_now(error.hint, server)
    is_same = message == error.message and hint == error.hint
    twin = error.copy()
    if isinstance(error, ToolError) and isinstance(twin, ToolError):
        twin.reason = scope.hidden_now(error.reason, server)
        twin.data = scope.hidden_now(error.data, server)
        twin.stderr = tuple(scope.hidden_now(list(error.stderr), server))
        is_same = is_same and (twin.reason, twin.data, twin.stderr) == (
            error.reason,
            error.data,
            error.stderr,
        )
    if is_same:
        return error
    twin.message, twin.args = message, (message,)
    twin.hint = hint
    return twin

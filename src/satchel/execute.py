"""One execution from a program's text to its outcome: recorded, run in the sandbox, its requests answered.

What a request means is here; how it travels is the bridge's. Every call goes through the chain that all
surfaces use, so a program can do nothing that its agent may not.
"""

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import anyio

from satchel.calls.values import Save, value_of
from satchel.errors import (
    ArgumentError,
    JournalError,
    NotAllowedError,
    NotFoundError,
    SatchelError,
    ServerError,
    ToolError,
)
from satchel.model import Ask, Call, CallResult, CallTool, Client, Execution, Json, Tool, ToolUse, is_object
from satchel.sandbox.sandbox import Answer, Home, Outcome, Program

_LONGEST_TEXT = 2_000  # of a name, an address or a query
_LONGEST_LABEL = 200
_NEVER_SENT = ("arguments", "not_found")  # the kinds of errors of calls that no server has heard of
_LONGEST_ERROR = 500
_TOLD_IN_FULL = 20
LONGEST_PROGRAM = 1024 * 1024
Run = Callable[[Program, Answer], Awaitable[Outcome]]
OnCall = Callable[[int, str], None]
"""Told of every call that has ended: how many a program has made, and which tool it was."""


class Waiting:
    """A client, and for how long it has been asked: that does not count as a program's time."""

    def __init__(self, client: Client | None) -> None:
        self._asked = 0
        self._since = 0.0
        self._seconds = 0.0
        self.client = None if client is None else replace(client, ask=self._asking(client))

    def seconds(self) -> float:
        return self._seconds + (time.monotonic() - self._since if self._asked else 0.0)

    def _asking(self, client: Client) -> Ask:
        async def ask(method: str, params: Json, key: str) -> Json:
            if not self._asked:
                self._since = time.monotonic()
            self._asked += 1
            try:
                return await client.ask(method, params, key)
            finally:
                self._asked -= 1
                if not self._asked:
                    self._seconds += time.monotonic() - self._since

        return ask


class ExecutionJournal(Protocol):
    """Where executions are recorded."""

    async def begin_execution(
        self, *, id: str, agent: str, language: str, program: str, description: str = ""
    ) -> None: ...

    async def finish_execution(self, id: str, outcome: Json) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Caller:
    """On whose behalf a program asks."""

    agent: str
    execution: str | None = None
    client: Client | None = None
    read_only: bool = False
    only: tuple[str, ...] | None = None


async def _no_skills(caller: Caller, asked: object) -> Json:
    raise ArgumentError("skills can't be saved here")


@dataclass(frozen=True, kw_only=True)
class Verbs:
    """What a program can ask of Satchel, each on behalf of an agent."""

    find_tool: Callable[[str], Awaitable[Tool]]
    call_tool: CallTool
    read_resource: Callable[[str, str, Caller], Awaitable[Json]]  # server, uri
    get_prompt: Callable[[str, str, Mapping[str, str], Caller], Awaitable[Json]]
    list_servers: Callable[[], Json]
    search_tools: Callable[..., Json]
    semantic_search: Callable[[str, int, str], list[Json]]  # query, limit, agent
    describe_tool: Callable[[str, str], Awaitable[Json]]
    save_skill: Callable[[Caller, Json], Awaitable[Json]] = _no_skills
    promote_skill: Callable[[Caller, str], Awaitable[Json]] = _no_skills


async def execute(
    program: Program,
    *,
    caller: Caller,
    description: str,
    run: Run,
    home: Home,
    verbs: Verbs,
    journal: ExecutionJournal,
    on_call: OnCall = lambda count, tool: None,
) -> Execution:
    """Run a program, and record that it ran and how it ended. `run` is where it runs."""
    if len(program.code) > LONGEST_PROGRAM:
        raise ArgumentError(
            f"the program has {len(program.code):,} characters; at most {LONGEST_PROGRAM:,} are taken",
            hint="read data from a file in the workspace",
        )
    identity = secrets.token_hex(6)
    caller = replace(caller, execution=identity)
    requests = Requests(verbs, caller, save=home.save, on_call=on_call)
    began, clock = time.monotonic(), await home.now()

    async def fail(error: BaseException) -> None:
        with anyio.CancelScope(shield=True):
            await journal.finish_execution(identity, _failure(error, requests.made))

    try:
        await journal.begin_execution(
            id=identity,
            agent=caller.agent,
            language=program.language,
            program=program.code,
            description=description,
        )
    except asyncio.CancelledError as error:  # it may have been recorded
        await fail(error)
        raise
    try:
        outcome = await run(program, requests.answer)
    except JournalError:
        raise
    except BaseException as error:
        await fail(error)
        raise
    execution = _execution(identity, outcome, requests, await home.changed_since(clock), began)
    try:
        with anyio.CancelScope(shield=True):
            await journal.finish_execution(identity, _recorded(execution))
    except JournalError as error:
        # It has happened. Who asked for it must hear how, most of all which calls were made.
        note = f"how it ended could not be recorded: {error.message}"
        return replace(execution, reason=f"{execution.reason}; {note}" if execution.reason else note)
    return execution


def _execution(
    identity: str, outcome: Outcome, requests: "Requests", files: tuple[Json, ...], began: float
) -> Execution:
    truncated = {
        name: count
        for name, count in (
            ("stdout", outcome.stdout.omitted),
            ("stderr", outcome.stderr.omitted),
            ("result", outcome.result_size),
        )
        if count
    }
    return Execution(
        id=identity,
        exit_code=outcome.exit_code,
        stdout=outcome.stdout.text,
        stderr=outcome.stderr.text,
        result=outcome.result,
        has_result=outcome.has_result,
        duration_ms=(time.monotonic() - began) * 1000,
        tools_called=requests.made,
        files=files,
        truncated=truncated,
        ended=outcome.ended,
        reason=outcome.detail,
        session=outcome.session,
    )


def _recorded(execution: Execution) -> Json:
    """The journal has the calls already."""
    return {key: value for key, value in execution.as_json().items() if key != "tools_called"}


def _failure(error: BaseException, made: tuple[ToolUse, ...]) -> Json:
    cancelled = isinstance(error, anyio.get_cancelled_exc_class())
    ended = "cancelled" if cancelled else "failed"
    reason = "its caller gave up" if cancelled else str(error)[:500]
    return {"exit_code": 130 if cancelled else 125, "ended": ended, "reason": reason, "calls": len(made)}


class Requests:
    """Answers what one program asks for. Everything in `params` was written by the program."""

    def __init__(
        self,
        verbs: Verbs,
        caller: Caller,
        *,
        save: Save,
        keep: bool = True,
        on_call: OnCall = lambda count, tool: None,
    ) -> None:
        self._keep = keep  # what was called, for whoever wants to know at the end
        self._verbs = verbs
        self._caller = caller
        self._agent = caller.agent
        self._save = save
        self._on_call = on_call
        self._made: list[ToolUse] = []

    @property
    def made(self) -> tuple[ToolUse, ...]:
        """The calls so far, in the order in which they began."""
        return tuple(self._made)

    @property
    def answer(self) -> Answer:
        return self._answer

    async def _answer(self, method: str, params: Json) -> Any:
        match method:
            case "call_tool":
                return await self._call_tool(params)
            case "list_servers":
                return self._verbs.list_servers()
            case "search_tools":
                return self._search_tools(params)
            case "semantic_search":
                limit = _number(params, "limit", 10)
                return self._verbs.semantic_search(_text(params, "query"), limit, self._agent)
            case "describe_tool":
                return await self._verbs.describe_tool(_text(params, "name"), self._agent)
            case "read_resource":
                server, uri = _text(params, "server"), _text(params, "uri")
                read = self._verbs.read_resource(server, uri, self._caller)
                return await self._noted(f"{server}.resource:{uri}", read)
            case "get_prompt":
                server, name = _text(params, "server"), _text(params, "name")
                arguments = {key: str(value) for key, value in _object(params, "arguments").items()}
                get = self._verbs.get_prompt(server, name, arguments, self._caller)
                return await self._noted(f"{server}.prompt:{name}", get)
            case "save_skill":
                return await self._verbs.save_skill(self._caller, params)
            case "promote_skill":
                return await self._verbs.promote_skill(self._caller, _text(params, "name"))
            case _:
                raise ArgumentError(f"Satchel has no '{method[:40]}' for programs")

    def _search_tools(self, params: Json) -> Json:
        server = params.get("server")
        return self._verbs.search_tools(
            _text(params, "query", "") or _text(params, "keyword", ""),
            server=server if isinstance(server, str) else None,
            detail=_text(params, "detail", "") or _text(params, "detail_level", "desc"),
            limit=_number(params, "limit", 10),
            offset=_number(params, "offset", 0),
            agent=self._agent,
        )

    async def _call_tool(self, params: Json) -> Any:
        name = _text(params, "name", "")
        server, tool = ("", name) if name else (_text(params, "server"), _text(params, "tool"))
        arguments = _object(params, "arguments")
        use = self._use(name or f"{server}.{tool}")
        with use:
            try:
                _check_texts(arguments)
                found = await self._verbs.find_tool(name or f"{server}.{tool}")
                server, tool = found.server, found.name
                use.label = found.qualified_name
                caller = self._caller
                call = Call(
                    tool=found,
                    arguments=arguments,
                    agent=caller.agent,
                    execution=caller.execution,
                    client=caller.client,
                    read_only=caller.read_only,
                    only=caller.only,
                )
                return await self._value(await self._verbs.call_tool(call), server, tool)
            except (NotAllowedError, ToolError):
                raise
            except SatchelError as error:
                raise _as_tool_error(server, tool, error) from error
            except OSError as error:
                raise ToolError(
                    server, tool, f"its result could not be kept in the workspace: {error}", kind="request"
                ) from error

    async def _noted(self, label: str, work: Awaitable[Any]) -> Any:
        with self._use(label):
            return await work

    def _use(self, label: str) -> "_Use":
        return _Use(self._made if self._keep else [], label, self._on_call)

    async def _value(self, result: CallResult, server: str, tool: str) -> Any:
        if result.is_error:
            message = result.text.strip() or "the tool reported an error without a text"
            raise ToolError(server, tool, message, kind="tool")
        return await value_of(result, self._save)


class _Use:
    """One call among those that are made: `cancelled` until it has ended in another way."""

    def __init__(self, made: list[ToolUse], label: str, on_call: OnCall) -> None:
        self.label = label
        self._on_call = on_call
        self._made = made
        self._place = len(made)
        self._began = time.monotonic()
        made.append(ToolUse(tool=label[:_LONGEST_LABEL], status="cancelled", ms=0))

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        status: Literal["ok", "error", "denied", "refused", "cancelled"] = "error"
        if error is None:
            status = "ok"
        elif isinstance(error, NotAllowedError):
            status = "denied"
        elif isinstance(error, ToolError) and error.kind in _NEVER_SENT:
            status = "refused"
        elif isinstance(error, anyio.get_cancelled_exc_class()):
            status = "cancelled"
        text = error.reason if isinstance(error, ToolError) else str(error) if error is not None else ""
        # A thousand long errors would be more than anyone wants to be told.
        most = _LONGEST_ERROR if self._place < _TOLD_IN_FULL else _LONGEST_ERROR // 10
        self._made[self._place] = ToolUse(
            tool=self.label[:_LONGEST_LABEL],
            status=status,
            ms=(time.monotonic() - self._began) * 1000,
            error=text[:most] or None,
        )
        self._on_call(len(self._made), self.label[:_LONGEST_LABEL])


def _check_texts(arguments: Json) -> None:
    """Refuse what is no Unicode: no server could be sent it."""
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"an argument has text that is not valid Unicode: {error.reason}") from None


def _as_tool_error(server: str, tool: str, error: SatchelError) -> ToolError:
    """Every failure of a call is a ToolError inside a program, told apart by its kind."""
    kind = "request"
    message = error.message
    if isinstance(error, ArgumentError):
        kind = "arguments"
    elif isinstance(error, NotFoundError):
        kind = "not_found"
    elif isinstance(error, ServerError):
        kind = "server"
        message = error.reason
    hint = f"; {error.hint}" if error.hint else ""
    return ToolError(server, tool, message + hint, kind=kind)


def _text(params: Json, key: str, default: str | None = None) -> str:
    value = params.get(key, default)
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise ArgumentError(f"'{key}' must be a text of at most {_LONGEST_TEXT:,} characters", argument=key)
    return value


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

"""An MCP server over stdio, made with the SDK, that asks its client, and has results of every kind.

    python asking.py [key=value …]

    era=legacy     `server/discover` is not known, as in 2025
    era=modern     2026-07-28 only; `initialize` is refused (default: both eras)
    log=PATH       one line is appended per event: `start`, methods, `tools/call NAME`, `cancelled NAME`
    name=…         what the server calls itself, and what its resource and its prompt say

What it asks goes out as a request in the handshake era, and as an input request in 2026-07-28.
"""

import os
import sys
import uuid
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Json = dict[str, Any]
Reply = types.CallToolResult | types.InputRequiredResult

OPTIONS = dict(argument.split("=", 1) for argument in sys.argv[1:])
NAME = OPTIONS.get("name", "asking")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
BLOB = "AAEC/w=="
WAIT = 120  # seconds after which whatever waits here gives up

warnings.simplefilter("ignore", MCPDeprecationWarning)  # sampling and logging are what is tested


def log(line: str) -> None:
    if path := OPTIONS.get("log"):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, f"{line}\n".encode())
        os.close(descriptor)


async def journal(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Note what comes, and refuse the handshake where it is to be."""
    if OPTIONS.get("era") == "modern" and ctx.method == "initialize":
        raise MCPError(
            types.UNSUPPORTED_PROTOCOL_VERSION,
            "Unsupported protocol version",
            {"supported": list(MODERN_PROTOCOL_VERSIONS), "requested": "2025-11-25"},
        )
    name = str((ctx.params or {}).get("name", ""))
    if not ctx.method.startswith("notifications/"):
        log(f"{ctx.method} {name}".strip())
    try:
        return await call_next(ctx)
    except anyio.get_cancelled_exc_class():
        log(f"cancelled {name}".strip())
        raise


server = MCPServer(
    NAME,
    version="1.0",
    instructions=f"{NAME} asks.",
    middleware=[journal],
    log_level="CRITICAL",
)


# What the client is asked


def form(question: str) -> types.ElicitRequest:
    schema: Json = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=question, requested_schema=schema)
    )


def visit_of(question: str, url: str, *, is_modern: bool) -> types.ElicitRequest:
    """The identity of the visit is of the older era only."""
    more: Json = {} if is_modern else {"elicitation_id": uuid.uuid4().hex}
    return types.ElicitRequest(params=types.ElicitRequestURLParams(message=question, url=url, **more))


def sampling(prompt: str) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    )


def is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


async def answers(
    context: Context, **requests: types.ElicitRequest | types.CreateMessageRequest
) -> Mapping[str, Any] | types.InputRequiredResult:
    """What the client says to each request; all are asked at once."""
    if is_modern(context):
        given = context.input_responses or {}
        if requests.keys() <= given.keys():
            return given
        return types.InputRequiredResult(input_requests=dict(requests), request_state="asked")
    found: dict[str, Any] = {}
    failed: list[MCPError] = []
    related = ServerMessageMetadata(related_request_id=context.request_id)

    async def ask(key: str, request: types.ElicitRequest | types.CreateMessageRequest) -> None:
        is_form = isinstance(request, types.ElicitRequest)
        kind: Any = types.ElicitResult if is_form else types.CreateMessageResult
        try:
            found[key] = await context.session.send_request(request, kind, metadata=related)
        except MCPError as error:
            failed.append(error)

    async with anyio.create_task_group() as tasks:
        for key, request in requests.items():
            tasks.start_soon(ask, key, request)
    if failed:
        raise ToolError(f"the client said: {failed[0].message}")
    return found


def told(answer: Any) -> str:
    match answer:
        case types.ElicitResult():
            return f"{answer.action} {(answer.content or {}).get('answer', '')}".strip()
        case types.CreateMessageResult(content=types.TextContent(text=text)):
            return f"{answer.model}: {text}"
        case _:
            return str(answer)


def text(value: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=value)])


def reply(given: Mapping[str, Any] | types.InputRequiredResult) -> Reply:
    if isinstance(given, types.InputRequiredResult):
        return given
    return text(", ".join(told(given[key]) for key in sorted(given)))


@server.tool()
async def ask(context: Context, question: str) -> Reply:
    """Ask the user with a form."""
    return reply(await answers(context, answer=form(question)))


@server.tool()
async def ask_both(context: Context, first: str, second: str, seconds: float = 0) -> Reply:
    """Ask the user two things at once, then take some seconds."""
    given = await answers(context, first=form(first), second=form(second))
    if not isinstance(given, types.InputRequiredResult):
        await anyio.sleep(seconds)
    return reply(given)


@server.tool()
async def ask_late(context: Context, question: str, began: str, go: str) -> Reply:
    """Write the file `began`, wait for the file `go`, whether cancelled or not, then ask."""
    given: Mapping[str, Any] | types.InputRequiredResult = {}
    with anyio.CancelScope(shield=True):
        Path(began).touch()
        with anyio.fail_after(WAIT):
            while not Path(go).exists():  # noqa: ASYNC110  another process makes it
                await anyio.sleep(0.01)
        try:
            with anyio.fail_after(WAIT):
                given = await answers(context, answer=form(question))
        except Exception as error:
            log(f"late question failed: {error}")
            raise
        log(f"late answer: {given}")
    return reply(given)


@server.tool()
async def visit(context: Context, question: str, url: str) -> Reply:
    """Ask the user to visit a page."""
    return reply(await answers(context, answer=visit_of(question, url, is_modern=is_modern(context))))


@server.tool()
async def consult(context: Context, prompt: str) -> Reply:
    """Ask the client's model."""
    return reply(await answers(context, answer=sampling(prompt)))


@server.tool()
async def pause_and_ask(context: Context, question: str, seconds: float) -> Reply:
    """Ask the user, then take some seconds."""
    given = await answers(context, answer=form(question))
    if not isinstance(given, types.InputRequiredResult):
        await anyio.sleep(seconds)
    return reply(given)


# What the client is told meanwhile


@server.tool()
async def steps(context: Context, count: int) -> str:
    """Report progress, each step well before the next and before the result, which may overtake it."""
    for step in range(1, count + 1):
        await context.report_progress(step, count, f"step {step}")
        await anyio.sleep(0.05)
    return f"{count} steps"


@server.tool()
async def say(context: Context, line: str) -> str:
    """Log a line."""
    await context.info(line)  # pyright: ignore[reportDeprecated]
    return "said"


@server.tool()
async def wait(seconds: float = WAIT) -> str:
    """Answer after a long time."""
    log("waiting")
    await anyio.sleep(seconds)
    return "waited"


# Results of every kind


@server.tool(
    title="Everything at once",
    annotations=types.ToolAnnotations(title="Everything", read_only_hint=True, open_world_hint=False),
    meta={"example.com/colour": "green"},
)
def mixed() -> types.CallToolResult:
    """Return a block of every kind, and more besides."""
    return types.CallToolResult(
        content=[
            types.TextContent(text="mixed", annotations=types.Annotations(audience=["user"], priority=0.5)),
            types.ImageContent(data=PIXEL, mime_type="image/png"),
            types.AudioContent(data=BLOB, mime_type="audio/wav"),
            types.EmbeddedResource(
                resource=types.TextResourceContents(
                    uri="memo://text", mime_type="text/plain", text="embedded"
                )
            ),
            types.EmbeddedResource(resource=types.BlobResourceContents(uri="memo://blob", blob=BLOB)),
            types.ResourceLink(uri="memo://link", name="link", mime_type="text/plain", size=3),
        ],
        _meta={"example.com/trace": {"id": 7}},
    )


@server.tool()
def record() -> dict[str, int]:
    """Return an object."""
    return {"one": 1}


@server.tool()
def numbers() -> types.CallToolResult:
    """Return a list, in the era that has structured content of any kind."""
    value: Any = [1, 2, 3]
    content: list[types.ContentBlock] = [types.TextContent(text="[1, 2, 3]")]
    if OPTIONS.get("era") == "modern":
        return types.CallToolResult(content=content, structured_content=value)
    return types.CallToolResult(content=content, structured_content={"result": value})


@server.tool()
def fail(message: str) -> str:
    """Report an error."""
    raise ToolError(message)


@server.tool()
def refuse(code: int, message: str) -> str:
    """Answer with an error of the protocol."""
    raise MCPError(code, message, {"why": "asked for"})


# What is no tool


@server.resource("memo://shared", name="shared", mime_type="text/plain")
def shared() -> str:
    """The same address on every server of this kind."""
    return f"shared by {NAME}"


@server.resource(f"memo://{NAME}/own", name="own", mime_type="text/plain")
def own() -> str:
    """An address that only this server has."""
    return f"own of {NAME}"


@server.resource(f"{NAME}://note/{{number}}", name="note", mime_type="text/plain")
def note(number: str) -> str:
    """A note."""
    return f"note {number} of {NAME}"


@server.prompt(title="A greeting")
def greet(who: str, tone: str = "friendly") -> str:
    """Greet somebody."""
    return f"{NAME}: greet {who} in a {tone} tone."


@server.completion()
async def complete(
    ref: types.PromptReference | types.ResourceTemplateReference,
    argument: types.CompletionArgument,
    context: types.CompletionContext | None,
) -> types.Completion | None:
    known = ["friendly", "formal"] if isinstance(ref, types.PromptReference) else ["1", "12"]
    if context is not None and context.arguments:
        known = [f"{value} to {context.arguments.get('who')}" for value in known]
    return types.Completion(values=[value for value in known if value.startswith(argument.value)])


# An era of its own: the SDK's server takes both, and the first request decides


async def serve() -> None:
    sending, receiving = anyio.create_memory_object_stream[SessionMessage | Exception]()
    lowlevel = server._lowlevel_server
    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        tasks.start_soon(forward, read, sending, write)
        await lowlevel.run(receiving, write, lowlevel.create_initialization_options())
        tasks.cancel_scope.cancel()


async def forward(read: Any, sending: Any, write: Any) -> None:
    """Everything; but a server of 2025 has not heard of `server/discover`."""
    async with sending:
        async for message in read:
            match message:
                case SessionMessage(message=types.JSONRPCRequest(method="server/discover", id=number)) if (
                    OPTIONS.get("era") == "legacy"
                ):
                    error = types.ErrorData(code=types.METHOD_NOT_FOUND, message="Method not found")
                    refusal = types.JSONRPCError(jsonrpc="2.0", id=number, error=error)
                    await write.send(SessionMessage(refusal))
                case _:
                    await sending.send(message)


if __name__ == "__main__":
    log("start")
    anyio.run(serve)

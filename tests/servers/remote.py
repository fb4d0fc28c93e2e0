"""An MCP server over streamable HTTP or SSE, made with the SDK.

    python remote.py http|sse [key=value …]

It listens on 127.0.0.1, prints `PORT n`, and ends when its stdin does.

    log=PATH       one line is appended per method, `tools/call NAME ID`, `cancelled ID`, as raw.py does
    era=legacy     requests of 2026-07-28 are refused with 400, as servers of 2025 do; only over http
    era=modern     requests of the handshake era are refused; only over http (default: both eras)
    token=…        401 without `Authorization: Bearer …`
    elsewhere=…    this status for every path that is not the server's
    status=N       each request is answered with that status and nothing else
    json=1         answers are JSON, not event streams
    stateless=1    no sessions in the handshake era
    port=N         default: a free one
    broken=1       in all that it says, `(half)` is half a surrogate pair, and "(deep)" 300 levels of lists;
                   it comes in pieces of three bytes
    name=… server_version=… instructions=…    what the server says of itself

Tools: echo, add, sleep, big, progress, fail, headers (what was received), region (its argument is mirrored
in the header `Mcp-Param-Region`). Resource: memo://text.
"""

import os
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Options = dict[str, str]

MODERN = "2026-07-28"


def parse(arguments: list[str]) -> Options:
    return dict(argument.split("=", 1) for argument in arguments)


def log(options: Options, line: str) -> None:
    if path := options.get("log"):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, f"{line}\n".encode())
        os.close(descriptor)


def mcp_server(options: Options) -> MCPServer:
    async def journal(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method == "tools/call":
            log(options, f"tools/call {(ctx.params or {}).get('name')} {ctx.request_id}")
        elif ctx.method != "notifications/cancelled":  # only one era sends it; the exception tells of both
            log(options, ctx.method)
        try:
            return await call_next(ctx)
        except anyio.get_cancelled_exc_class():
            log(options, f"cancelled {ctx.request_id}")
            raise

    server = MCPServer(
        options.get("name", "remote"),
        version=options.get("server_version", "1.0"),
        instructions=options.get("instructions"),
        middleware=[journal],
        log_level="CRITICAL",
    )

    @server.tool()
    def echo(text: str) -> str:
        """Return the text."""
        return text

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    async def sleep(seconds: float) -> str:
        """Answer after some seconds."""
        await anyio.sleep(seconds)
        return f"slept {seconds:g} s"

    @server.tool()
    def big(bytes: int) -> str:
        """Return much text."""
        return "x" * bytes

    @server.tool()
    async def progress(context: Context, steps: int, seconds: float = 0) -> str:
        """Report progress in steps, some seconds apart."""
        for step in range(1, steps + 1):
            await anyio.sleep(seconds)
            await context.report_progress(step, steps, f"step {step}")
        return f"{steps} steps"

    @server.tool()
    def fail(message: str) -> str:
        """Fail with the message."""
        raise ToolError(message)

    @server.tool()
    def headers(context: Context) -> dict[str, str]:
        """Return the headers of the request."""
        return dict(context.headers or {})

    @server.tool()
    def region(
        context: Context, region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]
    ) -> dict[str, str | None]:
        """Return the argument and the header that mirrors it."""
        return {"argument": region, "header": (context.headers or {}).get("mcp-param-region")}

    @server.resource("memo://text", name="text", mime_type="text/plain")
    def memo() -> str:
        """A text."""
        return "a text"

    return server


def refusal(options: Options, request: HTTPConnection) -> Response | None:
    """The answer to a request that doesn't get as far as the MCP server."""
    headers = request.headers
    if status := options.get("status"):
        return PlainTextResponse("refused", int(status))
    if (status := options.get("elsewhere")) and request.url.path not in ("/mcp", "/sse"):
        return PlainTextResponse("nothing here", int(status))
    token = options.get("token")
    if token is not None and headers.get("authorization") != f"Bearer {token}":
        return PlainTextResponse("unauthorized", 401, {"WWW-Authenticate": "Bearer"})
    is_modern = headers.get("mcp-protocol-version") == MODERN
    if options.get("era") == ("legacy" if is_modern else "modern"):
        error = {"code": -32600, "message": "Bad Request: Unsupported protocol version"}
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)
    return None


def guarded(app: ASGIApp, refuse: Callable[[HTTPConnection], Response | None]) -> ASGIApp:
    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        answer = refuse(HTTPConnection(scope)) if scope["type"] == "http" else None
        await (answer or app)(scope, receive, send)

    return guard


def broken(app: ASGIApp) -> ASGIApp:
    """What no SDK would say. The escape is as long as the word, so that an announced length stays right."""

    async def spoil(scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(message: Message) -> None:
            body: bytes = message.get("body", b"")
            body = body.replace(b"(half)", rb"\ud800").replace(b'"(deep)"', b"[" * 300 + b"]" * 300)
            for start in range(0, len(body), 3):
                await send({**message, "body": body[start : start + 3], "more_body": True})
            await send({**message, "body": b""} if body else message)

        await app(scope, receive, answer)

    return spoil


def listen(port: int = 0) -> socket.socket:
    """A socket that clients can connect to; they wait until it is served."""
    return socket.create_server(("127.0.0.1", port))


def port_of(listener: socket.socket) -> int:
    return listener.getsockname()[1]


def serve(*listeners: tuple[socket.socket, ASGIApp]) -> None:
    """Serve each app on its socket, and print the port of the first."""

    def end_with_stdin() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for listener, app in listeners:
                config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
                group.start_soon(uvicorn.Server(config).serve, [listener])

    threading.Thread(target=end_with_stdin, daemon=True).start()
    print("PORT", port_of(listeners[0][0]), flush=True)
    anyio.run(run)


def main() -> None:
    transport, *arguments = sys.argv[1:]
    options = parse(arguments)
    server = mcp_server(options)
    if transport == "sse":
        app = server.sse_app()
    else:
        app = server.streamable_http_app(
            json_response="json" in options, stateless_http="stateless" in options
        )
    if "broken" in options:
        app = broken(app)
    serve((listen(int(options.get("port", 0))), guarded(app, partial(refusal, options))))


if __name__ == "__main__":
    main()

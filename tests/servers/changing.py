"""An MCP server over stdio with a resource, counter://value, that the tool `count` changes.

python changing.py [handshake] [silent] [log=PATH]

`handshake`: it knows the era before 2026 only. `silent`: it does not answer who wants to subscribe.

It tells those who have subscribed. The tool `exit` ends it. Subscriptions and their ends are logged.
"""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

Context = ServerRequestContext[Any, Any]
URI = "counter://value"
BUS = InMemorySubscriptionBus()
LOG = next((argument.removeprefix("log=") for argument in sys.argv if argument.startswith("log=")), None)
subscribed: dict[str, Any] = {}
value = 0


def log(line: str) -> None:
    if LOG is not None:
        with Path(LOG).open("a") as file:
            file.write(f"{line}\n")


async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in ("count", "exit")]
    return types.ListToolsResult(tools=tools)


async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    global value
    if params.name == "exit":
        os._exit(0)
    value += 1
    await BUS.publish(ResourceUpdated(uri=URI))
    for uri, session in subscribed.items():
        await session.send_resource_updated(uri)
    return types.CallToolResult(content=[types.TextContent(text=str(value))])


async def list_resources(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(uri=URI, name="value")])


async def read_resource(
    context: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=URI, text=str(value))])


async def subscribe(context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    if params.uri != URI:
        raise MCPError(types.INVALID_PARAMS, "Resource not found")
    log(f"subscribe {params.uri}")
    if "silent" in sys.argv:
        await anyio.sleep_forever()
    subscribed[params.uri] = context.session
    return types.EmptyResult()


async def unsubscribe(context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    log(f"unsubscribe {params.uri}")
    subscribed.pop(params.uri, None)
    return types.EmptyResult()


async def listen(
    context: Context, params: types.SubscriptionsListenRequestParams
) -> types.SubscriptionsListenResult:
    followed = params.notifications.resource_subscriptions or []
    for uri in followed:
        log(f"subscribe {uri}")
    try:
        return await ListenHandler(BUS)(context, params)
    finally:
        for uri in followed:
            log(f"unsubscribe {uri}")


async def know_handshakes_only(ctx: Context, call_next: CallNext) -> HandlerResult:
    if ctx.method == "server/discover":
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
    return await call_next(ctx)


async def main() -> None:
    server: Server[Any] = Server(
        "changing",
        version="1.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_subscriptions_listen=listen,
    )
    if "handshake" in sys.argv:
        server.middleware.append(know_handshakes_only)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)

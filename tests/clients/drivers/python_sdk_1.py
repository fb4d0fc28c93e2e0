# type: ignore  (it runs in an environment of its own, with packages that are not in this one)
"""The client of the MCP SDK 1.x, as most programs in Python have it."""

import asyncio
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from story import cancelled, read_story, refused, report, tell


@asynccontextmanager
async def connected(story):
    if "url" in story:
        headers = {"Authorization": f"Bearer {story['token']}"}
        async with streamablehttp_client(story["url"], headers=headers) as (reading, writing, _):
            yield reading, writing
    else:
        command, *arguments = story["command"]
        server = StdioServerParameters(command=command, args=arguments, env=story["env"])
        async with stdio_client(server) as (reading, writing):
            yield reading, writing


async def main() -> None:
    story = read_story()
    async with connected(story) as (reading, writing), ClientSession(reading, writing) as session:
        version = (await session.initialize()).protocolVersion

        async def call(name, arguments):
            answer = await session.call_tool(name, arguments)
            text = "\n".join(block.text for block in answer.content if block.type == "text")
            return {"is_error": answer.isError, "structured": answer.structuredContent, "text": text}

        async def cancel(running):
            request = session._request_id - 1  # it has no way to cancel but to name the request
            params = types.CancelledNotificationParams(requestId=request, reason="no longer wanted")
            notification = types.CancelledNotification(params=params)
            await session.send_notification(types.ClientNotification(notification))
            running.cancel()

        told = await tell(story, [tool.name for tool in (await session.list_tools()).tools], call)
        told |= {"version": version, "unknown": await refused(call)}
        told |= {"cancelled": await cancelled(story, call, cancel), "after": await call("list_servers", {})}
    report(told)


asyncio.run(main())

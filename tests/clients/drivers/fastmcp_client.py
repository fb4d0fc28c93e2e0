# type: ignore  (it runs in an environment of its own, with packages that are not in this one)
"""FastMCP's client."""

import asyncio

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from story import cancelled, read_story, refused, report, tell


def transport(story):
    if "url" in story:
        return StreamableHttpTransport(story["url"], auth=story["token"])
    command, *arguments = story["command"]
    return StdioTransport(command, arguments, env=story["env"], keep_alive=False)


async def main() -> None:
    story = read_story()
    async with Client(transport(story)) as client:

        async def call(name, arguments):
            answer = await client.call_tool(name, arguments, raise_on_error=False)
            text = "\n".join(block.text for block in answer.content if block.type == "text")
            return {"is_error": answer.is_error, "structured": answer.structured_content, "text": text}

        async def cancel(running):
            running.cancel()

        told = await tell(story, [tool.name for tool in await client.list_tools()], call)
        told |= {"version": client.protocol_version, "unknown": await refused(call)}
        told |= {"cancelled": await cancelled(story, call, cancel), "after": await call("list_servers", {})}
    report(told)


asyncio.run(main())

# type: ignore  (it runs in an environment of its own, with packages that are not in this one)
"""LangChain's adapters. A call is cancelled by ending its connection; they know no other way."""

import asyncio

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from story import cancelled, read_story, report, tell


def connection(story):
    if "url" in story:
        headers = {"Authorization": f"Bearer {story['token']}"}
        return {"transport": "streamable_http", "url": story["url"], "headers": headers}
    command, *arguments = story["command"]
    return {"transport": "stdio", "command": command, "args": arguments, "env": story["env"]}


def calling(tools):
    tools = {tool.name: tool for tool in tools}

    async def call(name, arguments):
        message = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
        structured = message.artifact["structured_content"] if message.artifact else None
        return {"is_error": message.status == "error", "structured": structured, "text": message.text}

    return call


async def cancel(running):
    running.cancel()
    await asyncio.wait([running])


async def main() -> None:
    story = read_story()
    client = MultiServerMCPClient({"satchel": connection(story)})

    async def call_once(name, arguments):
        async with client.session("satchel") as session:
            return await calling(await load_mcp_tools(session))(name, arguments)

    async with client.session("satchel") as session:
        tools = await load_mcp_tools(session)
        told = await tell(story, [tool.name for tool in tools], calling(tools))
    report(told | {"cancelled": await cancelled(story, call_once, cancel)})


asyncio.run(main())

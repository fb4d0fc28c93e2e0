"""An MCP server as most people write one with the SDK: it speaks both eras, and asks by `Context.elicit`.

The SDK can do that in the era of handshakes only.
"""

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

server = MCPServer("sdk-asking", log_level="CRITICAL")


class Answer(BaseModel):
    answer: str


@server.tool()
async def ask(context: Context, question: str) -> str:
    """Ask a person."""
    said = await context.elicit(question, Answer)
    return f"accept {said.data.answer}" if said.action == "accept" else said.action


if __name__ == "__main__":
    server.run()

"""What an MCP client calls itself. Nothing vouches for that."""

from typing import Any

from mcp.server.context import ServerRequestContext

from satchel.model import is_object


def client_name(context: ServerRequestContext[Any, Any]) -> str:
    """The name that a client reports, in every request or at the beginning."""
    client = context.session.client_params
    if client is not None:
        return client.client_info.name
    given = (context.params or {}).get("clientInfo")
    return str(given.get("name")) if is_object(given) else ""

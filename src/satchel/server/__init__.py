"""Satchel as an MCP server: the few tools that a client's model is shown, and what they answer."""

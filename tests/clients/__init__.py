"""Clients that nobody here wrote, before Satchel as an MCP server."""

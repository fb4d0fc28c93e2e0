"""Connections to MCP servers: opened when needed, watched, stopped. The only stage that knows the MCP SDK."""

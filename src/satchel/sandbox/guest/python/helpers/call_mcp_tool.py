"""`call_mcp_tool("server__tool", {…})`: a call without a wrapper. Programs have it without an import, too."""

from satchel_runtime import call_mcp_tool

__all__ = ["call_mcp_tool"]

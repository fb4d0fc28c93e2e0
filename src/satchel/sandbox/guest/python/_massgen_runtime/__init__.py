"""The runtime by the name that it has in MassGen, so that programs and tool files written for it run here.

Programs of your own import `satchel_runtime`. docs/programs.md says what differs.
"""

from satchel_runtime import call_custom_tool, call_mcp_tool, save_skill, semantic_search

__all__ = ["call_custom_tool", "call_mcp_tool", "save_skill", "semantic_search"]

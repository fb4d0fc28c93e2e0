"""Finds the MCP servers that people already have in other clients' files, for `satchel init`.

It reads and reports; it writes, starts and expands nothing. Values are carried over as written, secrets
included, and no note or reason repeats one.
"""

from satchel.config.importers.model import Found, Plan, Unreadable
from satchel.config.importers.plan import plan_import
from satchel.config.importers.reading import find_servers

__all__ = ["Found", "Plan", "Unreadable", "find_servers", "plan_import"]

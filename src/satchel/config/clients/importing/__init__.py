"""Finds the MCP servers that people already have in other clients' files, for `satchel init`.

It reads and reports; it writes, starts and expands nothing. Values are carried over as written, secrets
included, and no note or reason repeats one.
"""

from satchel.config.clients.importing.clients import CLIENTS, Client, Source, preferred_source
from satchel.config.clients.importing.model import Found, Plan, Unreadable
from satchel.config.clients.importing.plan import is_satchel, plan_import
from satchel.config.clients.importing.reading import find_servers, servers_of

__all__ = [
    "CLIENTS",
    "Client",
    "Found",
    "Plan",
    "Source",
    "Unreadable",
    "find_servers",
    "is_satchel",
    "plan_import",
    "preferred_source",
    "servers_of",
]

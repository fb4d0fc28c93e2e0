"""Satchel: the tools of all your MCP servers, at hand and in order.

from satchel import open_satchel

async with open_satchel() as satchel:
    result = await satchel.call("google-drive.get_document", {"document_id": "…"})
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from satchel.version import __version__

if TYPE_CHECKING:
    from satchel.app import Satchel, open_satchel
    from satchel.commands import load_commands
    from satchel.lead_agent import make_lead_agent
    from satchel.plugins import load_plugins
    from satchel.skills import load_skills

__all__ = [
    "Satchel",
    "__version__",
    "load_commands",
    "load_plugins",
    "load_skills",
    "make_lead_agent",
    "open_satchel",
]

_LOADERS = {
    "load_commands": "commands",
    "load_plugins": "plugins",
    "load_skills": "skills",
    "make_lead_agent": "lead_agent",
}


def __getattr__(name: str) -> Any:
    if name in ("Satchel", "open_satchel"):
        from satchel import app  # lazy, so that the command line pays only for what a command uses

        return getattr(app, name)
    if name in _LOADERS:
        return getattr(import_module(f"satchel.{_LOADERS[name]}"), name)  # lazy, for the same reason
    raise AttributeError(f"module 'satchel' has no attribute '{name}'")

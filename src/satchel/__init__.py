"""Satchel: the tools of all your MCP servers, at hand and in order.

from satchel import open_satchel

async with open_satchel() as satchel:
    result = await satchel.call("google-drive.get_document", {"document_id": "…"})
"""

from typing import TYPE_CHECKING, Any

from satchel.version import __version__

if TYPE_CHECKING:
    from satchel.app import Satchel, open_satchel
    from satchel.skills import load_skills

__all__ = ["Satchel", "__version__", "load_skills", "open_satchel"]


def __getattr__(name: str) -> Any:
    if name in ("Satchel", "open_satchel"):
        from satchel import app  # lazy, so that the command line pays only for what a command uses

        return getattr(app, name)
    if name == "load_skills":
        from satchel.skills import load_skills  # lazy, for the same reason

        return load_skills
    raise AttributeError(f"module 'satchel' has no attribute '{name}'")

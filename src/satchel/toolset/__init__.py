"""What a model is offered, and what it gets for a call: the same for every surface."""

from satchel.toolset.toolset import PATIENCE, ActiveSkill, Toolset, still_listing

__all__ = ["PATIENCE", "ActiveSkill", "Toolset", "still_listing"]

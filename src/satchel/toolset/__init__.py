"""The tools that a model is offered, and the answers to its calls: the same for every surface."""

from satchel.toolset.active import ActiveSkill
from satchel.toolset.offer import PATIENCE
from satchel.toolset.own_tools import still_listing
from satchel.toolset.toolset import Toolset

__all__ = ["PATIENCE", "ActiveSkill", "Toolset", "still_listing"]

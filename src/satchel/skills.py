"""Skills from Python: `load_skills()` is what `satchel skills list` shows."""

from satchel.model import Skill
from satchel.verbs.skill_library import load_skills

__all__ = ["Skill", "load_skills"]

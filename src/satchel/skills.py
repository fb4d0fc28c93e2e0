"""Skills from Python: `load_skills()` is what `satchel skills list` shows."""

from satchel.model import Skill
from satchel.verbs.skill_library import get_skills_root_path, load_skills, parse_skill_file

__all__ = ["Skill", "get_skills_root_path", "load_skills", "parse_skill_file"]

"""Skills from Python: `load_skills()` is what `satchel skills list` shows."""

from dataclasses import replace
from pathlib import Path

from satchel.config import find_paths
from satchel.config.settings import SkillsSettings, read_settings
from satchel.library.skills.files import BASE
from satchel.library.skills.finding import find_skills, skills_of
from satchel.library.sources import sources_in
from satchel.library.state import read_states, with_state
from satchel.model import Skill

__all__ = ["Skill", "load_skills"]


def load_skills(
    skills_path: str | Path | None = None, use_config: bool = True, enabled_only: bool = False
) -> list[Skill]:
    """All skills, sorted by name; one that can't be used is among them, with its `error`.

    Without `skills_path`, they are those of the project, of the user, and of `skills.include`; with it, those
    of that folder alone. Without `use_config`, no configuration is read: the path is `skills`, and what is
    enabled is what is so by default.
    """
    if not use_config:
        found = find_skills(sources_in(_root(skills_path or SkillsSettings().path)))
    else:
        paths = find_paths()
        settings = read_settings(paths.settings_file).skills
        if skills_path is None:
            found = skills_of(paths, settings)
        else:
            states = read_states(paths.extensions_file)
            found = with_state(find_skills(sources_in(_root(skills_path))), states)
        if settings.container_path != BASE:
            found = [replace(skill, base=settings.container_path) for skill in found]
    return [skill for skill in found if skill.enabled or not enabled_only]


def _root(path: str | Path) -> Path:
    return Path(path).expanduser()

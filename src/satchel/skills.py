"""Skills from Python: `load_skills()` is what `satchel skills list` shows."""

from dataclasses import replace
from pathlib import Path

from satchel.config import find_paths
from satchel.config.settings import SkillsSettings, read_settings
from satchel.library.skills.files import BASE
from satchel.library.skills.finding import Source, cache_of, find_skills, skill_sources, with_state
from satchel.library.state import read_states
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
    if use_config:
        paths = find_paths()
        settings = read_settings(paths.settings_file).skills
        states = read_states(paths.extensions_file)
        sources = skill_sources(paths, settings) if skills_path is None else _sources(skills_path)
        cache = cache_of(paths) if skills_path is None else None
        found = with_state(find_skills(sources, cache), states)
        if settings.container_path != BASE:
            found = [replace(skill, base=settings.container_path) for skill in found]
    else:
        found = with_state(find_skills(_sources(skills_path or SkillsSettings().path)), {})
    return [skill for skill in found if skill.enabled or not enabled_only]


def _sources(path: str | Path) -> list[Source]:
    return [Source(root=Path(path).expanduser())]

"""Skills that are saved in a project, for tests."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from satchel.config import Paths, find_paths
from satchel.config.settings import SkillsSettings
from satchel.library.saved.community import By, Community, promote
from satchel.library.saved.modules import Modules
from satchel.library.saved.saved import SavedSkill, find_saved
from satchel.library.saved.saving import NewSkill, save_skill
from satchel.library.sources import Source, importable, saved_root, sources

CODE = "async def create_report(year=2026):\n    return year\n"
NEW = NewSkill(name="create-report", code=CODE, description="Makes a report.", agent="default")


def paths_of(project: Path) -> Paths:
    project.mkdir()
    (project / "extensions_config.json").write_text("{}")
    paths = find_paths(config=project, environment={"HOME": str(project.parent / "home")})
    paths.prepare_state()
    return paths


def sources_of(paths: Paths, agent: str | None = "default") -> tuple[Source, ...]:
    return sources(paths, SkillsSettings(), agent)


def find(paths: Paths, name: str, agent: str) -> SavedSkill:
    return find_saved(sources_of(paths, agent), name, agent)


def give(paths: Paths, saved: SavedSkill, *, by: By = "person", force: bool = False) -> Path:
    return promote(Community(paths=paths, settings=SkillsSettings()), saved, by=by, force=force)


def nothing(name: str) -> None:
    return None


def save(paths: Paths, new: NewSkill = NEW, **changes: Any) -> Path:
    given = replace(new, **changes)
    saved = save_skill(paths, given, nothing)
    return saved_root(paths) / given.agent / saved["name"]


def modules_of(paths: Paths, agent: str = "default", language: Any = "python") -> Any:
    folder = paths.state / "agents" / agent / "skills"
    found = importable(sources_of(paths, agent))
    place = Modules(paths.extensions_file).update(folder, language, found)
    return {path.name: path.read_text() for path in place.glob("*.*") if path.name != "__init__.py"}

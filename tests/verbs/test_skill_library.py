"""The skills of a project as people keep them, from Python."""

import json
from pathlib import Path

import pytest

import satchel
from satchel.config import find_paths
from satchel.config.settings import SkillsSettings
from satchel.errors import ArgumentError, ConflictError, NotFoundError
from satchel.skills import get_skills_root_path, load_skills, parse_skill_file
from satchel.verbs.skill_library import Finding, SkillLibrary, pack_skill
from tests.library.skill_files import make_skill


@pytest.fixture
def library(tmp_path: Path) -> SkillLibrary:
    project = tmp_path / "project"
    for place in ("public/pdf", "custom/word", "writer/theirs"):
        make_skill(project / "skills" / place)
    (project / "satchel.yaml").write_text("agents: {default: {}, writer: {}}\n")
    paths = find_paths(config=project, environment={"HOME": str(tmp_path / "home")})
    return SkillLibrary(paths=paths, settings=SkillsSettings())


def identities(library: SkillLibrary, agent: str | None = None, *, enabled_only: bool = False) -> list[str]:
    return [skill.identity for skill in library.skills(agent, enabled_only=enabled_only)]


def test_skills_are_listed_for_a_person_or_as_an_agent_sees_them(library: SkillLibrary) -> None:
    assert identities(library) == ["public:pdf", "writer:theirs", "custom:word"]
    assert identities(library, enabled_only=True) == ["public:pdf", "custom:word"]
    assert identities(library, "default") == ["public:pdf", "custom:word"]
    assert [skill.name for skill in library.skills(category="custom")] == ["word"]
    for wrong in (lambda: library.skills("nobody"), lambda: library.skills(category="costum")):
        with pytest.raises(NotFoundError):
            wrong()
    assert {"pdf", "public:pdf"} <= set(library.names())


def test_skills_are_switched_all_or_none(library: SkillLibrary) -> None:
    with pytest.raises(NotFoundError):
        library.set_enabled(["pdf", "nothing"], enabled=False)
    assert "public:pdf" in identities(library, enabled_only=True)

    (switched,) = library.set_enabled(["pdf"], enabled=False)

    assert (switched.skill.identity, switched.count) == ("public:pdf", 1)
    states = json.loads(library.paths.extensions_file.read_text())["skills"]
    assert states == {"pdf": {"enabled": False}}
    assert "public:pdf" not in identities(library, enabled_only=True)


def test_a_skill_is_packed_installed_changed_and_removed(library: SkillLibrary, tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "hello")
    (folder / "conftest.py").write_text("x = 1\n")
    packed = pack_skill(folder, tmp_path / "hello.skill")
    assert packed.file_count == 2
    with pytest.raises(ConflictError):
        pack_skill(folder, tmp_path / "hello.skill")
    told: list[Finding] = []

    with pytest.raises(ArgumentError):
        library.install(packed.file, on_finding=told.append)
    assert [finding.rule for finding in told] == ["run-by-tools"]
    assert [finding.rule for _, found in library.scan([str(folder)]) for finding in found] == ["run-by-tools"]
    accepted = [finding.accept for finding in told]
    assert library.scan([str(folder)], accepted)[0][1] == []

    added = library.install(packed.file, accept=accepted)

    assert added.skill is not None
    assert added.skill.identity == "custom:hello"
    assert added.skill.enabled
    info = library.info("hello")
    assert (info.changed, info.files[0]) == (False, "SKILL.md")
    assert library.removal("hello").loss is None
    (added.installed.folder / "more").touch()
    removal = library.removal("hello")
    assert removal.loss == "is not as it was installed"
    library.remove(removal)
    assert not added.installed.folder.exists()


def test_what_an_agent_saved_can_be_removed_and_what_is_public_can_not(library: SkillLibrary) -> None:
    library.paths.prepare_state()
    folder = make_skill(library.paths.state / "skills/default/saved")
    removal = library.removal("default:saved")
    assert removal.loss == "exists only here"
    library.remove(removal)
    assert not folder.exists()
    with pytest.raises(ArgumentError) as caught:
        library.removal("pdf")
    assert caught.value.hint == "disable it, or delete skills/public/pdf yourself"


def test_targets_are_names_folders_or_all(library: SkillLibrary, tmp_path: Path) -> None:
    make_skill(tmp_path / "elsewhere/one")
    for targets, expected in (
        ([], {"pdf", "theirs", "word"}),
        (["pdf"], {"pdf"}),
        ([str(tmp_path / "elsewhere"), "word"], {"one", "word"}),
    ):
        assert {skill.name for skill, _ in library.lint(targets)} == expected
        assert {skill.name for skill, _ in library.scan(targets)} == expected


def test_load_skills_is_one_function_under_two_names() -> None:
    assert satchel.load_skills is load_skills


def test_skills_can_be_read_by_the_names_that_other_programs_use(
    library: SkillLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = library.paths.project / "skills"
    assert get_skills_root_path(library.paths.project) == root
    monkeypatch.chdir(library.paths.project)
    assert get_skills_root_path() == root
    (library.paths.project / "satchel.yaml").write_text("skills: {path: elsewhere}\n")
    assert get_skills_root_path() == library.paths.project / "elsewhere"

    skill = parse_skill_file(root / "custom/word/SKILL.md", "custom")
    assert skill is not None
    assert (skill.identity, skill.enabled) == ("custom:word", True)
    assert (skill.skill_dir, skill.skill_file) == (root / "custom/word", root / "custom/word/SKILL.md")
    faulty = root / "public/pdf/SKILL.md"
    faulty.write_text("---\nname: [\n---\n")
    assert parse_skill_file(faulty) is None
    assert parse_skill_file(root / "nothing/SKILL.md") is None

"""Which folders of skills an agent has, and where its programs see them."""

import os
from pathlib import Path

import pytest

from satchel.config import find_paths
from satchel.config.settings import SkillsSettings
from satchel.library.skills.finding import find_skills, skills_of
from satchel.library.sources import MOST_ALONE, mounts, sources
from tests.library.skill_files import make_skill


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_home: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "satchel.yaml").write_text("{}\n")
    monkeypatch.chdir(directory)
    for name in ("public/a", "custom/b", "community/c", "default/d", "writer/e"):
        make_skill(directory / "skills" / name)
    make_skill(own_home / ".config" / "satchel" / "skills" / "f")
    make_skill(directory / ".claude" / "skills" / "g")
    make_skill(directory / ".agents" / "skills" / "h")
    find_paths().prepare_state()
    return directory


def listed(settings: SkillsSettings, agent: str | None = None) -> dict[str, bool]:
    found = skills_of(find_paths(), settings, agent, states={})
    return {skill.identity: skill.enabled for skill in found}


def shown(agent: str, settings: SkillsSettings | None = None) -> dict[str, Path]:
    return mounts(sources(find_paths(), settings or SkillsSettings(), agent))


def test_a_project_has_its_own_skills_and_those_of_the_user(project: Path) -> None:
    assert listed(SkillsSettings()) == {
        "public:a": True,
        "custom:b": True,
        "community:c": False,
        "default:d": True,
        "writer:e": False,
        "user:f": True,
    }


def test_an_agent_sees_its_own_skills_and_not_those_of_others(project: Path) -> None:
    assert listed(SkillsSettings(), "writer") == {
        "public:a": True,
        "custom:b": True,
        "community:c": False,
        "writer:e": True,
        "user:f": True,
    }


def test_folders_of_other_programs_are_read_on_request(project: Path) -> None:
    settings = SkillsSettings(include=(".claude/skills", ".agents/skills", "~/.claude/skills"))

    found = listed(settings, "default")

    assert found["claude:g"]
    assert found["agents:h"]
    categories = [source.category for source in sources(find_paths(), settings, "default")]
    assert categories == [
        *("community", "custom", "default", "public", "user"),
        *("claude", "agents", "claude-2"),
    ]


@pytest.mark.parametrize(
    "place",
    [
        *("skills", "skills/public", "skills/writer", ".", "..", "linked", ".satchel", ".satchel/agents"),
        *("~", "~/.local/share/satchel", "~/.local/share/satchel/credentials", "~/.config/satchel"),
    ],
)
def test_nobody_is_shown_satchels_own_folders_or_another_agents_on_request(project: Path, place: str) -> None:
    (project / "linked").symlink_to("skills/writer")
    settings = SkillsSettings(include=(place,))

    *others, source = sources(find_paths(), settings, "default")
    found = find_skills([source])

    assert [(skill.enabled, "is in skills.include" in (skill.error or "")) for skill in found] == [
        (False, True)
    ]
    assert "writer:e" not in listed(settings, "default")
    assert source.category not in shown("default", settings)
    assert len(others) == 5  # which are as without it


def test_programs_see_nothing_of_satchels_own_by_the_name_of_an_agent(project: Path, own_home: Path) -> None:
    data = own_home / ".local" / "share"
    (data / "satchel" / "credentials").mkdir(parents=True)

    for path, agent in ((data / "satchel", "credentials"), (data, "satchel")):
        settings = SkillsSettings(path=str(path))
        assert not any(place.is_relative_to(data) for place in shown(agent, settings).values())


def test_a_skill_that_stands_alone_is_everybodys_and_shown_to_programs(project: Path) -> None:
    make_skill(project / "skills" / "pdf")

    for agent in ("default", "writer"):
        assert listed(SkillsSettings(), agent)["public:pdf"]
        assert {name: path.name for name, path in shown(agent).items() if name.startswith("public")} == {
            "public/pdf": "pdf",
            "public/a": "a",
        }
    assert listed(SkillsSettings())["public:pdf"]
    assert "public:pdf" not in listed(SkillsSettings(), "pdf")  # whose own folder it is


@pytest.mark.parametrize("fault", ["many", "taken", "odd", "no text"])
def test_a_skill_that_stands_alone_and_can_not_be_shown_to_programs_is_an_error(
    project: Path, fault: str
) -> None:
    root = project / "skills"
    make_skill(root / ("p=f" if fault == "odd" else "pdf"), "pdf")
    for number in range(MOST_ALONE if fault == "many" else 0):
        (root / "public" / f"{number}").mkdir()
    if fault == "no text":
        os.mkdir(os.fsencode(root / "public") + b"/b\xffd")
    if fault == "taken":
        make_skill(root / "public" / "pdf", "other")

    for agent in (None, "default"):
        found = find_skills(sources(find_paths(), SkillsSettings(), agent))
        alone = next(skill for skill in found if skill.folder.parent == root)
        assert ("of that name" if fault == "taken" else "move it into") in (alone.error or "")
        assert len([skill for skill in found if skill.error]) == 1
    assert shown("default")["public"] == root / "public"


def test_the_users_own_project_has_no_skill_twice(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = own_home / ".config" / "satchel"
    make_skill(directory / "skills" / "f")
    (directory / "satchel.yaml").write_text("{}\n")
    monkeypatch.chdir(own_home)

    assert listed(SkillsSettings()) == {"user:f": True}


# Saved skills, in two places


def test_of_an_agents_skills_of_one_name_the_one_in_the_newer_place_counts(project: Path) -> None:
    make_skill(project / ".satchel/skills/default/d", description="Newer.")
    make_skill(project / ".satchel/skills/default/new")
    make_skill(project / "skills/default/old")

    found = {skill.name: skill for skill in skills_of(find_paths(), SkillsSettings(), "default", states={})}

    assert found["d"].description == "Newer."
    assert {name: found[name].enabled for name in ("d", "new", "old")} == dict.fromkeys(
        ("d", "new", "old"), True
    )
    assert {name: path for name, path in shown("default").items() if name.startswith("default")} == {
        "default/d": project / ".satchel/skills/default/d",
        "default/new": project / ".satchel/skills/default/new",
        "default/old": project / "skills/default/old",
    }
    person = [skill.folder for skill in skills_of(find_paths(), SkillsSettings()) if skill.name == "d"]
    assert person == [project / ".satchel/skills/default/d"]


def test_of_skills_for_all_the_one_that_a_person_gave_counts(project: Path) -> None:
    make_skill(project / ".satchel/skills/community/c", description="An agent's.")
    make_skill(project / ".satchel/skills/community/more")

    found = {skill.name: skill for skill in skills_of(find_paths(), SkillsSettings(), "default")}

    assert found["c"].folder == project / "skills/community/c"
    assert found["more"].folder == project / ".satchel/skills/community/more"
    assert shown("default")["community/c"] == project / "skills/community/c"
    assert shown("default")["community/more"] == project / ".satchel/skills/community/more"


def test_a_category_with_one_folder_that_has_skills_is_shown_as_a_whole(project: Path) -> None:
    (project / ".satchel/skills/default").mkdir(parents=True)
    make_skill(project / ".satchel/skills/reader/r")
    (project / "skills/reader").mkdir()

    assert shown("default")["default"] == project / "skills/default"
    assert shown("reader")["reader"] == project / ".satchel/skills/reader"


def test_no_agent_is_shown_what_another_has_saved(project: Path) -> None:
    for agent in ("default", "writer"):
        make_skill(project / ".satchel/skills" / agent / f"of-{agent}")

    for agent, other in (("default", "writer"), ("writer", "default"), ("reader", "writer")):
        found = sources(find_paths(), SkillsSettings(), agent)
        assert not any(source.category == other for source in found)
        assert all(source.owner != "agent" or source.category == agent for source in found)
        assert not [path for path in mounts(found).values() if other in path.parts]
        theirs = (project / ".satchel/skills" / other, project / "skills" / other)
        assert not [path for path in mounts(found).values() for place in theirs if place.is_relative_to(path)]


def test_links_in_the_place_of_saved_skills_are_not_followed(project: Path, tmp_path: Path) -> None:
    make_skill(tmp_path / "elsewhere/secret")
    saved = project / ".satchel/skills"
    saved.mkdir(parents=True)
    (saved / "default").symlink_to(tmp_path / "elsewhere")
    (saved / "community").symlink_to(project / "skills/community")  # as earlier versions left one

    assert listed(SkillsSettings(), "default") == {
        "public:a": True,
        "custom:b": True,
        "community:c": False,
        "default:d": True,
        "user:f": True,
    }
    os.unlink(saved / "default")
    os.unlink(saved / "community")
    saved.rmdir()
    (tmp_path / "other/default").mkdir(parents=True)
    make_skill(tmp_path / "other/default/secret")
    saved.symlink_to(tmp_path / "other")
    assert "default:secret" not in listed(SkillsSettings(), "default")
    assert not any("other" in path.parts for path in shown("default").values())


def test_what_came_with_somebodys_repository_as_saved_is_not_read(project: Path) -> None:
    make_skill(project / ".satchel/skills/default/planted")
    assert listed(SkillsSettings(), "default")["default:planted"]
    (project / ".satchel/id").write_text("0" * 32)  # of somebody else's Satchel

    for agent in ("default", None):
        assert "default:planted" not in listed(SkillsSettings(), agent)
    assert shown("default")["default"] == project / "skills/default"


def test_a_link_in_the_place_of_a_category_is_an_error_for_everybody(project: Path, tmp_path: Path) -> None:
    make_skill(tmp_path / "elsewhere/secret")
    (project / "skills/other").symlink_to(tmp_path / "elsewhere")

    for agent in (None, "other"):
        found = {skill.identity: skill.error for skill in skills_of(find_paths(), SkillsSettings(), agent)}
        assert "symbolic link" in (found["other:other"] or "")
        assert "other:secret" not in found
    assert "other" not in shown("other")


@pytest.mark.parametrize("name", ["p=f", "no\ntext"])
def test_a_folder_that_can_not_be_shown_by_itself_is_an_error(project: Path, name: str) -> None:
    make_skill(project / "skills/default" / name, "odd")
    assert listed(SkillsSettings(), "default")["default:odd"]
    make_skill(project / ".satchel/skills/default/new")

    found = {skill.folder.name: skill.error for skill in skills_of(find_paths(), SkillsSettings(), "default")}

    assert "rename the folder" in (found[name] or "")
    assert {"default/d", "default/new"} <= set(shown("default"))
    assert not any(name in place for place in shown("default"))


def test_folders_of_other_programs_do_not_take_the_name_of_an_agent(project: Path) -> None:
    make_skill(project / ".satchel/skills/claude/x")
    settings = SkillsSettings(include=(".claude/skills",))

    assert listed(settings)["claude-2:g"]

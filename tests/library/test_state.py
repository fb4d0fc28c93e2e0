"""Which skills are enabled: read anew, and written without losing anything."""

import json
import os
from pathlib import Path

import pytest

from satchel.errors import ArgumentError, ConfigError, NotFoundError
from satchel.library.skills.finding import find_skills
from satchel.library.sources import sources_in
from satchel.library.state import forget_skill, named_skill, read_states, set_skill_enabled, skills_named
from satchel.model import Skill
from tests.library.skill_files import make_skill
from tests.writers import read_meanwhile, start_writer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "extensions_config.json"


@pytest.fixture
def skills(tmp_path: Path) -> list[Skill]:
    for name in ("public/pdf", "custom/pdf", "public/alone"):
        make_skill(tmp_path / "skills" / name)
    make_skill(tmp_path / "skills" / "public" / "odd", "custom:odd")
    return find_skills(sources_in(tmp_path / "skills"))


def of(skills: list[Skill], identity: str) -> Skill:
    return next(skill for skill in skills if skill.identity == identity)


def write(file: Path, content: object) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))


def test_nothing_is_said_where_there_is_no_file(file: Path) -> None:
    assert read_states(file) == {}


def test_a_change_by_somebody_else_is_seen_at_once(file: Path) -> None:
    write(file, {"skills": {"pdf": {"enabled": False}}})
    assert read_states(file) == {"pdf": {"enabled": False}}
    write(file, {"skills": {"pdf": {"enabled": True}}})
    assert read_states(file) == {"pdf": {"enabled": True}}


def test_a_skill_is_switched_by_its_name_and_all_else_is_kept(file: Path, skills: list[Skill]) -> None:
    write(
        file, {"x-first": 1, "skills": {"other": {"enabled": True}, "alone": {"note": "mine"}}, "last": [2]}
    )

    set_skill_enabled(file, of(skills, "public:alone"), skills, enabled=False)

    assert list(json.loads(file.read_text()).items()) == [
        ("x-first", 1),
        ("skills", {"other": {"enabled": True}, "alone": {"note": "mine", "enabled": False}}),
        ("last", [2]),
    ]


def test_a_bare_map_of_servers_stays_one(file: Path, skills: list[Skill]) -> None:
    write(file, {"drive": {"command": "drive"}})

    set_skill_enabled(file, of(skills, "public:alone"), skills, enabled=False)

    assert json.loads(file.read_text()) == {
        "drive": {"command": "drive"},
        "skills": {"alone": {"enabled": False}},
    }


def test_two_skills_of_one_name_are_told_apart(file: Path, skills: list[Skill]) -> None:
    set_skill_enabled(file, of(skills, "custom:pdf"), skills, enabled=False)

    assert read_states(file) == {"custom:pdf": {"enabled": False}}


def test_a_name_that_reads_like_an_identity_switches_nobody_else(file: Path, skills: list[Skill]) -> None:
    set_skill_enabled(file, of(skills, "public:custom:odd"), skills, enabled=False)

    assert read_states(file) == {"public:custom:odd": {"enabled": False}}


def test_where_an_identity_is_written_already_that_is_what_changes(file: Path, skills: list[Skill]) -> None:
    write(file, {"skills": {"public:alone": True}})

    set_skill_enabled(file, of(skills, "public:alone"), skills, enabled=False)

    assert read_states(file) == {"public:alone": {"enabled": False}}


def test_what_is_said_of_a_removed_skill_goes_unless_another_has_its_name(
    file: Path, skills: list[Skill]
) -> None:
    write(file, {"skills": {"pdf": {}, "custom:pdf": {}, "alone": {}}})

    forget_skill(file, of(skills, "custom:pdf"), skills)
    assert read_states(file) == {"pdf": {}, "alone": {}}
    forget_skill(file, of(skills, "public:alone"), [])
    assert read_states(file) == {"pdf": {}}


def test_nothing_is_written_for_a_skill_of_which_nothing_was_said(file: Path, skills: list[Skill]) -> None:
    forget_skill(file, of(skills, "public:alone"), [])

    assert not file.exists()


@pytest.mark.parametrize(
    ("text", "line"), [('{\n "skills": []\n}', 2), ('{"skills": "all"}', 1), ('{"skills": {}', 1)]
)
def test_a_file_that_can_not_be_used_is_an_error_and_stays(
    file: Path, skills: list[Skill], text: str, line: int
) -> None:
    write(file, text)

    with pytest.raises(ConfigError) as caught:
        read_states(file)
    with pytest.raises(ConfigError):
        set_skill_enabled(file, skills[0], skills, enabled=True)

    assert caught.value.line == line
    assert file.read_text() == text


def test_a_skill_is_named_by_its_name_or_its_identity(skills: list[Skill]) -> None:
    assert named_skill("alone", skills).identity == "public:alone"
    assert named_skill("custom:pdf", skills).category == "custom"
    with pytest.raises(ArgumentError, match="2 skills are called 'pdf'") as ambiguous:
        named_skill("pdf", skills)
    assert ambiguous.value.hint == "name it as custom:pdf or public:pdf"
    with pytest.raises(NotFoundError) as unknown:
        named_skill("alon", skills)
    assert unknown.value.hint == "did you mean alone?"


def test_two_skills_of_one_identity_are_told_with_their_places(tmp_path: Path) -> None:
    make_skill(tmp_path / "public" / "a", "same")
    make_skill(tmp_path / "public" / "b", "same")

    skills = find_skills(sources_in(tmp_path))
    with pytest.raises(ArgumentError, match=r"public/a, .*public/b") as caught:
        named_skill("same", skills)
    assert caught.value.hint == "name one by its folder"
    assert [skill.relative for skill in skills_named("public:same", skills)] == ["a", "b"]


def test_a_skill_is_named_by_its_folder_here_and_by_that_for_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_skill(tmp_path / "public" / "a", "same")
    make_skill(tmp_path / "public" / "b", "same")
    skills = find_skills(sources_in(tmp_path))
    monkeypatch.chdir(tmp_path)

    for name in ("public/b", "./public/b/", "public/b/SKILL.md", str(tmp_path / "public" / "b")):
        assert named_skill(name, skills).relative == "b"
    for name in ("/mnt/own/public/b", "/mnt/own/public/b/", "/mnt/own/public/b/SKILL.md"):
        assert named_skill(name, skills, "/mnt/own").relative == "b"
    for name in ("b", "public", "/mnt/skills/public/c", "/"):
        with pytest.raises(NotFoundError):
            named_skill(name, skills)


# Several processes

TOGGLE = """
import json, random, sys
from pathlib import Path
from satchel.library.skills.finding import find_skills
from satchel.library.sources import sources_in
from satchel.library.state import set_skill_enabled

root, file, own = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
every = find_skills(sources_in(root))
mine = [skill for skill in every if skill.name.startswith(own)]
chance = random.Random(own)
last = {}
for number in range(100):
    if number % 10 == 0:
        sys.stdin.readline()
    skill, state = chance.choice(mine), chance.random() < 0.5
    set_skill_enabled(file, skill, every, enabled=state)
    last[skill.name] = state
print(json.dumps(last))
"""


@pytest.mark.slow
def test_two_processes_that_switch_a_hundred_times_each_lose_nothing(tmp_path: Path, file: Path) -> None:
    for number in range(200):
        make_skill(tmp_path / "skills" / "public" / f"{'ab'[number % 2]}{number:03}")
    write(file, {"mcpServers": {"kept": {"command": "x"}}, "x-kept": [1]})
    writers = [start_writer(TOGGLE, str(tmp_path / "skills"), str(file), own) for own in "ab"]

    seen, printed = read_meanwhile(writers, lambda: str(read_states(file)))  # a torn file would be no JSON

    assert seen > 5  # the reader was there meanwhile
    expected: dict[str, bool] = {}
    for last in printed:
        expected |= json.loads(last)
    assert {name: state["enabled"] for name, state in read_states(file).items()} == expected
    assert json.loads(file.read_text())["mcpServers"] == {"kept": {"command": "x"}}
    assert os.listdir(file.parent) == [file.name]

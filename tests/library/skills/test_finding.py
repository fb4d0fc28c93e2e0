"""Skills: found wherever they are, read once, and none hidden by another."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from satchel.library.skills import finding as module
from satchel.library.skills.finding import find_skills, tools_in
from satchel.library.skills.front_matter import Document
from satchel.library.sources import Source, sources_in
from satchel.library.state import with_state
from satchel.model import Skill
from satchel.skills import load_skills
from tests.library.skill_files import NO_PLUGINS, PLUGINS, make_skill, real_skills, text_of


def find(root: Path, cache: Path | None = None) -> list[Skill]:
    return find_skills(sources_in(root), cache)


def told(skills: list[Skill]) -> list[str]:
    return [f"{skill.category}/{skill.relative}" for skill in skills]


def test_every_folder_with_a_skill_is_found_by_category_and_sorted_by_name(tmp_path: Path) -> None:
    make_skill(tmp_path / "public" / "zebra")
    make_skill(tmp_path / "custom" / "ape")
    make_skill(tmp_path / "writer" / "owl")

    assert told(find(tmp_path)) == ["custom/ape", "writer/owl", "public/zebra"]


def test_skills_are_found_to_a_depth_of_six_also_in_other_skills(tmp_path: Path) -> None:
    place = tmp_path / "public"
    for depth in range(1, 9):
        place = place / f"d{depth}"
        make_skill(place)

    assert told(find(tmp_path)) == [
        "public/" + "/".join(f"d{number}" for number in range(1, depth + 1)) for depth in range(1, 7)
    ]


def test_a_skill_that_stands_alone_is_public_with_those_in_it(tmp_path: Path) -> None:
    make_skill(tmp_path / "pdf")
    make_skill(tmp_path / "pdf" / "examples" / "forms")

    assert told(find(tmp_path)) == ["public/pdf/examples/forms", "public/pdf"]
    assert [skill.get_container_file_path() for skill in find(tmp_path)] == [
        "/mnt/skills/public/pdf/examples/forms/SKILL.md",
        "/mnt/skills/public/pdf/SKILL.md",
    ]


@pytest.mark.parametrize(
    ("name", "inner", "category"),
    [
        ("pdf", "name: forms", "public"),
        ("build-pdf-forms", "name: forms", "public"),
        ("other", "name: forms", "pdf"),
        ("pdf", "metadata:\n  agent: pdf", "pdf"),  # as Satchel saves them
    ],
)
def test_a_skill_with_others_right_in_it_is_known_by_its_name_unless_an_agent_saved_those(
    tmp_path: Path, name: str, inner: str, category: str
) -> None:
    make_skill(tmp_path / "pdf", name)
    make_skill(tmp_path / "pdf" / "forms")
    (tmp_path / "pdf" / "forms" / "SKILL.md").write_text(f"---\ndescription: x\n{inner}\n---\n")

    found = {skill.folder.name: skill for skill in find(tmp_path)}

    assert {skill.category for skill in found.values()} == {category}
    assert (found["pdf"].error is None) == (category == "public")


def test_a_stray_file_makes_no_skill_of_a_category_and_is_told(tmp_path: Path) -> None:
    for category in ("custom", "writer"):
        make_skill(tmp_path / category / f"of-{category}")
        (tmp_path / category / "SKILL.md").write_text(text_of("stray"))
    (tmp_path / "public").mkdir()
    for place in (tmp_path / "public", tmp_path):  # with nothing beside it, and in no category at all
        (place / "SKILL.md").write_text(text_of("stray"))

    found = {skill.identity: skill for skill in with_state(find(tmp_path), {})}

    assert {name: skill.enabled for name, skill in found.items() if skill.error is None} == {
        "custom:of-custom": True,
        "writer:of-writer": False,
    }
    strays = [skill for skill in found.values() if skill.error is not None]
    assert {skill.folder for skill in strays} == {
        tmp_path,
        *(tmp_path / name for name in ("custom", "writer", "public")),
    }
    assert all("move it into a folder of its own" in (skill.error or "") for skill in strays)


@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD"])
def test_a_file_in_other_letters_is_the_skill_and_that_is_said(tmp_path: Path, name: str) -> None:
    folder = make_skill(tmp_path / "public" / "x")
    (folder / "SKILL.md").rename(folder / name)
    make_skill(tmp_path / "public" / "both")
    (tmp_path / "public" / "both" / name).write_text("not that one")

    both, skill = find(tmp_path)

    assert (skill.file, skill.error) == (folder / name, None)
    assert skill.get_container_file_path() == f"/mnt/skills/public/x/{name}"
    assert skill.warnings == (f"its file is called {name}; other programs want SKILL.md",)
    assert (both.file.name, both.warnings) == ("SKILL.md", ())


def test_hidden_folders_and_those_of_tools_are_passed_over(tmp_path: Path) -> None:
    for name in (".git", ".hidden", "node_modules", "__pycache__", ".venv"):
        make_skill(tmp_path / "public" / name / "x")
    make_skill(tmp_path / ".cache" / "x")

    assert find(tmp_path) == []


def test_one_bad_skill_is_listed_with_its_error_and_hides_no_other(tmp_path: Path) -> None:
    make_skill(tmp_path / "public" / "good")
    for name, data in {
        "empty": b"",
        "no-end": b"---\nname: x\n",
        "no-description": b"---\nname: no-description\nlicense: MIT\n---\n",
        "binary": bytes(range(256)),
        "large": b"---\n" + b"x" * module.LARGEST,
        "yaml": b"---\n# x\n]broken[\nname: yaml\n---\n",
    }.items():
        (tmp_path / "public" / name).mkdir()
        (tmp_path / "public" / name / "SKILL.md").write_bytes(data)
    (tmp_path / "public" / "folder" / "SKILL.md").mkdir(parents=True)
    (tmp_path / "public" / "pipe").mkdir()
    os.mkfifo(tmp_path / "public" / "pipe" / "SKILL.md")

    found = {skill.relative: skill for skill in find(tmp_path)}

    assert {name for name, skill in found.items() if skill.error is None} == {"good"}
    assert len(found) == 9
    assert (found["yaml"].error or "").startswith("not valid YAML")
    assert found["yaml"].line == 3
    assert found["no-description"].error == "has no description"
    assert not any(skill.enabled for skill in with_state(found.values(), {}) if skill.relative != "good")


def test_links_are_reported_and_not_followed(tmp_path: Path) -> None:
    outside = make_skill(tmp_path / "outside" / "secret")
    root = tmp_path / "skills"
    (root / "public" / "file").mkdir(parents=True)
    (root / "public" / "folder").symlink_to(outside)
    (root / "public" / "file" / "SKILL.md").symlink_to(outside / "SKILL.md")
    (root / "custom").symlink_to(tmp_path / "outside")

    found = {f"{skill.category}/{skill.relative}": skill for skill in find(root)}

    assert set(found) == {"public/folder", "public/file", "custom/"}
    assert found["public/folder"].error == "is a symbolic link, which is not followed"
    assert found["public/file"].error == "its SKILL.md is a symbolic link, which is not followed"
    assert "the folder is a symbolic link" in (found["custom/"].error or "")
    assert all(skill.description == "" for skill in found.values())


def test_no_link_hides_a_skill_or_is_passed_over_whatever_it_leads_to(tmp_path: Path) -> None:
    make_skill(tmp_path / "out" / "group" / "secret")
    root = tmp_path / "skills"
    skill = make_skill(root / "public" / "good")
    for place in (root / "public", root):
        (place / "loop").symlink_to("loop")
        (place / "nowhere").symlink_to("nothing")
        (place / "elsewhere").symlink_to(tmp_path / "out")
        (place / "LICENSE").symlink_to(skill / "SKILL.md")
    (skill / "data").symlink_to(tmp_path / "out")  # a matter of that skill
    (skill / "gone").symlink_to("nothing")

    found = {f"{skill.category}/{skill.relative}": skill.error for skill in find(root)}

    linked = "is a symbolic link, which is not followed"
    names = ("loop", "nowhere", "elsewhere")
    assert found == {
        "public/good": None,
        **{f"public/{name}": linked for name in names},
        **{f"{name}/": f"the folder {linked}" for name in names},
    }


def test_a_folder_that_can_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_skill(tmp_path / "public" / "shut")
    make_skill(tmp_path / "public" / "good")
    scan = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("shut"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)

    assert [(skill.name, skill.error) for skill in find(tmp_path)] == [
        ("good", None),
        ("shut", "can't be read: Permission denied"),
    ]


def test_every_key_is_kept_and_the_known_ones_are_read(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "public" / "x")
    (folder / "SKILL.md").write_text(
        "---\nname: x\ndescription: >\n  a\n  b\nlicense: MIT\nallowed-tools: Read, Bash(git add:*) Grep\n"
        "when_to_use: often\ntriggers: [a, b]\nmetadata: {author: me}\nown: 5\n---\nbody\n"
    )

    (skill,) = find(tmp_path)

    assert (skill.description, skill.license) == ("a b", "MIT")
    assert skill.allowed_tools == ("Read", "Bash(git add:*)", "Grep")
    assert {key: skill.values[key] for key in ("when_to_use", "triggers", "metadata", "own")} == {
        "when_to_use": "often",
        "triggers": ["a", "b"],
        "metadata": {"author": "me"},
        "own": 5,
    }
    assert skill.identity == "public:x"


def test_a_skill_without_a_name_is_called_after_its_folder_and_says_so(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "public" / "unnamed")
    (folder / "SKILL.md").write_text("---\ndescription: x\n---\n")

    (skill,) = find(tmp_path)

    assert (skill.name, skill.error) == ("unnamed", None)
    assert "has no name" in skill.warnings[0]


@pytest.mark.parametrize("written", ["yes", "on", "1.10", "007", "12:30"])
def test_a_skill_is_called_as_it_is_written_not_as_yaml_has_it(tmp_path: Path, written: str) -> None:
    folder = make_skill(tmp_path / "public" / "x")
    (folder / "SKILL.md").write_text(f"---\nname: {written}\ndescription: {written}\n---\n")

    (skill,) = find(tmp_path)

    assert (skill.name, skill.description) == (written, written)
    assert [warning.partition(":")[0] for warning in skill.warnings] == ["line 2", "line 3"]
    assert f"YAML reads {written} as " in skill.warnings[0]


@pytest.mark.parametrize(
    ("value", "tools"),
    [
        (None, ()),
        ("", ()),
        ("Read", ("Read",)),
        ("Read Write", ("Read", "Write")),
        ("Read, Bash(npm run test:*)", ("Read", "Bash(npm run test:*)")),
        (["Read", "Bash(git:*)"], ("Read", "Bash(git:*)")),
        (["Read, Write", "Grep Bash(git add:*)"], ("Read", "Write", "Grep", "Bash(git add:*)")),
        ("Bash(echo $(date)) Read", ("Bash(echo $(date))", "Read")),
        ("Bash(git Read, Write", ("Bash(git", "Read", "Write")),
        ("a) Read", ("a)", "Read")),
        (5, ("5",)),
    ],
)
def test_allowed_tools_are_read_in_every_shape(value: object, tools: tuple[str, ...]) -> None:
    assert tools_in(value) == tools


# The cache


def test_an_unchanged_file_is_read_once_and_a_changed_one_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache.json"
    kept = make_skill(root / "public" / "kept")
    changed = make_skill(root / "public" / "changed")
    time.sleep(0.1)  # a file that was written just now is read once more
    first = find(root, cache)
    reads: list[str] = []

    def read(file: str, seen: os.stat_result) -> bytes:
        reads.append(file)
        return b""

    monkeypatch.setattr(module, "_bytes", read)

    assert find(root, cache) == first
    assert reads == []

    (changed / "SKILL.md").write_text(text_of("changed", "Longer than it was before."))
    find(root, cache)
    assert reads == [str(changed / "SKILL.md")]

    status = (kept / "SKILL.md").stat()
    os.utime(kept / "SKILL.md", ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    find(root, cache)
    assert str(kept / "SKILL.md") in reads


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99}', '{"format": 2, "skills": 5}', "null"])
def test_a_cache_that_is_not_one_is_made_anew(tmp_path: Path, text: str) -> None:
    make_skill(tmp_path / "skills" / "public" / "x")
    cache = tmp_path / "cache.json"
    cache.write_text(text)

    assert len(find(tmp_path / "skills", cache)) == 1
    assert len(json.loads(cache.read_text())["skills"]) == 1


def test_a_cache_that_can_not_be_written_does_no_harm(tmp_path: Path) -> None:
    make_skill(tmp_path / "skills" / "public" / "x")
    (tmp_path / "file").touch()

    assert len(find(tmp_path / "skills", tmp_path / "file" / "cache.json")) == 1


# From Python


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
    return directory


def test_load_skills_is_the_same_from_python(project: Path) -> None:
    (project / "extensions_config.json").write_text('{"skills": {"a": {"enabled": false}}}')

    assert [skill.name for skill in load_skills()] == list("abcdef")
    assert [skill.name for skill in load_skills(enabled_only=True)] == ["b", "d", "f"]
    assert [skill.name for skill in load_skills(use_config=False)] == list("abcde")
    assert [skill.name for skill in load_skills(use_config=False, enabled_only=True)] == ["a", "b", "d"]
    assert [skill.name for skill in load_skills(project / "skills", enabled_only=True)] == ["b", "d"]
    assert load_skills(str(project / "nowhere")) == []


def test_load_skills_knows_where_programs_of_the_project_find_them(project: Path) -> None:
    assert load_skills()[0].get_container_file_path() == "/mnt/skills/public/a/SKILL.md"
    (project / "satchel.yaml").write_text("skills: {container_path: /mnt/other}\n")

    skill = load_skills()[0]

    assert skill.get_container_path() == "/mnt/other/public/a"
    assert skill.get_container_file_path() == "/mnt/other/public/a/SKILL.md"
    assert skill.get_container_file_path("/mnt/skills") == "/mnt/skills/public/a/SKILL.md"


# Enabled or not


def test_what_is_said_of_an_identity_wins_over_what_is_said_of_the_name(tmp_path: Path) -> None:
    make_skill(tmp_path / "public" / "x")
    make_skill(tmp_path / "custom" / "x")

    def enabled(states: dict[str, object]) -> list[bool]:
        return [skill.enabled for skill in with_state(find(tmp_path), states)]

    assert enabled({}) == [True, True]
    assert enabled({"x": {"enabled": False}}) == [False, False]
    assert enabled({"x": {"enabled": False}, "custom:x": {"enabled": True}}) == [True, False]
    assert enabled({"x": False, "public:x": True}) == [False, True]
    assert enabled({"x": {"enabled": "no"}, "public:x": 5}) == [True, True]


def test_a_faulty_skill_is_never_enabled(tmp_path: Path) -> None:
    (skill,) = find(make_skill(tmp_path / "public" / "x").parents[1])

    faulty = replace(skill, error="broken")

    assert not with_state([faulty], {"x": {"enabled": True}})[0].enabled


# Real ones


@pytest.mark.skipif(not PLUGINS.is_dir(), reason=NO_PLUGINS)
def test_every_real_skill_loads_with_its_description() -> None:
    import yaml

    found = {skill.file: skill for skill in find_skills([Source(root=PLUGINS, category="real")])}

    assert len(real_skills()) == 212
    for folder in real_skills():
        skill = found[folder / "SKILL.md"]
        head = (folder / "SKILL.md").read_text().split("\n---", 1)[0].removeprefix("---")
        said = yaml.safe_load(head)
        assert skill.error is None
        assert skill.name == said["name"]
        assert skill.description == " ".join(said["description"].split())
        assert skill.description[0] not in ">|'\""


@pytest.mark.skipif(not PLUGINS.is_dir(), reason=NO_PLUGINS)
def test_every_real_skill_loads_also_where_it_stands_alone() -> None:
    roots = {folder.parents[0] for folder in real_skills() if folder.parents[0].name == "skills"}

    found = [skill for root in roots for skill in load_skills(root, use_config=False)]

    assert [skill for skill in found if skill.error is not None or skill.category != "public"] == []
    assert {skill.folder for skill in found} == {
        folder for folder in real_skills() if roots & set(folder.parents)
    }


@pytest.mark.parametrize(
    "head",
    [
        "metadata: {a: 0x" + "f" * 6000 + "}",
        "description: 0x" + "f" * 6000,
        "description: !!bool x",
        "description: !!timestamp x",
        'description: !!int ""',
        'description: !!float ""',
        "metadata: " + "[" * 900,
        "metadata: " + "[" * 9000 + "]" * 9000,
        "allowed-tools: 'a" + " " * 5000 + ")'",
        "allowed-tools: " + "a " * 16000,
        "allowed-tools: " + "(" * 32000,
        "version: " + "1:" * 400 + "1.5",
        "metadata:\n  " + "- " * 32000 + "x",
    ],
)
def test_whatever_one_file_says_the_others_are_listed_in_a_moment(tmp_path: Path, head: str) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache.json"
    make_skill(root / "public" / "good")
    odd = make_skill(root / "public" / "odd")
    (odd / "SKILL.md").write_text(f"---\nname: odd\n{head}\n---\nbody\n")

    for _ in range(2):
        found = {skill.name: skill for skill in with_state(find(root, cache), {})}
        assert found["good"].enabled


def test_not_even_a_fault_of_satchel_about_one_file_hides_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_skill(tmp_path / "public" / "good")
    make_skill(tmp_path / "public" / "odd", description="odd")
    read = module.read_document

    def fail(data: bytes) -> Document:
        if b"odd" in data:
            raise ZeroDivisionError("of all things")
        return read(data)

    monkeypatch.setattr(module, "read_document", fail)

    assert [(skill.name, skill.error) for skill in find(tmp_path)] == [
        ("good", None),
        ("odd", "its SKILL.md can't be read: ZeroDivisionError('of all things')"),
    ]


def test_a_link_is_no_reason_to_write_the_cache_anew(tmp_path: Path) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache.json"
    make_skill(root / "public" / "good")
    (root / "public" / "nowhere").symlink_to("nothing")
    time.sleep(0.1)  # a file that was written just now is read once more
    find(root, cache)
    before = cache.stat().st_mtime_ns

    find(root, cache)

    assert cache.stat().st_mtime_ns == before


def test_two_agents_share_what_is_remembered(tmp_path: Path) -> None:
    cache = tmp_path / "cache.json"
    for name in ("ann", "bob"):
        make_skill(tmp_path / name / f"of-{name}")
    time.sleep(0.1)  # as above
    for name in ("ann", "bob"):
        find_skills([Source(root=tmp_path / name, category=name)], cache)
    before = cache.stat().st_mtime_ns
    for name in ("ann", "bob"):
        find_skills([Source(root=tmp_path / name, category=name)], cache)
    assert cache.stat().st_mtime_ns == before

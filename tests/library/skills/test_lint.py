"""The strict rules: each one by itself, and all of them on real skills."""

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from satchel.errors import ArgumentError
from satchel.library.skills.finding import find_skills
from satchel.library.skills.lint import KEYS, PROFILES, RULES, Profile, check_rules, lint, lint_text
from satchel.library.sources import sources_in
from tests.library.skill_files import NO_PLUGINS, PLUGINS, make_skill, real_skills, text_of


def faults(
    text: str | bytes, profile: Profile = "spec", folder: str | None = "demo"
) -> list[tuple[str, int]]:
    data = text if isinstance(text, bytes) else text.encode()
    return [(fault.rule, fault.line) for fault in lint_text(data, folder, profile)]


def head(lines: str) -> str:
    return f"---\nname: demo\ndescription: Does it.\n{lines}\n---\nDo it.\n"


@pytest.mark.parametrize("profile", PROFILES)
def test_a_plain_skill_breaks_no_rule(profile: Profile) -> None:
    full = "license: MIT\nallowed-tools: [Read]\nmetadata: {author: me}\ncompatibility: git"

    assert faults(text_of(), profile) == []
    assert faults(head(full), profile) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("no head", [("front-matter", 1)]),
        ("---\nname: demo\n", [("front-matter", 1)]),
        ("\ufeff" + text_of(), [("strict-yaml", 1)]),
        ("\n" + text_of(), [("strict-yaml", 1)]),
        (text_of().encode("utf-16"), [("strict-yaml", 1)]),
        (text_of(description="Use it: now"), [("strict-yaml", 3)]),
        ("---\nname: demo\ndescription: x\n...\nDo.\n", [("strict-yaml", 4)]),
        ("---\nname: demo\nDescription: x\n---\nDo.\n", [("strict-yaml", 3)]),
        (text_of(description="> one two"), [("strict-yaml", 3)]),
        ("---\nname: x\nname: demo\ndescription: x\n---\nDo.\n", [("strict-yaml", 3)]),
        ("---\ndescription: x\n---\nDo.\n", [("name-given", 1)]),
        ("---\nname:\ndescription: x\n---\nDo.\n", [("name-given", 2)]),
        ("---\ndescription: x\nname: 5\n---\nDo.\n", [("name-given", 3)]),
        ("---\nname: demo\n---\nDo.\n", [("description-given", 1)]),
        ("---\nname: demo\ndescription: ''\n---\nDo.\n", [("description-given", 3)]),
        ("---\nname: demo\ndescription: [x]\n---\nDo.\n", [("description-given", 3)]),
        (text_of(description="x" * 1024), []),
        (text_of(description="x" * 1025), [("description-length", 3)]),
        (text_of(description="a <b> c"), []),
        (head("author: me"), [("known-keys", 4)]),
        (head("license: MIT\ntriggers: [a]\nversion: 1"), [("known-keys", 5), ("known-keys", 6)]),
        (head("license: [MIT]"), [("value-types", 4)]),
        (head("metadata: text"), [("value-types", 4)]),
        (head("allowed-tools: {a: b}"), [("value-types", 4)]),
        (head(f"compatibility: {'x' * 501}"), [("compatibility-length", 4)]),
        ("---\nname: demo\ndescription: x\n---\n\n", [("body", 5)]),
        (text_of() + "line\n" * 500, [("body", 5)]),
    ],
)
def test_each_rule_finds_what_breaks_it_with_its_line(
    text: str | bytes, found: list[tuple[str, int]]
) -> None:
    assert faults(text) == found


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("a", []),
        ("a-b-2", []),
        ("a" * 64, []),
        ("a" * 65, ["name-length"]),
        ("A", ["name-format"]),
        ("-a", ["name-format"]),
        ("a-", ["name-format"]),
        ("a--b", ["name-format"]),
        ("a_b", ["name-format"]),
        ("a b", ["name-format"]),
        ("a/b", ["name-format"]),
        ("é", []),
        ("e\u0301", []),  # the same letter, composed of two
        ("É", ["name-format"]),
        ("отчёт-2", []),
        ("季度-报告", []),
        ("تقرير", []),
        ("ﬁ" * 32, []),  # 64 letters
        ("ﬁ" * 33, ["name-length"]),
        ("a\u200bb", ["name-format"]),
        ("a–b", ["name-format"]),
        ("日本—語", ["name-format"]),
        ("🙂", ["name-format"]),
    ],
)
def test_a_name_is_lower_case_words_with_hyphens(name: str, rules: list[str]) -> None:
    assert [rule for rule, _ in faults(text_of(name), folder=None)] == rules


def test_a_name_must_be_that_of_the_folder(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "public" / "one", "two")
    (skill,) = find_skills(sources_in(tmp_path))

    for found in (lint(folder), lint(skill), lint(folder, "claude")):
        assert [(fault.rule, fault.severity) for fault in found] == [("name-folder", "error")]
    assert [fault.severity for fault in lint(folder, "deerflow")] == ["warning"]  # its installer renames it
    assert lint(folder, folder=None) == []


@pytest.mark.parametrize("folder", ["résumé", "re\u0301sume\u0301"])
@pytest.mark.parametrize("name", ["résumé", "re\u0301sume\u0301"])
def test_a_name_is_that_of_the_folder_however_its_letters_are_composed(folder: str, name: str) -> None:
    assert faults(text_of(name), folder=folder) == []


def test_names_in_other_scripts_and_brackets_are_for_the_specification_alone() -> None:
    for profile in PROFILES:
        refused = profile != "spec"
        assert bool(faults(text_of("отчёт"), profile, None)) == refused
        assert bool(faults(text_of(description="a -> c"), profile)) == refused
        assert bool(faults(text_of(description="for <b> tags"), profile)) == refused


@pytest.mark.parametrize("name", ["claude-helper", "my-anthropic-tool"])
def test_names_of_claude_are_reserved_there(name: str) -> None:
    assert faults(text_of(name), folder=None) == []
    assert [rule for rule, _ in faults(text_of(name), "claude", None)] == ["name-reserved"]


@pytest.mark.parametrize(
    ("key", "profiles"),
    [
        ("argument-hint", {"claude"}),
        ("user-invocable", {"claude"}),
        ("disable-model-invocation", {"claude"}),
        ("when_to_use", {"claude"}),
        ("model", {"claude"}),
        ("version", {"claude", "deerflow"}),
        ("author", {"deerflow"}),
        ("compatibility", {"spec", "claude", "deerflow"}),
        ("triggers", set[str]()),
    ],
)
def test_each_profile_knows_its_keys(key: str, profiles: set[str]) -> None:
    assert {profile for profile in PROFILES if not faults(head(f"{key}: x"), profile)} == profiles


def test_the_closest_key_is_named() -> None:
    (fault,) = lint_text(head("licence: MIT").encode(), "demo")

    assert fault.text == "unknown key 'licence'; did you mean 'license'?"


def test_a_folder_without_a_skill_is_a_fault(tmp_path: Path) -> None:
    assert [(fault.rule, fault.text) for fault in lint(tmp_path)] == [
        ("front-matter", "there is no SKILL.md")
    ]


def test_a_file_in_other_letters_is_looked_at_as_well(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "public" / "one", "two")
    (folder / "SKILL.md").rename(folder / "skill.md")
    (skill,) = find_skills(sources_in(tmp_path))

    assert [fault.rule for fault in lint(skill)] == ["name-folder"]


def test_a_link_is_not_opened(tmp_path: Path) -> None:
    make_skill(tmp_path / "elsewhere")
    (tmp_path / "skills" / "public").mkdir(parents=True)
    (tmp_path / "skills" / "public" / "linked").symlink_to(tmp_path / "elsewhere")
    (skill,) = find_skills(sources_in(tmp_path / "skills"))

    assert [fault.text for fault in lint(skill)] == ["is a symbolic link, which is not followed"]


def test_a_rule_that_does_not_exist_is_refused_with_the_closest() -> None:
    check_rules([rule.name for rule in RULES])
    with pytest.raises(ArgumentError) as caught:
        check_rules(["name-fromat"])
    assert caught.value.hint == "did you mean name-format?"


@pytest.mark.slow
@pytest.mark.skipif(not PLUGINS.is_dir(), reason=NO_PLUGINS)
@pytest.mark.parametrize("profile", PROFILES)
def test_reports_on_real_skills_agree_with_the_rules(profile: Profile) -> None:
    total = Counter[str]()
    for folder in real_skills():
        text = (folder / "SKILL.md").read_text()
        said = yaml.safe_load(text.split("\n---", 1)[0].removeprefix("---"))
        name, description = said["name"], said["description"].strip()
        expected = Counter(
            {
                "name-format": int(not re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name)),
                "name-length": int(len(name) > 64),
                "name-folder": int(name != folder.name),
                "name-reserved": int(profile == "claude" and bool(re.search("claude|anthropic", name))),
                "description-length": int(len(description) > 1024),
                "description-brackets": int(profile != "spec" and bool(re.search("[<>]", description))),
                "known-keys": len(set(said) - KEYS[profile]),
            }
        )
        found = Counter(fault.rule for fault in lint(folder, profile) if fault.rule != "body")
        assert found == +expected, folder
        for fault in lint(folder, profile):
            if fault.rule.startswith(("name", "description")):
                assert text.split("\n")[fault.line - 1].startswith(fault.rule.split("-")[0] + ":")
        total += found
    assert total["name-folder"] == 41
    assert total["name-format"] == 12

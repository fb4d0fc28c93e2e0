"""Command files, read leniently, and skills that people may invoke."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from satchel.config.plugins.reading import read_plugin
from satchel.library.commands.reading import command_of_skill, commands_of, first_paragraph, is_told, merged
from satchel.library.skills.finding import find_skills
from satchel.library.sources import Source
from satchel.model import Command, Remark, Skill


def read(folder: Path, *files: tuple[str, str | bytes]) -> tuple[dict[str, Command], list[Remark]]:
    for name, text in files:
        file = folder / "sales" / "commands" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    commands, remarks = commands_of(read_plugin(folder / "sales"), "/mnt/plugins")
    return {command.name: command for command in commands}, remarks


def test_front_matter_says_what_a_command_is(tmp_path: Path) -> None:
    text = "---\ndescription: Prepares\nargument-hint: <who>\nmodel: opus\nallowed-tools: Read\n---\n\nDo it."
    found, remarks = read(tmp_path, ("prep.md", text))

    prep = found["prep"]
    assert (prep.identity, prep.description, prep.argument_hint) == ("sales:prep", "Prepares", "<who>")
    assert prep.content == "Do it."
    assert prep.values["model"] == "opus" and prep.values["allowed-tools"] == "Read"
    assert (prep.folder, prep.root) == ("/mnt/plugins/sales/commands", "/mnt/plugins/sales")
    assert prep.for_model and remarks == []


def test_folders_are_part_of_the_name_and_a_readme_is_no_command(tmp_path: Path) -> None:
    found, _ = read(
        tmp_path, ("build/web.md", "Build"), ("README.md", "no"), ("deploy/SKILL.md", "---\nname: x\n---\nGo")
    )
    assert {name: command.content for name, command in found.items()} == {
        "build:web": "Build",
        "deploy": "Go",
    }
    assert found["build:web"].folder == "/mnt/plugins/sales/commands/build"


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("[file-path]", "[file-path]"),
        ("[a, b] ", "[a, b]"),
        ("[path] [image]", "[path] [image]"),
        ("'<who> [when]'", "<who> [when]"),
        ("{a}", "{a}"),
        ("5", "5"),
    ],
)
def test_the_hint_is_the_text_as_written(tmp_path: Path, written: str, hint: str) -> None:
    found, _ = read(tmp_path, ("a.md", f"---\nargument-hint: {written}\n---\nDo it."))
    assert found["a"].argument_hint == hint


def test_without_front_matter_or_with_a_broken_one_it_is_still_a_command(tmp_path: Path) -> None:
    found, remarks = read(
        tmp_path,
        ("plain.md", "# Title\n\n> First of all,\n> this.\n\nMore."),
        ("broken.md", "---\na: b: c\n - [x\n---\nThen this.\n"),
        ("crlf.md", b"---\r\ndescription: Windows\r\n---\r\nDo\r\nit"),
    )
    assert found["plain"].description == "First of all, this."
    assert found["broken"].description == "Then this." and found["broken"].content == "Then this."
    assert found["crlf"].content == "Do\nit"
    assert [remark.file for remark in remarks] == ["commands/broken.md"]
    assert remarks[0].line is not None


def test_the_first_paragraph_is_neither_a_heading_nor_a_rule() -> None:
    assert first_paragraph("# A\n---\n\n- one\ntwo\n\nthree") == "one two"
    assert first_paragraph("# A\n```\ncode") == "code"
    assert first_paragraph("") == ""


@pytest.mark.parametrize(
    ("word", "told"), [("yes", False), ("on", False), ("1", False), ('"no"', True), ("0", True)]
)
def test_booleans_may_be_written_in_any_way(tmp_path: Path, word: str, told: bool) -> None:
    found, _ = read(tmp_path, ("a.md", f"---\ndisable-model-invocation: {word}\n---\nx"))
    assert found["a"].for_model is told


def test_a_file_that_can_not_be_read_costs_only_itself(tmp_path: Path) -> None:
    found, remarks = read(tmp_path, ("large.md", "x" * (1024 * 1024 + 1)), ("good.md", "Do"))
    assert list(found) == ["good"]
    assert [str(remark) for remark in remarks] == [
        "commands/large.md: can't be read: it has more than 1,024 KiB"
    ]


def test_a_manifest_may_have_commands_in_itself(tmp_path: Path) -> None:
    place = tmp_path / "sales" / ".claude-plugin"
    place.mkdir(parents=True)
    given = {"prep": {"content": "Do $1", "argumentHint": "<who>", "description": "Prepares"}}
    (place / "plugin.json").write_text(json.dumps({"name": "sales", "commands": given}))

    found, _ = read(tmp_path)

    assert (found["prep"].content, found["prep"].argument_hint) == ("Do $1", "<who>")


# Skills


def skill_of(folder: Path, head: str, name: str = "prep") -> Skill:
    place = folder / "skills" / name
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Prepares\n{head}---\nDo it.")
    source = Source(
        root=folder, category="plugin:sales", folders=(f"skills/{name}",), place="/mnt/plugins/sales"
    )
    (skill,) = find_skills([source])
    return skill


def test_a_skill_is_a_command_unless_people_may_not_invoke_it(tmp_path: Path) -> None:
    prep = command_of_skill(
        skill_of(tmp_path / "a", "argument-hint: [who]\narguments: [who, when]\n"), "/mnt/skills"
    )

    assert prep is not None
    assert (prep.identity, prep.argument_hint, prep.arguments) == ("sales:prep", "[who]", ("who", "when"))
    assert (prep.folder, prep.root) == ("/mnt/plugins/sales/skills/prep", "/mnt/plugins/sales")
    assert command_of_skill(skill_of(tmp_path / "b", "user-invocable: no\n"), "/mnt/skills") is None


def test_a_skill_that_only_people_invoke_is_a_command_that_no_model_hears_of(tmp_path: Path) -> None:
    skill = skill_of(tmp_path, "disable-model-invocation: true\n")
    command = command_of_skill(skill, "/mnt/skills")
    assert command is not None and not command.for_model and not is_told(skill)


def test_of_a_skill_and_a_file_with_one_name_the_skill_counts(tmp_path: Path) -> None:
    skill = command_of_skill(skill_of(tmp_path, ""), "/mnt/skills")
    assert skill is not None
    file = Command(name="PREP", plugin_name="sales", content="of the file")
    other = Command(name="prep", plugin_name="other")
    assert merged([file, other], [skill]) == [other, skill]


def test_skills_without_a_plugin_are_told_apart_by_their_categories(tmp_path: Path) -> None:
    skill = replace(skill_of(tmp_path, ""), place=None)
    both = [command_of_skill(replace(skill, category=name), "/mnt/skills") for name in ("custom", "public")]
    assert [command.identity for command in merged([], [each for each in both if each])] == [
        "prep",
        "public:prep",
    ]

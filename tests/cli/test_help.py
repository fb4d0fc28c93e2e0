"""help, and commands that are misspelt, as real processes."""

from pathlib import Path

import pytest

from satchel.cli.help import GROUPS, MAIN
from satchel.cli.parser import COMMANDS
from tests.projects import Project


def test_every_command_is_in_one_group() -> None:
    grouped = [name for commands in GROUPS.values() for name in commands]
    assert sorted(grouped) == sorted(COMMANDS)
    assert len(MAIN) == 12
    assert set(COMMANDS) >= MAIN


@pytest.mark.e2e
@pytest.mark.parametrize("arguments", [[], ["help"]])
def test_without_a_command_the_ones_that_matter_are_explained_and_the_others_named(
    tmp_path: Path, arguments: list[str]
) -> None:
    outcome = Project(tmp_path).run(*arguments)
    assert (outcome.code, outcome.err) == (0, "")
    lines = [line.split(maxsplit=1) for line in outcome.out.splitlines() if line.startswith("  ")]
    assert {name for name, _ in lines} == MAIN | {"also"}
    assert {name for name, _ in lines if COMMANDS.get(name, ("", ""))[1]} == MAIN
    others = {name for title, text in lines if title == "also" for name in text.split(", ")}
    assert others == set(COMMANDS) - MAIN


@pytest.mark.e2e
def test_help_explains_one_command(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for words in (["call"], ["skills", "list"], ["mcp", "list"]):
        assert project.run("help", *words) == project.run(*words, "--help")
    outcome = project.run("skills")
    assert outcome == project.run("skills", "--help")
    assert outcome.code == 0


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["lst"], "satchel: error: unknown command 'lst'; did you mean list?\n"),
        (["help", "serach"], "satchel: error: unknown command 'serach'; did you mean search?\n"),
        (
            ["skills", "instal", "x"],
            "satchel skills: error: unknown command 'instal'; did you mean install?\n",
        ),
        (["zzz"], "satchel: error: unknown command 'zzz'; satchel --help lists them\n"),
        (["--vresion"], "unrecognized arguments: --vresion; did you mean --version?\n"),
        (["connect", "cursr"], "did you mean cursor?\n"),
    ],
)
def test_a_misspelt_command_gets_the_closest_one(tmp_path: Path, arguments: list[str], text: str) -> None:
    outcome = Project(tmp_path).run(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.endswith(text)

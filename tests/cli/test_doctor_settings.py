"""What doctor says of satchel.yaml, and of servers' commands, as a real process."""

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from satchel.support.installing import how_to_install
from tests.projects import Project
from tests.servers import raw

pytestmark = pytest.mark.e2e


def findings(project: Project, settings: str, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What doctor says of the settings, by check."""
    # Programs are not the matter here, and a trial of the sandbox takes its time.
    text = f"code_execution: {{sandbox: {{backend: process}}}}\n{settings}\n"
    (project.directory / "satchel.yaml").write_text(text)
    run = project.run if environment is None else project.run_anew  # of which Python may read some
    found = run("doctor", "--json", environment=environment).json["findings"]
    return {each["check"]: each for each in found if each["subject"] == "settings"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project", {})


def test_a_variable_without_braces_is_pointed_out_and_not_shown(tmp_path: Path) -> None:
    server = {**raw("good"), "env": {"TOKEN": "$hidden_word", "PRICE": "5$"}}
    project = Project(tmp_path / "project", {"good": server})

    done = project.run("doctor", "good", "--json")

    (found,) = [each for each in done.json["findings"] if each["check"] == "variables"]
    assert found["message"].startswith("env.TOKEN is a name after a $")
    assert "${NAME}" in found["next_step"]
    assert "hidden_word" not in done.out


def test_settings_without_a_fault_are_not_spoken_of(project: Project) -> None:
    assert findings(project, "") == {}


@pytest.mark.parametrize(
    ("template", "settings"),
    [
        ("code_execution_system.jinja", ""),
        ("tool_search_system.jinja", "agents: {reader: {}}"),
        ("direct_system.jinja", "mode: direct"),
    ],
)
def test_a_template_with_which_serve_would_not_start_is_told_once_with_its_line(
    project: Project, template: str, settings: str
) -> None:
    templates = project.directory / "templates"
    templates.mkdir()
    (templates / template).write_text("Hello.\n{{ supr() }}\n")

    found = findings(project, settings)

    assert list(found) == ["templates"]
    assert found["templates"]["level"] == "error"
    assert found["templates"]["message"].startswith(f"{templates / template}:2: ")
    assert "'supr' is undefined" in found["templates"]["message"]
    assert "satchel prompt --plain" in found["templates"]["next_step"]


def test_a_variable_of_the_database_that_is_not_set_is_told(project: Project) -> None:
    found = findings(project, 'database: "postgresql://u:${NOT_SET_HERE}@h/x"')

    assert found["journal"]["level"] == "error"
    assert "refers to NOT_SET_HERE, which is not set" in found["journal"]["message"]
    assert found["journal"]["next_step"] == "export NOT_SET_HERE=…"


def test_a_database_that_can_not_be_reached_is_told_without_its_password(project: Project) -> None:
    found = findings(project, 'database: "postgresql://u:${PW}@127.0.0.1:1/x"', {"PW": "geheim"})

    assert found["journal"]["level"] == "error"
    assert "postgresql://u@127.0.0.1:1/x can't be used" in found["journal"]["message"]
    assert "geheim" not in str(found)


def test_without_its_driver_a_database_can_not_be_had(project: Project, tmp_path: Path) -> None:
    blocker = tmp_path / "blocker"
    blocker.mkdir()
    (blocker / "psycopg.py").write_text("raise ImportError('no psycopg here')\n")

    found = findings(project, "database: postgresql://u@127.0.0.1:1/x", {"PYTHONPATH": str(blocker)})

    assert "needs psycopg" in found["journal"]["message"]
    assert found["journal"]["next_step"] == how_to_install("postgresql")


def test_a_database_of_a_kind_that_there_is_not_is_told(project: Project) -> None:
    assert "'mysql'" in findings(project, "database: mysql://h/x")["journal"]["message"]


def test_a_file_for_the_journal_is_not_made_by_looking(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "journal.db"

    assert findings(project, f"database: sqlite:///{file}")["journal"]["level"] == "ok"
    assert not file.exists()


def test_folders_that_are_not_there_are_told(project: Project) -> None:
    found = findings(project, "skills: {include: [.claude/skills]}\ntemplates: {path: prompts}")

    assert {name: each["level"] for name, each in found.items()} == {
        "skills": "warning",
        "templates": "warning",
    }
    assert f"{project.directory}/.claude/skills is not a folder" in found["skills"]["message"]
    assert f"{project.directory}/prompts is not a folder" in found["templates"]["message"]


def test_what_has_no_effect_is_said(project: Project) -> None:
    (project.directory / "satchel.yml").write_text("mode: code\n")

    found = project.run("doctor", "--json").json["findings"]
    assert [each["level"] for each in found if each["check"] == "effect"] == ["warning"]


def test_what_privacy_protects_against_is_said(project: Project) -> None:
    found = findings(project, "privacy: {detect: [email]}")["privacy"]
    assert found["level"] == "note"
    assert "not against a hostile model (programs get values" in found["message"]
    assert "most names and addresses in free text are not found" in found["message"]


def test_all_is_not_well_then(project: Project) -> None:
    (project.directory / "satchel.yaml").write_text("skills: {include: [nowhere]}\n")

    assert "all is well" not in project.run("doctor").err


def step_for(project: Project, entry: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> str:
    project.write({"it": entry})
    found = project.run("doctor", "it", "--json", environment=environment).json["findings"]
    return next(each["next_step"] for each in found if each["check"] == "starts")


def test_a_command_to_run_by_hand_can_be_pasted_into_a_shell(project: Project) -> None:
    code = "import sys; sys.exit(f'it\\'s {sys.argv[1:]}')"
    entry = {"command": sys.executable, "args": ["-c", code, "${WHERE}/a b", '$1 "`\\${WHERE}']}

    _, _, command = step_for(project, entry, {"WHERE": "here"}).partition("run it by hand: ")
    done = subprocess.run(
        ["sh", "-c", command], env={"WHERE": "here"}, capture_output=True, text=True, check=False
    )
    assert done.stderr == f"it's {['here/a b', '$1 ' + chr(34) + '`' + chr(92) + 'here']}\n"
    assert shlex.split(command)[0] == sys.executable


@pytest.mark.parametrize(
    ("entry", "step"),
    [
        ({"command": "python -m foo"}, 'write "command": "python", "args": ["-m", "foo"]'),
        (
            {"command": "no-such-thing 'a b'", "args": ["c"]},
            'write "command": "no-such-thing", "args": ["a b", "c"]',
        ),
        ({"command": "no-such-thing"}, "check the spelling, or write the whole path"),
        ({"command": "it's"}, "check the spelling, or write the whole path"),
    ],
)
def test_a_command_line_in_the_place_of_the_command_is_to_be_split(
    project: Project, entry: Mapping[str, Any], step: str
) -> None:
    assert step_for(project, entry) == step


def test_a_secret_in_a_command_line_is_shown_nowhere(project: Project) -> None:
    code = "import sys; sys.exit(' '.join(sys.argv[1:]))"  # many servers repeat what they can't use
    password = "postgresql://me:hunter-of-canaries@localhost/db"
    project.write(
        {
            "words": {"command": sys.executable, "args": ["-c", code, "--api-key", "canary-word", password]},
            "line": {"command": "no-such-thing --token canary-in-a-line"},
        }
    )

    commands = (["list"], ["doctor", "words", "line"], ["status"], ["call", "words.x"], ["call", "line.x"])
    said = [f"{done.out}{done.err}" for done in (project.run(*words) for words in commands)]

    assert [text for text in said if "canary" in text or "canaries" in text] == []
    assert all("***" in text for text in said)
    assert f"run it by hand: {sys.executable} -c" in said[1]

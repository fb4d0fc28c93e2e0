"""satchel privacy, as a process."""

import asyncio
import json
from pathlib import Path

import pytest

from satchel import open_satchel
from satchel.model import Caller
from tests.projects import Project
from tests.terminals import decide, yes_to_everything


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project", {})


def test_a_file_is_shown_as_a_model_would_read_it(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    file.write_text('{"first_name": "Annelie", "mail": "a@posteo.de", "order_id": "4111111111111111"}')
    done = project.run("privacy", "test", str(file))
    assert done.code == 0
    assert "Annelie" not in done.out + done.err
    assert "a@posteo.de" not in done.out + done.err
    shown = json.loads(done.out)
    assert shown["first_name"].startswith("PERSON_")
    assert shown["mail"].endswith("@email.example")
    assert shown["order_id"] == "4111111111111111"
    assert "EMAIL: 1 value" in done.err
    found = json.loads(project.run("privacy", "test", str(file), "--json").out)["found"]
    assert found == [{"kind": "EMAIL", "values": 1}, {"kind": "PERSON", "values": 1}]


def test_a_file_that_is_not_there_is_named(project: Project) -> None:
    done = project.run("privacy", "test", "nothing.json")
    assert done.code == 2
    assert "nothing.json can't be read: No such file or directory" in done.err


@pytest.fixture
def token(project: Project) -> str:
    """A token that a process which is gone has left."""

    async def leave() -> str:
        async with open_satchel(project.directory) as satchel:
            scope = await satchel.privacy.open(Caller(conversation="talk"))
            assert scope is not None
            return str(await scope.hidden("Annelie@posteo.de\x1b[2J", "crm"))

    (project.directory / "satchel.yaml").write_text("privacy: { detect: [email] }\n")
    return asyncio.run(leave()).partition("\x1b")[0]


def test_what_is_kept_is_listed_without_values_and_forgotten(project: Project, token: str) -> None:
    listed = project.run("privacy", "status")
    assert "talk" in listed.out
    assert "EMAIL 1" in listed.out
    found = project.run("privacy", "status", "--json").json
    assert [(row["conversation"], row["kinds"]) for row in found["conversations"]] == [("talk", {"EMAIL": 1})]
    unknown = project.run("privacy", "forget", "other", "--yes")
    assert unknown.code != 0
    assert project.run("privacy", "forget").code == 1  # nobody agreed
    done = project.run("privacy", "forget", "talk", "--yes")
    assert (done.code, "1 token forgotten" in done.err) == (0, True), done.err
    assert project.run("privacy", "status", "--json").json["conversations"] == []
    gone = project.run("privacy", "reveal", token)
    assert gone.code != 0
    assert "is not known here" in gone.err
    assert "posteo" not in listed.out + listed.err + done.err + gone.err


def test_a_value_is_revealed_to_a_person_at_a_terminal_only(project: Project, token: str) -> None:
    command = project.command("privacy", "reveal", token)
    piped = yes_to_everything(command, project.directory)
    assert piped.returncode == 2
    assert "posteo" not in piped.stdout + piped.stderr
    code, said = decide(command, project.directory, lambda code: "yes")
    assert (code, "posteo" in said) == (2, False), said
    code, said = decide(command, project.directory)
    assert code == 0
    assert "Annelie@posteo.de" in said


def test_a_project_without_a_database_gets_none(project: Project) -> None:
    done = project.run("privacy", "status")
    assert (done.code, "no tokens are kept" in done.err) == (0, True)
    assert not (project.directory / ".satchel" / "satchel.db").exists()

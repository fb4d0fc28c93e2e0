"""satchel privacy, as a process."""

import json
from pathlib import Path

import pytest

from tests.projects import Project


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

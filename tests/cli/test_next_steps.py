"""A mistake at the shell ends with an error that says what to do next."""

import shlex
from pathlib import Path

import pytest

from satchel.cli import output
from satchel.errors import ServerFailedError
from tests.projects import Project
from tests.servers import raw

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    servers = {"good": raw("good"), "my server": raw("good"), "off": {**raw("good"), "enabled": False}}
    project = Project(tmp_path_factory.mktemp("steps"), servers)
    project.run("refresh")
    return project


@pytest.mark.parametrize(
    ("command", "error", "hint"),
    [
        ("show good", "unknown tool 'good'", "that is a server; satchel list good shows its tools"),
        (
            "call good echo text=x",
            "unknown tool 'good'",
            "that is a server; satchel list good shows its tools",
        ),
        ("call 'my server'", "unknown tool 'my server'", "satchel list 'my server' shows its tools"),
        ("call off", "unknown tool 'off'", "satchel enable off"),
        ("remove zz", "unknown server 'zz'", "satchel list shows the servers"),
        ("auth good", "'good' runs as a command", "a key that it needs goes into 'env' of its entry"),
    ],
)
def test_a_mistake_has_a_next_step(project: Project, command: str, error: str, hint: str) -> None:
    done = project.run(*shlex.split(command))

    assert done.code == 2
    assert error in done.err
    assert hint in done.err.partition("hint: ")[2]


def test_a_list_that_is_written_as_words_is_shown_in_json(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {})
    (project.directory / "tagging.py").write_text("def tag(tags: list[str]) -> int:\n    return len(tags)\n")
    (project.directory / "satchel.yaml").write_text("custom_tools: {web.tag: tagging:tag}\n")

    done = project.run("call", "web.tag", "tags=a,b")

    assert done.code == 2
    assert "argument 'tags' must be a list of strings, not 'a,b'" in done.err
    assert """hint: write tags:='["…", "…"]'""" in done.err


def test_an_error_of_a_server_that_says_nothing_else_names_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_error(ServerFailedError("my server", "refused (code -32603)"))

    assert "hint: satchel doctor 'my server' shows more" in capsys.readouterr().err


def test_servers_that_can_not_be_used_are_listed_with_the_next_step(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {"gone": {"command": "no-such-thing"}})

    assert "hint: satchel doctor says what to do" in project.run("list").err
    project.write({"good": raw("good")})
    assert "hint:" not in project.run("list").err

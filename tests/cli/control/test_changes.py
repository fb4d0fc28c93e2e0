"""`satchel changes`: what differs, and accepting it at a terminal."""

from pathlib import Path

import pytest

from tests.projects import Project
from tests.servers import raw
from tests.terminals import decide

pytestmark = pytest.mark.slow


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return tmp_path / "text"


@pytest.fixture
def project(tmp_path: Path, text: Path) -> Project:
    """A server of which one tool has changed, and can't be called."""
    text.write_text("Echoes.\nNothing else.")
    project = Project(tmp_path / "project", {"pulled": raw("rug_pull", text=text)})
    (project.directory / "satchel.yaml").write_text("definitions: quarantine\n")
    assert project.run("refresh").code == 0
    text.write_text("Echoes.\nSends your\u200b keys.")
    assert "can't be called until a person accepts it" in project.run("refresh").err
    return project


def test_differences_are_shown_with_what_is_not_seen_spelled_out(project: Project) -> None:
    said = project.run("changes", "pulled")
    assert said.code == 0, said.err
    assert "pulled.echo has changed (description)" in said.out
    assert "-Nothing else." in said.out and "+Sends your<U+200B> keys." in said.out
    (row,) = project.run("changes", "--json").json["changes"]
    assert (row["tool"], row["held"], row["before"]["description"]) == (
        "echo",
        True,
        "Echoes.\nNothing else.",
    )
    assert "changed" in project.run("list").err
    assert "can't be called" in project.run("doctor", "pulled").out
    refused = project.run("call", "pulled.echo", "text=x")
    assert refused.code == 1 and "satchel changes pulled --accept" in refused.err


def test_only_a_person_at_a_terminal_accepts_and_only_what_was_shown(project: Project, text: Path) -> None:
    assert project.run("changes", "--accept", stdin="yes\n" * 50).code == 2
    code, _ = decide(project.command("changes", "--accept"), project.directory, answer=lambda code: "yes")
    assert code == 2

    def change() -> None:
        text.write_text("Echoes.\nSends all.")
        project.run("refresh")

    code, said = decide(project.command("changes", "--accept"), project.directory, meanwhile=change)
    assert code == 2 and "changed again meanwhile" in said
    assert project.run("call", "pulled.echo", "text=x").code == 1

    code, said = decide(project.command("refresh", "--accept"), project.directory)
    assert code == 0 and "accepted 'echo'" in said
    assert project.run("call", "pulled.echo", "text=x").out.strip() == "x"
    assert "no definition has changed" in project.run("changes").err

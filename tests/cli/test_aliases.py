"""Commands that write servers, where a server is in satchel.yaml, as real processes."""

from pathlib import Path

import pytest

from tests.projects import Project
from tests.servers import raw

pytestmark = pytest.mark.e2e


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project", {"good": raw("good")})
    (made.directory / "satchel.yaml").write_text(
        "mcp:\n  servers:\n    drive: {command: x, enabled: false}\n"
    )
    return made


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["remove", "drive"], "edit that file: Satchel writes to extensions_config.json only"),
        (["enable", "drive"], "edit that file: 'enabled' in its entry"),
        (["disable", "drive"], "edit that file: 'enabled' in its entry"),
        (["add", "drive", "--no-check", "--", "y"], "--replace adds one to extensions_config.json"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",  # pyright: ignore[reportUnknownLambdaType]
)
def test_commands_that_write_servers_say_where_it_is_written(
    project: Project, arguments: list[str], hint: str
) -> None:
    before = project.file.read_text()
    outcome = project.run(*arguments)
    assert outcome.code == 2
    assert f"'drive' is a server of mcp.servers, in {project.directory}/satchel.yaml:3" in outcome.err
    assert hint in outcome.err
    assert project.file.read_text() == before


def test_one_of_the_same_name_can_be_added_to_count_instead_and_be_taken_back(project: Project) -> None:
    assert project.run("add", "drive", "--replace", "--no-check", "--", "y").code == 0
    assert project.read()["drive"]["command"] == "y"
    assert project.run("disable", "drive").code == 0
    removed = project.run("remove", "drive")
    assert removed.code == 0
    assert f"the one in {project.directory}/satchel.yaml:3 counts now" in removed.err
    assert "drive  -        disabled" in project.run("list").out


def test_a_name_that_is_nowhere_is_unknown_as_ever(project: Project) -> None:
    for command in ("remove", "enable", "disable"):
        assert "unknown server 'drife'" in project.run(command, "drife").err

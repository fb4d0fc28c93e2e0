"""Groups of custom tools in the catalog: marked, kept through what does not concern them, and tidied up."""

import os
from pathlib import Path

import pytest

from . import Project, listing, tool

MODULE = "web.py"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.configure({"drive": {"command": "x"}})
    (made.directory / "satchel.yaml").write_text("custom_tools: { web.go: 'web:go' }\n")
    edit(made, 1)
    return made


def edit(project: Project, seconds: int) -> None:
    """As an editor would, at a given time."""
    file = project.directory / MODULE
    file.write_text("# the code is of no concern here\n")
    os.utime(file, (seconds, seconds))


def record(project: Project, description: str, **environment: str) -> None:
    catalog = project.catalog(None, **environment)
    catalog.record(catalog.entries["web"], listing(tool("go", description=description)))


def state(project: Project, **environment: str) -> str:
    return project.catalog(None, **environment).snapshot.server("web").state


def test_a_group_is_marked_as_custom_and_a_server_is_not(project: Project) -> None:
    snapshot = project.catalog().snapshot

    assert [(server.name, server.custom) for server in snapshot.servers] == [("drive", False), ("web", True)]
    assert [server.shown_transport for server in snapshot.servers] == ["stdio", "custom"]
    record(project, "listed")
    assert project.catalog().snapshot.server("web").custom


def test_groups_and_servers_are_spelled_together(project: Project) -> None:
    project.configure({"Web": {"command": "x"}})

    spellings = {server.name: server.spelling for server in project.catalog().snapshot.servers}

    assert spellings["Web"].python == "Web"
    assert spellings["web"].python.startswith("web_")


def test_a_listing_lasts_until_the_source_is_edited(project: Project) -> None:
    record(project, "first")
    assert state(project) == "listed"

    edit(project, 2)

    assert state(project) == "not listed"


def test_a_change_of_the_environment_lists_nothing_anew(project: Project) -> None:
    record(project, "first", PATH="/bin")

    assert state(project, PATH="/usr/bin", SHLVL="2") == "listed"


def test_what_was_cached_before_an_edit_is_removed_and_nothing_else(project: Project, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    other = Project(tmp_path / "elsewhere")
    other.home = project.home
    (other.directory / "satchel.yaml").write_text("custom_tools: { web.go: 'web:go' }\n")
    record(other, "of another project")
    record(project, "first")
    assert len(project.cached_files()) == 2

    for seconds in (2, 3, 4):
        edit(project, seconds)
        record(project, f"of {seconds}")

    assert len(project.cached_files()) == 2
    assert state(other) == "listed"
    assert project.catalog().snapshot.tool("web.go").description == "of 4"


def test_an_edit_is_not_reported_as_a_changed_definition(project: Project) -> None:
    record(project, "first")
    record(project, "as a helper that nobody watches has it now")

    assert project.catalog().snapshot.server("web").changes == ()
    assert project.catalog().snapshot.tool("web.go").description.startswith("as a helper")

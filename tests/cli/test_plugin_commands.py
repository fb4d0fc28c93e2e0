"""commands list, show, run."""

from pathlib import Path

import pytest

from tests.plugin_folders import add_sales, switch
from tests.projects import Project


@pytest.fixture
def project(tmp_path: Path, own_home: Path) -> Project:
    project = Project(tmp_path / "project", {})
    add_sales(project.directory)
    return project


@pytest.mark.slow
def test_commands_are_listed_with_what_they_take(project: Project) -> None:
    done = project.run("commands", "list")
    assert done.code == 0
    assert "/sales:forecast" in done.out and "[period]" in done.out and "Forecasts <sales>" in done.out
    assert "3 commands" in done.err
    named = [each["identity"] for each in project.run("commands", "list", "--json").json["commands"]]
    assert named == ["sales:call-prep", "sales:forecast", "sales:quiet"]
    assert project.run("commands", "list", "--plugin", "other", "--json").json == {"commands": []}
    switch(project.directory, "plugins", sales=False)
    assert "no commands" in project.run("commands", "list").err


def test_a_command_is_shown_with_its_text_and_its_front_matter(project: Project) -> None:
    done = project.run("commands", "show", "/Sales:Quiet")
    assert "only people invoke it" in done.out and "Quietly." in done.out
    shown = project.run("commands", "show", "forecast", "--json").json
    assert shown["content"].startswith("Forecast $ARGUMENTS")
    assert (shown["folder"], shown["told_to_models"]) == ("/mnt/plugins/sales/commands", True)


def test_a_command_is_printed_as_the_prompt_that_it_becomes(project: Project) -> None:
    done = project.run("commands", "run", "sales:quiet", "Acme Corp", "--json", "don't")
    assert done.out == '[COMMAND: /sales:quiet]\nQuietly.\n\nUser arguments: "Acme Corp" --json don\'t\n'
    assert project.run("commands", "run", "quiet", "as typed 'all'").out.endswith("as typed 'all'\n")
    for typed in (["sales", "forecast", "Q3"], ["/sales forecast Q3"], ["/Forecast", "Q3"]):
        assert project.run("commands", "run", *typed).out.startswith(
            "[COMMAND: /sales:forecast]\nForecast Q3"
        )
    assert str(project.directory) not in project.run("commands", "run", "call-prep").out


def test_a_command_that_there_is_not_is_refused_with_the_nearest(project: Project) -> None:
    done = project.run("commands", "run", "sales:forcast")
    assert done.code == 2 and "sales:forecast" in done.err
    assert project.run("commands", "list", "--agent", "nobody").code == 2

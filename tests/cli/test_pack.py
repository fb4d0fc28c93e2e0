"""`satchel pack`: a plugin that others can install, with nothing of this machine in it."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from satchel.cli.pack import plugin_files, problems_of
from satchel.toolset import definitions as tools
from satchel.version import __version__
from tests.projects import Project

NAMES = {
    Path(name) for name in (".claude-plugin/plugin.json", ".mcp.json", "README.md", "skills/satchel/SKILL.md")
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    server = {"command": "private-command", "env": {"KEY": "s3cret"}}
    return Project(tmp_path / "project", {"private-server": server})


def files_in(directory: Path) -> dict[Path, bytes]:
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def front_matter(text: str) -> dict[str, Any]:
    return yaml.safe_load(text.split("---\n")[1])


@pytest.mark.e2e
def test_the_plugin_has_a_manifest_a_server_a_skill_and_a_readme(project: Project) -> None:
    outcome = project.run("pack", "claude-plugin")
    assert outcome.code == 0, outcome.err
    directory = project.directory / "satchel-plugin"
    assert outcome.out == f"{directory}\n"
    files = files_in(directory)
    assert set(files) == NAMES
    manifest = json.loads(files[Path(".claude-plugin/plugin.json")])
    assert (manifest["name"], manifest["version"]) == ("satchel", __version__)
    assert manifest["author"] == {"name": "Satchel"}
    assert manifest["description"]
    servers = json.loads(files[Path(".mcp.json")])["mcpServers"]
    assert servers == {"satchel": {"command": "satchel", "args": ["serve"]}}
    assert [path.name for path in project.directory.iterdir() if path.name.startswith(".sat")] == []


@pytest.mark.e2e
def test_nothing_of_the_machine_or_the_project_is_in_it(project: Project, own_home: Path) -> None:
    project.run("pack", "claude-plugin", "plugins/mine", "--agent", "reader")
    directory = project.directory / "plugins/mine"
    everything = b"\n".join(files_in(directory).values()).decode()
    for private in (
        str(own_home),
        str(project.directory),
        sys.prefix,
        "private-server",
        "private-command",
        "s3cret",
    ):
        assert private not in everything
    entry = json.loads((directory / ".mcp.json").read_text())["mcpServers"]["satchel"]
    assert entry["args"] == ["serve", "--agent", "reader"]


@pytest.mark.e2e
def test_a_directory_with_something_in_it_is_left_alone_without_force(project: Project) -> None:
    directory = project.directory / "plugin"
    directory.mkdir()
    assert project.run("pack", "claude-plugin", "plugin").code == 0  # an empty one is as good as none
    (directory / ".git").mkdir()
    (directory / ".git/config").write_text("mine")
    (directory / "README.md").write_text("old")
    refused = project.run("pack", "claude-plugin", "plugin")
    assert refused.code == 2
    assert "hint: --force" in refused.err
    assert (directory / "README.md").read_text() == "old"
    assert project.run("pack", "claude-plugin", "plugin", "--force").code == 0
    assert project.run("pack", "claude-plugin", "--force", "plugin").code == 0
    files = files_in(directory)
    assert files.pop(Path(".git/config")) == b"mine"
    assert files == plugin_files(None)


@pytest.mark.e2e
def test_what_can_not_be_written_leaves_nothing_behind(project: Project) -> None:
    (project.directory / "file").write_text("mine")
    for place in ("file", "file/below"):
        outcome = project.run("pack", "claude-plugin", place)
        assert outcome.code in (1, 2)
        assert "Traceback" not in outcome.err
    assert (project.directory / "file").read_text() == "mine"
    assert sorted(os.listdir(project.directory)) == ["extensions_config.json", "file"]


def test_the_plugin_is_valid() -> None:
    files = plugin_files(None)
    assert problems_of(files) == []
    head = front_matter(files[Path("skills/satchel/SKILL.md")].decode())
    assert set(head) == {"name", "description"}


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        ("name: Satchel\ndescription: x", "lower case"),
        ("name: a--b\ndescription: x", "lower case"),
        (f"name: {'a' * 65}\ndescription: x", "longer than 64"),
        ("name: other\ndescription: x", "folder"),
        (f"name: satchel\ndescription: {'x' * 1025}", "1024"),
        ("name: satchel", "empty"),
        ("name: satchel\ndescription: uses <tools>", "angle bracket"),
        ("name: [", "not valid"),
        ("just text", "no front matter"),
    ],
)
def test_a_skill_that_claude_would_refuse_is_a_problem(head: str, problem: str) -> None:
    (found, *_) = problems_of({Path("skills/satchel/SKILL.md"): f"---\n{head}\n---\nbody\n".encode()})
    assert problem in found
    assert problems_of({Path("skills/satchel/SKILL.md"): b"body"})
    assert problems_of({Path(".mcp.json"): b"{"})


def test_the_skill_speaks_of_the_tools_that_satchel_shows() -> None:
    text = plugin_files(None)[Path("skills/satchel/SKILL.md")].decode()
    shown = {
        tools.LIST_SERVERS,
        tools.SEARCH_TOOLS,
        tools.EXECUTE_CODE,
        tools.EXECUTE_CODE_READ_ONLY,
        tools.CALL_TOOL,
    }
    assert [name for name in sorted(shown) if f"`{name}`" not in text] == []
    parameters = tools.execute_code_tool("python")["inputSchema"]["properties"]
    assert {"language", "session", "description", "timeout"} <= set(re.findall(r"`(\w+)`", text)) & set(
        parameters
    )

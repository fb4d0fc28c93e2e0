"""The universal workspace: dozens of replayed servers in one configuration, found and used offline."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from satchel.config import find_paths, read_configuration
from tests.conftest import SHARED
from tests.projects import Project

EXAMPLE = Path(__file__).parents[2] / "examples" / "universal"
RECORDED = SHARED / "realtools"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A copy of the example with its listings, whose servers run with the Python that runs this test."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    ignored = shutil.ignore_patterns(".satchel", "listings", "__pycache__")
    place = Path(shutil.copytree(EXAMPLE, tmp_path / "universal", ignore=ignored))
    subprocess.run([sys.executable, "make_listings.py"], cwd=place, check=True, timeout=60)
    return Project(place)


def test_the_configuration_is_what_its_script_writes(workspace: Project) -> None:
    assert workspace.file.read_text() == (EXAMPLE / "extensions_config.json").read_text()


def test_the_settings_name_each_of_the_fifty_servers(workspace: Project) -> None:
    configuration = read_configuration(find_paths(config=workspace.directory, environment=os.environ))
    assert len(configuration.servers) > 50
    assert [server.name for server in configuration.servers if server.problem] == []
    assert configuration.settings.mode == "code" and configuration.settings.code_execution.required
    notes = configuration.notes
    assert any("available_mcp_servers" in note for note in notes)
    named = yaml.safe_load((EXAMPLE / "satchel.yaml").read_text())["massgen"]["available_mcp_servers"]
    assert named == [server.name for server in configuration.servers]


@pytest.mark.e2e
def test_all_servers_are_listed_and_a_program_uses_several(workspace: Project) -> None:
    listed = workspace.run("list", "--json", timeout=120).json
    assert {server["state"] for server in listed["servers"]} == {"listed"}
    assert len(listed["servers"]) > 50 and listed["total_tools"] > 200
    found = workspace.run("search", "list charges", "--json").json
    assert found["tools"][0]["name"] == "stripe__list_charges"
    done = workspace.run("run", "programs/quarter.py", "--json").json
    assert done["exit_code"] == 0, done["stderr"]
    assert {call["tool"].partition("__")[0].partition(".")[0] for call in done["tools_called"]} == {
        "quickbooks",
        "salesforce",
        "slack",
        "stripe",
    }


@pytest.mark.e2e
def test_a_tool_whose_answer_was_not_recorded_says_so(workspace: Project) -> None:
    listing = workspace.directory / "listings" / "slack.json"
    written = json.loads(listing.read_text())
    listing.write_text(json.dumps(written | {"answers": {}}))
    failed = workspace.run("call", "slack.list_channels")
    assert failed.code == 1
    assert "list_channels is only listed here: what it returns was not recorded." in failed.err


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded tools of public servers are not here")
def test_recorded_listings_of_public_servers_are_replayed(workspace: Project) -> None:
    files = sorted(RECORDED.glob("*.json"))
    workspace.write({file.stem: {"command": "python", "args": ["replay.py", str(file)]} for file in files})
    listed = workspace.run("list", "--json", timeout=300).json
    tools = {file.stem: len(json.loads(file.read_bytes())["tools"]) for file in files}
    assert {server["name"]: server["tool_count"] for server in listed["servers"]} == tools

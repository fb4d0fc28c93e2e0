"""What `satchel serve` tells the person who runs it, on standard error, while it runs."""

import re
import time
from pathlib import Path

import pytest

from tests.projects import Project
from tests.server.helpers import WAIT, Served, own_environment, serving, write_servers, write_settings
from tests.servers import raw

pytestmark = pytest.mark.slow


def says(served: Served, *parts: str) -> str:
    """Wait for a line with all of these in it."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        for line in list(served.lines):
            if all(part in line for part in parts):
                return line
        time.sleep(0.05)
    pytest.fail(f"nobody said {parts}: {served.said}")


def replace_by(file: Path, text: str) -> None:
    """In one step, so that no half of it is told of as well."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)


def test_a_configuration_that_can_not_be_used_is_told_with_its_place_and_once(tmp_path: Path) -> None:
    with serving(tmp_path, {"good": raw("good")}, {"mode": "code"}) as served:
        replace_by(served.project.directory / "satchel.yaml", "mode: code\nagents:\n  default: {deny: 5}\n")
        says(served, "satchel.yaml:3", "deny", "the previous configuration still applies")
        served.settings({"mode": "code"})
        replace_by(served.project.file, "{")
        says(served, "extensions_config.json:1", "the previous configuration still applies")
        time.sleep(1.2)  # nothing says that nothing will come
        assert served.said.count("still applies") == 2


def test_a_server_that_runs_programs_itself_is_told_of_when_it_is_first_listed(tmp_path: Path) -> None:
    with serving(tmp_path, {"good": raw("good")}) as served:
        inner = Project(tmp_path / "inner", {"good": raw("good")})
        write_settings(inner, {"mode": "code"})
        command, *arguments = inner.command("serve", "--config", str(inner.directory))
        entry = {"command": command, "args": arguments, "env": {"HOME": str(served.home)}}
        write_servers(served.project, {"good": raw("good"), "inner": entry})
        says(served, "inner: it is itself a server that runs programs")
        done = served.run("doctor", "inner")
    found = re.search(r"warn  nesting: it is itself a server that runs programs.*", done.out)
    assert found, done.out
    assert "tell the server's author" not in done.out


def test_patterns_that_fit_no_tool_are_told_and_other_spellings_fit(tmp_path: Path) -> None:
    settings = {
        "in_context_tools": ["good__echo", "good.echo", "goood.echo"],
        "read_only_tools": ["good", "nothing.*"],
    }
    with serving(tmp_path, {"good": raw("good")}, settings) as served:
        says(served, "in_context_tools: 'goood.echo' fits no tool")
        says(served, "read_only_tools: 'nothing.*' fits no tool")
        done = served.run("doctor")
    assert len(re.findall("fits no tool", served.said)) == 2
    assert len(re.findall("warn  patterns: ", done.out)) == 2


def test_programs_that_are_required_and_can_not_be_run_keep_it_from_starting(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {"good": raw("good")})
    sandbox = {"python_env": str(tmp_path / "nowhere")}
    write_settings(project, {"execution_mode": "filesystem_first", "code_execution": {"sandbox": sandbox}})
    done = project.run("serve", environment=own_environment(tmp_path / "home"))
    assert done.code == 5
    assert "programs can't be run here" in done.err and "nowhere" in done.err
    assert "or set mode: search (or direct)" in done.err


def test_an_agent_is_named_by_its_token_over_http(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {"good": raw("good")})
    write_settings(project, {"agents": {"default": {}, "other": {}}})
    done = project.run("serve", "--http", "127.0.0.1:0", "--agent", "other")
    assert done.code == 2
    assert "satchel token other" in done.err


def test_what_is_set_and_does_not_do_what_it_seems_to_is_told_at_the_start(tmp_path: Path) -> None:
    settings = {
        "agents": {"default": {"deny": ["godo", "good.ecko", "good.echo"]}},
        "code_execution": {"sandbox": {"backend": "process"}},
    }
    with serving(tmp_path, {"good": raw("good")}, settings) as served:
        says(served, "programs run without isolation")
        says(served, "agents.default.deny: 'godo' fits no tool; did you mean 'good'?")
        says(served, "agents.default.deny: 'good.ecko' fits no tool")
        done = served.run("doctor")
    assert len(re.findall("fits no tool", served.said)) == 2
    assert served.said.count("without isolation") == 1
    assert len(re.findall("warn  patterns: ", done.out)) == 2


def test_a_settings_file_with_nearly_the_right_name_is_told_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "satchel.yml").write_text("mode: code\n")
    with serving(tmp_path, {"good": raw("good")}) as served:
        says(served, "satchel.yml is not read: rename it to satchel.yaml")

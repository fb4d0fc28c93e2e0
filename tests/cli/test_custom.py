"""Custom tools on the command line, as real processes."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.projects import Project
from tests.servers import raw

pytestmark = pytest.mark.e2e

WEB = '''
import os
from dataclasses import dataclass


@dataclass
class Page:
    title: str
    depth: int


def navigate(url: str, depth: int = 2) -> Page:
    """Open a page.

    Args:
        url: The address.
        depth: How deep to go.
    """
    print("noise")
    return Page(title=url, depth=depth)


async def title(url: str) -> str:
    """The title alone."""
    return f"title of {url} for {os.environ.get('READER', 'nobody')}"


def crash() -> None:
    raise ValueError("no such page")
'''
TOOLS = {"web.navigate": "mypkg.web:navigate", "web.title": "mypkg.web:title", "web.crash": "mypkg.web:crash"}


def settings(tools: Mapping[str, str]) -> str:
    return "custom_tools:\n" + "".join(f"  {name}: {target}\n" for name, target in tools.items())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    (made.directory / "satchel.yaml").write_text(settings(TOOLS))
    (made.directory / "mypkg").mkdir()
    (made.directory / "mypkg/web.py").write_text(WEB)
    return made


def test_custom_tools_are_listed_shown_and_called_like_all_others(project: Project) -> None:
    listed = project.run("list")
    assert listed.code == 0
    assert "web  3 tools  listed  custom" in listed.out
    (server,) = project.run("list", "--json").json["servers"]
    assert (server["name"], server["transport"], server["problems"]) == ("web", "custom", [])
    assert "web  listed, custom" in project.run("list", "web").out

    shown = project.run("show", "web.navigate").out
    assert "Open a page." in shown
    assert "url      a string        The address." in shown
    assert "[depth]  a whole number  How deep to go. (default 2)" in shown
    schema = project.run("show", "web.navigate", "--json").json["output_schema"]
    assert schema["properties"]["title"]["type"] == "string"

    called = project.run("call", "web__navigate", "url=x", "--json")
    assert (called.code, called.json) == (0, {"title": "x", "depth": 2})
    assert called.err == ""
    assert (
        project.run("call", "web.title", "url=x", environment={"READER": "Ada"}).out == "title of x for Ada\n"
    )


def test_arguments_are_checked_before_the_function_runs(project: Project) -> None:
    outcome = project.run("call", "web.navigate", "url=x", "depth=deep")
    assert outcome.code == 2
    assert "argument 'depth' must be a whole number" in outcome.err


def test_an_exception_ends_with_1_and_shows_type_message_place_and_traceback(project: Project) -> None:
    outcome = project.run("call", "web.crash")
    line = WEB.splitlines().index('    raise ValueError("no such page")') + 1
    assert (outcome.code, outcome.out) == (1, "")
    assert f"web.crash: ValueError: no such page\n  at mypkg/web.py:{line}" in outcome.err
    assert f'|   File "{project.directory}/mypkg/web.py", line {line}, in crash' in outcome.err


def test_an_edit_of_the_code_is_listed_by_itself_and_is_no_suspicious_change(project: Project) -> None:
    project.run("list")
    (project.directory / "mypkg/web.py").write_text(WEB.replace("The title alone.", "Nothing but the title."))
    listed = project.run("list", "web")
    assert "Nothing but the title." in listed.out
    assert "has changed" not in listed.err


def test_listing_from_the_cache_starts_nothing_and_imports_nothing_heavy(project: Project) -> None:
    project.run("list")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "satchel", "list", "--json"],
        cwd=project.directory,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert json.loads(done.stdout)["total_tools"] == 3
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "yaml" in imported
    assert not {"mcp", "asyncio", "anyio", "tempfile", "logging", "subprocess", "mypkg"} & imported


def test_one_broken_function_is_visible_everywhere_and_the_others_work(project: Project) -> None:
    (project.directory / "bad.py").write_text("import not_installed_anywhere\n")
    (project.directory / "satchel.yaml").write_text(settings({**TOOLS, "web.bad": "bad:f"}))
    reason = (
        "can't be loaded: bad:f: ModuleNotFoundError: No module named 'not_installed_anywhere' at bad.py:1"
    )

    listed = project.run("list")
    assert "web  4 tools  listed" in listed.out
    assert f"web: tool 'bad': it says: {reason}" in listed.err
    assert reason in project.run("show", "web.bad").out
    called = project.run("call", "web.bad", "url=x")
    assert called.code == 1
    assert f"web.bad: {reason}" in called.err
    doctor = project.run("doctor", "web", "--json")
    (finding,) = (f for f in doctor.json["findings"] if f["level"] != "ok")
    assert (finding["level"], finding["message"]) == ("warning", f"tool 'bad': it says: {reason}")
    assert f"{project.directory}/satchel.yaml:2" in finding["next_step"]


def test_a_group_that_can_not_be_loaded_at_all_fails_with_the_reason(project: Project) -> None:
    (project.directory / "mypkg/web.py").write_text("def navigate(:\n")
    listed = project.run("list")
    assert "failed" in listed.out
    assert "SyntaxError: invalid syntax at mypkg/web.py:1" in listed.err
    doctor = project.run("doctor", "web")
    assert doctor.code == 4
    assert "| web.navigate can't be loaded: mypkg.web:navigate: SyntaxError" in doctor.out
    assert f"→ correct its functions, or their names in {project.directory}/satchel.yaml:2" in doctor.out
    (project.directory / "mypkg/web.py").write_text(WEB)
    assert "3 tools" in project.run("list").out


@pytest.mark.parametrize(
    "arguments",
    [["remove", "web"], ["enable", "web"], ["disable", "web"], ["add", "web", "--no-check", "--", "x"]],
    ids=lambda words: words[0],
)
def test_commands_that_write_servers_say_where_a_group_is_written(
    project: Project, arguments: list[str]
) -> None:
    project.write({"good": raw("good")})
    before = project.file.read_text()
    outcome = project.run(*arguments)
    assert outcome.code == 2
    assert f"'web' is a group of custom tools, in {project.directory}/satchel.yaml:2" in outcome.err
    assert "hint: " in outcome.err
    assert project.file.read_text() == before


def test_servers_can_still_be_switched_and_removed_beside_a_group(project: Project) -> None:
    project.write({"good": raw("good")})
    assert project.run("disable", "good").code == 0
    assert project.run("remove", "good").code == 0
    unknown = project.run("disable", "nope")
    assert (unknown.code, "unknown server 'nope'" in unknown.err) == (2, True)


def test_an_import_gives_a_server_with_the_name_of_a_group_another_one(project: Project) -> None:
    (project.directory / ".mcp.json").write_text(json.dumps({"mcpServers": {"web": raw("good")}}))
    assert project.run("init", "--yes").code == 0
    assert list(project.read()) == ["web-claude-code"]
    assert "web-claude-code" in project.run("list").out


def test_a_group_named_like_a_server_stops_with_both_places(project: Project) -> None:
    project.write({"web": raw("good")})
    outcome = project.run("list")
    assert outcome.code == 3
    assert "satchel.yaml:2: the group 'web' of custom_tools has the name of a server in" in outcome.err
    assert f"{project.file}:3" in outcome.err

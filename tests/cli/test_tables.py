"""Tables, on terminals of several widths and in a pipe."""

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from satchel.cli.looking.journal import title
from tests.projects import Project
from tests.servers import raw

pytestmark = pytest.mark.e2e

LONG = "What the server is for, in a sentence that does not fit into any line of a narrow terminal at all."


@pytest.fixture
def project(tmp_path: Path) -> Project:
    servers = {
        "good": raw("good") | {"description": LONG},
        "a-server-with-a-long-name": {"command": "x", "env": {"KEY": "${NOT_SET_HERE}"}, "description": LONG},
        "off": raw("good") | {"enabled": False},
    }
    project = Project(tmp_path, servers)
    project.run("refresh")
    return project


def on_terminal(project: Project, *arguments: str, columns: int, **environment: str) -> str:
    """What is written to standard output, where that is a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        project.command(*arguments),
        cwd=project.directory,
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": str(columns), **environment},
    )
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:  # how Linux says that the other side is closed
        pass
    os.close(master)
    assert process.wait(60) == 0
    return shown.decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    return re.sub(r"\x1b\[\d+m", "", text)


@pytest.mark.slow
def test_a_terminal_shows_headings_and_states_in_colour(project: Project) -> None:
    shown = on_terminal(project, "list", columns=120)
    heading, *rows = plain(shown).splitlines()
    assert heading.split() == ["SERVER", "TOOLS", "STATE", "TRANSPORT", "ABOUT"]
    assert all(row.index("stdio") == heading.index("TRANSPORT") for row in rows)
    assert "\x1b[32mlisted\x1b[0m" in shown
    assert "\x1b[33mneeds setup\x1b[0m" in shown
    assert "\x1b[2mdisabled\x1b[0m" in shown
    assert on_terminal(project, "list", columns=120, NO_COLOR="1") == plain(shown)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 48])
def test_a_narrow_terminal_gets_short_lines_with_the_names_and_states(project: Project, columns: int) -> None:
    for arguments in (["list"], ["list", "--tools"], ["list", "good"], []):
        lines = plain(on_terminal(project, *arguments, columns=columns)).splitlines()
        assert max(len(line) for line in lines if LONG not in line and "atchel" not in line) <= columns
    shown = plain(on_terminal(project, "list", columns=columns))
    assert "TRANSPORT" not in shown
    assert re.search(r"^a-server-with-a-long-name +(\S+  )?needs setup", shown, re.MULTILINE)
    assert "What the server is" in shown


def test_a_pipe_gets_rows_without_headings_and_colours(project: Project) -> None:
    outcome = project.run("list")
    assert len(outcome.out.splitlines()) == 3
    assert "\x1b" not in outcome.out
    assert LONG[:60] in outcome.out
    assert "3 servers" in outcome.err


def test_all_tools_are_listed_by_server(project: Project) -> None:
    outcome = project.run("list", "--tools")
    first, rest = outcome.out.split("\n\n", 1)
    assert re.match(r"good  listed, stdio, \d+ tools\n", first)
    assert "\n  echo " in first
    assert rest.startswith("a-server-with-a-long-name  needs setup, stdio\n")
    assert outcome.err.count("a-server-with-a-long-name:") == 1
    servers = project.run("list", "--tools", "--json").json["servers"]
    assert "echo" in [tool["name"] for tool in servers[0]["tools"]]


def test_other_spellings_of_commands_and_options_do_the_same(project: Project) -> None:
    assert project.run("list", "--server", "good") == project.run("list", "good")
    assert project.run("mcp", "list", "--server", "good") == project.run("list", "good")
    called = project.run("mcp", "call", "good.echo", "text=hi")
    assert called.out == "hi\n", called.err
    assert project.run("mcp", "generate", "--language", "py", "--json").json["tools"] == 8
    assert project.run("list", "good", "--server", "off").code == 2


@pytest.mark.slow
def test_languages_can_be_written_in_short(project: Project) -> None:
    outcome = project.run("run", "-", "--language", "py", stdin="print(6 * 7)")
    assert outcome.out == "42\n", outcome.err
    assert "invalid choice: 'rb'" in project.run("run", "-", "--language", "rb").err


@pytest.mark.parametrize(
    ("program", "first"),
    [
        ('/**\n * Count issues.\n */\nimport { list } from "./servers/git";\n', "Count issues."),
        ("/* Count issues. */\nconst a = 1;", "Count issues."),
        ('import {\n  list,\n} from "./servers/git";\n\nconst a = 1;', "const a = 1;"),
        ("from servers.git import (\n    log,\n)\nimport json\nprint(1)\n", "print(1)"),
        ('"""Count issues."""\nprint(1)', "Count issues."),
        ("#!/usr/bin/env python\n# Count issues", "Count issues"),
        ("import json", "import json"),
        ("/**/", "/**/"),
        ("", ""),
    ],
)
def test_a_program_is_titled_by_its_first_words(program: str, first: str) -> None:
    assert title(program) == first

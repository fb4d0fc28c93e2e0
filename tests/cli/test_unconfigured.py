"""call --stdio and --url: servers that no file configures."""

import shlex
from pathlib import Path

import pytest

from satchel.cli.unconfigured import name_of_command
from tests.projects import Project
from tests.servers import http_server, raw

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def command(behaviour: str = "good") -> str:
    entry = raw(behaviour)
    return shlex.join([entry["command"], *entry["args"]])


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("npx -y @modelcontextprotocol/server-everything", "server-everything"),
        ("npx -y files@1.2 /tmp", "files"),
        ("uvx mcp-server-git --repository .", "mcp-server-git"),
        ("python server.py", "server"),
        ("/opt/bin/my.tool --x", "my-tool"),
    ],
)
def test_a_server_is_called_by_what_its_command_starts(line: str, name: str) -> None:
    assert name_of_command(line.split()) == name


def test_tools_are_listed_and_called_and_nothing_is_configured(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {"raw": raw("good")})
    before = project.file.read_bytes()
    listed = project.run("call", "--stdio", command())
    assert listed.code == 0, listed.err
    assert "echo         Return the text." in listed.out
    assert listed.out.startswith("raw-2 ")  # the configured one has the name
    assert "hint: satchel call --stdio … TOOL" in listed.err
    for arguments in (
        ["--stdio", command(), "add", "a=1", "b=2"],
        ["add", "a=1", "b=2", "--stdio", command()],
    ):
        assert project.run("call", *arguments).out == '{"sum": 3}\n', arguments
    assert project.file.read_bytes() == before
    assert [line.split()[0] for line in project.run("list").out.splitlines()] == ["raw"]
    assert "raw-2.add" in project.run("audit").out


def test_such_a_call_takes_the_whole_chain(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {})
    (project.directory / "satchel.yaml").write_text("agents: {default: {deny: ['*.add']}}\n")
    denied = project.run("call", "--stdio", command(), "add", "a=1", "b=2")
    assert denied.code != 0
    assert "denied" in project.run("audit").out
    wrong = project.run("call", "--stdio", command(), "echo", "txet=1")
    assert wrong.code == 2
    assert "text" in wrong.err


@pytest.mark.anyio
async def test_a_remote_server_is_called_by_its_address(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {})
    async with http_server(token="canary-key") as url:
        refused = project.run("call", "--url", url, "echo", "text=x")
        assert refused.code == 4
        assert "hint: --header" in refused.err
        done = project.run(
            "call", "--url", url, "--header", "Authorization=Bearer canary-key", "echo", "text=in"
        )
    assert done.out == "in\n", done.err
    assert "canary" not in refused.err + done.err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "no tool is named"),
        (("--stdio", ""), "no tool is named"),
        (("--stdio", "'"), "--stdio can't be read"),
        (("--stdio", "x", "--url", "https://x"), "either --stdio or --url"),
        (("--url", "ftp://x"), "not the address of a remote server"),
        (("a.b", "--env", "A=b"), "--env belongs to --stdio"),
        (("--url", "https://x", "--header", "secret"), "is not NAME=VALUE"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, arguments: tuple[str, ...], text: str) -> None:
    outcome = Project(tmp_path, {}).run("call", *arguments)
    assert outcome.code == 2
    assert text in outcome.err


def test_what_fails_has_a_next_step_that_exists(tmp_path: Path) -> None:
    outcome = Project(tmp_path, {}).run("call", "--stdio", command("crash_start"))
    assert outcome.code == 4
    assert "DATABASE_URL is not set" in outcome.err
    assert "hint: run the command by hand" in outcome.err

"""connect --move and --all: a client's own servers go to Satchel, and come back byte for byte."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_connect import FILES, backup_of, project, servers, write
from tests.projects import Project

__all__ = ["project"]
pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def place(client: str, home: Path) -> tuple[Path, tuple[str, ...], str]:
    file, keys, text = FILES[client]
    return write(home / file, text), keys, text


@pytest.mark.parametrize("client", [name for name in FILES if name != "gemini"])
def test_servers_move_to_satchel_and_come_back_byte_for_byte(
    project: Project, own_home: Path, client: str
) -> None:
    file, keys, text = place(client, own_home)
    moved = project.run("connect", client, "--move", "--yes")
    assert moved.code == 0, moved.err
    assert set(servers(file, keys)) == {"satchel"}
    assert "s3cret" not in moved.out + moved.err
    assert "moved 1 server to Satchel" in moved.err
    assert "hint:" in moved.err or "next:" in moved.err
    assert {"files"} < set(project.read())
    undone = project.run("connect", client, "--undo", "--yes")
    assert undone.code == 0, undone.err
    assert file.read_bytes() == text.encode()
    assert "put back" in undone.err
    assert not backup_of(file).exists()
    assert not file.with_name(f"{file.name}.satchel-moved").exists()


def test_a_client_that_was_connected_before_gets_all_of_it_back(project: Project, own_home: Path) -> None:
    file, keys, text = place("cursor", own_home)
    project.run("connect", "cursor", "--yes")
    assert set(servers(file, keys)) == {"far", "satchel"}
    assert project.run("connect", "cursor", "--move", "--yes").code == 0
    assert set(servers(file, keys)) == {"satchel"}
    project.run("connect", "cursor", "--undo", "--yes")
    assert file.read_bytes() == text.encode()


def test_servers_come_back_although_the_file_has_changed_since(project: Project, own_home: Path) -> None:
    file, keys, _ = place("claude-code", own_home)
    project.run("connect", "claude-code", "--move", "--yes")
    file.write_text(file.read_text().replace('"numStartups": 41', '"numStartups": 42'))
    undone = project.run("connect", "claude-code", "--undo", "--yes")
    assert undone.code == 0, undone.err
    after: dict[str, Any] = json.loads(file.read_text())
    assert after["numStartups"] == 42
    assert after["mcpServers"] == {"db": {"type": "stdio", "command": "db", "env": {"KEY": "s3cret"}}}
    assert keys == ("mcpServers",)


def test_what_satchel_can_not_have_stays_and_is_named(project: Project, own_home: Path) -> None:
    text = json.dumps({"mcpServers": {"odd": {"url": "ftp://x"}, "files": {"command": "files"}}}, indent=2)
    file = write(own_home / ".cursor/mcp.json", text)
    project.write({"files": {"command": "files", "enabled": False}})
    moved = project.run("connect", "cursor", "--move", "--yes")
    assert set(servers(file, ("mcpServers",))) == {"odd", "files", "satchel"}
    assert "server 'odd'" in moved.err
    assert "'files' stays in the client: Satchel has it disabled; satchel enable files" in moved.err
    project.run("connect", "cursor", "--undo", "--yes")
    assert file.read_text() == text


def test_nothing_is_written_before_somebody_agrees(project: Project, own_home: Path) -> None:
    file, _, text = place("cursor", own_home)
    before = project.file.read_bytes()
    for arguments, code in ((["--dry-run"], 0), ([], 2)):
        outcome = project.run("connect", "cursor", "--move", *arguments)
        assert outcome.code == code
        assert (file.read_bytes(), project.file.read_bytes()) == (text.encode(), before)
        assert "s3cret" not in outcome.out + outcome.err


def test_all_clients_of_the_machine_are_connected_and_undone(project: Project, own_home: Path) -> None:
    none = project.run("connect", "--all", "--yes")
    assert "no client was found" in none.err
    texts = {name: place(name, own_home) for name in ("cursor", "windsurf", "codex")}
    write(own_home / ".gemini/settings.json", "{ broken")
    outcome = project.run("connect", "--all", "--yes")
    assert outcome.code == 3  # one file can't be read, and the others are connected
    for file, keys, _ in texts.values():
        assert "satchel" in servers(file, keys)
    assert project.run("connect", "--all", "--undo", "--yes").code == 3
    for file, _, text in texts.values():
        assert file.read_bytes() == text.encode()
    assert project.run("connect").code == 2
    assert project.run("connect", "cursor", "--all").code == 2

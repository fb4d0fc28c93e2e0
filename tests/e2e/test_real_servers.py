"""Servers that people really use, installed by `make setup`, through the real command line."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.projects import Project

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SERVERS = Path(__file__).resolve().parents[2] / ".servers"


def python_server(era: str, name: str, *arguments: str) -> dict[str, Any]:
    command = SERVERS / era / "bin" / f"mcp-server-{name}"
    if not command.exists():
        pytest.skip(f"mcp-server-{name} is not installed: run make setup")
    if name == "git" and shutil.which("git") is None:
        pytest.skip("git is not here, and mcp-server-git needs it")
    return {"command": str(command), "args": list(arguments)}


def node_server(name: str, *arguments: str) -> dict[str, Any]:
    if shutil.which("npm") is None:
        pytest.skip("npm is not here, so servers on Node can't be installed")
    command = SERVERS / "node" / "node_modules" / ".bin" / f"mcp-server-{name}"
    if not command.exists():
        pytest.skip(f"mcp-server-{name} is not installed: run make setup")
    return {"command": str(command), "args": list(arguments)}


def test_git(tmp_path: Path) -> None:
    project = Project(tmp_path, {"git": python_server("modern", "git")})
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    outcome = project.run_anew("call", "git.git_status", f"repo_path={tmp_path}")
    assert outcome.code == 0, outcome.err
    assert "branch" in outcome.out.lower()


def test_time(tmp_path: Path) -> None:
    project = Project(tmp_path, {"time": python_server("modern", "time")})
    outcome = project.run_anew("call", "time.get_current_time", "timezone=Europe/Oslo")
    assert outcome.code == 0, outcome.err
    assert "Europe/Oslo" in outcome.out


def test_fetch_is_listed(tmp_path: Path) -> None:
    project = Project(tmp_path, {"fetch": python_server("modern", "fetch")})
    outcome = project.run_anew("list", "fetch", "--detailed", "--json")
    assert outcome.code == 0, outcome.err
    (tool,) = outcome.json["tools"]
    assert "url" in tool["input_schema"]["properties"]


def test_sqlite_speaks_the_older_era_and_keeps_what_it_is_told(tmp_path: Path) -> None:
    server = python_server("legacy", "sqlite", "--db-path", str(tmp_path / "x.db"))
    project = Project(tmp_path, {"sqlite": server})
    assert project.run_anew("call", "sqlite.create_table", "query=CREATE TABLE t (n INTEGER)").code == 0
    assert project.run_anew("call", "sqlite.write_query", "query=INSERT INTO t VALUES (42)").code == 0
    assert "42" in project.run_anew("call", "sqlite.read_query", "query=SELECT n FROM t").out
    assert project.run_anew("list", "--json").json["servers"][0]["protocol_version"] < "2026"
    assert project.run_anew("resources", "sqlite").code == 0


def test_filesystem(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("from a file")
    project = Project(tmp_path, {"files": node_server("filesystem", str(tmp_path))})
    outcome = project.run_anew("call", "files.read_text_file", f"path={tmp_path / 'note.txt'}")
    assert outcome.code == 0, outcome.err
    assert "from a file" in outcome.out


def test_everything(tmp_path: Path) -> None:
    project = Project(tmp_path, {"everything": node_server("everything")})
    assert project.run_anew("call", "everything.echo", "message=hello").out.strip() == "Echo: hello"
    image = project.run_anew("call", "everything.get-tiny-image")
    assert image.code == 0, image.err
    assert list(tmp_path.glob("get-tiny-image*.png"))
    assert project.run_anew("resources", "everything", "--json").json["resources"]
    assert project.run_anew("prompts", "everything", "--json").json["prompts"]
    python_spelling = project.run_anew("call", "everything.get_tiny_image")
    assert python_spelling.code == 0


def test_memory_changes_last(tmp_path: Path) -> None:
    server = node_server("memory") | {"env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}}
    project = Project(tmp_path, {"memory": server})
    entities = '{"entities": [{"name": "Ada", "entityType": "person", "observations": ["likes engines"]}]}'
    created = project.run_anew("call", "memory.create_entities", "--args", entities)
    assert created.code == 0, created.err
    assert "likes engines" in project.run_anew("call", "memory.read_graph").out


def test_doctor_is_content_with_all_of_them(tmp_path: Path) -> None:
    servers = {
        "git": python_server("modern", "git"),
        "time": python_server("modern", "time"),
        "sqlite": python_server("legacy", "sqlite", "--db-path", str(tmp_path / "x.db")),
        "files": node_server("filesystem", str(tmp_path)),
        "everything": node_server("everything"),
        "memory": node_server("memory"),
    }
    outcome = Project(tmp_path, servers).run_anew("doctor", *servers, timeout=120)
    assert outcome.code == 0, outcome.out
    assert outcome.out.count("starts: ") == len(servers)

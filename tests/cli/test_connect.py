"""`satchel connect`: what it writes into whose file, what it keeps of it, and how it takes it back."""

import json
import os
import pty
import random
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from satchel.cli.parser import build_parser
from satchel.config.clients.connecting import (
    TARGETS,
    apply_change,
    json_text,
    plan_connection,
    plan_undo,
    toml_text,
)
from satchel.config.clients.connecting.clients import own_command
from satchel.config.clients.connecting.document import Document
from satchel.config.clients.importing import Source, preferred_source
from satchel.config.jsonc import to_json
from satchel.errors import ArgumentError, ConfigError
from satchel.model import is_list, is_object
from tests.projects import Outcome, Project

APPLICATIONS = "Library/Application Support" if sys.platform == "darwin" else ".config"
DOCUMENTATION = Path(__file__).parents[2] / "docs/connecting.md"
ENTRY = {"command": "/opt/satchel", "args": ["serve", "--config", "/home/ada/work"]}

# client → its file, the keys down to the servers, and a file as people have it
FILES: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "claude-code": (
        ".claude.json",
        ("mcpServers",),
        '{\n  "numStartups": 41,\n  "mcpServers": {\n    "db": {\n      "type": "stdio",\n'
        '      "command": "db",\n      "env": {"KEY": "s3cret"}\n    }\n  },\n  "projects": {"/x": {}}\n}',
    ),
    "claude-desktop": (
        f"{APPLICATIONS}/Claude/claude_desktop_config.json",
        ("mcpServers",),
        '{"globalShortcut":"Ctrl+Space","mcpServers":{"db":{"command":"db","env":{"KEY":"s3cret"}}}}',
    ),
    "cursor": (
        ".cursor/mcp.json",
        ("mcpServers",),
        '{\n\t"mcpServers": {\n\t\t"far": {\n\t\t\t"url": "https://a.example/mcp",\n'
        '\t\t\t"headers": {"K": "s3cret"}\n\t\t}\n\t}\n}\n',
    ),
    "vscode": (
        f"{APPLICATIONS}/Code/User/mcp.json",
        ("servers",),
        '// mine\n{\n    "servers": {\n        // "old": {"env": {"KEY": "s3cret"}},\n'
        '        "db": {\n            "command": "db", // "not a string\n        }, /* last */\n    },\n'
        '    "inputs": [],\n}\n',
    ),
    "codex": (
        ".codex/config.toml",
        ("mcp_servers",),
        '# mine\nmodel = "o9"   # good\n\n[mcp_servers.db]\ncommand = "db"\nenv = { KEY = "s3cret" }\n'
        "# the end",
    ),
    "windsurf": (
        ".codeium/windsurf/mcp_config.json",
        ("mcpServers",),
        '{\r\n  "mcpServers": {\r\n    "db": { "command": "db", "env": { "KEY": "s3cret" } }\r\n  }\r\n}\r\n',
    ),
    "gemini": (".gemini/settings.json", ("mcpServers",), '{\n  "theme": "s3cret", // dark\n}\n'),
}
PROJECT_FILES = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return Project(tmp_path / "project", {"files": {"command": "files"}})


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def backup_of(file: Path) -> Path:
    return file.with_name(file.name + ".satchel-backup")


def parse(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8-sig")
    return tomllib.loads(text) if file.suffix == ".toml" else json.loads(to_json(text))


def servers(file: Path, keys: tuple[str, ...]) -> dict[str, Any]:
    here = parse(file)
    for key in keys:
        here = here[key]
    return here


def source(file: Path) -> Source:
    key = "mcp_servers" if file.suffix == ".toml" else "mcpServers"
    return Source(TARGETS["cursor"].client, file, (key,), file.parent, file.parent)


def connect(file: Path, name: str = "satchel", **entry: Any) -> bool:
    change = plan_connection(source(file), name, {**ENTRY, **entry})
    if change is not None:
        apply_change(change)
    return change is not None


def undo(file: Path, name: str = "satchel") -> bool:
    change = plan_undo(source(file), name)
    if change is not None:
        apply_change(change)
    return change is not None


# Every client


@pytest.mark.e2e
@pytest.mark.parametrize("client", FILES)
def test_a_client_is_connected_and_undo_brings_back_every_byte(
    client: str, project: Project, own_home: Path
) -> None:
    name, keys, text = FILES[client]
    file = write(own_home / name, text)
    file.chmod(0o640)
    before = servers(file, keys) if client != "gemini" else {}
    outcome = project.run("connect", client, "--yes")
    assert outcome.code == 0, outcome.err
    entry = servers(file, keys)["satchel"]
    assert {**servers(file, keys), "satchel": None} == {**before, "satchel": None}
    assert [entry["command"], *entry["args"]] == [*own_command(), "serve", "--config", str(project.directory)]
    assert set(entry) - {"command", "args"} == ({"type"} if client in ("claude-code", "vscode") else set())
    assert "s3cret" not in outcome.out + outcome.err
    assert outcome.out.splitlines()[:3] == [str(file), f"--- {file}", f"+++ {file}"]
    assert "next: " in outcome.err
    assert stat.S_IMODE(file.stat().st_mode) == stat.S_IMODE(backup_of(file).stat().st_mode) == 0o640
    assert backup_of(file).read_bytes() == text.encode()
    again = project.run("connect", client, "--yes")
    assert (again.code, again.out) == (0, "")
    assert "already connected" in again.err
    undone = project.run("connect", client, "--undo", "--yes")
    assert undone.code == 0, undone.err
    assert file.read_bytes() == text.encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert not backup_of(file).exists()
    nothing = project.run("connect", client, "--undo", "--yes")
    assert nothing.code == 0
    assert "nothing to undo" in nothing.err


@pytest.mark.e2e
@pytest.mark.parametrize("client", FILES)
def test_a_file_that_was_not_there_is_made_and_goes_again(
    client: str, project: Project, own_home: Path
) -> None:
    name, keys, _ = FILES[client]
    file = own_home / name
    outcome = project.run("connect", client, "--yes", "--agent", "default", "--name", "tool-box")
    assert outcome.code == 0, outcome.err
    assert "--- /dev/null" in outcome.out
    assert servers(file, keys)["tool-box"]["args"][-2:] == ["--agent", "default"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not backup_of(file).exists()
    undone = project.run("connect", client, "--undo", "--yes", "--name", "tool-box")
    assert "+++ /dev/null" in undone.out
    assert not file.exists()


@pytest.mark.e2e
@pytest.mark.parametrize("client", FILES)
def test_the_project_has_its_own_file_where_the_client_knows_one(
    client: str, project: Project, own_home: Path
) -> None:
    outcome = project.run("connect", client, "--project", "--yes")
    if client in PROJECT_FILES:
        assert outcome.code == 0
        file = project.directory / PROJECT_FILES[client]
        assert "satchel" in servers(file, FILES[client][1])
    else:
        assert outcome.code == 2
        assert "no file in a project" in outcome.err
    assert not (own_home / FILES[client][0]).exists()


def test_the_commands_clients_are_the_ones_that_can_be_connected() -> None:
    for client in TARGETS:
        build_parser("connect").parse_args(["connect", client])
    assert set(TARGETS) == set(FILES)


def test_macos_has_its_own_directory_for_applications(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    places = {
        client: preferred_source(
            TARGETS[client].client, in_project=False, project=Path("/p"), home=Path("/h"), environment={}
        )
        for client in ("claude-desktop", "vscode", "cursor")
    }
    assert {client: place.file for client, place in places.items() if place} == {
        "claude-desktop": Path("/h/Library/Application Support/Claude/claude_desktop_config.json"),
        "vscode": Path("/h/Library/Application Support/Code/User/mcp.json"),
        "cursor": Path("/h/.cursor/mcp.json"),
    }


@pytest.mark.e2e
def test_variables_of_the_clients_move_their_files(
    project: Project, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(own_home / "elsewhere"))
    assert project.run("connect", "codex", "--yes").code == 0
    assert (own_home / "elsewhere/config.toml").is_file()


# What is written


@pytest.mark.e2e
def test_what_is_written_starts_this_satchel_from_a_bare_environment(
    project: Project, own_home: Path
) -> None:
    project.run("connect", "cursor", "--yes")
    entry = servers(own_home / ".cursor/mcp.json", ("mcpServers",))["satchel"]
    command = [entry["command"], *entry["args"][: entry["args"].index("serve")]]
    done = subprocess.run(
        [*command, "--version"],
        env={"PATH": "/usr/bin:/bin", "HOME": str(own_home)},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.startswith("satchel ")
    assert "env" not in entry


@pytest.mark.e2e
def test_what_is_written_speaks_the_protocol(project: Project, own_home: Path) -> None:
    project.write({})
    project.run("connect", "cursor", "--yes", "--agent", "default")
    entry = servers(own_home / ".cursor/mcp.json", ("mcpServers",))["satchel"]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    with subprocess.Popen(
        [entry["command"], *entry["args"]],
        env={"PATH": "/usr/bin:/bin", "HOME": str(own_home)},
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        process.stdin.close()
        process.wait(30)
    assert answer["result"]["serverInfo"]["name"].lower() == "satchel"


def test_without_a_console_script_python_runs_the_module_and_nothing_of_its_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3.13"))
    assert own_command() == [str(tmp_path / "python3.13"), "-P", "-m", "satchel"]
    (tmp_path / "satchel").write_text("")
    (tmp_path / "satchel").chmod(0o755)
    assert own_command() == [str(tmp_path / "satchel")]


@pytest.mark.e2e
def test_the_configuration_that_was_named_is_the_one_that_is_served(
    project: Project, own_home: Path, tmp_path: Path
) -> None:
    other = Project(tmp_path / "other dir", {})
    config = os.path.relpath(other.file, project.directory)
    project.run("connect", "cursor", "--yes", "--config", config)
    args = servers(own_home / ".cursor/mcp.json", ("mcpServers",))["satchel"]["args"]
    assert Path(args[args.index("--config") + 1]).samefile(other.file)
    assert os.path.isabs(args[args.index("--config") + 1])


@pytest.mark.e2e
def test_a_file_that_the_client_would_not_find_is_named(project: Project, own_home: Path) -> None:
    write(own_home / ".config/satchel/satchel.yaml", "mode: code\n")
    outcome = project.run("connect", "cursor", "--dry-run")
    assert "~/.config/satchel/satchel.yaml is used here, but not by the client" in outcome.err


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--agent", "nobody"], "unknown agent 'nobody'"),
        (["--name", "no spaces"], "letters, digits, - and _"),
        (["--config", "nowhere"], "no such file or directory"),
    ],
)
def test_what_can_not_be_meant_is_refused(
    project: Project, own_home: Path, arguments: list[str], text: str
) -> None:
    outcome = project.run("connect", "cursor", "--yes", *arguments)
    assert outcome.code in (2, 3)
    assert text in outcome.err
    assert not (own_home / ".cursor").exists()


@pytest.mark.e2e
def test_init_leaves_out_what_connect_has_written(project: Project, own_home: Path) -> None:
    for client in FILES:
        assert project.run("connect", client, "--yes").code == 0
    outcome = project.run("init", "--dry-run")
    assert outcome.err.count("it is Satchel itself") == len(FILES)
    assert "nothing to import" in outcome.err


@pytest.mark.parametrize(
    "words",
    [
        "/x/python3.13 -P -m satchel serve --config /x",
        "uvx --from satchel[typescript] satchel serve",
        "uvx satchel@latest serve",
        "/usr/bin/env PATH=/opt /opt/bin/satchel serve",
        "env -S uv run --project /x satchel serve",
    ],
)
def test_satchel_is_known_by_how_it_is_started(words: str, tmp_path: Path) -> None:
    command, *args = words.split()
    file = write(
        tmp_path / "mcp.json", json.dumps({"mcpServers": {"satchel": {"command": command, "args": args}}})
    )
    assert undo(file)
    assert parse(file) == {"mcpServers": {}}


@pytest.mark.parametrize(
    "words", ["env", "python3 server.py --name satchel-like serve", "uvx satchelo serve"]
)
def test_other_servers_are_not_taken_for_satchel(words: str, tmp_path: Path) -> None:
    command, *args = words.split()
    file = write(
        tmp_path / "mcp.json", json.dumps({"mcpServers": {"satchel": {"command": command, "args": args}}})
    )
    with pytest.raises(ArgumentError, match="another server"):
        undo(file)


# Asking


def at_a_terminal(
    project: Project, *arguments: str, answer: str, meanwhile: Callable[[], object] = lambda: None
) -> Outcome:
    """Run it with a person at the keyboard, who answers the question after `meanwhile`."""
    keyboard, terminal = pty.openpty()
    try:
        with subprocess.Popen(
            project.command(*arguments),
            cwd=project.directory,
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr is not None
            asked = ""
            while not asked.endswith("[y/N] "):
                character = process.stderr.read(1)
                assert character, asked
                asked += character
            meanwhile()
            os.write(keyboard, answer.encode() + b"\n")
            out, err = process.communicate(timeout=60)
        return Outcome(process.returncode, out, asked + err)
    finally:
        os.close(keyboard)
        os.close(terminal)


@pytest.mark.e2e
def test_it_asks_and_writes_only_after_yes(project: Project, own_home: Path) -> None:
    file = own_home / ".cursor/mcp.json"
    refused = at_a_terminal(project, "connect", "cursor", answer="")
    assert refused.code == 2
    assert "nothing was written" in refused.err
    assert not file.exists()
    agreed = at_a_terminal(project, "connect", "cursor", answer="y")
    assert agreed.code == 0
    assert '+    "satchel": {' in agreed.out
    assert "satchel" in servers(file, ("mcpServers",))


@pytest.mark.e2e
def test_without_a_terminal_nothing_is_written_unless_it_was_agreed_to(
    project: Project, own_home: Path
) -> None:
    file = write(own_home / ".cursor/mcp.json", FILES["cursor"][2])
    for arguments in ([], ["--dry-run"]):
        outcome = project.run("connect", "cursor", *arguments)
        assert outcome.code == (0 if arguments else 2)
        assert '+\t\t"satchel": {' in outcome.out
        assert "nothing was written" in outcome.err
        assert ("--yes" in outcome.err) is not bool(arguments)
        assert file.read_text() == FILES["cursor"][2]
        assert not backup_of(file).exists()


@pytest.mark.e2e
def test_a_file_that_changes_while_somebody_thinks_is_left_as_it_is(project: Project, own_home: Path) -> None:
    file = write(own_home / ".claude.json", FILES["claude-code"][2])
    changed = '{"numStartups": 42}'
    outcome = at_a_terminal(
        project, "connect", "claude-code", answer="y", meanwhile=lambda: write(file, changed)
    )
    assert outcome.code == 3
    assert "changed by another program meanwhile" in outcome.err
    assert file.read_text() == changed
    assert not backup_of(file).exists()


@pytest.mark.e2e
def test_the_example_in_the_docs_is_what_is_printed(project: Project, own_home: Path) -> None:
    write(
        own_home / ".cursor/mcp.json",
        json.dumps({"mcpServers": {"browser": {"command": "b"}}}, indent=2) + "\n",
    )
    outcome = at_a_terminal(project, "connect", "cursor", answer="y")
    places = {
        str(project.directory): "/home/ada/work",
        str(own_home): "/home/ada",
        own_command()[0]: "/home/ada/.venv/bin/satchel",
    }
    asked, said = outcome.err.split("[y/N] ")
    printed = f"{outcome.out}{asked}[y/N] y\n{said}"
    for place, name in places.items():
        printed = printed.replace(place, name)
    assert f"```console\n$ satchel connect cursor\n{printed}```" in DOCUMENTATION.read_text()


@pytest.mark.parametrize("client", TARGETS)
def test_the_files_and_keys_of_every_client_are_documented(client: str) -> None:
    (row,) = (line for line in DOCUMENTATION.read_text().splitlines() if line.startswith(f"| `{client}` |"))
    mine, shared, key = (cell.strip() for cell in row.strip("|").split("|")[1:])
    name, keys, _ = FILES[client]
    assert f"~/{name}" in mine or name.startswith("Library/")
    assert shared == (f"`{PROJECT_FILES[client]}`" if client in PROJECT_FILES else "")
    assert key == f"`{keys[0]}`"


# What a person is told besides


def by_hand(file: Path, *args: str, **more: Any) -> str:
    """An entry as a person writes it, alone in its file."""
    entry = {"command": "satchel", "args": ["serve", *args], **more}
    return write(file, json.dumps({"mcpServers": {"satchel": entry}}, indent=2)).read_text()


@pytest.mark.e2e
def test_whom_and_what_an_entry_was_for_is_said_before_it_is_replaced(
    project: Project, own_home: Path, tmp_path: Path
) -> None:
    by_hand(own_home / ".cursor/mcp.json", "--config", "/first", "--agent=rep")
    outcome = project.run("connect", "cursor", "--dry-run")
    assert "this 'satchel' was for the agent 'rep', the new one is for 'default'" in outcome.err
    assert "hint: --agent rep keeps it so" in outcome.err
    assert f"this 'satchel' was for /first, the new one is for {project.directory}" in outcome.err
    assert "hint: --name NAME" in outcome.err
    by_hand(own_home / ".cursor/mcp.json")
    outcome = project.run("connect", "cursor", "--yes")
    assert "was for the directory that the client is started in" in outcome.err
    assert "the agent" not in outcome.err
    other = Project(tmp_path / "second", {})
    assert f"was for {project.directory}" in other.run("connect", "cursor", "--yes").err
    named = other.run("connect", "cursor", "--yes", "--config", str(other.file))
    assert "was for" not in named.err, "the file of a project is that project"


@pytest.mark.e2e
def test_undo_says_that_an_older_entry_came_back(project: Project, own_home: Path) -> None:
    file = own_home / ".cursor/mcp.json"
    text = by_hand(file, env={"KEY": "s3cret"})
    assert project.run("connect", "cursor", "--yes").code == 0
    undone = project.run("connect", "cursor", "--yes", "--undo")
    assert "brought back the 'satchel' that ~/.cursor/mcp.json had before" in undone.err
    assert "took" not in undone.err
    assert file.read_text() == text
    assert "took 'satchel' out of" in project.run("connect", "cursor", "--yes", "--undo").err


@pytest.mark.e2e
def test_servers_that_the_client_and_satchel_both_have_are_named(project: Project, own_home: Path) -> None:
    entries = {
        "browser": {"command": "browser", "env": {"KEY": "s3cret"}},
        "moved": {"command": "npx", "args": ["-y", "drive"]},
        "off": {"command": "off", "disabled": True},
        "own": {"command": "own"},
    }
    file = write(own_home / ".cursor/mcp.json", json.dumps({"mcpServers": entries}))
    assert project.run("init", "--yes").code == 0
    imported = project.read()
    imported["drive"] = imported.pop("moved")
    imported["browser"]["env"] = {"KEY": "${KEY}"}
    imported["own"] = {"command": "another"}
    project.write(imported)
    for _ in range(2):  # also where nothing is to be written
        outcome = project.run("connect", "cursor", "--yes")
        assert "Cursor has 'browser', 'moved' itself, and through Satchel" in outcome.err
        assert "or remove them from ~/.cursor/mcp.json" in outcome.err
    assert "itself, and through" not in project.run("connect", "windsurf", "--yes").err
    file.unlink()
    assert "itself, and through" not in project.run("connect", "cursor", "--yes").err


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"mcp": {"allowed": ["files"]}}, "'mcp.allowed' does not list 'satchel', and so it is not used"),
        ({"mcp": {"excluded": ["satchel"]}}, "'mcp.excluded' lists 'satchel', and so it is not used"),
        ({"mcp": {"allowed": ["satchel"], "excluded": ["files"]}}, None),
        ({"mcp": {"allowed": []}}, None),
    ],
)
def test_rules_of_gemini_against_the_entry_are_said_wherever_they_stand(
    project: Project, own_home: Path, settings: dict[str, Any], text: str | None
) -> None:
    write(own_home / ".gemini/settings.json", json.dumps(settings))
    for arguments in ([], [], ["--project"]):
        outcome = project.run("connect", "gemini", "--yes", *arguments)
        assert outcome.code == 0
        expected = f"warning: ~/.gemini/settings.json: {text}"
        assert (expected in outcome.err) if text else ("warning" not in outcome.err)


@pytest.mark.e2e
def test_an_entry_that_wins_over_ours_in_claude_code_is_said(project: Project, own_home: Path) -> None:
    here = str(project.directory.resolve())
    projects: dict[str, Any] = {
        here: {"mcpServers": {"satchel": {"command": "x"}}},
        "/elsewhere": {"disabledMcpServers": ["satchel"], "mcpServers": {"other": {}}},
    }
    write(own_home / ".claude.json", json.dumps({"projects": projects}))
    mine = project.run("connect", "claude-code", "--yes")
    assert f"warning: ~/.claude.json: in {here}, another 'satchel' is used instead" in mine.err
    assert "in /elsewhere, 'satchel' is off" in mine.err
    shared = project.run("connect", "claude-code", "--yes", "--project")
    assert f"in {here}, another 'satchel'" in shared.err
    assert "/elsewhere" not in shared.err
    assert "warning" not in project.run("connect", "claude-code", "--yes", "--name", "box").err


@pytest.mark.e2e
def test_an_entry_that_stays_switched_off_is_said(project: Project, own_home: Path) -> None:
    by_hand(own_home / ".cursor/mcp.json", disabled=True)
    assert "'satchel' is switched off" in project.run("connect", "cursor", "--yes").err


@pytest.mark.e2e
def test_an_unknown_agent_is_answered_with_those_that_there_are(project: Project) -> None:
    (project.directory / "satchel.yaml").write_text("agents: {reporter: {}, writer: {}}\n")
    outcome = project.run("connect", "cursor", "--yes", "--agent", "reportr")
    assert outcome.code == 2
    assert "unknown agent 'reportr'" in outcome.err
    assert "did you mean reporter? the agents are default, reporter, writer" in outcome.err


# What is not touched


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("client", "text", "line"),
    [
        ("cursor", '{\n  "mcpServers": {\n    "a": oops\n  }\n}\n', 3),
        ("cursor", "[]\n", 1),
        ("cursor", '{\n  "mcpServers": [1]\n}\n', 2),
        ("vscode", '{\n "servers": {}\n', 3),
        ("codex", "a = 1\nb = \n", 2),
        ("codex", 'a = "x\n', 1),
        ("codex", "\nmcp_servers = 3\n", 2),
        ("codex", "\nmcp_servers = { db = { command = 'db' } }\n", 2),
        ("gemini", "{\n\xff", 2),
    ],
)
def test_a_file_that_can_not_be_used_is_named_with_its_line_and_left_alone(
    project: Project, own_home: Path, client: str, text: str, line: int
) -> None:
    file = own_home / FILES[client][0]
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode("latin-1"))
    outcome = project.run("connect", client, "--yes")
    assert outcome.code == 3
    assert f"{file}:{line}: " in outcome.err
    assert "Traceback" not in outcome.err
    assert file.read_bytes() == text.encode("latin-1")
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.e2e
@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_an_entry_of_another_server_is_not_overwritten(project: Project, own_home: Path, client: str) -> None:
    text = FILES[client][2].replace("far", "satchel").replace(".db", ".satchel")
    file = write(own_home / FILES[client][0], text)
    for arguments in (["--yes"], ["--yes", "--undo"]):
        outcome = project.run("connect", client, *arguments)
        assert outcome.code == 2
        assert f"'satchel' in {file}:{3 if client == 'cursor' else 4} is another server" in outcome.err
        assert "hint: --name" in outcome.err
    assert file.read_text() == text
    assert project.run("connect", client, "--yes", "--name", "box").code == 0
    assert set(servers(file, FILES[client][1])) == {"satchel", "box"}


def test_a_file_of_another_user_is_left_to_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "mcp.json", "{}")
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with pytest.raises(ConfigError, match="belongs to another user"):
        connect(file)


@pytest.mark.e2e
def test_a_link_stays_one_and_what_it_leads_to_is_changed(
    project: Project, own_home: Path, tmp_path: Path
) -> None:
    real = write(tmp_path / "dotfiles/cursor.json", FILES["cursor"][2])
    link = own_home / ".cursor/mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    outcome = project.run("connect", "cursor", "--yes")
    assert f"{link} -> {real}" in outcome.out
    assert link.is_symlink()
    assert "satchel" in servers(real, ("mcpServers",))
    assert list(real.parent.iterdir()) == [real]
    assert project.run("connect", "cursor", "--yes", "--undo").code == 0
    assert link.is_symlink()
    assert real.read_text() == FILES["cursor"][2]


def test_a_link_in_place_of_the_backup_is_neither_written_through_nor_believed(tmp_path: Path) -> None:
    file, precious = write(tmp_path / "mcp.json", '{"a": 1}'), write(tmp_path / "precious", "{}")
    backup_of(file).symlink_to(precious)
    connect(file)
    assert precious.read_text() == "{}"
    undo(file)
    assert parse(file) == {"a": 1, "mcpServers": {}}


# Taking it back


def test_the_backup_is_of_the_time_before_the_first_change(tmp_path: Path) -> None:
    text = '{"mcpServers": {"a": {"command": "a"}}}\n'
    file = write(tmp_path / "mcp.json", text)
    for number in range(3):
        assert connect(file, args=["serve", str(number)])
        assert backup_of(file).read_text() == text
    assert servers(file, ("mcpServers",))["satchel"]["args"] == ["serve", "2"]
    assert undo(file)
    assert file.read_text() == text


@pytest.mark.parametrize("text", [None, "", '{\n    "mcpServers": {\n    }\n}', '{"mcpServers": {"a": 1}}'])
@pytest.mark.parametrize("suffix", ["json", "toml"])
@pytest.mark.parametrize("first", ["one", "two"])
def test_two_connections_are_taken_back_in_any_order(
    tmp_path: Path, text: str | None, suffix: str, first: str
) -> None:
    file = tmp_path / f"config.{suffix}"
    if text is not None:
        text = text if suffix == "json" else "[a]\nb = 1" if text else ""
        write(file, text)
    connect(file, "one")
    connect(file, "two", args=["serve", "--agent", "two"])
    assert undo(file, first)
    assert undo(file, "two" if first == "one" else "one")
    assert (file.read_text() if file.exists() else None) == text
    assert not backup_of(file).exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.json",
            '{"mcpServers": {"satchel": {"command": "satchel", "args": ["serve"], "env": {"K": "1"}}}}',
        ),
        ("a.json", '{"mcpServers": {"satchel": {"command": "/opt/satchel", "args": ["serve"]}}}'),
        ("a.toml", '[mcp_servers.satchel]\ncommand = "satchel"\nargs = ["serve"]\nenv.K = "1"\n'),
        # Alone in its file, and as a program would lay it out: only the command tells who wrote it.
        (
            "a.json",
            json.dumps({"mcpServers": {"satchel": {"command": "satchel", "args": ["serve"]}}}, indent=2),
        ),
    ],
)
def test_an_entry_that_somebody_made_comes_back_byte_for_byte(tmp_path: Path, name: str, text: str) -> None:
    file = write(tmp_path / name, text)
    connect(file)
    connect(file, args=["serve", "--config", "/elsewhere"])
    assert backup_of(file).read_text() == text
    change = plan_undo(source(file), "satchel")
    assert change is not None and change.brings_back
    apply_change(change)
    assert file.read_text() == text
    assert not backup_of(file).exists()


def test_an_entry_that_somebody_made_comes_back_also_where_the_rest_has_changed(tmp_path: Path) -> None:
    entry = {"command": "satchel", "args": ["serve", "--agent", "rep"], "env": {"K": "1"}}
    file = write(tmp_path / "mcp.json", json.dumps({"mcpServers": {"satchel": entry}}))
    connect(file)
    connect(file, "box")
    content = parse(file)
    write(file, json.dumps({**content, "numStartups": 42}))
    assert undo(file)
    assert servers(file, ("mcpServers",))["satchel"] == entry
    assert backup_of(file).exists(), "as long as another entry is there that was not"
    assert undo(file, "box")
    assert parse(file) == {"mcpServers": {"satchel": entry}, "numStartups": 42}
    assert undo(file)
    assert parse(file) == {"mcpServers": {}, "numStartups": 42}
    assert not backup_of(file).exists()


@pytest.mark.parametrize("client", ["vscode", "codex"])
def test_what_was_changed_since_stays_and_only_the_entry_goes(tmp_path: Path, client: str) -> None:
    name, _, text = FILES[client]
    file = write(tmp_path / Path(name).name, text.replace('"servers"', '"mcpServers"'))
    before = file.read_text()
    connect(file)
    file.write_text(file.read_text().replace("mine", "mine and more"))
    assert undo(file)
    assert file.read_text() == before.replace("mine", "mine and more")
    assert not backup_of(file).exists()


def test_undo_takes_out_what_the_client_has_added_to_the_entry(tmp_path: Path) -> None:
    file = write(tmp_path / "config.toml", 'model = "x"\n')
    connect(file)
    added = (
        file.read_text()
        + '\n[mcp_servers.satchel.tools.execute_code]\napproval_mode = "auto"\n\n# after\n[z]\n'
    )
    file.write_text(added)
    assert undo(file)
    assert file.read_text() == 'model = "x"\n\n# after\n[z]\n'


def test_a_new_command_keeps_what_people_have_added_to_the_entry(tmp_path: Path) -> None:
    file = write(
        tmp_path / "mcp.json",
        '{"mcpServers": {"satchel": {"command": "satchel", "args": ["serve"], /* on */ "disabled": false}}}',
    )
    assert connect(file)
    assert "/* on */" in file.read_text()
    assert servers(file, ("mcpServers",))["satchel"] == {**ENTRY, "disabled": False}
    codex = write(
        tmp_path / "config.toml", '[mcp_servers]\nsatchel.command = "satchel"\nsatchel.args = ["serve"] # x\n'
    )
    assert connect(codex)
    assert codex.read_text().endswith('satchel.args = ["serve", "--config", "/home/ada/work"] # x\n')


def test_a_backup_that_says_something_else_is_not_gone_back_to(tmp_path: Path) -> None:
    file = write(tmp_path / "mcp.json", '{"a": 1}')
    connect(file)
    for text in ('{"a": 2}', "{", "\x00"):
        write(backup_of(file), text)
        connect(file)
        assert undo(file)
        assert parse(file) == {"a": 1, "mcpServers": {}}


def test_a_mark_at_the_beginning_stays(tmp_path: Path) -> None:
    file = write(tmp_path / "mcp.json", '\ufeff{"a": 1}')
    connect(file)
    assert file.read_bytes().startswith(b'\xef\xbb\xbf{"a": 1, "mcpServers"')
    undo(file)
    assert file.read_bytes() == b'\xef\xbb\xbf{"a": 1}'


@pytest.mark.e2e
def test_of_a_file_in_one_line_only_the_change_is_shown(project: Project) -> None:
    text = json.dumps({"history": {str(number): "s3cret" for number in range(500)}, "mcpServers": {}})
    write(project.directory / ".mcp.json", text)
    outcome = project.run("connect", "claude-code", "--project", "--dry-run")
    assert all(len(line) < 400 for line in outcome.out.splitlines())
    assert '"satchel": {"type": "stdio"' in outcome.out
    assert "s3cret" not in outcome.out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.json",
            '{"mcpServers": {"satchel": {"command": "satchel", "args": ["serve"], "env": {"K": "s3cret"}}}}',
        ),
        (
            "a.toml",
            '[mcp_servers.satchel]\ncommand = "satchel"\nargs = ["serve"]\nenv.K = "s3cret" # "s3cret"\n',
        ),
    ],
)
def test_what_people_have_added_to_the_entry_is_not_shown(tmp_path: Path, name: str, text: str) -> None:
    file = write(tmp_path / name, text)
    for change in (plan_connection(source(file), "satchel", ENTRY), plan_undo(source(file), "satchel")):
        assert change is not None
        assert "s3cret" not in "".join(change.shown)
        assert '"serve"' in "".join(change.shown)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.json",
            "// bare CANARY\n{\n  /* CANARY\n CANARY */ \"a\": 1, // key 'CANARY'\n"
            '  "mcpServers": {"satchel": {"command": "satchel", "args": ["serve" /* CANARY */]}}\n}',
        ),
        (
            "a.toml",
            "# bare CANARY\na = 1 # key 'CANARY'\nb = [ # CANARY\n1]\n"
            '[mcp_servers.satchel] # "CANARY"\ncommand = "satchel" # CANARY\nargs = ["serve"]\n# CANARY "',
        ),
    ],
)
def test_no_comment_is_shown(tmp_path: Path, name: str, text: str) -> None:
    file = write(tmp_path / name, text)
    for change in (plan_connection(source(file), "satchel", ENTRY), plan_undo(source(file), "satchel")):
        assert change is not None
        assert "CANARY" not in "".join(change.shown)
        assert "***" in change.shown[0] and '"serve"' in change.shown[0]


def test_a_file_with_a_nesting_without_end_is_refused(tmp_path: Path) -> None:
    for depth in (200, 900, 100_000):
        file = write(tmp_path / "mcp.json", '{"a": ' + "[" * depth + "]" * depth + "}")
        try:
            connect(file)
        except ConfigError:
            assert "satchel" not in file.read_text()
        else:
            assert undo(file)


# Every text


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["//", "/*", '"', "\\", "s3cret"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=4)
GAPS = (
    "",
    "",
    "",
    " ",
    "  ",
    "\t",
    "\n",
    "\n  ",
    "\r\n    ",
    "/* , } */",
    "// , {\n",
    ' // "\n  ',
    '/* "s3cret" */',
)


def laid_out(value: object, pick: random.Random) -> str:
    """The value as someone may have written it: comments anywhere, commas at ends."""

    def gap() -> str:
        return pick.choice(GAPS)

    if is_object(value):
        pairs = value.items()
        parts = [gap() + json.dumps(key) + gap() + ":" + gap() + laid_out(item, pick) for key, item in pairs]
    elif is_list(value):
        parts = [gap() + laid_out(item, pick) for item in value]
    else:
        return json.dumps(value, ensure_ascii=False)
    comma = "," + gap() if parts and pick.random() < 0.3 else ""
    inside = (gap() + ",").join(parts) + gap() + comma
    return "{" + inside + "}" if is_object(value) else "[" + inside + "]"


def is_kept(text: str, longer: str) -> bool:
    """Whether `longer` has every character of `text`, in order."""
    rest = iter(longer)
    return all(character in rest for character in text)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(DOCUMENTS, st.none() | DOCUMENTS, st.randoms(use_true_random=False))
def test_any_json_with_comments_gets_the_entry_and_loses_nothing(
    document: dict[str, Any], others: dict[str, Any] | None, pick: random.Random
) -> None:
    document.pop("mcpServers", None)
    if others is not None:
        others.pop("satchel", None)
        document["mcpServers"] = others
    text = pick.choice(GAPS) + laid_out(document, pick) + pick.choice(GAPS)
    path = ("mcpServers", "satchel")
    connected = json_text.put(text, path, ENTRY)
    expected = {**document, "mcpServers": {**(others or {}), "satchel": ENTRY}}
    assert json_text.parse(connected) == json_text.parse(json.dumps(expected))
    assert is_kept(text, connected)
    shorter = json_text.remove(connected, path)
    assert json_text.parse(shorter) == json_text.parse(json.dumps({**document, "mcpServers": others or {}}))
    assert connected.count("/*") == shorter.count("/*")
    shown = json_text.masked(connected, path, ENTRY)
    assert json_text.parse(shown).keys() == expected.keys()
    assert "s3cret" not in shown


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(DOCUMENTS, DOCUMENTS, st.sampled_from([None, 2, 4, "\t"]), st.booleans(), st.booleans())
def test_a_text_as_programs_write_it_is_the_same_after_the_entry_has_gone(
    document: dict[str, Any], others: dict[str, Any], indent: int | str | None, windows: bool, final: bool
) -> None:
    others.pop("satchel", None)
    document["mcpServers"] = others
    text = json.dumps(document, indent=indent) + ("\n" if final else "")
    text = text.replace("\n", "\r\n") if windows else text
    path = ("mcpServers", "satchel")
    connected = json_text.put(text, path, ENTRY)
    assert json_text.put(connected, path, ENTRY) == connected
    assert json_text.remove(connected, path) == text
    if indent is not None:  # and is laid out as that program would have done it
        expected = json.dumps({**document, "mcpServers": {**others, "satchel": ENTRY}}, indent=indent)
        assert connected.replace("\r\n", "\n").rstrip("\n") == expected


PIECES = st.sampled_from(
    [
        "# a comment, [not.a.table]\n",
        "\n",
        "  \t\n",
        'k{0} = "v" # c\n',
        "k{0} = 'it''s'\n".replace("''", " "),
        'k{0} = """\n[mcp_servers.satchel]\n\\"""\n"""""\n',
        "k{0} = '''\n# [x]\n''''\n",
        "k{0} = [ # c ]\n  1, [2, 3], # c\n  '#', \"]\", ]\n",
        "k{0} = {{ a = 1, b.c = '}}' }}\n",
        "k{0} = 2026-11-16T09:30:00Z\n",
        "k{0} = nan\n",
        "\"quoted = {0}\".'x.y' = 1\n",
        "[t{0}]\n",
        "[t{0}.'a ] b'] # c\n",
        "  [[a{0}]]\n",
        "[mcp_servers.s{0}]\ncommand = 'x'\n",
        '[mcp_servers.s{0}.env]\nKEY = "s3cret"\n',
    ]
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=8), st.booleans(), st.booleans())
@example(["[t{0}]\n", "[mcp_servers.s{0}]\ncommand = 'x'\n"], True, False)
def test_any_toml_gets_the_entry_and_keeps_every_byte(pieces: list[str], windows: bool, final: bool) -> None:
    text = "".join(piece.format(number) for number, piece in enumerate(pieces))
    text = text if final else text.rstrip("\n")
    text = text.replace("\n", "\r\n") if windows else text
    before = toml_text.parse(text)
    path = ("mcp_servers", "satchel")
    connected = toml_text.put(text, path, ENTRY)
    assert connected.startswith(text)
    before.setdefault("mcp_servers", {})["satchel"] = ENTRY
    assert toml_text.parse(connected) == before
    assert toml_text.remove(connected, path) == text
    assert "s3cret" not in toml_text.masked(connected, path, ENTRY)
    other = toml_text.put(connected, (*path, "args"), ["serve"])
    before["mcp_servers"]["satchel"] = {**ENTRY, "args": ["serve"]}
    assert toml_text.parse(other) == before


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet='{}[]",:/*#=\n\r\t \\.a1', max_size=30) | st.text(max_size=12), st.booleans())
@example('{"mcpServers": {"satchel": {"command": "satchel", "args": ["serve"]}}, "mcpServers": {}}', False)
@example('{"mcpServers": {"satchel": 1, "satchel": {"command": "satchel", "args": ["serve"]}}}', False)
@example('{"mcpServers": {"satchel": null}}', False)
@example('{"mcpServers": null}', False)
@example("mcp_servers = []", True)
@example("[[mcp_servers]]", True)
@example("mcp_servers.satchel = 1", True)
@example("[mcp_servers]\nsatchel = {command = 'satchel', args = ['serve']}", True)
@example("mcp_servers = {satchel = {command = 'satchel', args = ['serve']}}", True)
@example("", True)
def test_whatever_a_file_has_it_is_understood_or_refused(text: str, toml: bool) -> None:
    place = source(Path("/nowhere/config.toml" if toml else "/nowhere/config.json"))
    try:
        document = Document(place, text.encode())
        connected = document.connected("satchel", ENTRY)
    except (ConfigError, ArgumentError):
        return
    assert connected.entry("satchel") is not None
    assert "/opt/satchel" in connected.masked("satchel")
    document.masked("satchel")
    try:
        assert connected.without("satchel").entry("satchel") is None
    except ConfigError:
        assert document.entry("satchel") is not None  # written by hand, in a way that is not ours

"""What `satchel init` finds in other clients' files, and what it would make of it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings, strategies

from satchel.config.clients.importing import Found, Unreadable, find_servers, plan_import
from satchel.config.entries import read_entry
from satchel.config.jsonc import to_json


class Machine:
    """A home directory with a project in it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = self.home / "work" / "shop"
        self.project.mkdir(parents=True)

    def write(self, path: str, content: object) -> Path:
        """`path` begins with ~ or with the project (.)"""
        file = self.home / path[2:] if path.startswith("~/") else self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            content if isinstance(content, str) else json.dumps(content, indent=2), encoding="utf-8"
        )
        return file

    def look(self, **environment: str) -> tuple[list[Found], list[Unreadable]]:
        return find_servers(project=self.project, home=self.home, environment=environment)

    def find(self, **environment: str) -> dict[str, Found]:
        found, unreadable = self.look(**environment)
        assert unreadable == []
        return {item.name: item for item in found}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def server(name: str, **more: Any) -> dict[str, Any]:
    return {name: {"command": "npx", "args": ["-y", f"@acme/{name}"], **more}}


def found(name: str, client: str = "Cursor", origin: str = "mcp.json", **entry: Any) -> Found:
    return Found(name=name, entry=entry, client=client, origin=Path(origin), line=None, notes=())


def existing(**servers: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return dict(servers)


# Every client


def test_servers_of_every_client_are_found_in_project_and_home(machine: Machine) -> None:
    machine.write(".mcp.json", {"mcpServers": server("claude-project")})
    machine.write("~/.claude.json", {"numStartups": 41, "mcpServers": server("claude-user")})
    machine.write("~/.config/Claude/claude_desktop_config.json", {"mcpServers": server("desktop-linux")})
    machine.write(
        "~/Library/Application Support/Claude/claude_desktop_config.json",
        {"mcpServers": server("desktop-mac")},
    )
    machine.write(".cursor/mcp.json", {"mcpServers": server("cursor-project")})
    machine.write("~/.cursor/mcp.json", {"mcpServers": server("cursor-user")})
    machine.write(".vscode/mcp.json", {"servers": server("code-project", type="stdio")})
    machine.write(".vscode/settings.json", {"editor.tabSize": 4, "mcp": {"servers": server("code-settings")}})
    machine.write("~/.config/Code/User/mcp.json", {"servers": server("code-user")})
    machine.write("~/Library/Application Support/Code/User/mcp.json", {"servers": server("code-mac")})
    machine.write("~/.config/Code - Insiders/User/mcp.json", {"servers": server("insiders")})
    machine.write(".codex/config.toml", '[mcp_servers.codex-project]\ncommand = "npx"\n')
    machine.write("~/.codex/config.toml", '[mcp_servers.codex-user]\ncommand = "npx"\n')
    machine.write("~/.codeium/windsurf/mcp_config.json", {"mcpServers": server("windsurf")})
    machine.write(".gemini/settings.json", {"mcpServers": server("gemini-project")})
    machine.write("~/.gemini/settings.json", {"theme": "GitHub", "mcpServers": server("gemini-user")})

    names: dict[str, list[str]] = {}
    for item in machine.find().values():
        names.setdefault(item.client, []).append(item.name)

    assert names == {
        "Claude Code": ["claude-project", "claude-user"],
        "Claude Desktop": ["desktop-linux", "desktop-mac"],
        "Cursor": ["cursor-project", "cursor-user"],
        "VS Code": ["code-project", "code-user", "code-mac", "code-settings"],
        "VS Code Insiders": ["insiders"],
        "Codex": ["codex-project", "codex-user"],
        "Windsurf": ["windsurf"],
        "Gemini CLI": ["gemini-project", "gemini-user"],
    }


def test_nothing_is_found_and_nothing_is_wrong_on_a_fresh_machine(machine: Machine) -> None:
    assert machine.look() == ([], [])


def test_variables_move_the_directories(machine: Machine) -> None:
    elsewhere = machine.home / "elsewhere"
    machine.write("~/.claude.json", {"mcpServers": server("not-this")})
    machine.write("~/elsewhere/claude/.claude.json", {"mcpServers": server("claude")})
    machine.write("~/elsewhere/config/Claude/claude_desktop_config.json", {"mcpServers": server("desktop")})
    machine.write("~/elsewhere/codex/config.toml", '[mcp_servers.codex]\ncommand = "npx"\n')
    machine.write("~/elsewhere/gemini/.gemini/settings.json", {"mcpServers": server("gemini")})

    names = machine.find(
        CLAUDE_CONFIG_DIR=str(elsewhere / "claude"),
        XDG_CONFIG_HOME=str(elsewhere / "config"),
        CODEX_HOME=str(elsewhere / "codex"),
        GEMINI_CLI_HOME=str(elsewhere / "gemini"),
    )

    assert list(names) == ["claude", "desktop", "codex", "gemini"]


def test_a_project_that_is_the_home_directory_is_read_once(machine: Machine) -> None:
    machine.write("~/.cursor/mcp.json", {"mcpServers": server("once")})
    items, _ = find_servers(project=machine.home, home=machine.home, environment={})
    assert [item.name for item in items] == ["once"]


def test_a_found_server_knows_its_file_and_line(machine: Machine) -> None:
    file = machine.write(
        ".mcp.json", '{\n  "mcpServers": {\n    "a": {"command": "a"},\n    "b": {"command": "b"}\n  }\n}'
    )
    toml = machine.write(
        "~/.codex/config.toml",
        'model = "x"\n\n[mcp_servers.plain]\ncommand = "a"\n\n[mcp_servers."o dd".env]\nA = "1"\n'
        '[mcp_servers."o dd"]\ncommand = "b"\n',
    )
    places = {name: (item.origin, item.line) for name, item in machine.find().items()}
    assert places == {"a": (file, 3), "b": (file, 4), "plain": (toml, 3), "o dd": (toml, 6)}


def test_names_with_odd_characters_stay_as_they_are(machine: Machine) -> None:
    names = ["Bing CN (mcp)", "@scope/x", "名前", "a.b", 'quo"te', "class"]
    machine.write(".mcp.json", {"mcpServers": {name: {"command": "x"} for name in names}})
    assert list(machine.find()) == names


def test_what_is_found_is_accepted_as_an_entry_of_satchel(machine: Machine) -> None:
    for scope in (".mcp.json", "~/.cursor/mcp.json", "~/.gemini/settings.json"):
        machine.write(scope, {"mcpServers": {f"{scope}-local": LOCAL, f"{scope}-remote": REMOTE}})
    machine.write(".vscode/mcp.json", {"servers": {"code-local": LOCAL, "code-remote": REMOTE}})
    machine.write("~/.codex/config.toml", CODEX)
    for name, item in machine.find().items():
        assert read_entry(name, item.entry, machine.project / "extensions_config.json").problem is None, (
            item.entry
        )


LOCAL = {
    "type": "stdio",
    "command": "docker",
    "args": ["run", "-p", 8080],
    "env": {"PORT": 8080, "DEBUG": True, "UNSET": None, "TOKEN": "t0p-secret"},
    "cwd": "/srv",
    "description": "a container",
    "disabled": True,
    "timeout": 30000,
    "alwaysAllow": ["read"],
    "envFile": "${workspaceFolder}/.env",
    "dev": {"watch": "src/**"},
}
REMOTE = {
    "type": "streamable-http",
    "url": "https://mcp.example.com/mcp",
    "headers": {"X-Key": "k"},
    "oauth": {"clientId": "abc", "clientSecret": "s3cret", "callbackPort": 8080, "scopes": "read write"},
    "env": {"LEFT": "over"},
}


# Claude Code


def test_claude_code_has_servers_for_the_user_and_for_this_project_and_those_above_it(
    machine: Machine,
) -> None:
    file = machine.write(
        "~/.claude.json",
        {
            "mcpServers": server("user"),
            "projects": {
                str(machine.project): {"mcpServers": server("local"), "allowedTools": []},
                str(machine.project.parent): {"mcpServers": server("above")},
                str(machine.home / "other"): {"mcpServers": server("elsewhere")},
            },
        },
    )
    items = machine.find()
    assert list(items) == ["local", "above", "user"]
    lines = file.read_text().splitlines()
    for name, item in items.items():
        assert item.line is not None
        assert lines[item.line - 1].strip() == f'"{name}": {{'


def test_claude_code_knows_a_project_by_its_real_path_too(machine: Machine) -> None:
    machine.write("~/.claude.json", {"projects": {str(machine.project): {"mcpServers": server("local")}}})
    link = machine.home / "link"
    link.symlink_to(machine.project)
    items, _ = find_servers(project=link, home=machine.home, environment={})
    assert [(item.name, item.notes) for item in items] == [("local", ())]


def test_a_claude_code_entry_is_carried_over(machine: Machine) -> None:
    machine.write(".mcp.json", {"mcpServers": {"local": LOCAL, "remote": REMOTE}})
    items = machine.find()
    assert items["local"].entry == {
        "command": "docker",
        "args": ["run", "-p", "8080"],
        "env": {"PORT": "8080", "DEBUG": "true", "TOKEN": "t0p-secret"},
        "cwd": "/srv",
        "description": "a container",
        "enabled": False,
        "timeout": 30,
    }
    assert items["local"].notes == (
        "dropped key 'alwaysAllow' (client-only)",
        "dropped key 'envFile' (put its variables into 'env' or the environment)",
        "dropped key 'dev' (client-only)",
    )
    assert items["remote"].entry == {
        "type": "http",
        "url": "https://mcp.example.com/mcp",
        "headers": {"X-Key": "k"},
        "oauth": {"clientId": "abc", "callbackPort": 8080, "scopes": ["read", "write"]},
    }
    assert items["remote"].notes == (
        "dropped key 'oauth.clientSecret' (a secret has no place there)",
        "dropped key 'env' (not for a server that has an address)",
    )


def test_a_server_switched_off_for_this_project_stays_off(machine: Machine) -> None:
    here = {str(machine.project): {"disabledMcpServers": ["off"]}}
    machine.write("~/.claude.json", {"mcpServers": server("off") | server("on"), "projects": here})
    assert {name: item.entry.get("enabled") for name, item in machine.find().items()} == {
        "off": False,
        "on": None,
    }


@pytest.mark.parametrize("value", [True, -1, 0.1, "30s", 10**400, float("inf"), float("nan")])
def test_a_timeout_that_makes_no_sense_is_left_out(machine: Machine, value: object) -> None:
    machine.write(".mcp.json", {"mcpServers": {"x": {"command": "x", "timeout": value}}})
    item = machine.find()["x"]
    assert item.entry == {"command": "x"}
    assert item.notes == ("dropped key 'timeout' (no number of seconds can be told from it)",)


# Cursor, Windsurf


def test_cursor_sign_in_and_windsurf_addresses_are_translated(machine: Machine) -> None:
    auth = {"CLIENT_ID": "${env:ID}", "CLIENT_SECRET": "${env:SECRET}", "scopes": ["read"]}
    machine.write(".cursor/mcp.json", {"mcpServers": {"c": {"url": "https://c.example/mcp", "auth": auth}}})
    windsurf = {
        "http": {"serverUrl": "https://w.example/mcp", "headers": {"Authorization": "Bearer ${env:T}"}},
        "sse": {"serverUrl": "https://w.example/sse/", "disabled": True, "disabledTools": ["rm"]},
    }
    machine.write("~/.codeium/windsurf/mcp_config.json", {"mcpServers": windsurf})
    items = machine.find()
    assert items["c"].entry["oauth"] == {"clientId": "${env:ID}", "scopes": ["read"]}
    assert items["http"].entry == {
        "type": "http",
        "url": "https://w.example/mcp",
        "headers": {"Authorization": "Bearer ${env:T}"},
    }
    assert items["sse"].entry == {"type": "sse", "url": "https://w.example/sse/", "enabled": False}
    assert items["sse"].notes == ("dropped key 'disabledTools' (every tool of the server is shown)",)


# VS Code


def test_vscode_inputs_become_variables_and_a_note_says_which(machine: Machine) -> None:
    machine.write(
        ".vscode/mcp.json",
        """{
          // asked for when a server starts
          "inputs": [
            {
              "type": "promptString", "id": "github-token", "password": true,
              "description": "GitHub personal access token",
            },
            {"type": "pickString", "id": "logLevel", "description": "How much to log", "default": "info"},
          ],
          "servers": {
            "github": {
              "type": "http",
              "url": "https://api.githubcopilot.com/mcp/",
              "headers": {"Authorization": "Bearer ${input:github-token}"},
            },
            "local": {
              "command": "${workspaceFolder}/bin/serve",
              "args": ["--home=${userHome}", "${input:logLevel}", "${input:unheard of}"],
              "env": {"TOKEN": "${input:github-token}", "SAME": "${input:github-token}"},
            },
          },
        }""",
    )
    items = machine.find()
    assert items["github"].entry["headers"] == {"Authorization": "Bearer ${GITHUB_TOKEN}"}
    assert items["github"].notes == ("set GITHUB_TOKEN: GitHub personal access token",)
    assert items["local"].entry == {
        "command": f"{machine.project}/bin/serve",
        "args": [f"--home={machine.home}", "${LOG_LEVEL:-info}", "${UNHEARD_OF}"],
        "env": {"TOKEN": "${GITHUB_TOKEN}", "SAME": "${GITHUB_TOKEN}"},
    }
    assert items["local"].notes == (
        "set LOG_LEVEL: How much to log",
        "set UNHEARD_OF: the input unheard of",
        "set GITHUB_TOKEN: GitHub personal access token",
    )


def test_old_vscode_settings_have_their_inputs_beside_the_servers(machine: Machine) -> None:
    inputs = [{"id": "key", "description": "A key"}]
    servers = {"old": {"command": "x", "env": {"KEY": "${input:key}"}}}
    machine.write("~/.config/Code/User/settings.json", {"mcp": {"inputs": inputs, "servers": servers}})
    assert machine.find()["old"].notes == ("set KEY: A key",)


# Codex

CODEX = """
model = "gpt-5"

[mcp_servers.local]
command = "uv"
args = ["run", "server.py"]
env_vars = ["LOCAL_TOKEN", { name = "OTHER", source = "local" }]
startup_timeout_sec = 20
tool_timeout_sec = 45.5
enabled = false
enabled_tools = ["search"]

[mcp_servers.local.env]
MODE = "fast"

[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = { "X-Region" = "us-east-1" }
env_http_headers = { "X-Team" = "FIGMA_TEAM" }
scopes = ["files:read"]
required = true

[mcp_servers.figma.oauth]
client_id = "my-client"
"""


def test_codex_tables_are_translated(machine: Machine) -> None:
    machine.write("~/.codex/config.toml", CODEX)
    items = machine.find()
    assert items["local"].entry == {
        "command": "uv",
        "args": ["run", "server.py"],
        "env": {"LOCAL_TOKEN": "${LOCAL_TOKEN}", "OTHER": "${OTHER}", "MODE": "fast"},
        "enabled": False,
        "timeout": 45.5,
        "startup_timeout": 20,
    }
    assert items["local"].notes == ("dropped key 'enabled_tools' (every tool of the server is shown)",)
    assert items["figma"].entry == {
        "type": "http",
        "url": "https://mcp.figma.com/mcp",
        "headers": {
            "X-Region": "us-east-1",
            "X-Team": "${FIGMA_TEAM}",
            "Authorization": "Bearer ${FIGMA_TOKEN}",
        },
        "oauth": {"clientId": "my-client", "scopes": ["files:read"]},
    }
    assert items["figma"].notes == ("dropped key 'required' (client-only)",)


# Gemini CLI


def test_gemini_settings_are_translated(machine: Machine) -> None:
    machine.write(
        ".gemini/settings.json",
        """{
          "theme": "Dracula", // settings of its own
          "mcp": {"excluded": ["off"]},
          "mcpServers": {
            "http": {
              "httpUrl": "https://g.example/stream", "headers": {"K": "$KEY"}, "timeout": 5000, "trust": true
            },
            "sse": {"url": "http://localhost:8080/events"},
            "typed": {"url": "http://localhost:8080/events", "type": "http"},
            "path": {"url": "https://g.example/mcp"},
            "local": {"command": "python", "args": ["-m", "${PWD}:/w"], "cwd": "./servers", "timeout": 1500},
            "off": {"command": "x", "includeTools": ["a"]}
          }
        }""",
    )
    items = machine.find()
    assert items["http"].entry == {
        "type": "http",
        "url": "https://g.example/stream",
        "headers": {"K": "${KEY}"},
        "timeout": 5,
    }
    assert items["http"].notes == ("dropped key 'trust' (client-only)",)
    assert {name: items[name].entry["type"] for name in ("sse", "typed", "path")} == {
        "sse": "sse",
        "typed": "http",
        "path": "http",
    }
    assert items["local"].entry == {
        "command": "python",
        "args": ["-m", "${PWD}:/w"],
        "cwd": "./servers",
        "timeout": 1.5,
    }
    assert items["local"].notes == ()
    assert items["off"].entry["enabled"] is False


# Variables and paths


@pytest.mark.parametrize(
    ("file", "written", "carried_over"),
    [
        (".mcp.json", "${A}", "${A}"),
        (".mcp.json", "${A:-b}/c", "${A:-b}/c"),
        (".mcp.json", "$A", "$A"),
        (".mcp.json", "${CLAUDE_PROJECT_DIR:-.}/x", "{project}/x"),
        (".cursor/mcp.json", "${env:A}", "${env:A}"),
        (".cursor/mcp.json", "${userHome}${/}x", "{home}/x"),
        (".cursor/mcp.json", "${workspaceFolder}:${workspaceFolderBasename}", "{project}:shop"),
        ("~/.codeium/windsurf/mcp_config.json", "${env:A}", "${env:A}"),
        (".cursor/mcp.json", "pa${ss!word}", "pa${ss!word}"),
        (".gemini/settings.json", "$A-${B}-$C_D/e", "${A}-${B}-${C_D}/e"),
        (".gemini/settings.json", "${A:-b}", "${A:-b}"),
        (".gemini/settings.json", "pa$word $5 $ $PAword", "pa$word $5 $ $PAword"),
    ],
)
def test_variables_are_written_as_satchel_writes_them(
    machine: Machine, file: str, written: str, carried_over: str
) -> None:
    machine.write(file, {"mcpServers": {"x": {"command": "x", "env": {"V": written}}}})
    item = machine.find(A="never shown")["x"]
    expected = carried_over.replace("{project}", str(machine.project)).replace("{home}", str(machine.home))
    assert item.entry["env"]["V"] == expected
    assert item.notes == ()


@pytest.mark.parametrize(
    ("file", "written", "note"),
    [
        (".cursor/mcp.json", "${A:-secret}", "${A} is now a variable; Cursor took it as it stands"),
        (".cursor/mcp.json", "${command:pick}", "${command:pick} has no counterpart: replace it by hand"),
        (
            "~/.codeium/mcp_config.json",
            "${file:/run/key}",
            "${file:/run/key} has no counterpart: replace it by hand",
        ),
        (
            "~/.config/Claude/claude_desktop_config.json",
            "${HOME}",
            "${HOME} is now a variable; Claude Desktop took it as it stands",
        ),
    ],
)
def test_variables_that_mean_something_else_now_are_pointed_out(
    machine: Machine, file: str, written: str, note: str
) -> None:
    machine.write(file, {"mcpServers": {"x": {"command": "x", "args": [written]}}})
    item = machine.find()["x"]
    assert item.entry["args"] == [written]
    assert item.notes == (note,)


def test_relative_paths_of_a_project_file_stay(machine: Machine) -> None:
    entry = {"command": "./bin/serve", "cwd": "tools"}
    machine.write(".cursor/mcp.json", {"mcpServers": {"x": entry}})
    item = machine.find()["x"]
    assert (item.entry, item.notes) == (entry, ())


def test_relative_paths_of_a_file_elsewhere_stay_and_a_note_tells_of_them(machine: Machine) -> None:
    file = machine.write(
        "~/.cursor/mcp.json",
        {
            "mcpServers": {
                "path": {"command": "bin/serve"},
                "under": {"command": "../serve", "cwd": "tools"},
                "name": {"command": "node", "cwd": "tools"},
                "home": {"command": "~/bin/serve"},
                "absolute": {"command": "/bin/serve", "cwd": "/srv"},
                "variable": {"command": "${env:TOOLS}/serve"},
            }
        },
    )
    items = machine.find()
    written = json.loads(file.read_text())["mcpServers"]
    assert {name: item.entry for name, item in items.items()} == written
    assert {name: item.notes for name, item in items.items() if item.notes} == {
        "path": ("command 'bin/serve' is now relative to extensions_config.json",),
        "under": (
            "command '../serve' is now relative to extensions_config.json",
            "cwd 'tools' is now relative to extensions_config.json",
        ),
        "name": ("cwd 'tools' is now relative to extensions_config.json",),
    }


def test_relative_paths_are_right_in_what_claude_code_keeps_for_this_project(machine: Machine) -> None:
    here = {str(machine.project): {"mcpServers": {"x": {"command": "bin/serve", "cwd": "tools"}}}}
    machine.write("~/.claude.json", {"projects": here})
    assert machine.find()["x"].notes == ()


def test_secrets_are_in_entries_as_written_and_nowhere_else(machine: Machine) -> None:
    secret = "sk-123"
    headers = {"Authorization": secret, "X": "${TOKEN}"}
    machine.write(
        ".mcp.json", {"mcpServers": {"x": {"type": "http", "url": "https://x.example", "headers": headers}}}
    )
    machine.write("~/.claude.json", {"mcpServers": {"bad": {"command": [secret], "env": {"A": secret}}}})
    items, unreadable = machine.look(TOKEN=secret)
    assert items[0].entry["headers"] == headers
    assert secret not in repr((unreadable, [item.notes for item in items]))


# Files that are not as they should be

KEYS = [
    "a",
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "oauth",
    "scopes",
    "timeout",
    "httpUrl",
    "id",
]


def test_a_broken_file_does_not_hide_the_others(machine: Machine) -> None:
    machine.write(".mcp.json", {"mcpServers": server("good")})
    broken = {
        "Claude Code": machine.write("~/.claude.json", '{"mcpServers": {\n"a": }'),
        "Cursor": machine.write(".cursor/mcp.json", "[]"),
        "VS Code": machine.write(".vscode/mcp.json", {"servers": ["a"]}),
        "Codex": machine.write("~/.codex/config.toml", "[mcp_servers.a\n"),
        "Gemini CLI": machine.write("~/.gemini/settings.json", "[" * 100_000),
    }
    latin = machine.home / ".codeium" / "mcp_config.json"
    latin.parent.mkdir()
    latin.write_bytes(b'{"mcpServers": "\xff"}')

    items, unreadable = machine.look()

    assert [item.name for item in items] == ["good"]
    assert {problem.client: problem.origin for problem in unreadable} == broken | {"Windsurf": latin}
    reasons = {problem.client: problem.reason for problem in unreadable}
    assert reasons["Claude Code"].startswith("not valid JSON: Expecting value: line 2 ")
    assert reasons["Codex"].startswith("not valid TOML: ")
    assert reasons["Windsurf"].startswith("not valid JSON: 'utf-8' codec can't decode byte 0xff")
    assert reasons["Gemini CLI"].startswith("not valid JSON: ")
    assert (reasons["Cursor"], reasons["VS Code"]) == (
        "not an object at the top level",
        "'servers' is not an object",
    )


def test_a_malformed_entry_does_not_hide_the_others(machine: Machine) -> None:
    bad: dict[str, object] = {
        "text": "npx",
        "empty": {},
        "list": {"command": ["npx"]},
        "args": {"command": "x", "args": "a b"},
        "env": {"command": "x", "env": ["A=1"]},
        "nested": {"command": "x", "env": {"A": {"B": 1}}},
        "socket": {"type": "ws", "url": "wss://x.example"},
        "pipe": {"type": "http", "url": "unix:///tmp/x.sock"},
        "half": {"type": "http", "command": "x"},
    }
    file = machine.write(".mcp.json", {"mcpServers": bad | server("good")})
    items, unreadable = machine.look()
    assert [item.name for item in items] == ["good"]
    assert {problem.origin for problem in unreadable} == {file}
    assert [problem.reason for problem in unreadable] == [
        "server 'text': not an object",
        "server 'empty': neither 'command' nor 'url'",
        "server 'list': 'command' is not a text",
        "server 'args': 'args' is not a list",
        "server 'env': 'env' is not an object",
        "server 'nested': 'env' has a value that is not a text",
        "server 'socket': type 'ws' is not stdio, http or sse",
        "server 'pipe': its url is not an http address",
        "server 'half': no 'url'",
    ]


ANYTHING = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text("a$/{}:")
    | strategies.sampled_from(["${input:a}", "${env:A}", "./x", "http", "https://x.example"]),
    lambda inner: (
        strategies.lists(inner, max_size=3) | strategies.dictionaries(strategies.sampled_from(KEYS), inner)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(document=ANYTHING)
def test_no_document_whatever_makes_it_fail(document: object) -> None:
    with TemporaryDirectory() as directory:
        machine = Machine(Path(directory))
        for file in (
            ".mcp.json",
            "~/.claude.json",
            ".cursor/mcp.json",
            ".vscode/mcp.json",
            ".gemini/settings.json",
        ):
            machine.write(file, {"mcpServers": document, "servers": document, "inputs": document})
        items, _ = machine.look()
        plan = plan_import(items, {})
        assert len(items) == len(plan.additions) + len(plan.duplicates) + len(plan.skipped)
        for item in plan.additions:
            assert read_entry(item.name, item.entry, Path("x.json")).problem is None


@pytest.mark.parametrize(
    "content",
    ["", "\n", "{}", '{"mcpServers": null}', '{"mcpServers": {}}', '{"mcpServers": []}', "\ufeff{}"],
)
def test_a_file_without_servers_is_fine(machine: Machine, content: str) -> None:
    machine.write(".mcp.json", content)
    assert machine.look() == ([], [])


def test_odd_places_for_a_list_of_projects_are_reported_once(machine: Machine) -> None:
    machine.write("~/.claude.json", {"projects": ["a"], "mcpServers": server("user")})
    items, unreadable = machine.look()
    assert [item.name for item in items] == ["user"]
    assert [problem.reason for problem in unreadable] == ["'projects' is not an object"]


def test_a_file_that_is_too_large_is_refused(machine: Machine) -> None:
    file = machine.write(".mcp.json", "{}")
    os.truncate(file, 20 * 1024 * 1024 + 1)
    assert [problem.reason for problem in machine.look()[1]] == ["larger than 20 MB"]


def test_only_regular_files_are_read(machine: Machine) -> None:
    (machine.project / ".mcp.json").mkdir()
    (machine.home / ".cursor").mkdir()
    os.mkfifo(machine.home / ".cursor" / "mcp.json")
    assert [problem.reason for problem in machine.look()[1]] == ["not a regular file"] * 2


def test_symbolic_links_are_followed(machine: Machine) -> None:
    real = machine.write("~/dotfiles/mcp.json", {"mcpServers": server("linked")})
    (machine.project / ".mcp.json").symlink_to(real)
    (machine.home / ".claude.json").symlink_to(machine.home / "gone")
    assert list(machine.find()) == ["linked"]


# JSON with comments


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "http://x/*y*/", "b": "//"}', {"a": "http://x/*y*/", "b": "//"}),
        ('{"a": 1, // one\n "b": 2 /* two\n, */ }', {"a": 1, "b": 2}),
        ('{"a": [1, 2,], "b": {"c": ",}",},}', {"a": [1, 2], "b": {"c": ",}"}}),
        (r'{"a\"//": "\\", "b": "/*"} // " end', {'a"//': "\\", "b": "/*"}),
        ('{"a": 1, // trailing\n /* both */ }', {"a": 1}),
        ("/**/{}/***/", {}),
    ],
)
def test_comments_and_trailing_commas_are_ignored_and_strings_are_not_touched(
    text: str, value: object
) -> None:
    plain = to_json(text)
    assert json.loads(plain) == value
    assert (len(plain), plain.count("\n")) == (len(text), text.count("\n"))


@pytest.mark.parametrize("text", ['{"a": 1', "{,}x", '{"a": /* 1}', '{"a', "{'a': 1}", "[1,,2]"])
def test_other_mistakes_stay_mistakes(text: str) -> None:
    with pytest.raises(ValueError):
        json.loads(to_json(text))


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ['\\"', "/*", '"', ",", "${", " ", "\\", "//"])
def test_a_text_made_to_be_slow_is_not(machine: Machine, pattern: str) -> None:
    size = 200_000
    machine.write(".mcp.json", pattern * size)
    machine.write(".cursor/mcp.json", {"mcpServers": {"x": {"command": pattern * size}}})
    items, _ = machine.look()
    assert [item.name for item in items] == ["x"]


def test_very_many_servers_are_found_without_their_lines(machine: Machine) -> None:
    machine.write(".mcp.json", {"mcpServers": {f"s{number}": {"command": "x"} for number in range(3000)}})
    assert {item.line for item in machine.find().values()} == {None}


# Planning


def test_the_same_server_is_added_once(machine: Machine) -> None:
    github = {"command": "npx", "args": ["-y", "@acme/github"], "env": {"TOKEN": "${TOKEN}"}}
    machine.write(".mcp.json", {"mcpServers": {"github": github}})
    machine.write(
        ".cursor/mcp.json",
        {"mcpServers": {"gh": github | {"args": ["@acme/github"], "env": {"TOKEN": "${env:TOKEN}"}}}},
    )
    machine.write(
        ".gemini/settings.json",
        {"mcpServers": {"github": github | {"env": {"TOKEN": "$TOKEN"}, "trust": True}}},
    )
    machine.write(
        "~/.codex/config.toml", '[mcp_servers.docs]\nurl = "https://docs.example/mcp"\ntool_timeout_sec = 9\n'
    )
    machine.write(
        "~/.codeium/windsurf/mcp_config.json",
        {"mcpServers": {"docs": {"serverUrl": "https://docs.example/mcp/"}}},
    )

    plan = plan_import(machine.look()[0], {})

    assert [(item.name, item.client) for item in plan.additions] == [
        ("github", "Claude Code"),
        ("docs", "Codex"),
    ]
    assert [(item.name, item.client, name) for item, name in plan.duplicates] == [
        ("gh", "Cursor", "github"),
        ("docs", "Windsurf", "docs"),
        ("github", "Gemini CLI", "github"),
    ]
    assert plan.skipped == ()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"command": "npx", "args": ["-y", "x"]}, {"command": "npx", "args": ["--yes", "x"]}, True),
        ({"command": "npx", "args": ["x", "-y"]}, {"command": "npx", "args": ["x"]}, False),
        ({"command": "npm", "args": ["-y", "x"]}, {"command": "npm", "args": ["x"]}, False),
        ({"command": "x", "cwd": "."}, {"command": "x"}, True),
        ({"command": "x", "cwd": "a"}, {"command": "x"}, False),
        ({"command": "x", "env": {"A": "1"}}, {"command": "x", "env": {}}, False),
        (
            {"command": "x", "env": {}, "enabled": False, "timeout": 5, "description": "x"},
            {"command": "x"},
            True,
        ),
        ({"url": "https://a/x/", "type": "http"}, {"url": "https://a/x"}, True),
        (
            {"url": "https://a/x", "headers": {"KEY": "1"}},
            {"url": "https://a/x", "headers": {"Key": "1"}},
            True,
        ),
        ({"url": "https://a/x", "headers": {"Key": "1"}}, {"url": "https://a/x"}, False),
    ],
)
def test_what_makes_two_entries_the_same_server(
    one: dict[str, Any], other: dict[str, Any], same: bool
) -> None:
    plan = plan_import([found("a", **one), found("b", **other)], {})
    assert bool(plan.duplicates) is same


def test_another_server_of_the_same_name_gets_the_client_as_suffix() -> None:
    items = [
        found("github", "Claude Code", command="a"),
        found("github", "Cursor", command="b"),
        found("github-vs-code", "Codex", command="c"),
        found("github", "VS Code", command="d"),
    ]
    plan = plan_import(items, {})
    assert [item.name for item in plan.additions] == [
        "github",
        "github-cursor",
        "github-vs-code",
        "github-vs-code-2",
    ]
    assert [item.notes for item in plan.additions] == [
        (),
        ("called 'github' in Cursor; another server has that name",),
        (),
        ("called 'github' in VS Code; another server has that name",),
    ]


def test_what_is_configured_stays_and_counts_as_known() -> None:
    now = existing(github={"command": "a", "disabled": True}, odd={"oops": []}, same={"command": "a"})
    plan = plan_import([found("gh", command="a"), found("github", command="b")], now)
    assert [(item.name, name) for item, name in plan.duplicates] == [("gh", "github")]
    assert [item.name for item in plan.additions] == ["github-cursor"]


def test_a_client_that_prefers_one_of_two_files_is_followed() -> None:
    items = [found("db", origin="near", command="a"), found("db", origin="far", command="b")]
    plan = plan_import(items, {})
    assert [item.origin for item in plan.additions] == [Path("near")]
    assert plan.skipped == ((items[1], "Cursor uses the 'db' of near instead"),)


@pytest.mark.parametrize(
    "words",
    [
        "satchel serve",
        "/opt/bin/satchel serve --mode code",
        "uvx satchel serve",
        "uv run satchel serve",
        "python3.12 -m satchel serve",
    ],
)
def test_satchel_itself_is_skipped(words: str) -> None:
    command, *args = words.split()
    plan = plan_import([found("satchel", command=command, args=args), found("other", command="x")], {})
    assert [item.name for item in plan.additions] == ["other"]
    assert [(item.name, reason) for item, reason in plan.skipped] == [("satchel", "it is Satchel itself")]


@pytest.mark.parametrize("words", ["satchel list", "npx serve satchel", "files /srv/satchel serve"])
def test_what_only_looks_like_satchel_is_kept(words: str) -> None:
    command, *args = words.split()
    assert plan_import([found("x", command=command, args=args)], {}).skipped == ()

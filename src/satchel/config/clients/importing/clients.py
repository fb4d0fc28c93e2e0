"""The clients: where the files of each are, and what it spells differently from extensions_config.json.

A client is a row of CLIENTS; docs/importing.md says the same for people, and docs/connecting.md for
`satchel connect`, which writes to some of these places. Nothing is read or written here.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from satchel.config.clients.importing.model import as_list, as_object
from satchel.model import Json


def _from_editor(entry: Json) -> Json:
    """Cursor and Windsurf: `serverUrl`, and `auth` with capital keys."""
    if "serverUrl" in entry:
        entry["url"] = entry.pop("serverUrl")
    if "auth" in entry:
        names = {"CLIENT_ID": "clientId", "CLIENT_SECRET": "clientSecret"}
        entry["oauth"] = {names.get(key, key): value for key, value in as_object(entry.pop("auth")).items()}
    return entry


def _from_gemini(entry: Json) -> Json:
    """`httpUrl` is streamable HTTP. A bare `url` is documented as SSE, but newer versions try HTTP first."""
    if entry.get("httpUrl"):
        entry |= {"url": entry.pop("httpUrl"), "type": "http"}
    elif entry.get("url") and not str(entry["url"]).rstrip("/").endswith("/mcp"):
        entry.setdefault("type", "sse")
    return entry


def _from_codex(entry: Json) -> Json:
    """Codex names variables instead of referring to them, and says the unit in the name of a time-out."""
    headers = dict(as_object(entry.pop("http_headers", None)))
    for header, variable in as_object(entry.pop("env_http_headers", None)).items():
        headers[header] = f"${{{variable}}}"
    if token := entry.pop("bearer_token_env_var", None):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    if variables := as_list(entry.pop("env_vars", None)):
        names = [as_object(item).get("name", item) for item in variables]
        entry["env"] = {str(name): f"${{{name}}}" for name in names} | as_object(entry.get("env"))
    oauth = {"scopes": entry.pop("scopes", None), **as_object(entry.pop("oauth", None))}
    given = {
        "headers": headers,
        "startup_timeout": entry.pop("startup_timeout_sec", None),
        "timeout": entry.pop("tool_timeout_sec", None),
        "oauth": {"clientId" if key == "client_id" else key: value for key, value in oauth.items() if value},
    }
    return entry | {key: value for key, value in given.items() if value}


def _vscode(*roots: str) -> tuple[str, ...]:
    files = ("mcp.json#servers", "settings.json#mcp.servers")  # the second until version 1.102
    return tuple(f"{root}/{file}" for file in files for root in roots)


@dataclass(frozen=True)
class Client:
    name: str
    places: tuple[str, ...]  # root/file, and the keys down to the servers if not mcpServers; preferred first
    variables: Literal["${X}", "$X", "${env:X}"]  # how it refers to one; with "$X" also as ${X}
    rewrite: Callable[[Json], Json] = lambda entry: entry  # brings a copy of an entry to the common keys
    timeout_unit: float | None = None  # of `timeout`, in seconds; None where the client documents no such key


_CLAUDE = ("$CLAUDE/.claude.json#projects.<directory>.mcpServers", "./.mcp.json", "$CLAUDE/.claude.json")
_CODEX = ("./.codex/config.toml#mcp_servers", "$CODEX/config.toml#mcp_servers")
_WINDSURF = ("~/.codeium/windsurf/mcp_config.json", "~/.codeium/mcp_config.json")
_GEMINI = ("./.gemini/settings.json", "$GEMINI/.gemini/settings.json")
CLIENTS = (
    Client("Claude Code", _CLAUDE, "${X}", timeout_unit=0.001),
    Client("Claude Desktop", ("$APPLICATIONS/Claude/claude_desktop_config.json",), "${env:X}"),
    Client("Cursor", ("./.cursor/mcp.json", "~/.cursor/mcp.json"), "${env:X}", _from_editor),
    Client("VS Code", _vscode("./.vscode", "$APPLICATIONS/Code/User"), "${env:X}"),
    Client("VS Code Insiders", _vscode("$APPLICATIONS/Code - Insiders/User"), "${env:X}"),
    Client("Codex", _CODEX, "${X}", _from_codex, timeout_unit=1),  # it is _from_codex that writes ${X}
    Client("Windsurf", _WINDSURF, "${env:X}", _from_editor),
    Client("Gemini CLI", _GEMINI, "$X", _from_gemini, timeout_unit=0.001),
)


@dataclass(frozen=True)
class Source:
    """One object of servers in one file."""

    client: Client
    file: Path
    keys: tuple[str, ...]
    project: Path
    home: Path


def sources(project: Path, home: Path, environment: Mapping[str, str]) -> Iterator[Source]:
    """Every place where a client may have servers, whether or not there is such a file."""
    roots = _roots(project, home, environment)
    for client in CLIENTS:
        places: dict[tuple[Path, tuple[str, ...]], None] = {}  # each once: the project may be the home
        for place in client.places:
            root, path, keys = _parts(place)
            for directory in roots[root]:
                for down in _key_paths(keys, project):
                    places[Path(directory, path), down] = None
        yield from (Source(client, file, keys, project, home) for file, keys in places)


def preferred_source(
    client: Client, *, in_project: bool, project: Path, home: Path, environment: Mapping[str, str]
) -> Source | None:
    """The one place for a new server, of the project or of the person; None where there is no such place."""
    for root, path, keys in map(_parts, client.places):
        if (root == ".") is in_project and "<directory>" not in keys:
            # Of the directories for applications the last one is that of macOS.
            directory = _roots(project, home, environment)[root][-1 if sys.platform == "darwin" else 0]
            return Source(client, Path(directory, path), tuple(keys.split(".")), project, home)
    return None


def _roots(project: Path, home: Path, environment: Mapping[str, str]) -> Mapping[str, tuple[str | Path, ...]]:
    configuration = environment.get("XDG_CONFIG_HOME") or home / ".config"
    return {
        ".": (project,),
        "~": (home,),
        "$APPLICATIONS": (configuration, home / "Library" / "Application Support"),
        "$CLAUDE": (environment.get("CLAUDE_CONFIG_DIR") or home,),
        "$CODEX": (environment.get("CODEX_HOME") or home / ".codex",),
        "$GEMINI": (environment.get("GEMINI_CLI_HOME") or home,),
    }


def _parts(place: str) -> tuple[str, str, str]:
    """Root, path below it, and keys of a place as CLIENTS has it."""
    address, _, keys = place.partition("#")
    root, _, path = address.partition("/")
    return root, path, keys or "mcpServers"


def _key_paths(keys: str, project: Path) -> list[tuple[str, ...]]:
    """<directory> stands for the project and for each directory above it, nearest first."""
    above = (project, *project.parents) if "<directory>" in keys else (project,)
    return [tuple(str(path) if key == "<directory>" else key for key in keys.split(".")) for path in above]

"""The clients that Satchel can be written into, and the entry that each of them needs.

Where their files are, `config/importers/clients.py` knows; docs/connecting.md says the same for people.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from satchel.config.clients.connecting.document import OUR_KEYS
from satchel.config.clients.importing import CLIENTS, Client
from satchel.config.clients.importing.model import as_list
from satchel.model import Json


@dataclass(frozen=True, kw_only=True)
class Target:
    client: Client
    says_type: bool = False  # whether an entry says that it is a command, as the client itself would write it
    next_step: str  # what a person does then; {name} is the name of the entry
    next_step_in_project: str = ""  # where that is another one


_CLIENTS = {client.name: client for client in CLIENTS}
TARGETS = {
    "claude-code": Target(
        client=_CLIENTS["Claude Code"],
        says_type=True,
        next_step="claude mcp list shows whether it works; a Claude Code that runs has to be started again",
        next_step_in_project="start claude in this directory, which asks whether to use '{name}'",
    ),
    "claude-desktop": Target(
        client=_CLIENTS["Claude Desktop"],
        next_step="quit Claude Desktop and start it again; closing its window is not enough",
    ),
    "cursor": Target(
        client=_CLIENTS["Cursor"],
        next_step="in Cursor's settings, under MCP, switch '{name}' on",
    ),
    "vscode": Target(
        client=_CLIENTS["VS Code"],
        says_type=True,
        next_step="in VS Code, run the command 'MCP: List Servers' and start '{name}'",
    ),
    "codex": Target(
        client=_CLIENTS["Codex"],
        next_step="codex mcp list shows it; a Codex that runs has to be started again",
        next_step_in_project="start codex in this directory, and trust the project when it asks",
    ),
    "windsurf": Target(
        client=_CLIENTS["Windsurf"],
        next_step="in Windsurf's settings, under Cascade, refresh the MCP servers",
    ),
    "gemini": Target(
        client=_CLIENTS["Gemini CLI"],
        next_step="start gemini in a folder that you trust; gemini mcp list shows whether it works",
    ),
}


def entry_for(target: Target, *, command: Sequence[str], config: Path, agent: str | None) -> Json:
    """The entry in the client's file that starts Satchel. It contains nothing of the environment."""
    first, *more = command
    args = [*more, "serve", "--config", str(config), *(("--agent", agent) if agent else ())]
    kind = {"type": "stdio"} if target.says_type else {}
    return {**kind, "command": first, "args": args}


def is_own_entry(entry: Json) -> bool:
    """Whether it is as `entry_for` writes it. What people write by hand has no whole path, or more keys."""
    args = as_list(entry.get("args"))
    command = str(entry.get("command", ""))
    return set(entry) <= set(OUR_KEYS) and os.path.isabs(command) and "serve" in args and "--config" in args


def option_of(entry: Json, option: str) -> str | None:
    """The value of `--agent` or `--config` in an entry of Satchel."""
    words = [str(word) for word in as_list(entry.get("args"))]
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word == option:
            return following
        if word.startswith(f"{option}="):
            return word.removeprefix(f"{option}=")
    return None


def own_command() -> list[str]:
    """How this Satchel is started from anywhere: a client on a desktop has hardly anything on its PATH."""
    script = Path(sys.executable).absolute().with_name("satchel")
    if script.is_file() and os.access(script, os.X_OK):
        return [str(script)]
    # -P: a satchel.py in the directory where the client happens to be must not be run instead.
    return [str(Path(sys.executable).absolute()), "-P", "-m", "satchel"]

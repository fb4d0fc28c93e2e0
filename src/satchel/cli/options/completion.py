"""Shell completion: the script for each shell, and the names it completes, from the cache."""

import argparse
from pathlib import Path

from satchel.cli import output
from satchel.config import find_paths
from satchel.config.settings import read_settings
from satchel.errors import SatchelError
from satchel.model import is_list, is_object
from satchel.verbs.offline import read_catalog


def completion_command(options: argparse.Namespace) -> None:
    from argcomplete.shell_integration import shellcode  # completing names needs only the catalog

    output.show(shellcode(["satchel"], shell=options.shell))


def known_names(config: Path | None, *, tools: bool) -> list[str]:
    """Names in the cache. A broken configuration completes nothing and says nothing."""
    try:
        snapshot = read_catalog(find_paths(config=config)).snapshot
    except SatchelError:
        return []
    if tools:
        return [tool.qualified_name for tool in snapshot.tools]
    return [server.name for server in snapshot.servers]


def agent_names(config: Path | None) -> list[str]:
    """All agents; a broken configuration completes nothing and says nothing."""
    try:
        settings = read_settings(find_paths(config=config).settings_file)
    except SatchelError:
        return []
    return list(dict.fromkeys(("default", *settings.agents)))


def argument_names(config: Path | None, tool: str) -> list[str]:
    """The names of a tool's parameters, from the cache; those that are required first."""
    try:
        schema = read_catalog(find_paths(config=config)).snapshot.tool(tool).input_schema
    except SatchelError:
        return []
    properties, required = schema.get("properties"), schema.get("required")
    names = [str(name) for name in properties] if is_object(properties) else []
    first = [str(name) for name in required] if is_list(required) else []
    return sorted(names, key=lambda name: name not in first)

"""Shell completion: the script for each shell, and the names it completes, from the cache."""

import argparse
from pathlib import Path

from satchel.cli import output
from satchel.config import find_paths
from satchel.errors import SatchelError
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

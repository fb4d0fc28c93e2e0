"""The servers of a plugin in words for a person: where each is, and why it can't be used yet."""

from dataclasses import dataclass

from satchel.config import Paths
from satchel.config.entries import ServerEntry
from satchel.config.plugins.approving import command_line, with_values
from satchel.config.plugins.endpoints import told_host
from satchel.config.plugins.record import Record
from satchel.config.plugins.servers import entries_of
from satchel.config.plugins.state import read_states
from satchel.model import Plugin
from satchel.support.text import label

_LONGEST = 10_000
"""Characters of a line: more than an entry may have that can be approved."""


@dataclass(frozen=True, kw_only=True)
class ServerRow:
    """One server of a plugin."""

    name: str
    transport: str
    where: str  # its command line, or its address
    given: tuple[str, ...]  # what its process or its address is given: variables, headers
    problem: str  # why it can't be used, even with approval
    awaits: str  # what a person has to approve first


def server_rows(plugin: Plugin, paths: Paths, record: Record) -> tuple[ServerRow, ...]:
    rows: list[ServerRow] = []
    for entry in entries_of(plugin, paths, read_states(paths.extensions_file), record):
        is_program = entry.transport == "stdio"
        problem = entry.problem.brief if entry.problem is not None else ""
        if not problem and not (entry.command or entry.url):
            problem = "its command is empty" if is_program else "its url is empty"
        rows.append(
            ServerRow(
                name=entry.name,
                transport=entry.transport,
                where=label(command_line(entry), _LONGEST) if is_program else _address(entry),
                given=(
                    *(_line(entry, f"{name}={value}") for name, value in entry.env.items()),
                    *(_line(entry, f"{name}: {value}") for name, value in entry.headers.items()),
                ),
                problem=problem,
                awaits=entry.awaits,
            )
        )
    return tuple(rows)


def _address(entry: ServerEntry) -> str:
    return _line(entry, entry.url) + told_host(with_values(entry, entry.url))


def _line(entry: ServerEntry, text: str) -> str:
    """One line, with the values that the plugin brings: it must not look like another server's."""
    return label(with_values(entry, text), _LONGEST)

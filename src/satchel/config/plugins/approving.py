"""The parts of a plugin that need a person's approval, and the approval: servers, commands, variables."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from satchel.config.entries import PLUGIN_VARIABLES, ServerEntry
from satchel.config.paths import Paths
from satchel.config.plugins.endpoints import command_digest, host_of, plain_address, told_host
from satchel.config.plugins.record import Approved, Record, read_record, update_record
from satchel.config.plugins.servers import entries_of
from satchel.config.plugins.state import read_states
from satchel.config.variables import USER_CONFIG, fill, references
from satchel.model import Plugin
from satchel.support.text import label

_LONGEST = 1_000_000
"""Characters of what is shown: all of it, whatever it is made of."""
What = Literal[
    "remote",  # a server that is contacted
    "command",  # a program that is started on this machine
    "variable",  # one of this machine's variables, and where it goes
]


@dataclass(frozen=True, kw_only=True)
class Need:
    """One thing to approve. `shown` is for a person; `value` tells it from any other."""

    what: What
    server: str  # below its plugin
    shown: str
    value: str
    approved: bool = False


def needs_of(plugin: Plugin, paths: Paths, record: Record | None = None) -> tuple[Need, ...]:
    """All that a plugin's servers need, approved or not. What can't be used needs nothing."""
    record = read_record(paths) if record is None else record
    states = read_states(paths.extensions_file)
    found: dict[tuple[str, str], Need] = {}
    for entry in entries_of(plugin, paths, states, record):
        if entry.problem is None and (entry.command or entry.url):
            for need in _needs(entry, plugin.name, record):
                found.setdefault((need.what, need.value), need)
    return tuple(found.values())


def approve(paths: Paths, plugin: str, needs: Iterable[Need]) -> Record:
    """Record that a person has approved these, beside what was approved before."""
    needs = tuple(needs)

    def change(record: Record) -> Record:
        before = record.approved.get(plugin, Approved(name=plugin))
        now = replace(
            before,
            endpoints=_joined(before.endpoints, needs, "remote"),
            commands=_joined(before.commands, needs, "command"),
            variables=_joined(before.variables, needs, "variable"),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        return record.with_approved(now)

    return update_record(paths, change)


def _joined(known: Iterable[str], needs: Iterable[Need], what: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *(need.value for need in needs if need.what == what))))


def _needs(entry: ServerEntry, plugin: str, record: Record) -> Iterator[Need]:
    assert entry.plugin is not None
    server, host = entry.plugin.server, host_of(entry)
    approved = record.approved.get(plugin, Approved(name=plugin))
    if entry.transport == "stdio":
        digest = command_digest(entry)
        yield Need(
            what="command",
            server=server,
            shown=_shown(entry),
            value=digest,
            approved=digest in approved.commands,
        )
    else:
        endpoint = entry.plugin.endpoint
        address = plain_address(with_values(entry, entry.url))
        shown = " ".join([address + told_host(address), *(f"with {name}" for name in entry.headers)])
        is_approved = endpoint in approved.endpoints
        yield Need(
            what="remote", server=server, shown=label(shown, _LONGEST), value=endpoint, approved=is_approved
        )
    for name in _variables(entry):
        value = f"{name} {host}".strip()
        shown = f"{name}, sent to {host}" if host else f"{name}, given to the program"
        yield Need(
            what="variable",
            server=server,
            shown=label(shown, _LONGEST),
            value=value,
            approved=value in approved.variables,
        )


def _shown(entry: ServerEntry) -> str:
    """What would be started, as a shell would be told: nothing that counts is left out, and it is one line.

    Where it runs, and a value such as that of NODE_OPTIONS, say as much as the command.
    """
    env = [f"{name}={shlex.quote(with_values(entry, text))}" for name, text in entry.env.items()]
    return label(" ".join([*env, command_line(entry)]), _LONGEST)


def command_line(entry: ServerEntry) -> str:
    """The command to start and where, without its environment; empty where there is none."""
    if not entry.command:
        return ""
    line = shlex.join([with_values(entry, text) for text in (entry.command, *entry.args)])
    return line + (f" in {shlex.quote(with_values(entry, entry.cwd))}" if entry.cwd else "")


def with_values(entry: ServerEntry, text: str) -> str:
    """With the values of `userConfig`: a plugin brings them, so they are part of what is approved."""
    values: Mapping[str, str] = entry.plugin.values if entry.plugin is not None else {}
    return fill(text, {name: value for name, value in values.items() if name.startswith(USER_CONFIG)})


def _variables(entry: ServerEntry) -> list[str]:
    """The host's variables that an entry refers to."""
    texts = [
        entry.command,
        *entry.args,
        *entry.env.values(),
        entry.cwd or "",
        entry.url,
        *entry.headers.values(),
    ]
    names = dict.fromkeys(name for text in texts for name in references(text))
    return [name for name in names if name not in PLUGIN_VARIABLES and not name.startswith(USER_CONFIG)]

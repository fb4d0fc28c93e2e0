"""What a person wants to know first: what is configured, what runs, what failed, and what to do about it.

Nothing is started, and nothing is contacted but the journal's database.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from satchel.config import Configuration, Paths, read_configuration
from satchel.config.clients.connecting import option_of
from satchel.config.clients.importing import find_servers, is_satchel
from satchel.errors import SatchelError
from satchel.model import CallRecord, ExecutionRecord, Server
from satchel.names import in_shell
from satchel.support.charging import apart
from satchel.support.presence import present
from satchel.verbs.journal import open_journal
from satchel.verbs.memory.opening import is_there, open_memory
from satchel.verbs.offline import read_catalog

_MOST_LOOKED_AT = 200  # rows of the journal
_MOST_ERRORS = 5
_RECENT = timedelta(days=7)
_FAILED = ("error", "denied", "interrupted")
_STEPS: Mapping[str, str] = {
    "needs approval": "satchel plugins approve {plugin}",
    "needs authorization": "satchel auth {name}",
    "failed": "satchel logs {name}; satchel doctor {name}",
    "needs setup": "satchel doctor {name}",
    "disabled": "satchel enable {name}",
    "not listed": "satchel refresh {name}",
}


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Something that went wrong, and where to read on."""

    at: str
    what: str
    reason: str
    next_step: str


@dataclass(frozen=True, kw_only=True)
class Status:
    """`serving` are processes of `satchel serve`; `connected`, clients whose files start this project's."""

    project: Path
    files: tuple[Path, ...]
    remarks: tuple[str, ...]
    servers: tuple[Server, ...]
    running: tuple[ExecutionRecord, ...]
    calling: tuple[CallRecord, ...]
    failures: tuple[Failure, ...]
    serving: tuple[Mapping[str, Any], ...]
    connected: tuple[tuple[str, Path], ...]
    waiting: Mapping[str, int]  # how many entries of an agent's memory wait for a person's review


async def read_status(paths: Paths) -> Status:
    """Everything about a project that can be known without starting anything."""
    configuration = read_configuration(paths)
    async with open_journal(paths) as journal:
        executions = await journal.executions(limit=_MOST_LOOKED_AT)
        calls = await journal.calls(limit=_MOST_LOOKED_AT)
    files = (paths.settings_file, paths.extensions_file)
    return Status(
        project=paths.project,
        files=tuple(file for file in files if file is not None and file.is_file()),
        remarks=(*configuration.notes, *configuration.warnings),
        servers=tuple(read_catalog(paths).snapshot.servers),
        running=tuple(record for record in executions if record.state == "running"),
        calling=tuple(call for call in calls if call.status == "sent"),
        failures=_failures(executions, calls),
        serving=tuple(present(paths.serving)),
        connected=_connected(paths),
        waiting=await apart(_waiting, configuration),
    )


def next_step(server: Server) -> str | None:
    """What to do about a server that can't be used; None where nothing has to be done."""
    step = _STEPS.get(server.state)
    return (
        step.format(name=in_shell(server.name), plugin=in_shell(server.name.partition(":")[0]))
        if step
        else None
    )


def _failures(executions: list[ExecutionRecord], calls: list[CallRecord]) -> tuple[Failure, ...]:
    """The newest first, and nothing that is long past."""
    found = [
        Failure(
            at=call.started_at,
            what=f"{call.server}.{call.tool}",
            reason=call.error or call.status,
            next_step=f"satchel show-execution {call.execution}"
            if call.execution
            else f"satchel audit --server {call.server}",
        )
        for call in calls
        if call.status in _FAILED
    ]
    for record in executions:
        outcome = record.outcome or {}
        if record.state == "interrupted" or outcome.get("exit_code"):
            reason = outcome.get("reason") or outcome.get("ended") or f"exit {outcome.get('exit_code', '?')}"
            step = f"satchel show-execution {record.id}"
            what = f"execution {record.id}"
            found.append(Failure(at=record.started_at, what=what, reason=str(reason), next_step=step))
    since = (datetime.now(UTC) - _RECENT).isoformat()
    recent = [failure for failure in found if failure.at >= since]
    return tuple(sorted(recent, key=lambda failure: failure.at, reverse=True)[:_MOST_ERRORS])


def _waiting(configuration: Configuration) -> dict[str, int]:
    found: dict[str, int] = {}
    for agent in dict.fromkeys(("default", *configuration.settings.agents)):
        with suppress(SatchelError, OSError):  # `satchel memory list` says why it can't be read
            if is_there(configuration, agent):
                entries = open_memory(configuration, agent).read().entries
                found[agent] = sum(entry.is_waiting for entry in entries)
    return {agent: number for agent, number in found.items() if number}


def _connected(paths: Paths) -> tuple[tuple[str, Path], ...]:
    """The clients whose files start Satchel for this project, with the file."""
    home = Path(os.environ.get("HOME") or Path.home())
    found, _ = find_servers(project=Path.cwd(), home=home, environment=os.environ)
    places = {os.path.realpath(paths.project), *(os.path.realpath(file) for file in _files(paths))}
    return tuple(
        dict.fromkeys(
            (item.client, item.origin)
            for item in found
            if is_satchel(item.entry)
            and os.path.realpath(os.path.expanduser(option_of(item.entry, "--config") or ".")) in places
        )
    )


def _files(paths: Paths) -> list[Path]:
    return [file for file in (paths.settings_file, paths.extensions_file) if file is not None]

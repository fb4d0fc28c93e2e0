"""status: one screen about a project, with the next step wherever one is needed."""

import argparse
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from satchel.cli import output
from satchel.cli.looking.journal import when
from satchel.cli.running import note_no_servers, paths_of, run_async
from satchel.model import Json
from satchel.names import count
from satchel.verbs.looking.status import Status, next_step, read_status

_STYLES = {"listed": "green", "running": "green", "failed": "red", "disabled": "dim", "not listed": "dim"}


def status_command(options: argparse.Namespace) -> int:
    paths = paths_of(options)
    status = run_async(lambda: read_status(paths))
    if options.json:
        output.show_json(_as_json(status))
    else:
        _show(status)
    return 0


def _show(status: Status) -> None:
    _title("configuration")
    files = [output.from_home(file) for file in status.files]
    output.show_table(
        [[file] for file in files] or [["none yet, in " + output.from_home(status.project)]], indent="  "
    )
    for remark in status.remarks:
        output.note(f"  {remark}")
    _show_servers(status)
    _title("clients")
    rows = [["connected", client, output.from_home(file)] for client, file in status.connected]
    rows += [
        ["serving", f"{facts.get('http') or facts.get('started_by') or 'stdio'}", _serving(facts)]
        for facts in status.serving
    ]
    output.show_table(rows or [["none", "satchel connect CLIENT lets one use Satchel"]], indent="  ")
    if status.running or status.calling:
        _title("running now")
        output.show_table(
            [
                [call.execution or "call", when(call.started_at), call.agent, f"{call.server}.{call.tool}"]
                for call in status.calling
            ],
            indent="  ",
        )
        output.show_table(
            [
                [
                    record.id,
                    when(record.started_at),
                    record.agent,
                    output.first_line(record.description or record.program),
                ]
                for record in status.running
            ],
            indent="  ",
        )
    if status.waiting:
        _title("memory")
    for agent, number in status.waiting.items():
        entries = "1 entry waits" if number == 1 else f"{number:,} entries wait"
        output.show(f"  {agent}: {entries} for review")
        output.show(output.styled(f"    → satchel memory review --agent {agent}", "dim"))
    _title("last errors")
    if not status.failures:
        output.show("  none in the last 7 days")
    for failure in status.failures:
        text = f"  {when(failure.at)}  {failure.what}: {output.first_line(failure.reason)}"
        output.show_lines(text, indent="    ")
        output.show(output.styled(f"    → {failure.next_step}", "dim"))


def _show_servers(status: Status) -> None:
    states = Counter(server.state for server in status.servers)
    tools = sum(server.tool_count for server in status.servers)
    said = ", ".join(
        f"{number} {output.styled(state, _STYLES.get(state, 'yellow'))}" for state, number in states.items()
    )
    _title(f"{count(len(status.servers), 'server')}, {count(tools, 'tool')}" + (f": {said}" if said else ""))
    if not status.servers:
        note_no_servers()
    for server in status.servers:
        step = next_step(server)
        if step is None:
            continue
        reason = (server.error or "").removeprefix(f"{server.name}: ")
        state = output.styled(server.state, _STYLES.get(server.state, "yellow"))
        output.show_lines(f"  {server.name}  {state}  {output.first_line(reason)}".rstrip(), indent="    ")
        output.show(output.styled(f"    → {step}", "dim"))


def _title(text: str) -> None:
    output.show(output.styled(text, "bold"))


def _serving(facts: Mapping[str, Any]) -> str:
    return (
        f"process {facts.get('process')}, agent {facts.get('agent')}, since {when(str(facts.get('since')))}"
    )


def _as_json(status: Status) -> Json:
    return {
        "project": str(status.project),
        "files": [str(file) for file in status.files],
        "remarks": list(status.remarks),
        "servers": [
            {
                "name": server.name,
                "state": server.state,
                "tool_count": server.tool_count,
                "error": server.error,
                "next_step": next_step(server),
            }
            for server in status.servers
        ],
        "connected": [{"client": client, "file": str(file)} for client, file in status.connected],
        "serving": [dict(facts) for facts in status.serving],
        "running": [
            {
                "id": record.id,
                "agent": record.agent,
                "started_at": record.started_at,
                "description": record.description,
            }
            for record in status.running
        ],
        "calling": [asdict(call) for call in status.calling],
        "waiting": dict(status.waiting),
        "failures": [asdict(failure) for failure in status.failures],
    }

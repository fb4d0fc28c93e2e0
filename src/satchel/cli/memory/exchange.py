"""memory export, import."""

import argparse
import json
from functools import partial

from satchel.cli import output
from satchel.cli.deciding import decided
from satchel.cli.memory.entries import count_entries, memories_of
from satchel.cli.running import run_async
from satchel.model import Json
from satchel.support.files import write_atomically
from satchel.support.text import label
from satchel.verbs.memory.importing import PlannedImport

_MOST_LEFT_OUT = 20  # that are named


def export_command(options: argparse.Namespace) -> int:
    exported = run_async(partial(memories_of(options).export, options.agent))
    if options.output is None:
        output.show_json(exported)
        return 0
    text = json.dumps(exported, ensure_ascii=False, indent=2) + "\n"
    write_atomically(options.output, text.encode("utf-8", "replace"))
    output.note(f"wrote {count_entries(len(exported['entries']))} to {output.from_here(options.output)}")
    return 0


def import_command(options: argparse.Namespace) -> int:
    memories = memories_of(options)
    planned = run_async(partial(memories.plan_import, options.path, options.agent))
    if options.json and options.dry_run:
        output.show_json(_as_json(planned, {}))
        return 0
    if not options.json:
        _show(planned)
    if not planned.count or options.dry_run:
        output.note("nothing was imported" if options.dry_run else "there is nothing new to import")
        return 0
    if not _agreed(options, planned):
        return 2
    written = run_async(partial(memories.import_planned, planned, is_reviewed=options.reviewed))
    if options.json:
        output.show_json(_as_json(planned, written))
        return 0
    for agent, number in written.items():
        output.note(f"'{agent}' remembers {count_entries(number)} more")
        if not options.reviewed:
            output.note(f"hint: satchel memory review --agent {agent} lets models be told of them")
    return 0


def _agreed(options: argparse.Namespace, planned: PlannedImport) -> bool:
    count = count_entries(planned.count)
    if options.reviewed:  # what models may be told is a person's decision
        return decided(
            f"Have you reviewed {count}, and may models be told of them?",
            without="leave out --reviewed; then they wait for review",
        )
    return options.yes or output.confirmed(f"import {count}? [y/N] ", done="imported")


def _show(planned: PlannedImport) -> None:
    plan = planned.plan
    output.note(f"{plan.kind}, for {len(planned.agents)} agents" if len(planned.agents) != 1 else plan.kind)
    output.show_table(
        [
            (
                agent,
                f"{len(each.new)} new",
                f"{len(each.changed)} changed",
                f"{len(each.kept)} changed here, and kept",
                f"{each.known} known",
            )
            for agent, each in planned.agents.items()
        ],
        headings=("agent", "new", "changed", "kept", "known"),
    )
    for left_out in plan.left_out[:_MOST_LEFT_OUT]:
        detail = f" ({label(left_out.detail)})" if left_out.detail else ""
        output.note(f"left out: {label(left_out.where)}: {left_out.reason}{detail}")
    if (more := len(plan.left_out) - _MOST_LEFT_OUT) > 0:
        output.note(f"left out: {more} more")
    for note in plan.notes:
        output.note(note)


def _as_json(planned: PlannedImport, written: dict[str, int]) -> Json:
    return {
        "kind": planned.plan.kind,
        "agents": {
            agent: {
                "new": len(each.new),
                "changed": len(each.changed),
                "kept": len(each.kept),
                "known": each.known,
                "written": written.get(agent, 0),
            }
            for agent, each in planned.agents.items()
        },
        "left_out": [vars(left_out) for left_out in planned.plan.left_out],
        "notes": list(planned.plan.notes),
    }

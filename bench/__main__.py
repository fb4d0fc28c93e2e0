"""Runs the benchmarks and prints their table."""

import argparse
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from datetime import date

from bench.approvals import measure_approvals
from bench.call import measure_call
from bench.discovery import measure_discovery
from bench.execute import measure_code_mode, measure_execute
from bench.floods import measure_floods
from bench.flows import measure_flows
from bench.generate import measure_generate
from bench.listing import measure_list
from bench.memory import measure_memory
from bench.plugins import measure_plugins
from bench.pool import measure_pool
from bench.privacy.measuring import measure_privacy
from bench.refresh import measure_refresh
from bench.rows import Benchmark, Row, Skipped
from bench.skills import measure_skills
from bench.surroundings import cores
from bench.tokens import measure_tokens

BENCHMARKS: dict[str, Benchmark] = {
    "list": measure_list,
    "refresh": measure_refresh,
    "call": measure_call,
    "generate": measure_generate,
    "tokens": measure_tokens,
    "execute": measure_execute,
    "pool": measure_pool,
    "code-mode": measure_code_mode,
    "skills": measure_skills,
    "plugins": measure_plugins,
    "memory": measure_memory,
    "discovery": measure_discovery,
    "floods": measure_floods,
    "flows": measure_flows,
    "approvals": measure_approvals,
    "privacy": measure_privacy,
}
HEADINGS = ("name", "what is compared", "ratio", "limit", "verdict")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Satchel.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of " + ", ".join(BENCHMARKS))
    parser.add_argument("--strict", action="store_true", help="exit with 1 if anything falls short")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f"unknown benchmark '{name}'; there are {', '.join(BENCHMARKS)}")
    rows: list[Row] = []
    skipped: dict[str, str] = {}
    before = _load()
    for name in options.names or BENCHMARKS:
        sys.stderr.write(f"measuring {name} …\n")
        try:
            rows += BENCHMARKS[name]()
        except Skipped as reason:
            skipped[name] = str(reason)
    print(_text(rows, skipped, before, _load()))
    return int(options.strict and not all(row.holds for row in rows))


def _text(rows: Iterable[Row], skipped: dict[str, str], before: str, after: str) -> str:
    cells = [row.cells() for row in rows]
    cells += [(name, f"skipped: {reason}", "", "", "") for name, reason in skipped.items()]
    notes = [f"- {row.name}: {note}" for row in rows for note in row.notes]
    surroundings = (
        f"{date.today().isoformat()}, Python {platform.python_version()}, {cores()} cores,"
        f" load {before} before and {after} after."
    )
    return "\n".join([surroundings, "", *_table(cells), "", *notes])


def _table(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(HEADINGS, *cells, strict=True)]
    rule = ["-" * width for width in widths]
    return [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in (HEADINGS, rule, *cells)
    ]


def _load() -> str:
    """How many processes wanted a core during the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

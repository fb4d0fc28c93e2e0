"""Runs the benchmarks and prints their table."""

import argparse
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from bench.call import measure_call
from bench.execute import measure_code_mode, measure_execute
from bench.generate import measure_generate
from bench.listing import measure_list
from bench.pool import measure_pool
from bench.refresh import measure_refresh
from bench.rows import Benchmark, Row, Skipped
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
}
HEADINGS = ("name", "what is compared", "ratio", "limit", "verdict")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Satchel.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of " + ", ".join(BENCHMARKS))
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table to FILE as well")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if anything falls short")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f"unknown benchmark '{name}'; there are {', '.join(BENCHMARKS)}")
    if options.write and options.names:
        parser.error("--write takes the table of all benchmarks; leave out the names")
    rows: list[Row] = []
    skipped: dict[str, str] = {}
    before = _load()
    for name in options.names or BENCHMARKS:
        sys.stderr.write(f"measuring {name} …\n")
        try:
            rows += BENCHMARKS[name]()
        except Skipped as reason:
            skipped[name] = str(reason)
    text = _text(rows, skipped, before, _load())
    print(text)
    if options.write:
        options.write.write_text(_document(text), encoding="utf-8")
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


def _document(text: str) -> str:
    return f"""# Measured

Written by `python -m bench --write docs/measured.md`. Both sides of a ratio were taken in the same run, in
turn, and are medians; milliseconds are of that one machine. A load well above zero before the start means
that something else was running, which hits both sides but blurs the ratio; the load after it includes the
benchmarks' own.

{text}
"""


def _load() -> str:
    """How many processes wanted a core during the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Measures tool search and prints its tables."""

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from datetime import date

from bench.rows import Skipped
from bench.search import recorded
from bench.search.data import queries
from bench.search.latency import measure_latency
from bench.search.names import find_servers, find_tools, rows
from bench.search.peer import open_peer
from bench.search.quality import measure
from bench.search.tables import differences, quality_table, rows_table, table_of_kinds
from bench.surroundings import cores


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.search", description="Measure tool search.")
    guard = parser.add_mutually_exclusive_group()
    guard.add_argument(
        "--check", action="store_true", help="exit with 1 if Satchel finds less than was recorded; no peers"
    )
    guard.add_argument("--record", action="store_true", help="record what Satchel finds now; no peers")
    parser.add_argument("--no-timing", action="store_true", help="leave out time and memory")
    options = parser.parse_args(arguments)
    try:
        if options.check or options.record:
            return _guard(record=options.record)
        print(_report(timing=not options.no_timing))
    except Skipped as reason:
        print(f"skipped: {reason}")
    return 0


def _guard(*, record: bool) -> int:
    with open_peer() as peer:
        qualities = measure(peer, only_satchel=True)
    now = recorded.figures(qualities, find_tools(), find_servers())
    if record:
        recorded.record(now)
        print(f"recorded in {recorded.FILE.name}")
        return 0
    before = recorded.read()
    if before is None:
        print(f"there is no {recorded.FILE.name}\nhint: python -m bench.search --record")
        return 1
    fallen = recorded.fallen(now, before)
    print("\n".join(fallen) or "Satchel finds as much as was recorded")
    return int(bool(fallen))


def _report(*, timing: bool) -> str:
    load = f"{os.getloadavg()[0]:.1f}"
    with open_peer() as peer:
        qualities = measure(peer)
    parts = [
        f"{date.today().isoformat()}, Python {platform.python_version()}, {cores()} cores,"
        f" load {load} before. {len(queries())} queries; all measures in percent.",
    ]
    for quality in qualities:
        parts += [f"### {quality.catalog}", quality_table(quality)]
        parts += ["Satchel by kind of query:", table_of_kinds(quality)]
        parts += ["Satchel's difference in points, with the 95 % interval:", differences(quality)]
    measured, skipped = rows(find_tools(), find_servers()), {}
    if timing:
        timed, skipped = measure_latency()
        measured += timed
    parts += ["### Limits", rows_table(measured, skipped)]
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

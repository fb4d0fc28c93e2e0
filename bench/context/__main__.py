"""Measures both ways and prints, records or checks what comes out."""

import argparse
import os
import sys
from collections.abc import Sequence

from bench.context.measure import measure_all, measure_limits
from bench.context.report import report, write
from bench.rows import Row
from bench.search.tables import rows_table
from bench.surroundings import ROOT


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.context", description="Measure a model's context.")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--record", action="store_true", help="write it to docs/ as well")
    choice.add_argument("--check", action="store_true", help="only what has a limit")
    options = parser.parse_args(arguments)
    load = f"{os.getloadavg()[0]:.1f}"
    if options.check:
        measured = measure_limits()
        print(rows_table(measured.rows(), measured.skipped))
        return _verdict(measured.rows())
    measured = measure_all()
    text = report(measured, load)
    print(text)
    if options.record:
        for file in write(text, measured):
            print(f"\nwritten: {file.relative_to(ROOT)}")
    return _verdict(measured.rows())


def _verdict(rows: Sequence[Row]) -> int:
    return int(not all(row.holds for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

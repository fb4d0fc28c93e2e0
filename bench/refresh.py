"""Twenty stdio servers listed at once.

Starting servers is work for the processor, so the best possible time is the sum of their start-up CPU over
the cores, and never less than the slowest alone. Each kind is measured alone, in a process of its own and in
turn with all of them together; nothing is cached beforehand.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from bench.rows import Row, Skipped
from bench.surroundings import (
    PYTHON,
    ROOT,
    Entry,
    cores,
    example_server,
    installed_server,
    raw_server,
    temporary_home,
)

COUNT = 20
ROUNDS = 3
SLACK = 1.5
MEGABYTES = 2.0
FILLER = "raw"


def measure_refresh() -> list[Row]:
    if not Path("/proc/self/stat").exists():
        raise Skipped("there is no /proc to read the CPU of running servers from")
    kinds = _kinds()
    mix = Counter({kind: count for kind, (count, _) in kinds.items()})
    mix[FILLER] += COUNT - mix.total()  # stands in for public servers that are not installed
    alone: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    together: list[dict[str, Any]] = []
    for number in range(ROUNDS + 1):
        for kind, (_, entry) in kinds.items():
            outcome = _refresh({kind: entry})
            if number:  # the first round fills the file cache and writes byte code
                alone[kind].append(outcome)
        if number:
            together.append(
                _refresh({f"{kind}-{n}": kinds[kind][1] for kind in mix for n in range(mix[kind])})
            )
    slowest = max(kinds, key=lambda kind: _median(alone[kind], "wall"))
    slowest_wall = _median(alone[slowest], "wall")
    cpu = sum(_median(alone[kind], "cpu") * mix[kind] for kind in kinds)
    wall = _median(together, "wall")
    allowed = slowest_wall + SLACK * cpu / cores()
    rows = [
        Row(
            name="refresh",
            compared=f"{COUNT} stdio servers refreshed at once, to the slowest alone"
            f" + {SLACK} × their start-up CPU / {cores()} cores",
            value=wall / allowed,
            limit=1.0,
            notes=(
                f"{wall:.1f} s; allowed {allowed:.1f} s: {slowest} alone {slowest_wall:.2f} s, CPU of all"
                f" {cpu:.1f} s until listed; medians of {ROUNDS}",
                f"one after the other they would take"
                f" {sum(_median(alone[kind], 'wall') * mix[kind] for kind in kinds):.1f} s;"
                f" stopping all {COUNT} takes another {_median(together, 'closing'):.1f} s,"
                f" which is not counted",
                "alone, wall and CPU in seconds: "
                + ", ".join(
                    f"{mix[kind]} × {kind} {_median(alone[kind], 'wall'):.2f}/"
                    f"{_median(alone[kind], 'cpu'):.2f}"
                    for kind in kinds
                ),
            ),
        )
    ]
    if together[0]["before"]:
        rows.append(_memory_row(together))
    return rows


def _memory_row(together: list[dict[str, Any]]) -> Row:
    def growth(part: str) -> float:
        return median(outcome["after"][part] - outcome["before"][part] for outcome in together)

    start = median(outcome["before"]["own"] for outcome in together)
    return Row(
        name="refresh: memory",
        compared="what Satchel's own process grows by for each connection, all of them open",
        value=growth("own") / COUNT,
        limit=MEGABYTES,
        unit="MB",
        notes=(
            f"private memory {start:.0f} MB before, {growth('own'):.1f} MB more after {COUNT};"
            f" resident {growth('resident'):.1f} MB more",
        ),
    )


def _kinds() -> dict[str, tuple[int, Entry]]:
    """Kind → how many of it, and its entry."""
    kinds: dict[str, tuple[int, Entry | None]] = {
        "google_drive": (2, example_server("google_drive")),
        "salesforce": (2, example_server("salesforce")),
        "slack": (2, example_server("slack")),
        "git": (2, installed_server("modern", "mcp-server-git")),
        "time": (2, installed_server("modern", "mcp-server-time")),
        "fetch": (2, installed_server("modern", "mcp-server-fetch")),
        "sqlite": (2, installed_server("legacy", "mcp-server-sqlite", "--db-path", "${HOME}/bench.sqlite")),
        FILLER: (2, raw_server("good")),
        "raw-modern": (2, raw_server("good", "era=modern")),
        "raw-resources": (2, raw_server("resources")),
    }
    return {kind: (count, entry) for kind, (count, entry) in kinds.items() if entry is not None}


def _refresh(servers: Mapping[str, Entry]) -> dict[str, Any]:
    with temporary_home() as home:
        home.configure(servers)
        done = subprocess.run(
            [PYTHON, "-m", "bench.refreshing", str(home.project)],
            cwd=ROOT,
            env=dict(home.environment),
            stdout=subprocess.PIPE,
            check=True,
        )
    outcome: dict[str, Any] = json.loads(done.stdout)
    if outcome["failed"]:
        raise RuntimeError("; ".join(outcome["failed"]))
    return outcome


def _median(outcomes: list[dict[str, Any]], key: str) -> float:
    return median(outcome[key] for outcome in outcomes)

"""From the start of `satchel serve` until it has answered `tools/list`, with 75 servers and with none."""

import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles

from bench.context.client import Client
from bench.context.servers import NO_PROGRAM, record, recorded_servers
from bench.listing import SATCHEL
from bench.rows import Row
from bench.surroundings import Home, temporary_home

PAIRS = 11
LIMIT = 1.5


def measure_starts(pairs: int = PAIRS, *, first_as_well: bool = True) -> list[Row]:
    servers = recorded_servers()
    with ExitStack() as stack:
        many, none = (stack.enter_context(temporary_home()) for _ in range(2))
        many.configure({server.name: {"command": NO_PROGRAM} for server in servers})
        none.configure({})
        record(many, servers)
        rows = [
            _row("context: start", "tools cached", LIMIT, _in_turn(many, none, pairs, lambda home: None)),
        ]
        if first_as_well:
            taken = _in_turn(many, none, pairs, _forget)
            rows.append(
                _row("context: first start", "nothing cached, no server can be started", float("inf"), taken)
            )
    return rows


def _row(name: str, state: str, limit: float, taken: list[tuple[float, float]]) -> Row:
    many, none = (median(column) for column in zip(*taken, strict=True))
    low, _, high = quantiles(ours / theirs for ours, theirs in taken)
    return Row(
        name=name,
        compared=f"satchel serve until tools/list is answered, {len(recorded_servers())} servers, {state},"
        " to none configured",
        value=many / none,
        limit=limit,
        notes=(
            f"{1000 * many:.0f} ms to {1000 * none:.0f} ms, medians of {len(taken)}; the middle half of the"
            f" pairs lies between {low:.2f} × and {high:.2f} ×",
        ),
    )


def _in_turn(
    many: Home, none: Home, pairs: int, prepare: Callable[[Home], None]
) -> list[tuple[float, float]]:
    """Seconds of each pair, after one that is not counted; who goes first changes."""
    taken: list[tuple[float, float]] = []
    for number in range(pairs + 1):
        seconds: dict[int, float] = {}
        for home in (many, none) if number % 2 else (none, many):
            prepare(home)
            seconds[id(home)] = _start(home)
        taken.append((seconds[id(many)], seconds[id(none)]))
    return taken[1:]


def _start(home: Home) -> float:
    began = time.perf_counter()
    with Client([SATCHEL, "serve", "--mode", "code"], home.project, home.environment) as client:
        client.initialize()
        client.tools()
        return time.perf_counter() - began


def _forget(home: Home) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        shutil.rmtree(Path(home.environment[name]), ignore_errors=True)
    shutil.rmtree(home.project / ".satchel", ignore_errors=True)

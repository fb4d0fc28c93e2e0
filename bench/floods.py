"""What others feel while one agent floods: their print(1) and tools/list, the event loop, the memory.

    python -m bench.floods [DIRECTORY]      beside another checkout, with its src/, in turn

Each flood has a quiet time right before it, on the same process. The event loop's delay is what `/health`
takes, which does nothing.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles

from bench.flooding import FLOODS, Felt, feel, service
from bench.rows import Row
from bench.surroundings import ROOT

SECONDS = 5.0
QUIET = 3.0
GOAL = 5.0  # times as long as without a flood


def measure_floods() -> list[Row]:
    with service() as at:
        feel(at, 1.0)  # what is done once
        return [_row(name, feel(at, QUIET), feel(at, SECONDS, name)) for name in FLOODS]


def _row(name: str, quiet: Felt, felt: Felt) -> Row:
    return Row(
        name=f"floods: {name}",
        compared="print(1) of another agent meanwhile, the 95th percentile, to that without a flood",
        value=_p95(felt.programs) / _p95(quiet.programs),
        limit=GOAL,
        notes=(_figures(quiet, felt), *felt.failures),
    )


def _figures(quiet: Felt, felt: Felt) -> str:
    return (
        f"print(1) {_ms(felt.programs)} to {_ms(quiet.programs)} ms (median, p95, worst); tools/list"
        f" {_ms(felt.listings)} to {_ms(quiet.listings)} ms; event loop {_ms(felt.health)} to"
        f" {_ms(quiet.health)} ms; memory {max(felt.memory):.0f} to {max(quiet.memory):.0f} MB"
    )


def _ms(times: Sequence[float]) -> str:
    if not times:
        return "none"
    return " / ".join(f"{1000 * value:.0f}" for value in (median(times), _p95(times), max(times)))


def _p95(times: Sequence[float]) -> float:
    if not times:
        return float("inf")  # not one was answered
    return quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]


def main(others: Sequence[str]) -> int:
    checkouts = {other: Path(other).resolve() / "src" for other in others} | {"now": ROOT / "src"}
    with ExitStack() as stack:
        services = {name: stack.enter_context(service(source)) for name, source in checkouts.items()}
        for at in services.values():
            feel(at, 1.0)
        for flood in FLOODS:
            print(flood)
            for name, at in services.items():
                quiet, felt = feel(at, QUIET), feel(at, SECONDS, flood)
                ratio = _p95(felt.programs) / _p95(quiet.programs)
                print(
                    f"    {name:8} {ratio:6.1f} ×  {_figures(quiet, felt)} {' '.join(felt.failures)}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

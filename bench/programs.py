"""Programs run in turn, A B A B …, so that whatever else the machine does hits all of them alike."""

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles


@dataclass(frozen=True, kw_only=True)
class Times:
    """Milliseconds of every round; `wall` and `cpu` are the medians."""

    walls: Sequence[float]
    cpus: Sequence[float]

    @property
    def wall(self) -> float:
        return median(self.walls)

    @property
    def cpu(self) -> float:
        return median(self.cpus)

    def spread(self, yardstick: "Times") -> tuple[float, float]:
        """Where the middle half of the rounds' own ratios lies: how far one run can be trusted."""
        first, _, third = quantiles(
            ours / theirs for ours, theirs in zip(self.walls, yardstick.walls, strict=True)
        )
        return first, third


def run_in_turn(
    programs: Mapping[str, Sequence[str]],
    *,
    rounds: int,
    directory: Path,
    environment: Mapping[str, str],
    prepare: Callable[[str], None] = lambda name: None,
) -> dict[str, Times]:
    """Each program once per round, after one round that is not counted. `prepare` comes before each."""
    walls: dict[str, list[float]] = {name: [] for name in programs}
    cpus: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, command in programs.items():
            prepare(name)
            wall, cpu = _run(command, directory, environment)
            if number:
                walls[name].append(wall * 1000)
                cpus[name].append(cpu * 1000)
    return {name: Times(walls=walls[name], cpus=cpus[name]) for name in programs}


def _run(command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    began = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=directory, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime

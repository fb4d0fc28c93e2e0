"""`satchel generate` of both languages for every recorded server, from the cached catalog.

The yardstick parses the same JSON files and writes the same bytes to the same files: `bench/writing.py`.
Compared as whole processes, with the start of the interpreter on both sides, and within one process.
"""

import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.listing import DATA, _fill_cache
from bench.programs import Times, run_in_turn
from bench.rows import Row, Skipped
from bench.surroundings import PYTHON, ROOT, Home, temporary_home
from bench.writing import Layout, write_tree
from satchel.config import Paths, find_paths
from satchel.verbs.offline import read_catalog
from satchel.verbs.wrappers import generate_code

ROUNDS = 9
LIMIT = 3.0
UNCHANGED_LIMIT = 1 / 5
MEMORY = Path("/dev/shm")


@dataclass(frozen=True, kw_only=True)
class Places:
    output: Path  # what Satchel writes
    copy: Path  # what the yardstick writes
    layout: Path
    content: Path


def measure_generate() -> list[Row]:
    if not DATA.is_dir():
        raise Skipped(f"the recorded tools of public servers are not in ../{DATA.relative_to(ROOT.parent)}")
    with temporary_home() as home:
        servers, tools = _fill_cache(home, home.project / "started")
        paths = find_paths(config=home.project, environment=home.environment)
        places = Places(**{name: home.project / name for name in ("output", "copy", "layout", "content")})
        files, size = _record_bytes(home, paths, places)
        processes = _in_turn_as_processes(home, paths, places)
        _check_copy(places)
        inside = _in_turn_inside(home, paths, places)
        _check_copy(places)
        memory = _in_memory(home, paths, places)
    what = f"{servers} servers and {tools} tools cached, both languages"
    done = f"{files} files of {size / 1e6:.1f} MB together"
    return [
        *_rows("generate", f"satchel generate, {what}", processes, done),
        *_rows("generate: inside", f"the same without the start of a process, {what}", inside, done, memory),
    ]


def _rows(name: str, what: str, times: Mapping[str, Times], done: str, *more: str) -> list[Row]:
    fresh, unchanged, yardstick = times["fresh"], times["unchanged"], times["yardstick"]
    low, high = fresh.spread(yardstick)
    least, most = unchanged.spread(fresh)
    return [
        Row(
            name=name,
            compared=f"{what}, to parsing their JSON and writing the same bytes to the same files",
            value=fresh.wall / yardstick.wall,
            limit=LIMIT,
            notes=(
                f"{fresh.wall:.0f} ms to {yardstick.wall:.0f} ms, {done}; medians of {ROUNDS}",
                f"the middle half of the rounds lies between {low:.2f} × and {high:.2f} ×",
                f"by CPU instead of wall time, {fresh.cpu / yardstick.cpu:.2f} ×:"
                f" {fresh.cpu:.0f} ms to {yardstick.cpu:.0f} ms",
                *more,
            ),
        ),
        Row(
            name=f"{name}, unchanged",
            compared="the same with nothing changed, to the first time",
            value=unchanged.wall / fresh.wall,
            limit=UNCHANGED_LIMIT,
            notes=(
                f"{unchanged.wall:.0f} ms, {fresh.wall / unchanged.wall:.1f} × faster than the first time and"
                f" {yardstick.wall / unchanged.wall:.1f} × faster than the yardstick",
                f"the middle half of the rounds lies between {1 / most:.1f} × and {1 / least:.1f} × faster",
            ),
        ),
    ]


def _record_bytes(home: Home, paths: Paths, places: Places) -> tuple[int, int]:
    """What the yardstick is to write; how many files and bytes that is."""
    generate_code(read_catalog(paths, home.environment), paths, places.output)
    files = sorted(path for path in places.output.rglob("*") if path.is_file())
    parts = [path.read_bytes() for path in files]
    rows = [
        (path.relative_to(places.output).as_posix(), len(part))
        for path, part in zip(files, parts, strict=True)
    ]
    places.layout.write_text(json.dumps(rows), encoding="utf-8")
    places.content.write_bytes(b"".join(parts))
    return len(files), sum(map(len, parts))


def _in_turn_as_processes(home: Home, paths: Paths, places: Places) -> dict[str, Times]:
    generate = [PYTHON, "-m", "satchel", "generate", "--json", "--output", str(places.output)]
    script = str(Path(__file__).with_name("writing.py"))
    return run_in_turn(
        {
            "yardstick": [
                *(PYTHON, script, str(DATA)),
                *(str(places.layout), str(places.content), str(places.copy)),
            ],
            "fresh": generate,
            "unchanged": generate,
        },
        rounds=ROUNDS,
        directory=home.project,
        environment=home.environment,
        prepare=lambda name: _prepare(name, paths, places),
    )


def _in_turn_inside(home: Home, paths: Paths, places: Places) -> dict[str, Times]:
    layout: Layout = json.loads(places.layout.read_bytes())
    content = memoryview(places.content.read_bytes())

    def generate() -> None:
        generate_code(read_catalog(paths, home.environment), paths, places.output)

    work: dict[str, Callable[[], None]] = {
        "yardstick": lambda: write_tree(str(DATA), layout, content, str(places.copy)),
        "fresh": generate,
        "unchanged": generate,
    }
    walls: dict[str, list[float]] = {name: [] for name in work}
    cpus: dict[str, list[float]] = {name: [] for name in work}
    for number in range(ROUNDS + 1):
        for name, once in work.items():
            _prepare(name, paths, places)
            wall, cpu = time.perf_counter(), time.process_time()
            once()
            if number:
                walls[name].append((time.perf_counter() - wall) * 1000)
                cpus[name].append((time.process_time() - cpu) * 1000)
    return {name: Times(walls=walls[name], cpus=cpus[name]) for name in work}


def _in_memory(home: Home, paths: Paths, places: Places) -> str:
    """Where files cost next to nothing to write, the ratio is that of the computing alone."""
    if not MEMORY.is_dir():
        return f"not measured in memory: there is no {MEMORY}"
    with TemporaryDirectory(dir=MEMORY) as directory:
        there = replace(places, output=Path(directory, "output"), copy=Path(directory, "copy"))
        times = _in_turn_inside(home, paths, there)
    fresh, yardstick = times["fresh"].wall, times["yardstick"].wall
    return f"to files in memory, {fresh / yardstick:.2f} ×: {fresh:.0f} ms to {yardstick:.0f} ms"


def _prepare(name: str, paths: Paths, places: Places) -> None:
    """Nothing is there, except where nothing is to change."""
    if name == "yardstick":
        shutil.rmtree(places.copy, ignore_errors=True)
    elif name == "fresh":
        shutil.rmtree(places.output, ignore_errors=True)
        shutil.rmtree(paths.trees)


def _check_copy(places: Places) -> None:
    ours, theirs = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (places.output, places.copy)
    )
    if ours != theirs:
        raise RuntimeError("the yardstick wrote something else than Satchel")

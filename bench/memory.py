"""Ten thousand memories: what a model is told of them, and searching them.

The yardstick is parsing their JSON, which nothing can do without. Both sides are taken in one process, in
turn, in processor time. Telling a model of them is measured for the first time, as in a command, and again,
as in a process that serves: files that have not changed are kept taken apart.
"""

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles

from bench.rows import Row
from bench.skills import ROUNDS, _in_turn
from bench.surroundings import temporary_home
from bench.tokens import _count
from satchel.config import find_paths, read_configuration
from satchel.library.memory import contents
from satchel.library.memory.places import CORE, HISTORY, PATTERNS, PREFERENCES
from satchel.model import ToldMemory
from satchel.verbs.memory.memories import Memories
from satchel.verbs.memory.opening import open_memory

ENTRIES = 10_000
SEARCHES = 200
FIRST_LIMIT = 40.0
AGAIN_LIMIT = 10.0
SEARCH_LIMIT = 10.0
_TEXT = (
    "customer prefers invoice quarterly report berlin office deploy friday budget approval travel contract "
    "renewal database index slow query retry limit server region europe weekly meeting notes owner team"
)
_WORDS = _TEXT.split()


def measure_memory() -> list[Row]:
    with temporary_home() as home:
        configuration = read_configuration(find_paths(config=home.project, environment=home.environment))
        configuration.paths.prepare_state()
        memory = open_memory(configuration, "default")
        files = _write(configuration.paths.state / "agents" / "default" / "memory")
        memory.approve(entry.digest for entry in memory.read().entries)
        memories = Memories(lambda: configuration)

        def first() -> ToldMemory:
            contents._kept = contents._Kept()
            return memories.prompt()

        told = first()
        if told.entries < 20:
            raise RuntimeError(f"only {told.entries} entries were told")
        work = {"parsing": lambda: _parse(files), "first": first, "again": memories.prompt}
        times = _in_turn(work, time.process_time)
        search = _searches(lambda query: memory.search(query, 10))
    return [
        Row(
            name="memory: first",
            compared=f"telling of {ENTRIES:,} memories for the first time to parsing their JSON",
            value=times["first"] / times["parsing"],
            limit=FIRST_LIMIT,
            notes=(f"{times['first']:.0f} ms to {times['parsing']:.1f} ms; medians of {ROUNDS}",),
        ),
        Row(
            name="memory: again",
            compared="telling of them again to parsing their JSON",
            value=times["again"] / times["parsing"],
            limit=AGAIN_LIMIT,
            notes=(f"{times['again']:.0f} ms; medians of {ROUNDS}",),
        ),
        Row(
            name="memory: tokens",
            compared="o200k tokens of what is told to the budget, 1,500",
            value=_count(told.text) / 1_500,
            limit=1.0,
            notes=(f"{_count(told.text):,} tokens for {told.entries} of {ENTRIES:,} entries",),
        ),
        Row(
            name="memory: search",
            compared="searching them, the median, to parsing their JSON",
            value=search[0] / times["parsing"],
            limit=SEARCH_LIMIT,
            notes=(f"p50 {search[0]:.1f} ms, p95 {search[1]:.1f} ms; {SEARCHES} queries",),
        ),
    ]


def _write(directory: Path) -> list[str]:
    """Entries as people and programs leave them; the files' paths."""
    source = random.Random(1)

    def text(fewest: int, most: int) -> str:
        return " ".join(source.choices(_WORDS, k=source.randint(fewest, most)))

    facts = [
        {
            "topic": source.choice(_WORDS),
            "content": text(5, 25).capitalize(),
            "id": f"{number:012x}",
            "created_at": f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}T09:00:00+00:00",
        }
        for number in range(ENTRIES - 300)
    ]
    tasks = [
        {
            "description": text(5, 15),
            "status": "done",
            "outcome": text(5, 15),
            "tools": ["drive.get_document"],
        }
        for _ in range(200)
    ]
    patterns = "\n".join(f"## {text(2, 4)}\n\n{text(10, 60)}\n" for _ in range(80))
    preferences = "".join(f"{word}_{number}: {text(1, 3)}\n" for number, word in enumerate(_WORDS[:20]))
    directory.mkdir(parents=True, mode=0o700)
    for name, content in (
        (CORE, json.dumps(facts, indent=2)),
        (HISTORY, json.dumps(tasks, indent=2)),
        (PATTERNS, patterns),
        (PREFERENCES, preferences),
    ):
        (directory / name).write_text(content, encoding="utf-8")
    time.sleep(0.2)  # files that have just been written are not kept taken apart
    return [str(directory / name) for name in (CORE, HISTORY, PATTERNS, PREFERENCES)]


def _parse(files: list[str]) -> None:
    for file in files:
        text = Path(file).read_text(encoding="utf-8")
        if file.endswith(".json"):
            json.loads(text)


def _searches(search: Callable[[str], object]) -> tuple[float, float]:
    """The median of searches for different words, and what 95 % of them keep to, in milliseconds."""
    source = random.Random(2)
    times: list[float] = []
    for _ in range(SEARCHES):
        query = " ".join(source.choices(_WORDS, k=source.randint(1, 4)))
        began = time.process_time()
        if not search(query):
            raise RuntimeError("nothing was found")
        times.append((time.process_time() - began) * 1000)
    points = quantiles(times, n=20)
    return points[9], points[18]

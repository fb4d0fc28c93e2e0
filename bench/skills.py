"""A thousand skills: loaded for the first time, listed again, searched, and told to a model within a budget.

The yardsticks are what can't be done without: reading the files, and walking past them. Both sides are taken
in one process, in turn. What a second listing knows, it has from the disk: nothing is kept in between.
"""

import os
import random
import time
from collections.abc import Callable, Mapping
from itertools import cycle
from pathlib import Path
from statistics import median

from bench.rows import Row
from bench.surroundings import Home, temporary_home
from bench.tokens import _count
from satchel.config import find_paths, read_configuration
from satchel.context.skills import skill_system
from satchel.library.skills.finding import cache_of, find_skills
from satchel.library.sources import sources
from satchel.model import Skill
from satchel.verbs.skills import ShownSkills

SKILLS = 1_000
SEARCHED = 1_259
ROUNDS = 15
FIRST_LIMIT = 40.0
SECOND_LIMIT = 5.0
SEARCH_LIMIT = 0.5
BUDGETS = (500, 2_000, 10_000)
_TEXT = (
    "extract text tables from documents fill forms merge split write reports figures quarterly sales review "
    "query database schema chart deploy service translate letters customers summarize meetings notes plan"
)
_WORDS = _TEXT.split()


def measure_skills() -> list[Row]:
    return [*_measure_listing(), _measure_search()]


def _measure_search() -> Row:
    """Processor time, because searches may run beside each other."""
    with temporary_home() as home:
        _write(home, SEARCHED)
        configuration = read_configuration(find_paths(config=home.project, environment=home.environment))
        skills = ShownSkills(lambda: configuration)
        queries = cycle(("merge tables", "quarterly sales figures", "translate letters for customers"))

        def search() -> None:
            if not skills.search(next(queries), "default")["skills"]:
                raise RuntimeError("nothing was found")

        search()
        search()  # from now on, changes are watched for
        work = {"search": search, "walking": lambda: _walk(str(home.project / "skills"))}
        times = _in_turn(work, time.process_time)
    return Row(
        name="skills: search",
        compared=f"searching {SEARCHED:,} skills again to an os.scandir walk over their folders",
        value=times["search"] / times["walking"],
        limit=SEARCH_LIMIT,
        notes=(
            f"{times['search']:.1f} ms to {times['walking']:.1f} ms of processor time; medians of {ROUNDS}",
        ),
    )


def _measure_listing() -> list[Row]:
    with temporary_home() as home:
        files = _write(home, SKILLS)
        paths = find_paths(config=home.project, environment=home.environment)
        settings = read_configuration(paths).settings.skills
        found_in = sources(paths, settings, "default")
        cache = cache_of(paths)

        def first() -> list[Skill]:
            cache.unlink(missing_ok=True)
            return find_skills(found_in, cache)

        found = first()
        if len(found) != SKILLS or any(skill.error or skill.warnings for skill in found):
            raise RuntimeError(f"{len(found)} skills were found, or not all as they were written")
        times = _in_turn(
            {
                "reading": lambda: _read(files),
                "first": first,
                "walking": lambda: _walk(str(home.project / "skills")),
                "second": lambda: find_skills(found_in, cache),
            }
        )
        used = {budget: _count(skill_system(found, budget=budget)) for budget in BUDGETS}
    size = sum(map(len, (skill.description for skill in found)))
    return [
        Row(
            name="skills: first",
            compared=f"loading {SKILLS:,} skills for the first time to reading their files",
            value=times["first"] / times["reading"],
            limit=FIRST_LIMIT,
            notes=(f"{times['first']:.0f} ms to {times['reading']:.1f} ms; medians of {ROUNDS}",),
        ),
        Row(
            name="skills: second",
            compared="listing them again, from the cache on disk, to an os.scandir walk over their folders",
            value=times["second"] / times["walking"],
            limit=SECOND_LIMIT,
            notes=(f"{times['second']:.0f} ms to {times['walking']:.1f} ms; medians of {ROUNDS}",),
        ),
        Row(
            name="skills: prompt",
            compared="o200k tokens of what a model is told of them to the budget, the worst of "
            + ", ".join(f"{budget:,}" for budget in BUDGETS),
            value=max(tokens / budget for budget, tokens in used.items()),
            limit=1.0,
            notes=(
                "; ".join(f"{tokens:,} of {budget:,}" for budget, tokens in used.items())
                + f"; all descriptions together have {size:,} characters",
            ),
        ),
    ]


def _write(home: Home, number_of_skills: int) -> list[str]:
    """Skills like real ones: a page or two, a few with files in a folder; the files' paths."""
    source = random.Random(1)
    (home.project / "satchel.yaml").write_text("{}\n", encoding="utf-8")
    files: list[str] = []
    for number in range(number_of_skills):
        folder = home.project / "skills" / "public" / f"skill-{number:04d}"
        folder.mkdir(parents=True)
        description = " ".join(source.choices(_WORDS, k=source.randint(15, 45)))
        head = [
            f"name: {folder.name}",
            f'description: "{description.capitalize()}. Use it when: somebody asks."',
            "license: MIT",
            "allowed-tools: Read, Write",
            "metadata:",
            "  author: somebody",
            "  version: '1.0'",
        ]
        body = "\n\n".join(" ".join(source.choices(_WORDS, k=80)) for _ in range(source.randint(5, 20)))
        file = folder / "SKILL.md"
        file.write_text("\n".join(["---", *head, "---", "", "# Skill", "", body, ""]), encoding="utf-8")
        files.append(str(file))
        if number % 30 == 0:
            _write_more(folder / "references")
    return files


def _write_more(folder: Path) -> None:
    folder.mkdir()
    for name in ("one.md", "two.md"):
        (folder / name).write_text("More of it.\n", encoding="utf-8")


def _in_turn(
    work: Mapping[str, Callable[[], object]], clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """The median of each, in milliseconds; the first round is not counted."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for number in range(ROUNDS + 1):
        for name, do in work.items():
            began = clock()
            do()
            if number:
                times[name].append((clock() - began) * 1000)
    return {name: median(each) for name, each in times.items()}


def _read(files: list[str]) -> None:
    for file in files:
        with open(file, "rb") as stream:
            stream.read()


def _walk(folder: str) -> None:
    with os.scandir(folder) as entries:
        below = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    for path in below:
        _walk(path)

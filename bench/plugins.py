"""Plugins: the corpus loaded for the first time and again, and a hundred plugins with four thousand skills.

The yardsticks are those of skills: reading the files, and walking past them. Both sides are taken in one
process, in turn, by processor time. The first time has no cache of skills, and knows nothing of the folders.
"""

import subprocess
import sys
import time
from pathlib import Path

from bench.rows import Row
from bench.skills import _in_turn, _read, _walk
from bench.surroundings import Home, temporary_home
from bench.tokens import _count
from satchel.config import Configuration, find_paths, read_configuration
from satchel.config.plugins import reading
from satchel.context.commands import command_system
from satchel.context.skills import skill_system
from satchel.library.commands.reading import command_of_skill, merged
from satchel.library.plugins.listing import PluginListing
from satchel.library.skills.finding import cache_of, find_skills
from satchel.model import Command, Skill
from satchel.verbs.skills import ShownSkills

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "data" / "plugins"
PLUGINS, SKILLS_OF_EACH = 100, 40
FIRST_LIMIT = 40.0
SECOND_LIMIT = 5.0
SEARCH_LIMIT = 0.5


def measure_plugins() -> list[Row]:
    rows = _measure_made_up()
    return [*_measure_corpus(), *rows] if CORPUS.is_dir() else rows


def _measure_corpus() -> list[Row]:
    with temporary_home() as home:
        _settings(home, CORPUS)
        texts = [
            str(file)
            for pattern in ("*.json", "*.md")
            for file in sorted(CORPUS.rglob(pattern))
            if pattern == "*.json" or file.name == "SKILL.md" or "commands" in file.parts
        ]
        rows = _rows(home, str(CORPUS), texts, "the corpus")
        return [*rows, _memory(home, "the corpus"), *_prompts(home, "the corpus")]


def _measure_made_up() -> list[Row]:
    with temporary_home() as home:
        root = home.project / "plugins" / "installed"
        _settings(home, root)
        texts = _write(root)
        what = f"{PLUGINS} plugins with {PLUGINS * SKILLS_OF_EACH:,} skills"
        rows = [*_rows(home, str(root), texts, what), _search(home, str(root), what)]
        return [*rows, _memory(home, what), *_prompts(home, what)]


def _rows(home: Home, root: str, texts: list[str], what: str) -> list[Row]:
    configuration = _configuration(home)
    paths, settings = configuration.paths, configuration.settings.plugins
    kept = PluginListing()

    def skills(listing: PluginListing) -> list[Skill]:
        return find_skills(listing.now(paths, settings).sources, cache_of(paths))

    def first() -> list[Skill]:
        cache_of(paths).unlink(missing_ok=True)
        reading._known.clear()
        return skills(PluginListing())

    found = len(first())
    skills(kept)
    skills(kept)  # from now on, changes are watched for
    times = _in_turn(
        {
            "reading": lambda: _read(texts),
            "first": first,
            "walking": lambda: _walk(root),
            "second": lambda: skills(kept),
        },
        time.process_time,
    )
    return [
        Row(
            name="plugins: first",
            compared=f"loading {what} for the first time to reading their files",
            value=times["first"] / times["reading"],
            limit=FIRST_LIMIT,
            notes=(f"{times['first']:.0f} ms to {times['reading']:.1f} ms; {found:,} skills",),
        ),
        Row(
            name="plugins: second",
            compared=f"listing {what} again to an os.scandir walk over their folders",
            value=times["second"] / times["walking"],
            limit=SECOND_LIMIT,
            notes=(f"{times['second']:.1f} ms to {times['walking']:.1f} ms",),
        ),
    ]


def _search(home: Home, root: str, what: str) -> Row:
    configuration = _configuration(home)
    skills = ShownSkills(lambda: configuration)

    def search() -> None:
        if not skills.search("forecast quarterly revenue", "default")["skills"]:
            raise RuntimeError("nothing was found")

    search()
    search()
    times = _in_turn({"search": search, "walking": lambda: _walk(root)}, time.process_time)
    return Row(
        name="plugins: search",
        compared=f"searching {what} again to an os.scandir walk over their folders",
        value=times["search"] / times["walking"],
        limit=SEARCH_LIMIT,
        notes=(f"{times['search']:.1f} ms to {times['walking']:.1f} ms",),
    )


_HOLDS = """
import re, sys
from pathlib import Path
from satchel.config import find_paths, read_configuration
from satchel.verbs.skills import ShownSkills

def held():
    return re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]

before = held()
configuration = read_configuration(find_paths(config=Path(sys.argv[1])))
skills = ShownSkills(lambda: configuration)
skills.used("default")
listed = held()
skills.search("forecast quarterly revenue", "default")
print(before, listed, held())
"""


def _memory(home: Home, what: str) -> Row:
    """In a process of its own, which measures nothing else."""
    said = subprocess.run(
        [sys.executable, "-c", _HOLDS, str(home.project)],
        env=dict(home.environment),
        capture_output=True,
        text=True,
        check=True,
    )
    before, listed, searched = (int(number) / 1024 for number in said.stdout.split())
    return Row(
        name="plugins: memory",
        compared=f"what a process grows by that lists and searches {what}",
        value=searched - before,
        limit=float("inf"),
        unit="MB",
        notes=(f"{before:.0f} MB before, {listed:.0f} MB with them listed, {searched:.0f} MB once searched",),
    )


def _prompts(home: Home, what: str) -> list[Row]:
    configuration = _configuration(home)
    paths, settings = configuration.paths, configuration.settings
    plugins = PluginListing().now(paths, settings.plugins)
    skills = find_skills(plugins.sources, cache_of(paths))
    base = settings.skills.container_path
    invoked = [one for skill in skills if (one := command_of_skill(skill, base)) is not None]
    commands: list[Command] = list(merged(plugins.commands, invoked))
    return [
        Row(
            name=f"plugins: {name}",
            compared=f"o200k tokens of <{name}> with {what} to its default budget",
            value=_count(text) / budget,
            limit=1.0,
            notes=(f"{_count(text):,} of {budget:,}; {number:,} of them",),
        )
        for name, text, budget, number in (
            (
                "command_system",
                command_system(commands, budget=settings.plugins.budget),
                settings.plugins.budget,
                len(commands),
            ),
            (
                "skill_system",
                skill_system(skills, budget=settings.skills.budget),
                settings.skills.budget,
                len(skills),
            ),
        )
    ]


def _settings(home: Home, root: Path) -> None:
    (home.project / "satchel.yaml").write_text(f"plugins: {{path: {root}}}\n", encoding="utf-8")


def _configuration(home: Home) -> Configuration:
    return read_configuration(find_paths(config=home.project, environment=home.environment))


def _write(root: Path) -> list[str]:
    """Plugins like real ones, with made-up texts; the paths of their files."""
    files: list[str] = []

    def write(file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        files.append(str(file))

    for number in range(PLUGINS):
        plugin = root / f"plugin-{number:03d}"
        write(plugin / ".claude-plugin" / "plugin.json", f'{{"name": "{plugin.name}", "version": "1.0.0"}}')
        for each in range(SKILLS_OF_EACH):
            subject = ("forecast quarterly revenue", "prepare calls", "review contracts", "plan hiring")[
                each % 4
            ]
            head = f"name: skill-{each}\ndescription: Helps to {subject} for team {number}, case {each}."
            text = f"---\n{head}\n---\n" + "Do it.\n" * 100
            write(plugin / "skills" / f"skill-{each}" / "SKILL.md", text)
    return files

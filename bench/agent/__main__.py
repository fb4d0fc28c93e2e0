"""Does the tasks of bench/context with an agent, in every mode, and prints the ways side by side.

Without a model, scripts answer; nothing leaves the machine. With `--model PROVIDER:NAME`, that model does the
tasks, with the key that the environment has for its provider, and it is asked what it costs.
"""

import argparse
import os
import platform
import sys
import textwrap
from collections.abc import Sequence
from datetime import date

import anyio
from tests.agent.wires import scripted_model

from bench.agent.levels import Level, measure_levels, public_definitions
from bench.agent.overhead import CONVERSATIONS, REQUESTS, Memory, Overhead, measure_memory, measure_overhead
from bench.agent.playing import SCRIPTED, Played, before, open_place, play, play_scripts
from bench.agent.scripts import MODES
from bench.context.tasks import TASKS
from bench.search.tables import table
from bench.surroundings import ROOT, cores, temporary_home

DOCUMENT = ROOT / "docs" / "measured.md"
BEGIN = "<!-- agent: written by make bench-agent -->"
END = "<!-- end of agent -->"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.agent", description="Measure agents at work.")
    parser.add_argument("--model", default="", help="PROVIDER:NAME; without it, scripts answer")
    parser.add_argument("--record", action="store_true", help="write it to docs/ as well; scripts only")
    options = parser.parse_args(arguments)
    if options.model:
        played = anyio.run(_play_all, options.model)
        print(_tasks(played))
        return int(not all(one.done for one in played))
    load = os.getloadavg()[0]
    played, levels, overhead = anyio.run(_measure)
    text = _report(played, levels, overhead, measure_memory(), load)
    print(text)
    if options.record:
        _write(text)
    return int(not all(one.done for one in played))


async def _play_all(model: str) -> list[Played]:
    """By a real model. A task that fails does not keep the others from being tried."""
    with temporary_home() as home:
        async with open_place(home, {}) as satchel:
            return [await play(satchel, home, task, mode, model) for task in TASKS for mode in MODES]


async def _measure() -> tuple[list[Played], list[Level], Overhead]:
    async with scripted_model([]) as model:
        with temporary_home() as home:
            async with open_place(home, {SCRIPTED: model.settings()}) as satchel:
                played = [
                    await play_scripts(satchel, home, model, task, mode) for task in TASKS for mode in MODES
                ]
                overhead = await measure_overhead(satchel, model)
        return played, await measure_levels(model), overhead


def _report(
    played: Sequence[Played], levels: Sequence[Level], overhead: Overhead, memory: Memory, load: float
) -> str:
    return "\n\n".join(
        [
            "## Agents",
            f"By `make bench-agent` on {date.today().isoformat()}, Python {platform.python_version()},"
            f" {cores()} cores, load {load:.1f} before and {os.getloadavg()[0]:.1f} after.",
            _ABOUT,
            _tasks(played),
            _ABOUT_LEVELS,
            _levels(levels),
            _prose(f"""
                The loop takes {overhead.turn - overhead.bare:.0f} ms of processor time for each request to a
                model, besides the {overhead.bare:.0f} ms that a plain HTTP client and the scripted model take
                for the same request: {REQUESTS} requests in a turn, each committed to the database, with its
                call and the call's result. A process with the services listed has {memory.before:.0f} MB;
                {memory.first:.0f} MB after its first turn, which loads the library of models, and
                {memory.many:.0f} MB after {CONVERSATIONS} more conversations.
                """),
        ]
    )


def _tasks(played: Sequence[Played]) -> str:
    headings = ("task", "mode", "turns", "calls", "before", "read", "to direct", "seconds", "cost", "done")
    direct = {one.task.name: one.read for one in played if one.mode == "direct"}
    cells = [
        (
            one.task.name,
            one.mode,
            f"{one.turns}",
            f"{len(one.calls)}",
            f"{before(one.sent[0]):,}" if one.sent else "",
            f"{one.read:,}",
            f"{100 * one.read / direct[one.task.name]:.1f} %" if direct[one.task.name] else "",
            f"{one.seconds:.1f}",
            f"${one.usage.cost:.4f}" if one.usage.cost else "",
            "yes" if one.done else f"no ({one.ended})",
        )
        for one in played
    ]
    return table(headings, cells)


def _levels(levels: Sequence[Level]) -> str:
    cells = [
        (
            one.name,
            f"{one.tools['code']}",
            f"{one.tokens['code']:,}",
            f"{one.tools['direct']}",
            f"{one.tokens['direct']:,}",
        )
        for one in levels
    ]
    public = public_definitions()
    if public is not None:
        cells.append((f"flat, {public[0]} public servers", "", "", f"{public[1]:,}", f"{public[2]:,}"))
    return table(("context", "tools, code", "tokens, code", "tools, direct", "tokens, direct"), cells)


def _write(text: str) -> None:
    """Into the documentation, between the marks."""
    document = DOCUMENT.read_text(encoding="utf-8")
    head, begin, rest = document.partition(BEGIN)
    _, _, tail = rest.partition(END)
    head = head if begin else head.rstrip("\n") + "\n\n"
    DOCUMENT.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail or chr(10)}", encoding="utf-8")


def _prose(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 118, break_long_words=False, break_on_hyphens=False)


_ABOUT = _prose("""
    An agent of Satchel's own does the tasks of `bench/context` over the three example services, in each mode.
    No model takes part: a scripted server answers on the wire as a model without mistakes would. Tokens are
    o200k tokens of what the loop really sent: the system text, the definitions and all messages, in every
    turn again. "Before" is what is read before the first message. A task counts as done by what the services
    have afterwards. `make bench-agent MODEL=PROVIDER:NAME` has a real model do the same tasks; its figures
    are those of its provider.
    """)
_ABOUT_LEVELS = _prose("""
    Tokens before the first message, at each level. The router is told of 50 skills at most, and searches the
    others. With 75 public servers in one flat context, the definitions alone are counted.
    """)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

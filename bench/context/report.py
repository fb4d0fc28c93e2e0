"""What was measured as Markdown, and its place in the documentation."""

import os
import platform
import textwrap
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from bench.context import timing
from bench.context.chart import Panel, Series, chart
from bench.context.conversation import Tally
from bench.context.crossing import Cost, Crossing, Line, crossing, line
from bench.context.measure import ALL, Measured, Variant
from bench.context.savings import Direct, InCode, mean_tokens, others_tools
from bench.context.tasks import EXAMPLE, SMALL_CALL, Task
from bench.context.timing import Traffic, model_seconds
from bench.search.tables import rows_table, table
from bench.surroundings import ROOT, cores

DOCUMENT = ROOT / "docs" / "measured.md"
CHART = ROOT / "docs" / "measured-context.svg"
BEGIN = "<!-- context: written by make bench-context -->"
END = "<!-- end of context -->"
NAMES = {"python": "code, Python", "typescript": "code, TypeScript"}


def report(measured: Measured, load: str) -> str:
    parts = [
        "## Context",
        f"By `make bench-context` on {date.today().isoformat()}, Python {platform.python_version()},"
        f" {cores()} cores, load {load} before and {os.getloadavg()[0]:.1f} after.",
        _ABOUT,
        *(f"Skipped: {what}: {why}." for what, why in measured.skipped.items()),
        rows_table(measured.rows(), {}),
    ]
    if measured.definitions:
        parts += ["Tokens before the first message, of public servers by name:", _definitions(measured)]
    parts += [_ABOUT_TASKS, _tasks(measured)]
    if measured.traffic:
        parts += [_ABOUT_TIME, _times(measured)]
    if measured.has_crossings:
        parts += [_ABOUT_CROSSINGS, _crossings(measured)]
        parts.append(f"![Tokens and time of both ways by the number of servers]({CHART.name})")
    return "\n\n".join(parts)


def write(text: str, measured: Measured) -> list[Path]:
    """Into the documentation, between the marks; returns what was written."""
    document = DOCUMENT.read_text(encoding="utf-8")
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if begin and not end:
        raise RuntimeError(f"{DOCUMENT.name} has the first mark and not the second")
    before = before if begin else before.rstrip("\n") + "\n\n"
    after = after or "\n"
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
    if not measured.has_crossings:
        return [DOCUMENT]
    CHART.write_text(draw(measured), encoding="utf-8")
    return [DOCUMENT, CHART]


def _prose(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 118, break_long_words=False, break_on_hyphens=False)


_ABOUT = _prose("""
    The same tasks are done with all tools in the context ("direct") and through `satchel serve --mode
    code` ("code"). No model takes part: its turns are fixed in `bench/context/tasks.py`, without mistakes
    on either side. The texts are real. "Direct" uses the answers of the example servers themselves,
    without Satchel in between, and recorded answers to `tools/list` from 75 public servers; "code" uses
    the answers of a process `satchel serve`. Tokens are o200k tokens, counted by rs-bpe. In each turn a
    model reads everything again: definitions, Satchel's instructions, the task, its own calls as JSON
    and the text of each result. Definitions are counted in favour of "direct": name, description and
    input schema, without prefixes and without the servers' own instructions; Satchel's are counted with
    their output schema. With "code", a model searches, prints the wrappers that it will use, and runs
    one program. Two choices were made with the figures in sight. Direct calls come in the order of the
    task; the notes give the figures for the other order as well. And searches use words that find the
    tools at every number of servers. Half of the wordings tried missed a tool at some number; a model
    would then have to list the tools of a server, in one more turn.
    """)
_ABOUT_TASKS = _prose("""
    Tokens of a model, over all turns of a task. "At once" makes independent calls in one turn. "Cached"
    is the saving if a token that was also read in the turn before counts a tenth; "structured" is the
    saving if a client shows the structured result instead of the text, as some do. A negative saving
    means more tokens. The small call is the best case for "direct": a server of six tools, one call, a
    short answer.
    """)
_ABOUT_TIME = _prose(f"""
    Times in seconds. "Listed" is the time from the start of the processes until tools are listed;
    "first" and "again" are the calls of the task in that session, one after the other. Medians of
    {timing.ROUNDS} sessions of each way in turn. With "direct", the servers are already running; Satchel
    starts each one when a program first calls it, one after the other. The last two columns add a model
    to "again", by a rule and not by measurement: {timing.SECONDS_PER_TURN:g} s a turn,
    {timing.SECONDS_PER_1000_READ:g} s for 1,000 tokens read, {timing.SECONDS_PER_1000_WRITTEN:g} s for
    1,000 written; for "cached", {timing.SECONDS_PER_1000_READ_AGAIN:g} s for 1,000 tokens that it also
    read in the turn before.
    """)
_ABOUT_CROSSINGS = _prose("""
    The number of servers from which "code" is cheaper, with one call a turn: the task's own servers
    first, then public ones by name. The random orders are the range of eight out of ten orders. The last
    two columns give the same point as the tokens of all definitions, and as a number of tools of average
    size.
    """)


def _definitions(measured: Measured) -> str:
    cells = [
        (
            f"{one.servers}",
            f"{one.tools:,}",
            f"{one.direct:,}",
            f"{one.code:,}",
            f"{100 - one.share:.1f} %",
        )
        for one in measured.definitions
    ]
    return table(("servers", "tools", "direct", "code", "fewer"), cells)


def _tasks(measured: Measured) -> str:
    headings = ("task", "servers", "tools", "way", "before", "turns", "written", "read", *_FEWER)
    cells: list[tuple[str, ...]] = []
    for name, direct in measured.direct.items():
        differs = direct.tally(0).turns != direct.tally(0, at_once=True).turns
        for others in (0, ALL) if measured.has_public else (0,):
            place = (name, f"{len(direct.task.servers) + others}", f"{direct.tools + others_tools(others):,}")
            for at_once in (False, True) if differs else (False,):
                how = ", at once" if at_once else ""
                theirs = _tally(direct.tally(others, at_once=at_once))
                cells.append((*place, f"direct{how}", *theirs, *("–" for _ in _FEWER)))
                cells += [
                    (
                        *place,
                        f"{NAMES[code.language]}{how}",
                        *_tally(code.tally(at_once=at_once)),
                        *_fewer(direct, code, at_once=at_once),
                    )
                    for code in _in_code(measured, name, others)
                ]
    return table(headings, cells)


_FEWER = ("fewer", "cached", "structured")


def _fewer(direct: Direct, code: InCode, *, at_once: bool) -> tuple[str, ...]:
    ours, theirs = code.tally(at_once=at_once), direct.tally(code.others, at_once=at_once)
    other_ours = code.tally(at_once=at_once, structured=True)
    other_theirs = direct.tally(code.others, at_once=at_once, structured=True)
    shares = (
        ours.read / theirs.read,
        ours.with_cache / theirs.with_cache,
        other_ours.read / other_theirs.read,
    )
    return tuple(f"{100 - 100 * share:.1f} %" for share in shares)


def _tally(tally: Tally) -> tuple[str, ...]:
    return f"{tally.before:,}", f"{tally.turns}", f"{tally.written:,}", f"{tally.read:,}"


def _in_code(measured: Measured, task: str, others: int) -> Iterable[InCode]:
    for (name, _), variants in measured.code.items():
        if name == task:
            yield from (one for one in variants if one.others == others)


def _times(measured: Measured) -> str:
    headings = ("task", "servers", "way", "listed", "first", "again", "with a model", "cached")
    cells: list[tuple[str, ...]] = []
    for ((name, language), others), (theirs, ours) in _in_order(measured):
        direct = measured.direct[name]
        servers = f"{len(direct.task.servers) + others}"
        code = next(one for one in measured.code[name, language] if one.others == others)
        if language == "python":
            cells.append((name, servers, "direct", *_seconds(theirs, direct.tally(others), others)))
        cells.append((name, servers, NAMES[language], *_seconds(ours, code.tally(), 0)))
    return table(headings, cells)


def _in_order(measured: Measured) -> list[tuple[tuple[Variant, int], tuple[Traffic, Traffic]]]:
    """Task by task as they were measured, each with its own servers first."""
    tasks = list(measured.direct)
    return sorted(measured.traffic.items(), key=lambda item: (tasks.index(item[0][0][0]), item[0][1]))


def _seconds(traffic: Traffic, tally: Tally, unstarted: int) -> tuple[str, ...]:
    """`unstarted` servers are not there to be started, so that nothing can be said of that."""
    return (
        "" if unstarted else f"{traffic.start:.2f}",
        f"{traffic.first:.2f}",
        f"{traffic.again:.2f}",
        f"{traffic.again + model_seconds(tally):.1f}",
        f"{traffic.again + model_seconds(tally, cached=True):.1f}",
    )


def _crossings(measured: Measured) -> str:
    headings = ("task", "measure", "cheaper from", "random orders", "definitions above", "tools")
    cells: list[tuple[str, ...]] = []
    for task in (EXAMPLE, SMALL_CALL):
        direct, code = measured.direct[task.name], measured.code[_variant(task)]
        for name, (ours, theirs) in _costs(measured, task).items():
            found = crossing(direct, code, ours, theirs)
            cells.append((task.name, name, *_crossing_cells(found)))
    return table(headings, cells)


def _crossing_cells(found: Crossing | None) -> tuple[str, ...]:
    if found is None:
        return "never", "", "", ""
    first = ", its own" if found.is_first else ""
    return (
        f"{found.servers} servers{first}",
        f"{found.low:.0f} to {found.high:.0f} servers",
        f"{found.tokens:,.0f} tokens" if found.tokens > 0 else "any",
        f"{found.tokens / mean_tokens():.0f}" if found.tokens > 0 else "any",
    )


def _costs(measured: Measured, task: Task) -> dict[str, tuple[Cost, Cost]]:
    """What code and direct calls cost, by measure."""
    theirs, ours = measured.traffic[_variant(task), 0]

    def seconds(traffic: Traffic, *, cached: bool) -> Cost:
        return lambda tally: traffic.again + model_seconds(tally, cached=cached)

    return {
        "tokens": (_read, _read),
        "tokens, cached a tenth": (_read_with_cache, _read_with_cache),
        "seconds": (seconds(ours, cached=False), seconds(theirs, cached=False)),
        "seconds, cached": (seconds(ours, cached=True), seconds(theirs, cached=True)),
    }


def _read(tally: Tally) -> float:
    return tally.read


def _read_with_cache(tally: Tally) -> float:
    return tally.with_cache


def _variant(task: Task) -> Variant:
    return task.name, "python"


def draw(measured: Measured) -> str:
    return chart(
        [
            Panel(title="Tokens read, all turns", unit="", series=_series(measured, "tokens")),
            Panel(title="Seconds, with a model by the rule", unit=" s", series=_series(measured, "seconds")),
        ]
    )


def _series(measured: Measured, measure: str) -> list[Series]:
    series: list[Series] = []
    for task in (EXAMPLE, SMALL_CALL):
        ours, theirs = _costs(measured, task)[measure]
        direct: Direct = measured.direct[task.name]
        drawn: Line = line(direct, measured.code[_variant(task)], ours, theirs)
        series.append(Series(name=task.name, line=drawn))
    return series

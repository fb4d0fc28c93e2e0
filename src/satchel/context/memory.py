"""The text about a memory for its model: notes, one line each, within a budget.

Only entries that wait for nobody's review are told. What does not fit is a number, and the same entries and
budget give the same text. Nothing is read here.
"""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from satchel.codegen.text import one_line
from satchel.context.budget import tokens_at_most
from satchel.context.prompts import render
from satchel.model import Entry, EntryKind, Remembered, ToldMemory, is_object

TEMPLATE = "memory_system.jinja"
HEADINGS: dict[EntryKind, str] = {
    "preference": "Preferences",
    "core": "Facts",
    "pattern": "Patterns",
    "task": "Last tasks",
}
_KEPT = 0.15  # of the budget, at most, is kept for each of the kinds that follow
_LONGEST = 500  # characters of an entry
_LEAST = 5  # tokens of any row
_LAST_TASKS = 5


def memory_system(
    remembered: Remembered, *, budget: int, look: str = "", templates: Path | None = None
) -> ToldMemory:
    """The section about a memory. `look` says how to see what it leaves out."""
    if not remembered.entries or budget < 1:
        return ToldMemory()
    count = len(remembered.entries)
    waiting = sum(entry.is_waiting for entry in remembered.entries)
    kinds = _by_kind(remembered.entries)
    every_heading = [(heading, [""]) for heading in HEADINGS.values()]
    left = budget - tokens_at_most(_filled(every_heading, count, waiting, look, templates))
    kept = [_cost(kinds[kind], round(budget * _KEPT)) for kind in HEADINGS]
    groups: list[tuple[str, list[str]]] = []
    for number, (kind, heading) in enumerate(HEADINGS.items()):
        room = left - sum(kept[number + 1 :])
        rows, cost = _fitting(kinds[kind], room)
        left -= cost
        if rows:
            groups.append((heading, rows))
    shown = sum(len(rows) for _, rows in groups)
    text = _filled(groups, count - waiting - shown, waiting, look, templates)
    return ToldMemory(text=text, entries=shown, tokens=tokens_at_most(text))


def _filled(
    groups: Sequence[tuple[str, Sequence[str]]], more: int, waiting: int, look: str, templates: Path | None
) -> str:
    variables = {"groups": groups, "more": more, "waiting": waiting, "look": look if more or waiting else ""}
    return render(TEMPLATE, variables, templates)


def _by_kind(entries: Iterable[Entry]) -> dict[EntryKind, list[Entry]]:
    """Those that may be told, the most important of each kind first."""
    told: dict[EntryKind, list[Entry]] = {kind: [] for kind in HEADINGS}
    for entry in entries:
        if entry.kind in told and not entry.is_waiting:
            told[entry.kind].append(entry)
    told["core"] = sorted(_newest_first(told["core"]), key=lambda entry: not entry.read_only)
    told["task"] = _newest_first(told["task"])[:_LAST_TASKS]
    return told


def _newest_first(entries: Sequence[Entry]) -> list[Entry]:
    """Lists grow at their end; an entry without a time is as old as the one before it."""
    times: list[str] = []
    for entry in entries:
        times.append(_time(entry) or (times[-1] if times else ""))
    order = sorted(range(len(entries)), key=lambda number: (times[number], number), reverse=True)
    return [entries[number] for number in order]


def _time(entry: Entry) -> str:
    """When it was written, as far as it says so: files are written by anybody."""
    value = entry.value if is_object(entry.value) else {}
    for key in ("updated_at", "ended_at", "created_at", "started_at"):
        if isinstance(time := value.get(key), str):
            return time[:19]  # to the second, in which most spellings of a time are alike
    return ""


def _fitting(entries: Iterable[Entry], room: int) -> tuple[list[str], int]:
    """The rows of those that fit, in their order, and what they cost."""
    rows: list[str] = []
    cost = 0
    for entry in entries:
        if room - cost < _LEAST:
            break
        row = _row(entry)
        tokens = tokens_at_most(row)
        if cost + tokens <= room:
            cost += tokens
            rows.append(row)
    return rows, cost


def _cost(entries: Iterable[Entry], most: int) -> int:
    """What all of them cost, or `most`."""
    cost = 0
    for entry in entries:
        cost += tokens_at_most(_row(entry))
        if cost >= most:
            return most
    return cost


def _row(entry: Entry) -> str:
    text = entry.text[: 2 * _LONGEST]
    if text.startswith("#"):
        heading, _, body = text.partition("\n")
        text = f"{heading.strip('# ')}: {body.strip()}".removesuffix(": ")
    text = one_line(f"(written by agent {entry.agent}) {text}" if entry.agent else text)
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    return f"- {escape(text, quote=False)}\n"

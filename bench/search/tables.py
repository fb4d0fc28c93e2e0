"""The tables in Markdown."""

from collections.abc import Iterable, Mapping, Sequence

from bench.rows import Row
from bench.search.methods import FASTMCP, SATCHEL
from bench.search.quality import Quality, kinds
from bench.search.scoring import MEASURES, bootstrap

WITH_FASTMCP = ("hit@5", "hit@10", "server@5")
WITH_OTHERS = ("hit@5",)


def quality_table(quality: Quality) -> str:
    cells = [(method, *_percents(quality.averages(method))) for method in quality.scores]
    cells += [(method, f"skipped: {reason}") for method, reason in quality.skipped.items()]
    return table(("method", *MEASURES), cells)


def table_of_kinds(quality: Quality) -> str:
    cells = [(kind, *_percents(quality.averages(SATCHEL, kind))) for kind in kinds()]
    return table(("kind", *MEASURES), cells)


def differences(quality: Quality) -> str:
    """Satchel's to each other method."""
    others = [FASTMCP, *(method for method in quality.scores if method not in (FASTMCP, SATCHEL))]
    cells: list[tuple[str, ...]] = []
    for other in others:
        if other not in quality.scores:
            continue
        for measure in WITH_FASTMCP if other == FASTMCP else WITH_OTHERS:
            found = bootstrap(quality.of_each_query(SATCHEL, measure), quality.of_each_query(other, measure))
            points = [f"{100 * value:+.1f}" for value in found]
            cells.append((f"Satchel − {other}", measure, points[0], f"{points[1]} to {points[2]}"))
    return table(("difference", "measure", "points", "95 % interval"), cells)


def rows_table(rows: Sequence[Row], skipped: Mapping[str, str]) -> str:
    cells = [row.cells() for row in rows]
    cells += [(name, f"skipped: {reason}") for name, reason in skipped.items()]
    notes = [f"- {row.name}: {note}" for row in rows for note in row.notes]
    return "\n".join([table(("name", "what is compared", "value", "limit", "verdict"), cells), "", *notes])


def table(headings: Sequence[str], cells: Iterable[Sequence[str]]) -> str:
    """A row may be shorter than the headings; the rest of it is empty."""
    rows = [[*row, *[""] * (len(headings) - len(row))] for row in cells]
    # A reason for skipping is long, and would make its column as wide for all.
    whole = [headings, *(row for row in rows if row[-1])]
    widths = [max(map(len, column)) for column in zip(*whole, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in (headings, rule, *rows)
    )


def _percents(averages: Mapping[str, float]) -> list[str]:
    return [f"{100 * averages[measure]:.1f}" for measure in MEASURES]

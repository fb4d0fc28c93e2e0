"""The figures of Satchel's search that were last recorded, below which none may fall."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.search.methods import SATCHEL
from bench.search.names import Named
from bench.search.quality import Quality, kinds

FILE = Path(__file__).with_name("recorded.json")
TOLERANCE = 0.05  # points, which is what rounding can do

Figures = Mapping[str, Mapping[str, float]]


def figures(qualities: Sequence[Quality], tools: Named, servers: Named) -> Figures:
    """In percent. They come out the same everywhere."""
    sections = {
        f"{quality.catalog}, {kind or 'all'}": quality.averages(SATCHEL, kind)
        for quality in qualities
        for kind in (None, *kinds())
    }
    sections["found by name"] = {"tools": tools.found, "servers": servers.found}
    return {
        section: {measure: round(100 * value, 2) for measure, value in values.items()}
        for section, values in sections.items()
    }


def record(now: Figures) -> None:
    FILE.write_text(json.dumps(now, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read() -> Figures | None:
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else None


def fallen(now: Figures, before: Figures) -> list[str]:
    """What is worse than it was, a line each; a figure that is gone is."""
    return [
        f"{section}: {measure} was {value:.2f} % and is "
        + (f"{current:.2f} %" if (current := now.get(section, {}).get(measure)) is not None else "gone")
        for section, values in before.items()
        for measure, value in values.items()
        if round(value - now.get(section, {}).get(measure, float("-inf")), 6) > TOLERANCE
    ]

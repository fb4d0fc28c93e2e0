"""A chart as SVG text: both axes logarithmic, its own background, readable in light and dark mode."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from bench.context.crossing import Line

WIDTH, HEIGHT = 520, 420  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 64, 166, 92, 56
TICKS = (1, 2, 5, 10, 20, 50)
DASHES = ("", "6 4")
"""Of the tasks, in order; their ways differ by colour."""

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.paper { fill: #ffffff; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.direct { stroke: #bc4c00; } text.direct { fill: #bc4c00; stroke: none; }
.code { stroke: #0969da; } text.code { fill: #0969da; stroke: none; }
path { fill: none; stroke-width: 2; }
circle { fill: #ffffff; stroke: #1f2328; stroke-width: 2; }
.mark { stroke: #1f2328; stroke-width: 1; stroke-dasharray: 2 3; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.paper { fill: #0d1117; }
.grid { stroke: #30363d; }
.direct { stroke: #f0883e; } text.direct { fill: #f0883e; }
.code { stroke: #58a6ff; } text.code { fill: #58a6ff; }
circle { fill: #0d1117; stroke: #e6edf3; }
.mark { stroke: #e6edf3; }
}
""".strip()

Scale = Callable[[float], float]


@dataclass(frozen=True, kw_only=True)
class Series:
    """A task, done both ways."""

    name: str
    line: Line


@dataclass(frozen=True, kw_only=True)
class Panel:
    title: str
    unit: str
    series: Sequence[Series]


def chart(panels: Sequence[Panel]) -> str:
    width = WIDTH * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}"'
        f' height="{HEIGHT}" role="img">',
        f"<title>{escape(' · '.join(panel.title for panel in panels))}</title>",
        f"<style>\n{STYLE}\n</style>",
        f'<rect class="paper" width="{width}" height="{HEIGHT}" rx="6"/>',
    ]
    for number, panel in enumerate(panels):
        parts += [f'<g transform="translate({number * WIDTH} 0)">', *_panel(panel), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel) -> Iterator[str]:
    lines = [series.line for series in panel.series]
    values = [value for line in lines for value in (*line.direct, *line.code)]
    low, high = 10.0 ** floor(log10(min(values))), 10.0 ** ceil(log10(max(values)))
    across = _scale(1, max(line.servers[-1] for line in lines), LEFT, WIDTH - RIGHT)
    up = _scale(low, high, HEIGHT - BOTTOM, TOP)
    yield _text(LEFT, 26, panel.title, "title")
    yield from _axes(panel.unit, low, high, across, up)
    for series, dashes in zip(panel.series, DASHES, strict=True):
        yield from _both_ways(series, dashes, across, up)
    for number, series in enumerate(panel.series):
        yield from _mark(series, number, across, up)


def _axes(unit: str, low: float, high: float, across: Scale, up: Scale) -> Iterator[str]:
    value = low
    while value <= high * 1.001:
        yield f'<path class="grid" d="M{LEFT} {up(value):.1f}H{WIDTH - RIGHT}"/>'
        yield _text(LEFT - 8, up(value) + 4, f"{_short(value)}{unit}", anchor="end")
        value *= 10
    for count in TICKS:
        yield f'<path class="grid" d="M{across(count):.1f} {HEIGHT - BOTTOM}v5"/>'
        yield _text(across(count), HEIGHT - BOTTOM + 20, str(count), anchor="middle")
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield _text(middle, HEIGHT - BOTTOM + 42, "servers attached", anchor="middle")


def _both_ways(series: Series, dashes: str, across: Scale, up: Scale) -> Iterator[str]:
    for way, values in (("direct", series.line.direct), ("code", series.line.code)):
        points = zip(series.line.servers, values, strict=True)
        path = "L".join(f"{across(count):.1f} {up(value):.1f}" for count, value in points)
        yield f'<path class="{way}" stroke-dasharray="{dashes}" d="M{path}"/>'
        yield _text(WIDTH - RIGHT + 8, up(values[-1]) + 4, f"{series.name}, {way}", way)


def _mark(series: Series, number: int, across: Scale, up: Scale) -> Iterator[str]:
    """Where code becomes the cheaper way: a ring on its line, and a line of text below the title."""
    place = series.line.crossing
    if place is None:
        return
    servers = series.line.servers[place]
    x, y = across(servers), up(series.line.code[place])
    yield f'<path class="mark" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
    since = f"with its own {servers} servers already" if place == 0 else f"from {servers} servers on"
    yield _text(LEFT, 48 + 18 * number, f"○ {series.name}: code is cheaper {since}")


def _scale(low: float, high: float, start: float, end: float) -> Scale:
    """Logarithmic."""
    return lambda value: start + (end - start) * log10(value / low) / log10(high / low)


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    written = f' class="{kind}"' if kind else ""
    return f'<text{written} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'

"""Records a terminal session with the examples as an SVG: python scripts/record.py [--output FILE]

The commands run for real, on a terminal of their own, with a copy of the examples and a home of their own.
Each line appears after the one before it; a viewer that doesn't animate shows the last screen.
"""

import argparse
import fcntl
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEFAULT = ROOT / "docs" / "first-look.svg"
COMMANDS = (
    "satchel list",
    "satchel search post to the team --limit 2",
    "satchel run programs/quarterly_report.py",
    "satchel audit --limit 5",
)
COLUMNS = 108
CHARACTER, LINE, MARGIN = 8.43, 20, 16  # pixels, for a font of 14
READING, TYPING = 1.6, 0.7  # seconds: how long a result is looked at, and a command before its result comes

STYLES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "36": "cyan"}
CSS = """
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; white-space: pre; }
.paper { fill: #f6f8fa; stroke: #d1d9e0; }
.bold { font-weight: 700; } .dim { fill: #59636e; } .red { fill: #c4202c; } .green { fill: #1a7f37; }
.yellow { fill: #8a5a00; } .cyan { fill: #0a6c8f; }
g { animation: show 10ms linear backwards; }
@keyframes show { from { opacity: 0; } }
@media (prefers-reduced-motion: reduce) { g { animation: none; } }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .paper { fill: #0d1117; stroke: #30363d; }
.dim { fill: #9198a1; } .red { fill: #ff7b72; } .green { fill: #56d364; }
.yellow { fill: #e3b341; } .cyan { fill: #76d9f0; }
}
""".strip()

Cell = tuple[str, str]
"""A character and its style."""


@dataclass(frozen=True, kw_only=True)
class Line:
    cells: Sequence[Cell]
    seconds: float
    """When it appears."""


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="Record a session with the examples as an SVG.")
    parser.add_argument("--output", type=Path, default=DEFAULT)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        options.output.write_text(draw(list(record(Path(place)))), encoding="utf-8")


def record(place: Path) -> Iterator[Line]:
    """What the terminal shows, line by line."""
    ignored = shutil.ignore_patterns(".satchel", ".examples", "universal", "__pycache__")
    examples = shutil.copytree(ROOT / "examples", place / "examples", ignore=ignored)
    now = 0.3
    for command in COMMANDS:
        yield Line(cells=[(character, "bold") for character in f"$ {command}"], seconds=now)
        now += TYPING
        for cells in screen(run(command, examples, place)):
            yield Line(cells=cells, seconds=now)
            now += 0.05
        yield Line(cells=[], seconds=now)
        now += READING


def run(command: str, directory: Path, home: Path) -> str:
    """What a command writes to a terminal."""
    outside, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SATCHEL_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    size = {"COLUMNS": str(COLUMNS), "LINES": "40"}
    environment = kept | size | {"PATH": path, "HOME": str(home), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=directory,
        env=environment,
        stdin=inside,
        stdout=inside,
        stderr=inside,
    )
    os.close(inside)
    written = b"".join(read_to_end(outside))
    if process.wait() != 0:
        sys.exit(f"{command} failed:\n{written.decode()}")
    return written.decode()


def read_to_end(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # on Linux, that nobody has the other end open any more
            data = b""
        if not data:
            os.close(terminal)
            return
        yield data


def screen(written: str) -> Iterator[list[Cell]]:
    """The lines that stay: a carriage return writes over a line, as progress does."""
    style = ""
    for text in written.replace("\r\n", "\n").removesuffix("\n").split("\n"):
        cells: list[Cell] = []
        column = 0
        for sequence, code, character in re.findall(r"(\x1b\[([\d;]*)[A-Za-z])|([^\x1b])", text):
            if sequence.endswith("m"):
                style = STYLES.get(code, "")
            elif sequence.endswith("K"):
                del cells[column:]
            elif character == "\r":
                column = 0
            elif character:
                cells[column : column + 1] = [(character, style)]
                column += 1
        yield cells


def draw(lines: Sequence[Line]) -> str:
    lines = lines[:-1]  # an empty one
    width, height = round(COLUMNS * CHARACTER) + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" xml:space="preserve">',
        f"<title>A terminal: {escape(', '.join(COMMANDS))}</title>",
        f"<style>{CSS}</style>",
        f'<rect class="paper" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
    ]
    for number, line in enumerate(lines):
        if line.cells:
            y = MARGIN + number * LINE + 14
            text = f'<text x="{MARGIN}" y="{y}">{spans(line)}</text>'
            parts.append(f'<g style="animation-delay:{line.seconds:.2f}s">{text}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def spans(line: Line) -> str:
    """The text of a line, in pieces of one style. Each begins at its column, whatever the font."""
    found: list[str] = []
    column = 0
    for style, cells in groupby(line.cells, key=lambda cell: cell[1]):
        text = "".join(character for character, _ in cells)
        place = f' x="{MARGIN + column * CHARACTER:.1f}"' if column else ""
        named = f' class="{style}"' if style else ""
        found.append(f"<tspan{place}{named}>{escape(text)}</tspan>")
        column += len(text)
    return "".join(found)


if __name__ == "__main__":
    main(sys.argv[1:])

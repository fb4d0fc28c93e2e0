"""The only place that prints. Results go to standard output, everything else to standard error.

Colours and progress appear only on a terminal. What a server sent is shown there without its control
characters: a description must not be able to write to someone's screen what it likes.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from satchel.errors import SatchelError, ServerFailedError, ToolError

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def clean(text: str) -> str:
    """Without control characters, except line breaks and tabs."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def first_line(text: str, width: int = 100) -> str:
    """The first sentence or line of a description, cut to `width`."""
    line = clean(text).strip().split("\n", 1)[0].strip()
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def coloured(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str, stream: TextIO | None = None) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if coloured(stream or sys.stdout) else text


def show(text: str = "") -> None:
    """A line of a result."""
    sys.stdout.write(text + "\n")


def show_result(text: str) -> None:
    """What a tool returned: as it is into a pipe or file, cleaned on a terminal."""
    text = clean(text) if sys.stdout.isatty() else text
    sys.stdout.write(text.encode("utf-8", "replace").decode() + ("" if text.endswith("\n") else "\n"))


def show_json(value: object) -> None:
    indent = 2 if sys.stdout.isatty() else None
    sys.stdout.write(
        json.dumps(value, ensure_ascii=not sys.stdout.isatty(), indent=indent, default=str) + "\n"
    )


def note(text: str) -> None:
    """Something worth saying that is not the result."""
    sys.stderr.write(clean(text) + "\n")


def show_table(rows: Iterable[Sequence[str]], *, indent: str = "") -> None:
    """Columns, aligned; the last one takes what is left of the line."""
    table = [[clean(cell).replace("\n", " ") for cell in row] for row in rows]
    if not table:
        return
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]) - 1)]
    line_width = shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else 200
    for row in table:
        left = indent + "  ".join(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True))
        last = row[-1]
        space = max(20, line_width - len(left) - 2)
        show(f"{left}  {last if len(last) <= space else last[: space - 1] + '…'}".rstrip())


def show_error(error: SatchelError) -> None:
    """What happened with the value, the server's own last words, and what to do next."""
    sys.stderr.write(styled("error: ", "red", sys.stderr) + clean(error.message) + "\n")
    if isinstance(error, ServerFailedError | ToolError) and error.stderr:
        sys.stderr.write(styled("  its last lines on stderr:", "dim", sys.stderr) + "\n")
        for line in error.stderr:
            sys.stderr.write(f"  | {clean(line)}\n")
    if error.hint:
        sys.stderr.write(styled("hint: ", "cyan", sys.stderr) + clean(error.hint) + "\n")


def error_as_json(error: SatchelError) -> Mapping[str, Any]:
    return {"error": error.message, "hint": error.hint, "stderr": list(getattr(error, "stderr", ()))}


class ProgressLine:
    """One line at the bottom of a terminal that is written over; nothing anywhere else."""

    def __init__(self) -> None:
        self._active = sys.stderr.isatty()
        self._shown = False

    def update(self, text: str) -> None:
        if self._active:
            width = shutil.get_terminal_size((80, 24)).columns - 1
            sys.stderr.write("\r\x1b[K" + clean(text).replace("\n", " ")[:width])
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False


def ask(question: str) -> str:
    """A line from the person at the terminal; the question goes to standard error."""
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")

"""The only place that prints. Results go to standard output, everything else to standard error.

Colours and progress appear only on a terminal. What a server sent is shown there without its control
characters: a description must not be able to write to someone's screen what it likes.
"""

import json
import os
import re
import shlex
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

from satchel.errors import ArgumentError, SatchelError, ServerError, ServerFailedError, ToolError

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "cyan": 36}
# A style is a character that no text has a use for, until it is written. So everything can be cleaned in one
# place, and text from elsewhere can at worst be bold.
_MARKS = {chr(0xFDD0 + index): f"\x1b[{code}m" for index, code in enumerate(_CODES.values())}
_RESET = "\ufddf"
_STYLES = dict(zip(_CODES, _MARKS, strict=True))
_WIDEST_CELL = 60
_NARROW = 20  # columns: what is at least left for the last cell of a line


def clean(text: str) -> str:
    """Without control characters, except line breaks and tabs."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def first_line(text: str, width: int = 100) -> str:
    """The first line of a description, cut to `width`."""
    return _cut(clean(text[: 10 * width]).strip().split("\n", 1)[0].strip(), width)


def styled(text: str, style: str) -> str:
    """Text that `show`, `note` and the others write in a style, where the stream is a terminal."""
    return f"{_STYLES[style]}{text}{_RESET}"


def show(text: str = "") -> None:
    """A line of a result."""
    _write(sys.stdout, text + "\n")


def show_lines(text: str, indent: str = "  ") -> None:
    """A long text, in lines that fit a terminal, indented but for the first; elsewhere it is one line."""
    if sys.stdout.isatty():
        import textwrap  # only a person at a terminal needs it

        width = shutil.get_terminal_size((120, 24)).columns
        text = textwrap.fill(
            clean(text), width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    show(text)


def show_now(text: str) -> None:
    """A line of a result that goes on: also a pipe gets it at once."""
    show(text)
    sys.stdout.flush()


def show_result(text: str) -> None:
    """A tool's result: unchanged into a pipe or file, cleaned on a terminal."""
    text = clean(text) if sys.stdout.isatty() else text
    text = text.encode("utf-8", "replace").decode()
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def show_page(text: str) -> None:
    """A long text: through the person's pager on a terminal, as it is elsewhere."""
    import subprocess  # one command needs it

    pager = shlex.split(os.environ.get("PAGER", "less"))
    if sys.stdout.isatty() and pager and shutil.which(pager[0]):
        # less stays only where the text is longer than the screen, unless the person wants it otherwise.
        subprocess.run(pager, input=clean(text), text=True, env={"LESS": "FRX", **os.environ}, check=False)
    else:
        show_result(text)


def show_piece(text: str, *, errors: bool) -> None:
    """A piece of what a program prints on a stream, as soon as it has come."""
    stream = sys.stderr if errors else sys.stdout
    stream.write(clean(text).encode("utf-8", "replace").decode())
    stream.flush()


def from_home(path: Path) -> str:
    """A path as people write it: from `~`, where it is in their home."""
    home = os.environ.get("HOME")
    return f"~/{path.relative_to(home)}" if home and path.is_relative_to(home) else str(path)


def from_here(path: Path) -> str:
    """A path from the working directory, where it is below that."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith("..") else str(path)


def show_json(value: object, *, line: bool = False) -> None:
    """JSON that says the same wherever it goes; what could steer a terminal is escaped.

    With `line`, it is one of many lines that come one after the other.
    """
    indent = 2 if sys.stdout.isatty() and not line else None
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    text = re.sub(r"[\ud800-\udfff\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", _escape, text)
    sys.stdout.write(text + "\n")
    if line:
        sys.stdout.flush()


def note(text: str) -> None:
    """Something worth saying that is not the result."""
    _write(sys.stderr, text + "\n")


def note_warnings() -> None:
    """From now on, what Satchel warns of in its log. For what runs for long, and has nobody to return to."""
    import logging  # takes a while to load, and most commands log nothing

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(self.format(record))

    logging.getLogger("satchel").addHandler(Notes(logging.WARNING))


def show_table(
    rows: Iterable[Sequence[str]],
    *,
    indent: str = "",
    headings: Sequence[str] = (),
    optional: Sequence[str] = (),
    styles: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    whole: bool = False,
) -> None:
    """Columns, aligned; the last one takes the rest of the line, or a line of its own where that is little.

    Only a terminal shows headings: what reads a pipe wants rows. A narrow terminal leaves out the `optional`
    columns, the first of them first. `styles` has the styles of words, by the heading of their column. With
    `whole`, only a terminal gets long cells cut.
    """
    table = [[clean(cell).replace("\n", " ") for cell in row] for row in rows]
    if not table:
        return
    terminal = sys.stdout.isatty()
    if terminal or not whole:
        table = [[*(_cut(cell, _WIDEST_CELL) for cell in row[:-1]), row[-1]] for row in table]
    titles = [heading.upper() for heading in headings] if terminal else []
    widths = [max(map(len, column)) for column in zip(*table, *([titles] if titles else []), strict=True)]
    columns = list(range(len(widths)))
    line_width = (shutil.get_terminal_size((120, 24)).columns if terminal else 200) - len(indent)

    def room() -> int:
        return line_width - sum(widths[column] + 2 for column in columns[:-1])

    for heading in optional if titles else ():
        if room() < _NARROW:
            columns.remove(headings.index(heading))
    *left, last = columns
    below = terminal and room() < _NARROW
    if titles:
        cells = [titles[column].ljust(widths[column]) for column in (left if below else columns)]
        show(indent + styled("  ".join(cells).rstrip(), "dim"))
    for row in table:
        cells = [
            _in_style(row[column], styles.get(headings[column] if headings else "", {}))
            + " " * (widths[column] - len(row[column]))
            for column in left
        ]
        if below:
            show((indent + "  ".join(cells)).rstrip())
            cells = ["  "]
        text = _cut(row[last], line_width - 4 if below else max(_NARROW, room()))
        if text or not below:
            show((indent + "  ".join([*cells, text])).rstrip())


def _in_style(word: str, styles: Mapping[str, str]) -> str:
    return styled(word, styles[word]) if word in styles else word


def show_error(error: SatchelError) -> None:
    """The error with its value, the server's own last words, and the next step."""
    # Further lines are indented, so that what a tool says can't pass for our own hint.
    note(styled("error: ", "red") + error.message.replace("\n", "\n  "))
    if isinstance(error, ServerFailedError | ToolError) and error.stderr:
        note(styled("  its last lines on stderr:", "dim"))
        for line in error.stderr:
            note(f"  | {line}")
    hint = error.hint or _next_step(error)
    if hint:
        note(styled("hint: ", "cyan") + hint.replace("\n", " "))


def _next_step(error: SatchelError) -> str | None:
    """For an error that names none itself."""
    if isinstance(error, ServerError):
        return f"satchel doctor {shlex.quote(error.server)} shows more"
    return "satchel list shows the servers" if error.message.startswith("unknown server ") else None


def _write(stream: TextIO, text: str) -> None:
    """The one way to a stream: cleaned first, then styled where there is someone to see it."""
    text = clean(text)
    coloured = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    for mark, code in {**_MARKS, _RESET: "\x1b[0m"}.items():
        text = text.replace(mark, code if coloured else "")
    stream.write(text.encode("utf-8", "replace").decode())


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


class ProgressLine:
    """One line at the bottom of a terminal that is written over; nothing anywhere else."""

    def __init__(self) -> None:
        self._active = sys.stderr.isatty()
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._shown = False
        self._is_free = True  # what stands in the line is ours, if anything does

    def update(self, text: str) -> None:
        with self._lock:
            if self._active and self._is_free and not self._done.is_set():
                width = shutil.get_terminal_size((80, 24)).columns - 1
                sys.stderr.write("\r\x1b[K" + clean(text).replace("\n", " ")[:width])
                sys.stderr.flush()
                self._shown = True

    def keep_updating(self, text: Callable[[], str]) -> None:
        """Show the text again every second, so that waiting looks like waiting and not like a hang."""

        def work() -> None:
            while not self._done.wait(1):
                self.update(text())

        if self._active:
            threading.Thread(target=work, daemon=True).start()

    def give_way(self, text: str, *, errors: bool) -> None:
        """Show a piece of a program's output where the line was. The line comes back below a whole one."""
        with self._lock:
            self._take_away()
            show_piece(text, errors=errors)
            self._is_free = text.endswith("\n")

    def clear(self) -> None:
        """Take the line away, for good. What comes next begins a line."""
        with self._lock:
            self._done.set()
            self._take_away()
            if not self._is_free:
                show_piece("\n", errors=True)
                self._is_free = True

    def _take_away(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False


def ask(question: str) -> str:
    """A line from the person at the terminal; the question goes to standard error."""
    _write(sys.stderr, question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise ArgumentError("the answers ended before the questions", hint="give the rest as key=value")
    return line.rstrip("\n")


def confirmed(question: str, *, done: str = "written") -> bool:
    """Whether the person at the terminal agrees that something is done; without one, nobody does."""
    if not sys.stdin.isatty():
        note(f"nothing was {done}: there is no terminal to ask at")
        note("hint: --yes does it without asking")
        return False
    if ask(question).strip().lower() in ("y", "yes"):
        return True
    note(f"nothing was {done}")
    return False

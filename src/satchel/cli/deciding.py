"""Decisions that only a person makes: asked and answered at the terminal itself, never through a pipe.

A short code is shown with the question and has to be typed, so that a program that says yes to everything
decides nothing.
"""

import os
import secrets
import select
import termios
from contextlib import suppress
from io import FileIO

from satchel.cli import output

_TERMINAL = "/dev/tty"
_LETTERS = "abcdefghkmnpqrstuvwxyz"  # none that is easily taken for another
_LENGTH = 4
_LONGEST = 4096  # bytes of a line: a terminal takes no more


def decided(question: str, *, without: str) -> bool:
    """Whether the person at the terminal agrees. `without` says what decides where there is none."""
    code = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    answer = typed(f"{question}\nType {code} to agree, anything else to leave it: ")
    if answer is None:
        note_no_terminal(hint=without)
        return False
    if answer.strip().casefold() == code:
        return True
    output.note("left as it is")
    return False


def note_no_terminal(*, hint: str) -> None:
    output.note("this needs a decision by a person at a terminal, and there is no terminal")
    output.note(f"hint: {hint}")


def has_terminal() -> bool:
    """Whether this process has a terminal that a person may sit at."""
    with suppress(OSError):
        os.close(os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
        return True
    return False


def show_at_terminal(text: str) -> None:
    """Write a line to the terminal of this process itself, wherever its output goes."""
    descriptor = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "r+b", buffering=0) as terminal:
        terminal.write(f"{output.clean(text)}\n".encode("utf-8", "replace"))


def typed(question: str) -> str | None:
    """A line from the terminal of this process, empty at its end; None where it has none.

    What was typed before the question is dropped: it answers something else.
    """
    with suppress(OSError), _terminal() as terminal:
        _ask(terminal, question)
        return _line_of(terminal)
    return None


def _terminal() -> FileIO:
    return FileIO(os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC), "r+")


def _ask(terminal: FileIO, question: str) -> None:
    with suppress(termios.error):
        termios.tcflush(terminal.fileno(), termios.TCIFLUSH)
    terminal.write(output.clean(question).encode("utf-8", "replace"))


def _line_of(terminal: FileIO) -> str:
    return terminal.readline(_LONGEST).decode("utf-8", "replace")


async def line_from_terminal(question: str) -> str | None:
    """The same as `typed` for an event loop: a caller that is cancelled takes nothing that is typed later."""
    # Help and wrong usage need not wait for it.
    from anyio import to_thread

    stopped, stop = os.pipe()
    try:
        return await to_thread.run_sync(_typed_unless, question, stopped, abandon_on_cancel=True)
    finally:
        os.close(stop)


def _typed_unless(question: str, stopped: int) -> str | None:
    """A line, unless `stopped` is closed at its other end before that."""
    try:
        with suppress(OSError), _terminal() as terminal:
            _ask(terminal, question)
            if stopped in select.select([terminal, stopped], [], [])[0]:
                return None
            return _line_of(terminal)
        return None
    finally:
        os.close(stopped)

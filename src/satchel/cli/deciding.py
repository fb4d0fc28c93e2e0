"""Decisions that only a person makes: asked and answered at the terminal itself, never through a pipe.

A short code is shown with the question and has to be typed, so that a program that says yes to everything
decides nothing.
"""

import os
import secrets
import termios
from contextlib import suppress

from satchel.cli import output

_TERMINAL = "/dev/tty"
_LETTERS = "abcdefghkmnpqrstuvwxyz"  # none that is easily taken for another
_LENGTH = 4


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
    with suppress(OSError):
        descriptor = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(descriptor, "r+b", buffering=0) as terminal:
            with suppress(termios.error):
                termios.tcflush(descriptor, termios.TCIFLUSH)
            terminal.write(output.clean(question).encode("utf-8", "replace"))
            return terminal.readline(200).decode("utf-8", "replace")
    return None

"""What the person types into a chat: with prompt_toolkit, or a plain line where that is missing."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from satchel.cli import output
from satchel.cli.deciding import line_from_terminal
from satchel.support.installing import how_to_install

Complete = Callable[[str], Iterable[tuple[str, str]]]
"""What could stand in place of a line's beginning: (text, what it is)."""
PROMPT = "> "


class Interrupted(Exception):
    """Ctrl-C at the prompt. `had_text` says whether something was typed, which is dropped."""

    def __init__(self, *, had_text: bool) -> None:
        self.had_text = had_text


class Reader(Protocol):
    async def read(self) -> str | None:
        """What the person has typed, which may have several lines; None if they leave."""
        ...

    async def edit(self, text: str) -> str | None:
        """A line that the person has changed; None if they leave it as it is."""
        ...


def open_reader(history: Path, complete: Complete) -> Reader:
    """With a history in a file that only this user reads."""
    try:
        from satchel.cli.asking.prompted import Prompted  # it imports prompt_toolkit, part of an extra
    except ImportError:
        output.note("prompt_toolkit is not installed: no history, completion or input of several lines")
        output.note(f"hint: {how_to_install('agent')}")
        return Plain()
    return Prompted(history, complete)


class Plain:
    """A line of the terminal, as it is."""

    async def read(self) -> str | None:
        typed = await line_from_terminal(PROMPT)
        return typed.rstrip("\n") if typed else None

    async def edit(self, text: str) -> str | None:
        output.note(text)
        typed = await line_from_terminal("instead, in one line: ")
        return typed.strip() or None if typed else None

"""Input with prompt_toolkit, which is part of the extra `agent` and imported here only."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings

from satchel.cli.asking.reading import PROMPT, Complete, Interrupted
from satchel.support.files import private_directory


class Prompted:
    """Enter sends, Alt-Enter begins a new line; pasted text may have several."""

    def __init__(self, history: Path, complete: Complete) -> None:
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            multiline=True,
            prompt_continuation="… ",
            key_bindings=_keys(),
            completer=_Commands(complete),
            complete_while_typing=False,
            history=FileHistory(str(_private(history))),
        )
        self._edited: PromptSession[str] = PromptSession()  # which has no history

    async def read(self) -> str | None:
        try:
            # Signals stay with the chat; in here Ctrl-C is a key.
            return await self._session.prompt_async(handle_sigint=False)
        except KeyboardInterrupt:
            raise Interrupted(had_text=bool(self._session.default_buffer.text)) from None
        except EOFError:
            return None

    async def edit(self, text: str) -> str | None:
        try:
            return await self._edited.prompt_async("arguments: ", default=text, handle_sigint=False)
        except (KeyboardInterrupt, EOFError):
            return None


class _Commands(Completer):
    """For what begins with a slash."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        for text, about in self._complete(before) if before.startswith("/") else ():
            yield Completion(text, -len(before), display_meta=about)


def _keys() -> Any:
    keys: Any = KeyBindings()

    @keys.add("enter")
    def _(event: Any) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def _private(file: Path) -> Path:
    private_directory(file.parent)
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))
    return file

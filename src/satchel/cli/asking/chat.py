"""chat: a conversation with an agent at the terminal, in one open Satchel.

What is typed is read by `reading.py`; what is said and done is printed as plain lines, so that it stays when
the chat is over.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

import anyio

from satchel.cli import output
from satchel.cli.asking.ask import turn_request
from satchel.cli.asking.person import Person
from satchel.cli.asking.reading import Interrupted, open_reader
from satchel.cli.asking.showing import Speech, show_end
from satchel.cli.asking.slash import completions, needs_going_on, run_slash, take_up
from satchel.cli.asking.turning import follow
from satchel.cli.deciding import has_terminal
from satchel.cli.execute import ended_by_signals
from satchel.cli.running import run_with_servers
from satchel.errors import ArgumentError, SatchelError
from satchel.model import TurnBegan, TurnEvent, TurnRequest
from satchel.verbs.satchel import Satchel

T = TypeVar("T")
_MOST = 4 * 1024 * 1024  # characters of a message


def chat_command(options: argparse.Namespace) -> int:
    if not (has_terminal() and sys.stdin.isatty() and sys.stdout.isatty()):
        raise ArgumentError("a chat needs a terminal", hint='satchel ask "what you want done" needs none')
    signals: list[int] = []

    async def run(satchel: Satchel) -> Chat:
        chat = Chat(satchel, await turn_request(satchel, options, ""))
        with ended_by_signals(signals):
            await chat.run()
        return chat

    chat = run_with_servers(options, run)
    if chat.conversation is not None:
        output.note(f"hint: satchel chat --resume {chat.conversation} goes on with this conversation")
    return 128 + signals[-1] if signals else 0


class Chat:
    """One chat: what the next turn is asked with, and whether it goes on."""

    def __init__(self, satchel: Satchel, request: TurnRequest) -> None:
        self.satchel = satchel
        self.agent = request.agent
        self.mode = request.mode
        self.conversation: str | None = None
        self.skill = request.skill
        self.is_over = False
        self._first = request
        self._reader = open_reader(satchel.configuration.paths.chat_history, partial(completions, self))
        self.person = Person(satchel.approvals, edit=self._reader.edit)
        self._working: anyio.CancelScope | None = None
        self._interrupts = 0  # Ctrl-C, one after the other

    async def run(self) -> None:
        output.note(f"agent {self.agent}; /help shows commands, Ctrl-D leaves")
        with self._hearing_interrupts():
            if self._first.conversation is not None:
                await self._heeded(take_up(self, self._first.conversation))
            while not self.is_over:
                text = await self._read()
                if text is None:
                    return
                await self._answer(text)

    async def _read(self) -> str | None:
        """What the person says next; None if they leave."""
        while True:
            with anyio.CancelScope() as self._working:
                try:
                    text = await self._reader.read()
                    self._interrupts = 0
                    return text
                except Interrupted as interrupted:
                    self._interrupts = 0 if interrupted.had_text else self._interrupts + 1
            self._working = None
            if self._interrupts > 1:
                return None
            if self._interrupts:
                output.note("Ctrl-C again, or Ctrl-D, leaves")

    async def _answer(self, text: str) -> None:
        text = text.strip()
        if text.startswith("/") and await self._heeded(run_slash(self, text)) is not False:
            return
        if not text and not await needs_going_on(self.satchel, self.conversation):
            return
        if len(text) > _MOST:
            output.note(f"a message has at most {_MOST:,} characters; put the rest into a file")
            return
        with anyio.CancelScope() as self._working:
            await self._heeded(self._turn(text))
        stopped, self._working = self._working.cancelled_caught, None
        if stopped:
            output.note("stopped; what was done is kept")
            self.is_over = self._interrupts > 1

    async def _turn(self, text: str) -> None:
        speech = Speech()

        def hear(event: TurnEvent) -> None:
            if isinstance(event, TurnBegan):
                self.conversation = event.conversation
            speech.hear(event)

        try:
            answer = await follow(self.satchel, self._request(text), hear, self.person)
        finally:
            speech.end_line()
        self.skill = None
        show_end(answer, hint="Enter goes on where it stopped")

    def _request(self, text: str) -> TurnRequest:
        return replace(self._first, text=text, conversation=self.conversation, skill=self.skill)

    async def _heeded(self, work: Awaitable[T]) -> T | None:
        """What comes of some work; an error is shown, and the chat goes on."""
        try:
            return await work
        except SatchelError as error:
            output.show_error(error)
            return None

    @contextmanager
    def _hearing_interrupts(self) -> Generator[None]:
        """Ctrl-C ends what is being done, and not the process."""

        def interrupt() -> None:
            self._interrupts += 1
            if self._working is not None:
                self._working.cancel()

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

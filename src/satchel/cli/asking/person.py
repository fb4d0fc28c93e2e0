"""The person at the terminal during a turn: decides on calls that wait, answers the model's questions.

One question at a time. Answers are read from the terminal itself, never from a pipe, and an empty line
decides nothing. What is decided on is exactly what was shown.
"""

import json
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from satchel.cli import output
from satchel.cli.approvals.deciding import arguments_of, who
from satchel.cli.deciding import line_from_terminal
from satchel.errors import ArgumentError, ConflictError, SatchelError
from satchel.model import Approval, Json, PersonAnswered, PersonAsked, Scope, ToolTold, TurnEvent
from satchel.verbs.approvals.approvals import Approvals
from satchel.verbs.approvals.showing import shown

NO_ANSWER = "the user gave no answer"
_CHOICES = "y: once · a: this tool, in this conversation · n: no · e: edit the arguments"
_SCOPES: dict[str, Scope] = {"y": "once", "a": "conversation"}

Read = Callable[[str], Awaitable[str | None]]
"""Asks, and reads a line: empty at the terminal's end, None without a terminal."""
Edit = Callable[[str], Awaitable[str | None]]
"""Has the person change a line; None if they leave it."""


class Person:
    """`is_asked` while a question is open: nothing else should be printed then."""

    def __init__(self, approvals: Approvals, *, edit: Edit, read: Read = line_from_terminal) -> None:
        self._approvals = approvals
        self._edit = edit
        self._read = read
        self._turn = anyio.Lock()
        self._asked, self._waiting = anyio.create_memory_object_stream[str](math.inf)
        self._open: dict[str, anyio.CancelScope] = {}
        self.is_asked = False

    def hear(self, event: TurnEvent) -> None:
        """Take note of calls that begin to wait, and of those that wait no more."""
        told = event.event if isinstance(event, ToolTold) else None
        if isinstance(told, PersonAsked) and told.approval not in self._open:
            self._open[told.approval] = anyio.CancelScope()
            self._asked.send_nowait(told.approval)
        elif isinstance(told, PersonAnswered):
            scope = self._open.pop(told.approval, None)
            if scope is not None:
                scope.cancel()

    async def decide_on_calls(self) -> None:
        """Ask about each call that begins to wait, until cancelled."""
        async for id in self._waiting:
            if id not in self._open:  # it waits no more, or the turn ends for it
                continue
            with self._open[id] as scope:
                try:
                    await self.decide(id)
                except SatchelError as error:  # the call waits, and the turn goes on
                    output.show_error(error)
            if scope.cancelled_caught:
                output.note("it waits no more")

    async def decide(self, id: str) -> bool:
        """Have the person decide on a call; whether that is done, by whomever."""
        approval = await self._approvals.find(id)
        if approval.state != "waiting":
            return True
        async with self._turn:
            self.is_asked = True
            try:
                return await self._decide(approval)
            finally:
                self.is_asked = False

    async def answer(self, question: str, options: tuple[str, ...]) -> str:
        """The answer to a question of the model, which may be one of its options, by number."""
        rows = [*question.splitlines(), *(f"{number}. {row}" for number, row in enumerate(options, 1))]
        told = "".join(f"| {row}\n" for row in output.clean("\n".join(rows)).split("\n"))
        async with self._turn:
            self.is_asked = True
            try:
                typed = await self._read(f"the agent asks:\n{told}your answer: ")
            finally:
                self.is_asked = False
        words = (typed or "").strip()
        if words.isdecimal() and 1 <= int(words) <= len(options):
            return options[int(words) - 1]
        return words or NO_ANSWER

    async def _decide(self, approval: Approval) -> bool:
        edited: Json | None = None
        _show(approval, edited)
        while True:
            typed = await self._read(f"Send this call? {_CHOICES}\n[y/a/n/e]: ")
            if not typed:
                output.note(f"it waits; hint: satchel approvals allow {approval.id} decides on it later")
                return False
            choice = typed.strip().casefold()
            try:
                if choice in _SCOPES:
                    by, scope = who(), _SCOPES[choice]
                    await self._approvals.allow(approval, by=by, scope=scope, arguments=edited)
                    return True
                if choice == "n":
                    await self._approvals.deny(approval, by=who())
                    return True
                if choice == "e":
                    edited = await self._edited(approval, edited)
                    _show(approval, edited)
            except ConflictError as error:  # decided elsewhere meanwhile
                output.show_error(error)
                return True
            except ArgumentError as error:
                output.show_error(error)

    async def _edited(self, approval: Approval, edited: Json | None) -> Json | None:
        if approval.arguments is None:
            raise ArgumentError("the arguments can't be read here", hint="y or n")
        before = json.dumps(dict(approval.arguments) if edited is None else edited, ensure_ascii=False)
        text = await self._edit(before)
        if text is None or not text.strip():
            return edited
        given = arguments_of(text)
        self._approvals.check(approval, given)
        return given if given != approval.arguments else None


def _show(approval: Approval, edited: Json | None) -> None:
    for line in shown(approval if edited is None else replace(approval, edited=edited)):
        output.note(line)

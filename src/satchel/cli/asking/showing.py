"""What a turn does, in lines for people: one for each call, with its state and time. Programs are folded."""

import json
from dataclasses import asdict, is_dataclass
from typing import Any

from satchel.cli import output
from satchel.cli.running import waits
from satchel.model import (
    Answer,
    CallEnded,
    Event,
    Json,
    ModelAnswered,
    PersonAsked,
    SkillSwitched,
    TextDelta,
    TodosWritten,
    ToolBegan,
    ToolEnded,
    ToolTold,
    TurnEvent,
)
from satchel.names import count

_MARKS = {"completed": "x", "in_progress": ">", "pending": " "}
_STYLES = {"ok": "green", "error": "red", "interrupted": "yellow", "approval": "yellow"}
_LONGEST = 60  # characters of the arguments of a call


class Lines:
    """Lines on standard error, by the events of a turn. `is_alone`: nobody is asked here about what waits."""

    def __init__(self, *, is_alone: bool = True) -> None:
        self._is_alone = is_alone
        self._told: set[str] = set()
        self._calls: dict[str, int] = {}  # that a program has made so far
        self._begun: dict[str, str] = {}

    def hear(self, event: TurnEvent) -> None:
        if isinstance(event, ToolBegan):
            self._begun[event.id] = _arguments(event)
        elif isinstance(event, ToolTold):
            self._hear_program(event.id, event.event)
        elif isinstance(event, ToolEnded):
            output.note(self._line(event))
        elif isinstance(event, SkillSwitched):
            name = event.skills[-1].partition(":")[2] if event.skills else "the router"
            output.note(output.styled(f"→ {name}", "bold"))
        elif isinstance(event, TodosWritten):
            for todo in event.todos:
                output.note(output.first_line(f"  [{_MARKS[todo['status']]}] {todo['content']}"))

    def _hear_program(self, id: str, event: Event) -> None:
        if isinstance(event, CallEnded):
            self._calls[id] = event.count
        elif isinstance(event, PersonAsked) and self._is_alone and event.approval not in self._told:
            self._told.add(event.approval)
            output.note(waits(event).rstrip())

    def _line(self, event: ToolEnded) -> str:
        state = output.styled(event.outcome, _STYLES.get(event.outcome, "dim"))
        calls = f", {count(self._calls.pop(event.id), 'call')}" if event.id in self._calls else ""
        reason = f"  {output.first_line(event.text, 200)}" if event.outcome != "ok" else ""
        about = self._begun.pop(event.id, "")
        return f"· {output.first_line(event.name)} {about} {state} {event.ms / 1000:.1f} s{calls}{reason}"


class Speech:
    """The same, and what the model says, as it comes, on standard output."""

    def __init__(self) -> None:
        self._lines = Lines(is_alone=False)
        self._is_new = True  # the line
        self._has_said = False  # something of this answer

    def hear(self, event: TurnEvent) -> None:
        if isinstance(event, TextDelta):
            self._say(event.text)
            return
        if isinstance(event, ModelAnswered):
            if event.text and not self._has_said:
                self._say(event.text)
            self._has_said = False
        if not isinstance(event, ToolTold | ToolBegan):
            self.end_line()
        self._lines.hear(event)

    def end_line(self) -> None:
        """What comes next begins a line."""
        if not self._is_new:
            self._say("\n")
        self._has_said = False

    def _say(self, text: str) -> None:
        if text:
            output.show_piece(text, errors=False)
            self._has_said, self._is_new = True, text.endswith("\n")


def _arguments(event: ToolBegan) -> str:
    """A program in a word, other arguments as far as they fit."""
    code = event.arguments.get("code")
    if isinstance(code, str):
        lines = count(len(code.splitlines()), "line")
        described = event.arguments.get("description")
        return f"({output.first_line(described, _LONGEST)}, {lines})" if described else f"({lines})"
    text = ", ".join(
        f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in event.arguments.items()
    )
    return f"({output.first_line(text, _LONGEST)})"


def event_as_json(event: TurnEvent) -> Json:
    """An event as a line of JSON has it: its name, and its fields."""
    return {"event": type(event).__name__, **_fields(event)}


def _fields(event: Any) -> Json:
    if isinstance(event, ToolTold):
        return {"id": event.id, "told": {"event": type(event.event).__name__, **_plain(event.event)}}
    return _plain(event)


def _plain(value: Any) -> Json:
    """Its fields, as far as JSON has such values."""
    values = asdict(value) if is_dataclass(value) and not isinstance(value, type) else {}
    return json.loads(json.dumps(values, default=str))


def show_end(answer: Answer, *, hint: str) -> None:
    """Why a turn ended without an answer, what it left, and what to do next."""
    for path in answer.files:
        output.note(f"file: {output.first_line(path, 500)}")
    if answer.ended == "answered":
        return
    output.note(output.styled(f"ended: {answer.ended}: ", "red") + answer.reason)
    for row in answer.waiting:
        name, id = output.first_line(row["tool"]), row["approval"]
        output.note(f"  {name} waits for a person: satchel approvals allow {id}")
    output.note(f"hint: {hint}")

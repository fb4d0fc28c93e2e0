"""The tasks of bench/context as a model without mistakes does them in each mode, and whether they are done.

In mode `search` it looks for the tools with the words that it uses in mode `code`, and makes the calls that
it makes in mode `direct`.
"""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from tests.agent.wires import Say, Sent, Step, Use

from bench.context.client import Answer
from bench.context.conversation import ToolCall
from bench.context.tasks import DOCUMENT, EXAMPLE, NEXT_STEP, RECORDS, SMALL_CALL, Script, Task
from satchel.config.agents import Mode

MODES: tuple[Mode, ...] = ("code", "search", "direct")
_UPDATED = 10
_FINDINGS = 9  # in the report doc-006; one of them has no figure
_FIGURES = ("18.5", "113", "22", "68.4", "1.80", "21", "25.3", "12.93")


def script_of(task: Task, mode: Mode) -> Script:
    if mode == "code":
        return task.code["python"]()
    return _directly(task) if mode == "direct" else _by_search(task)


def _directly(task: Task) -> Script:
    return _changed(task.direct(), lambda call: ToolCall(name=_wire_name(call), arguments=call.arguments))


def _by_search(task: Task) -> Script:
    searches = next(task.code["python"]())
    found = yield [
        ToolCall(name=call.name, arguments={**call.arguments, "detail": "full"}) for call in searches
    ]
    seen = "\n".join(answer.text for answer in found)
    script = task.direct()
    calls = next(script)
    while True:
        unseen = [name for call in calls if (name := f"{call.server}.{call.name}") not in seen]
        if unseen:
            query = f"select:{','.join(dict.fromkeys(unseen))}"
            (more,) = yield [ToolCall(name="search_tools", arguments={"query": query, "detail": "full"})]
            seen += more.text
        try:
            calls = script.send((yield list(map(_by_call_tool, calls))))
        except StopIteration as end:
            return end.value


def _by_call_tool(call: ToolCall) -> ToolCall:
    return ToolCall(name="call_tool", arguments={"name": _wire_name(call), "arguments": call.arguments})


def _changed(script: Script, change: Callable[[ToolCall], ToolCall]) -> Script:
    calls = next(script)
    while True:
        try:
            calls = script.send((yield list(map(change, calls))))
        except StopIteration as end:
            return end.value


def _wire_name(call: ToolCall) -> str:
    return f"{call.server.replace('-', '_')}__{call.name}"


class Player:
    """Plays a script at the other end of the wire: what a model answers to each request."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._calls: list[ToolCall] | None = None

    def __call__(self, sent: Sent) -> Step:
        try:
            if self._calls is None:
                self._calls = next(self._script)
            else:
                results = [text for kind, text in sent.messages if kind == "result"][-len(self._calls) :]
                answers = [Answer(text=text, structured=None, seconds=0) for text in results]
                self._calls = self._script.send(answers)
        except StopIteration as end:
            return Say(end.value)
        return Say(uses=tuple(Use(call.name, call.arguments) for call in self._calls))


# Whether a task is done, whoever did it


def is_done(task: Task, state: Path, answer: str) -> bool:
    """By what the services have afterwards, or by what the user was told."""
    return _DONE[task.name](state, answer)


def _is_reported(state: Path, answer: str) -> bool:
    """There is a note with as many lines as the report has findings, and #sales was told its number."""
    notes = [
        id
        for id, record in _records(state, "salesforce").items()
        if "OPP-001" in record and record.count("\\n") + 1 >= _FINDINGS and "Findings" in record
    ]
    told = _records(state, "slack").values()
    return any(note in text for note in notes for text in told)


def _is_updated(state: Path, answer: str) -> bool:
    return sum(NEXT_STEP in record for record in _records(state, "salesforce").values()) == _UPDATED


def _is_summarised(state: Path, answer: str) -> bool:
    return all(figure in answer for figure in _FIGURES)


def _is_posted(state: Path, answer: str) -> bool:
    return any("The new release is out." in record for record in _records(state, "slack").values())


_DONE: Mapping[str, Callable[[Path, str], bool]] = {
    EXAMPLE.name: _is_reported,
    RECORDS.name: _is_updated,
    DOCUMENT.name: _is_summarised,
    SMALL_CALL.name: _is_posted,
}


def _records(state: Path, service: str) -> dict[str, str]:
    """What a service has, by id; nothing if it was never asked."""
    file = state / f"{service}.sqlite3"
    if not file.exists():
        return {}
    with closing(sqlite3.connect(file)) as connection:
        return dict(connection.execute("SELECT id, body FROM records"))

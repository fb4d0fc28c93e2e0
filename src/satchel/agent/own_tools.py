"""The tools that only the loop has: one table. They are about the turn itself, and reach no server."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from satchel.errors import ArgumentError
from satchel.model import Json, is_list, is_object
from satchel.support.program_paths import WORKSPACE, is_within

_MOST_TODOS = 50
_MOST_FILES = 50
_LONGEST = 2_000  # characters of a text
_STATES = ("pending", "in_progress", "completed")


class Turn(Protocol):
    """What these tools need of the turn that they belong to."""

    delegates: tuple[str, ...]
    can_ask: bool

    def write_todos(self, todos: tuple[Json, ...]) -> None: ...

    def present(self, paths: tuple[str, ...]) -> None: ...

    async def ask(self, question: str, options: tuple[str, ...]) -> str: ...

    async def delegate(self, agent: str, task: str) -> str: ...


@dataclass(frozen=True, kw_only=True)
class LoopTool:
    define: Callable[[Turn], Json]
    answer: Callable[[Turn, Mapping[str, Any]], Awaitable[str]]
    is_on: Callable[[Turn], bool] = lambda turn: True
    alone: bool = False  # nothing else of the same response is done meanwhile


async def _write_todos(turn: Turn, given: Mapping[str, Any]) -> str:
    rows: Any = given.get("todos")
    if not is_list(rows) or len(rows) > _MOST_TODOS:
        raise ArgumentError(f"'todos' must be a list of at most {_MOST_TODOS}", argument="todos")
    todos: list[Json] = []
    for row in rows:
        state = row.get("status", "pending") if is_object(row) else "pending"
        content = row.get("content") if is_object(row) else row
        if not isinstance(content, str) or state not in _STATES:
            raise ArgumentError(
                "a todo is {content, status}", argument="todos", hint=f"status: {', '.join(_STATES)}"
            )
        todos.append({"content": content[:_LONGEST], "status": state})
    turn.write_todos(tuple(todos))
    done = sum(each["status"] == "completed" for each in todos)
    return f"noted: {done} of {len(todos)} done"


async def _present_files(turn: Turn, given: Mapping[str, Any]) -> str:
    paths: Any = given.get("paths")
    if not is_list(paths) or not paths or len(paths) > _MOST_FILES:
        raise ArgumentError(f"'paths' must be a list of 1 to {_MOST_FILES} paths", argument="paths")
    for path in paths:
        if not isinstance(path, str) or not is_within(path, [WORKSPACE]) or ".." in path.split("/"):
            raise ArgumentError(
                f"{str(path)[:200]!r} is not a file in {WORKSPACE}",
                argument="paths",
                hint=f"have a program write it to {WORKSPACE} first",
            )
    turn.present(tuple(paths))
    return f"presented: {', '.join(paths)}"


async def _ask_user(turn: Turn, given: Mapping[str, Any]) -> str:
    options: Any = given.get("options") or []
    if not is_list(options) or not all(isinstance(each, str) for each in options):
        raise ArgumentError("'options' must be a list of texts", argument="options")
    return await turn.ask(_text(given, "question"), tuple(options[:10]))


async def _delegate(turn: Turn, given: Mapping[str, Any]) -> str:
    return await turn.delegate(_text(given, "agent"), _text(given, "task", most=100_000))


def _text(given: Mapping[str, Any], key: str, most: int = _LONGEST) -> str:
    value = given.get(key)
    if not isinstance(value, str) or not value.strip() or len(value) > most:
        raise ArgumentError(f"'{key}' must be a text of at most {most:,} characters", argument=key)
    return value


def _tool(name: str, description: str, properties: Json, required: tuple[str, ...]) -> Json:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": description, "inputSchema": schema}


_TEXT: Json = {"type": "string"}
_TEXTS: Json = {"type": "array", "items": _TEXT}

LOOP_TOOLS: Mapping[str, LoopTool] = {
    "write_todos": LoopTool(
        define=lambda turn: _tool(
            "write_todos",
            "Keep a list of steps for a task with three or more of them. Send the whole list each time.",
            {
                "todos": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"content": _TEXT, "status": {**_TEXT, "enum": list(_STATES)}},
                        "required": ["content", "status"],
                    },
                }
            },
            ("todos",),
        ),
        answer=_write_todos,
        alone=True,
    ),
    "present_files": LoopTool(
        define=lambda turn: _tool(
            "present_files",
            f"Show the user files that a program has written to {WORKSPACE}.",
            {"paths": _TEXTS},
            ("paths",),
        ),
        answer=_present_files,
    ),
    "ask_user": LoopTool(
        define=lambda turn: _tool(
            "ask_user",
            "Ask the user when the task can't be done without an answer; never for what you can find out.",
            {"question": _TEXT, "options": _TEXTS},
            ("question",),
        ),
        answer=_ask_user,
        is_on=lambda turn: turn.can_ask,
        alone=True,
    ),
    "delegate": LoopTool(
        define=lambda turn: _tool(
            "delegate",
            "Have another agent do a part of the task; it knows only what you write. Its answer comes back. "
            "Up to three work at once.",
            {"agent": {**_TEXT, "enum": list(turn.delegates)}, "task": _TEXT},
            ("agent", "task"),
        ),
        answer=_delegate,
        is_on=lambda turn: bool(turn.delegates),
    ),
}


def loop_tools(turn: Turn) -> dict[str, Json]:
    """The definitions of those that are shown in a turn."""
    return {name: tool.define(turn) for name, tool in LOOP_TOOLS.items() if tool.is_on(turn)}

"""Programs that share their variables: one interpreter, kept from one program of a session to the next.

Between two programs all that is in the box stands still; the host sees to that.
"""

import ast
import asyncio
import json
import linecache
import os
import sys
from types import FunctionType
from typing import Any

from satchel_guest.run import COROUTINE, TOP_LEVEL_AWAIT, exit_code, flush, tell_forgotten
from satchel_guest.telling import MOST_RETURNED, tell_error
from satchel_runtime.channel import channel_over
from satchel_runtime.errors import NotConnectedError


def live_on(bridge: int, program: str, names: dict[str, Any], text: str) -> int:
    """Run one program after the other, until there is nobody to ask for another."""
    loop = Loop()
    first = os.getpid()
    turn = 1
    while True:
        ending, result = run_turn(program, turn, names, text, loop)
        if os.getpid() != first:  # a process that the program forked comes by here as well
            return ending["exit_code"]
        try:
            text = channel_over(bridge).next_program(with_result(ending, result))
        except (
            OSError,
            NotConnectedError,
        ):  # the connection to the host is closed, or the program has closed the way to it
            return ending["exit_code"]
        turn += 1


class Loop:
    """The event loop of all programs: what waits on it may be used again. Made when it is needed."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, program: Any) -> None:
        """As `asyncio.run` does it, but that the loop is kept."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(program)
        finally:
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))


def run_turn(
    program: str, turn: int, names: dict[str, Any], text: str, loop: Loop
) -> tuple[dict[str, Any], list[Any]]:
    """(how it ended, what it left as `result`, if anything)."""
    name = program if turn == 1 else program.replace("main", f"main_{turn}")
    # Functions of this program may fail in a later one: its lines must still be there.
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    try:
        tree = compile(text, name, "exec", ast.PyCF_ONLY_AST | TOP_LEVEL_AWAIT, dont_inherit=True)
        code = compile(tree, name, "exec", TOP_LEVEL_AWAIT, dont_inherit=True)
        if code.co_flags & COROUTINE:
            loop.run(FunctionType(code, names)())
        else:
            exec(code, names)
    except SystemExit as exit:
        return {"exit_code": exit_code(exit.code)}, []
    except BaseException as error:  # of any kind: it is told, and the next program may run
        return tell_error(error, name), []
    tell_forgotten(names)
    has_result = "result" in names and assigns_result(tree)
    return {"exit_code": 0}, [names["result"]] if has_result else []


def assigns_result(tree: ast.AST) -> bool:
    """Whether this program sets `result`, and not one before it."""
    return any(
        isinstance(node, ast.Name) and node.id == "result" and isinstance(node.ctx, ast.Store)
        for node in ast.walk(tree)
    )


def with_result(ending: dict[str, Any], result: list[Any]) -> dict[str, Any]:
    if result:
        try:
            size = len(json.dumps(result[0], allow_nan=False))
        except Exception as error:  # also one of its own methods'
            print(f"`result` was not returned, because it is not JSON: {error}", file=sys.stderr)
        else:
            if size <= MOST_RETURNED:
                ending["result"] = result[0]
            else:
                print(f"`result` was not returned: it has {size:,} bytes", file=sys.stderr)
    flush()
    return ending

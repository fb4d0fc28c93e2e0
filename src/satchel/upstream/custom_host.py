"""The server of one group of custom tools: functions of the user's project, offered over stdio.

Runs as a process of its own, in the project's directory, as config/custom.py writes it:
`python -P -m satchel.upstream.custom_host GROUP NAME=MODULE:FUNCTION …`. A function that can't be loaded is
listed with the reason and fails with it when it is called; if none can be loaded, the process ends.

The user's code is not isolated from this process. It may print, read its input and exit: the protocol has
descriptors of its own.
"""

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import anyio
import mcp
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, TextContent

from satchel.names import closest
from satchel.support.event_loop import new_event_loop
from satchel.upstream.docstrings import parameter_descriptions
from satchel.upstream.listing import PROBLEM

# What the user's code can raise and the others must not notice; a cancellation is not among it.
_FAILURES = (Exception, SystemExit)
_PROJECT = os.getcwd()  # now: the user's code may go elsewhere
_MACHINERY = ("<frozen importlib", __file__, *anyio.__path__, *importlib.__path__, *mcp.__path__)
_UNNAMED = {
    inspect.Parameter.POSITIONAL_ONLY: "only takes it by position",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values there",
    inspect.Parameter.VAR_KEYWORD: "takes any names there",
}


class CustomTool(Tool):
    """A tool whose failure says what happened. The SDK's own keeps that to itself."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        try:
            result = await super().run(arguments, context)
        except UnexpectedToolError as error:
            return _crashed(error.__cause__ or error)
        except ToolError as error:  # arguments that don't fit, or what the function raised as its answer
            return _failed(str(error.__cause__ or error))
        except SystemExit as error:
            return _crashed(error)
        try:
            return self.fn_metadata.convert_result(result) if convert_result else result
        except Exception as error:  # noqa: BLE001  values convert themselves, so this is the user's code too
            return _failed(f"it returned something else than it declares: {_describe(error)}")


def main(arguments: Sequence[str]) -> None:
    """Load the functions and serve them until the input ends."""
    group, *pairs = arguments
    functions = dict(_pair(text) for text in pairs)
    streams = take_streams()
    with suppress(ImportError):
        import_module("rich.logging")  # the SDK loads it late, and the project might have a `rich` of its own
    sys.path.insert(0, _PROJECT)
    tools, problems = load_tools(functions)
    for name, problem in problems.items():
        sys.stderr.write(f"{group}.{name} {problem}\n")
    if len(problems) == len(functions):
        sys.exit(1)
    server: MCPServer[Any] = MCPServer(group, tools=tools, log_level="WARNING")
    anyio.run(_serve, server, *streams, backend_options={"loop_factory": new_event_loop})


async def _serve(server: "MCPServer[Any]", read: TextIO, write: TextIO) -> None:
    # As `MCPServer.run_stdio_async`, which takes the streams only now, when the user's code has run already.
    inner = server._lowlevel_server
    async with stdio_server(anyio.wrap_file(read), anyio.wrap_file(write)) as (incoming, outgoing):
        await inner.run(incoming, outgoing, inner.create_initialization_options())


def take_streams() -> tuple[TextIO, TextIO]:
    """The protocol's input and output. To everyone else, input is empty and output goes to standard error."""
    read = os.fdopen(os.dup(0), encoding="utf-8", errors="replace")
    write = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    # What a function prints is seen when it prints it, in order with what it writes to standard error.
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
    return read, write


def load_tools(functions: Mapping[str, str]) -> tuple[list[Tool], dict[str, str]]:
    """A tool for each function, and what is wrong with those that can't be loaded."""
    tools: list[Tool] = []
    problems: dict[str, str] = {}
    failed: dict[str, BaseException] = {}  # modules; importing one again would run it again
    for name, target in functions.items():
        try:
            tools.append(build_tool(name, _find(target, failed)))
        except _FAILURES as error:
            problems[name] = " ".join(f"can't be loaded: {target}: {_describe(error)}".split())
            tools.append(_stand_in(name, problems[name]))
    return tools, problems


def build_tool(name: str, function: Callable[..., Any]) -> Tool:
    """A tool as the function's signature and docstring describe it."""
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.kind in _UNNAMED:
            raise TypeError(
                f"its parameter '{parameter.name}' can't be given by name (it {_UNNAMED[parameter.kind]})"
            )
    text = inspect.getdoc(function) or ""
    tool = _describe_function(function, name, text)
    described = parameter_descriptions(text)
    for parameter, schema in tool.parameters.get("properties", {}).items():
        if parameter in described:
            schema.setdefault("description", described[parameter])
    return tool


def _describe_function(function: Callable[..., Any], name: str, text: str) -> Tool:
    try:
        return CustomTool.from_function(function, name=name, description=text)
    except Exception as error:  # noqa: BLE001  as the SDK, pydantic and annotations of the user's code raise it
        # Some types are refused as results that would do without a schema. If that was not it, this raises.
        tool = CustomTool.from_function(function, name=name, description=text, structured_output=False)
        tool.meta = {PROBLEM: f"has no output schema: {_describe(error)}"}
        return tool


def _import(name: str, failed: dict[str, BaseException]) -> ModuleType:
    if name in failed:
        raise failed[name]
    try:
        return import_module(name)
    except _FAILURES as error:
        failed[name] = error
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{name}.".startswith(f"{missing}."):
            failed[name] = LookupError(
                f"there is no module '{missing}' in {_PROJECT}, nor is one installed for {sys.executable}"
            )
        else:
            _show_traceback(error)
        raise failed[name] from None


def _find(target: str, failed: dict[str, BaseException]) -> Callable[..., Any]:
    name, _, path = target.partition(":")
    found: Any = _import(name, failed)
    where = _short(getattr(found, "__file__", None) or name)
    for part in path.split("."):
        if not hasattr(found, part):
            near = closest(part, [key for key in dir(found) if not key.startswith("_")], limit=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise LookupError(f"{where} has no '{part}'{hint}")
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"'{path}' in {where} is not a function but of type {type(found).__name__}")
    return found


def _stand_in(name: str, problem: str) -> Tool:
    """In the place of a function that can't be loaded: nothing that was configured is missing from a list."""

    def fail() -> CallToolResult:
        return _failed(problem)

    tool = Tool.from_function(fail, name=name, description=problem, meta={PROBLEM: problem})
    tool.parameters = {"type": "object"}  # any arguments fit, because only the reason matters
    return tool


def _crashed(error: BaseException) -> CallToolResult:
    _show_traceback(error)
    return _failed(_describe(error))


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _describe(error: BaseException) -> str:
    """Type, message and notes, and the last line of the project that was on the way."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{type(error).__name__}: {error.msg}\nat {_short(error.filename)}:{error.lineno}"
    text = "".join(traceback.format_exception_only(error)).strip()
    for inner in getattr(error, "exceptions", ()):
        text += f"\n{_describe(inner)}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_own(frame.filename)]
    if not frames:
        return text
    return f"{text}\nat {_short(frames[-1].filename)}:{frames[-1].lineno}"


def _show_traceback(error: BaseException) -> None:
    """On standard error, without the lines on the way to the user's code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_MACHINERY):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace, file=sys.stderr)
    sys.stderr.flush()


def _is_own(file: str) -> bool:
    """Whether it is of the project, and not of a package that is installed in its directory."""
    path = Path(file)
    return path.is_relative_to(_PROJECT) and "site-packages" not in path.parts


def _short(file: str) -> str:
    return os.path.relpath(file, _PROJECT) if _is_own(file) else file


def _pair(text: str) -> tuple[str, str]:
    name, _, target = text.rpartition("=")  # a target has no `=`; a name may
    return name, target


if __name__ == "__main__":
    main(sys.argv[1:])

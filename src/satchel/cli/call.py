"""call: arguments from JSON, key=value or questions, then the call, then its result."""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satchel.cli import output
from satchel.cli.results import check_output, save_or_show_result
from satchel.cli.running import (
    find_tool,
    find_with_progress,
    listing_progress,
    run_with_servers,
    waits,
)
from satchel.cli.unconfigured import named_as_given, unconfigured_server
from satchel.config import ServerEntry
from satchel.errors import ArgumentError, ServerError
from satchel.model import (
    Caller,
    CallResult,
    Event,
    Json,
    PersonAsked,
    Progress,
    Server,
    ServerFailed,
    Tool,
    is_list,
    is_object,
)

if TYPE_CHECKING:
    from satchel.verbs.satchel import Satchel


def call_command(options: argparse.Namespace) -> int:
    server = unconfigured_server(options)
    if server is not None:
        if options.tool is None:
            with named_as_given(server):
                return _list_tools(options, server)
        options.tool = f"{server.name}.{options.tool}"
    elif options.tool is None:
        raise ArgumentError("no tool is named", hint="satchel call SERVER.TOOL; satchel search finds one")
    more = [server] if server is not None else []
    with named_as_given(server):
        return _call_tool(options, more)


def _call_tool(options: argparse.Namespace, more: Sequence[ServerEntry]) -> int:
    # A person is asked before anything is opened: on an event loop Ctrl-C would wait for the answer.
    asked = _ask(options, more) if options.interactive else None
    name, result = run_with_servers(options, lambda satchel: _call(satchel, options, asked), more)
    save_or_show_result(result, options.output, name, as_json=options.json)
    return 0


def _list_tools(options: argparse.Namespace, entry: ServerEntry) -> int:
    """The tools of a server that is not configured."""
    from satchel.cli.catalog import server_as_json, show_server  # a call shows no server

    async def refresh(satchel: "Satchel") -> Server:
        failures: list[ServerError] = []
        with listing_progress() as tell:

            def hear(event: Event) -> None:
                tell(event)
                if isinstance(event, ServerFailed):
                    failures.append(event.error)

            servers = await satchel.servers.refresh([entry.name], tell=hear)
        if failures:
            raise failures[0]
        return servers[0]

    server = run_with_servers(options, refresh, [entry])
    if options.json:
        output.show_json(server_as_json(server, tools=True, detailed=True))
        return 0
    show_server(server, detailed=False)
    where = "--stdio …" if options.stdio else "--url …"
    output.note(
        f"hint: satchel call {where} TOOL key=value calls one; satchel add {server.name} keeps the server"
    )
    return 0


async def _call(
    satchel: "Satchel", options: argparse.Namespace, asked: Json | None
) -> tuple[str, CallResult]:
    """The tool's name, and what came back. The chain checks arguments before a server is started."""
    tool = await find_with_progress(satchel, options.tool)
    arguments = _read_arguments(options, tool) if asked is None else asked
    check_output(options.output)
    line = output.ProgressLine()

    def show(event: Event) -> None:
        if isinstance(event, PersonAsked):
            line.give_way(waits(event), errors=True)
        if isinstance(event, Progress):
            total = f"/{event.total:g}" if event.total else ""
            line.update(f"{tool.qualified_name}  {event.progress:g}{total}  {event.message or ''}")

    line.update(f"calling {tool.qualified_name}")
    try:
        result = await satchel.tools.call_tool(
            tool, arguments, caller=Caller(agent=options.agent), timeout=options.timeout, tell=show
        )
    finally:
        line.clear()
    return tool.name, result


def _ask(options: argparse.Namespace, more: Sequence[ServerEntry]) -> Json:
    if more:
        tool = run_with_servers(options, lambda satchel: find_with_progress(satchel, options.tool), more)
    else:
        tool = find_tool(options)
    return ask_for_arguments(tool, _parameters(tool), _read_arguments(options, tool))


def _parameters(tool: Tool) -> Json:
    properties = tool.input_schema.get("properties")
    return properties if is_object(properties) else {}


def _read_arguments(options: argparse.Namespace, tool: Tool) -> Json:
    arguments: Json = {}
    if options.args is not None:
        arguments = _read_json(sys.stdin.read() if options.args == "-" else options.args)
    parameters = _parameters(tool)
    for text in options.values:
        name, value = _read_pair(text, parameters)
        arguments[name] = value
    return arguments


def _read_json(text: str) -> Json:
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise ArgumentError(
            f"--args is not valid JSON: {error}", hint='quote it: --args \'{"key": "value"}\''
        ) from None
    if not is_object(value):
        raise ArgumentError("--args must be a JSON object", hint='--args \'{"key": "value"}\'')
    return value


_IN_JSON = {"array": '["…", "…"]', "object": '{"…": "…"}'}  # what is not written as a plain word


def _read_pair(text: str, parameters: Json) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator or not name.rstrip(":"):
        hint = (
            f"write {text}=VALUE"
            if text in parameters
            else "arguments are key=value, key:=JSON or --args JSON"
        )
        raise ArgumentError(f"'{text}' is not key=value", hint=hint)
    if name.endswith(":") and name not in parameters:
        try:
            return name[:-1], json.loads(value)
        except ValueError as error:
            raise ArgumentError(f"'{name[:-1]}' is not valid JSON: {error}", argument=name[:-1]) from None
    found = read_value(value, parameters.get(name))
    kinds = _kinds(parameters.get(name))
    if isinstance(found, str) and kinds and kinds <= _IN_JSON.keys() | {"null"}:
        from satchel.verbs.reading import describe_parameter  # loads jsonschema

        kind = describe_parameter(parameters.get(name))
        example = shlex.quote(_IN_JSON[min(kinds - {"null"} or {"object"})])
        raise ArgumentError(
            f"argument '{name}' must be {kind}, not '{value}'", argument=name, hint=f"write {name}:={example}"
        )
    return name, found


def read_value(text: str, schema: object) -> Any:
    """A value as its parameter's type has it. What does not fit stays text; the check then says why."""
    kinds = _kinds(schema)
    if "string" in kinds and kinds <= {"string", "null"}:
        return text
    try:
        value: object = json.loads(text)
    except ValueError:
        lowered = text.strip().lower()
        if "boolean" in kinds and lowered in ("yes", "no", "on", "off", "true", "false"):
            return lowered in ("yes", "on", "true")
        return text
    if "string" in kinds and not isinstance(value, _python_types(kinds - {"string"})):
        return text
    return value


def _kinds(schema: object) -> set[str]:
    """The type words of a schema, alternatives included."""
    if not is_object(schema):
        return set()
    kind = schema.get("type")
    found = {str(word) for word in (kind if is_list(kind) else [kind] if kind else [])}
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        for option in options if is_list(options) else ():
            found |= _kinds(option)
    values = schema.get("enum")
    if not found and is_list(values):
        found = {"string" if isinstance(value, str) else "number" for value in values}
    return found


def _python_types(kinds: set[str]) -> tuple[type, ...]:
    table: dict[str, tuple[type, ...]] = {
        "integer": (int,),
        "number": (int, float),
        "boolean": (bool,),
        "array": (list,),
        "object": (dict,),
        "null": (type(None),),
    }
    return tuple(kind for word in kinds for kind in table.get(word, ()))


def ask_for_arguments(tool: Tool, parameters: Json, given: Json) -> Json:
    """Ask for each parameter that was not given; an empty answer leaves out an optional one."""
    from satchel.verbs.reading import argument_problem, describe_parameter  # loads jsonschema

    required = tool.input_schema.get("required")
    required = required if is_list(required) else []
    arguments = dict(given)
    output.note(f"{tool.qualified_name}: {output.first_line(tool.description)}")
    for name, schema in parameters.items():
        if name in arguments:
            continue
        details: Json = schema if is_object(schema) else {}
        default = f", default {json.dumps(details['default'])}" if "default" in details else ""
        need = "required" if name in required else "optional"
        text = details.get("description")
        if text:
            output.note(f"  {output.first_line(str(text), 300)}")
        while True:
            answer = output.ask(f"{name} ({describe_parameter(schema)}, {need}{default}): ")
            if not answer and name in required and "string" not in _kinds(schema):
                output.note(f"  {name} is required")
                continue
            if not answer and name not in required:
                break
            value = read_value(answer, schema)
            problem = argument_problem(tool, name, value)
            if problem is None:
                arguments[name] = value
                break
            output.note(f"  {problem}")
    return arguments

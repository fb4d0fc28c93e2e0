"""list, show, refresh, resources, prompts."""

import argparse
import json
from collections.abc import Iterable
from inspect import cleandoc
from typing import Any

from satchel.cli import output
from satchel.cli.running import (
    catalog_with_new_servers,
    find_tool,
    note_no_servers,
    paths_of,
    refresh_with_progress,
    run_with_servers,
)
from satchel.context.lists import tools_as_text
from satchel.errors import ArgumentError
from satchel.model import Change, Json, Server, Tool, is_list, is_object
from satchel.names import count, in_shell
from satchel.support.headings import without_headings
from satchel.verbs.offline import search_catalog

_STATES = {
    "listed": "green",
    "running": "green",
    "needs setup": "yellow",
    "needs approval": "yellow",
    "needs authorization": "yellow",
    "failed": "red",
    "disabled": "dim",
    "not listed": "dim",
}


def list_command(options: argparse.Namespace) -> int:
    catalog = catalog_with_new_servers(options, *filter(None, [options.server]))
    snapshot = catalog.snapshot
    if options.server:
        server = snapshot.server(options.server)
        if options.json:
            output.show_json(server_as_json(server, tools=True, detailed=options.detailed))
        else:
            show_server(server, detailed=options.detailed)
        return 0
    if options.json:
        servers = [
            server_as_json(s, tools=options.tools or options.detailed, detailed=options.detailed)
            for s in snapshot.servers
        ]
        output.show_json({"servers": servers, "total_tools": snapshot.tool_count})
        return 0
    if not snapshot.servers:
        note_no_servers()
        return 0
    if options.tools or options.detailed:
        for server in snapshot.servers:
            show_server(server, detailed=options.detailed)
            output.show()
    else:
        _show_servers(snapshot.servers)
        for server in snapshot.servers:
            _note_troubles(server)
    output.note(f"{count(len(snapshot.servers), 'server')}, {count(snapshot.tool_count, 'tool')}")
    if any(server.error for server in snapshot.servers):
        output.note("hint: satchel doctor says what to do about each server that can't be used")
    return 0


def search_command(options: argparse.Namespace) -> int:
    if options.kinds:
        from satchel.cli.everything import search_everything  # it opens Satchel; a search of tools does not

        return search_everything(options)
    catalog_with_new_servers(options, *filter(None, [options.server]))
    answer = search_catalog(
        paths_of(options),
        " ".join(options.query),
        server=options.server,
        detail=options.detail,
        limit=options.limit,
        offset=options.offset,
    )
    if options.json:
        output.show_json(answer)
        return 0
    text = tools_as_text(answer)
    if text:
        output.show(text)
    else:
        output.note(f"{answer['match_count']} fit, and --offset leaves them all out")
    return 0


def show_command(options: argparse.Namespace) -> int:
    tool = find_tool(options)
    if options.json:
        output.show_json(_tool_as_json(tool, detailed=True))
        return 0
    output.show(output.styled(tool.qualified_name, "bold"))
    if tool.description:
        output.show(output.clean(cleandoc(tool.description)))
    hints = _annotation_words(tool)
    if hints:
        output.show(f"\n{', '.join(hints)}")
    output.show("\nparameters:")
    _show_parameters(tool.input_schema, "  ")
    if tool.output_schema is not None:
        output.show("\nreturns:")
        _show_parameters(tool.output_schema, "  ")
    else:
        output.show("\nreturns: text or content; the server declares no output schema")
    output.show("\nspellings:")
    output.show_table(
        [
            ["wire", tool.wire_name],
            ["python", tool.spelling.python],
            ["typescript", tool.spelling.typescript],
            ["sha256", tool.digest],
        ],
        indent="  ",
    )
    return 0


def refresh_command(options: argparse.Namespace) -> int:
    if options.accept:
        from satchel.cli.control.changes import changes_command  # most refreshes accept nothing

        return changes_command(options)

    async def refresh(satchel: Any) -> list[Server]:
        return await refresh_with_progress(satchel, options.server)

    servers = run_with_servers(options, refresh)
    if options.json:
        output.show_json(
            {"servers": [server_as_json(server, tools=False, detailed=False) for server in servers]}
        )
    else:
        _show_servers(servers)
        for server in servers:
            _note_troubles(server)
    return 4 if any(server.error for server in servers) else 0


def resources_command(options: argparse.Namespace) -> int:
    if options.read:
        if not options.server:
            raise ArgumentError("--read needs the server", hint="satchel resources SERVER --read URI")
        answer = run_with_servers(
            options, lambda satchel: satchel.resources.read(options.server, options.read)
        )
        from satchel.cli.results import save_or_show_contents  # loads anyio, as opening Satchel did

        if options.json and options.output is None:
            output.show_json(answer)
        elif options.json:
            save_or_show_contents([{"text": json.dumps(answer)}], options.output, options.server)
        else:
            contents = answer.get("contents")
            save_or_show_contents(contents if is_list(contents) else [], options.output, options.server)
        return 0
    snapshot = catalog_with_new_servers(options, *filter(None, [options.server])).snapshot
    servers = [snapshot.server(options.server)] if options.server else snapshot.servers
    resources = [resource for server in servers for resource in server.resources]
    if options.json:
        output.show_json({"resources": [_without_none(vars(resource)) for resource in resources]})
    else:
        output.show_table(
            [r.server, r.uri, r.mime_type or "", output.first_line(r.description or r.name)]
            for r in resources
        )
        for server in servers:
            _note_error(server)
        output.note(count(len(resources), "resource"))
    return 0


def prompts_command(options: argparse.Namespace) -> int:
    if options.get:
        if not options.server:
            raise ArgumentError("--get needs the server", hint="satchel prompts SERVER --get NAME key=value")
        values = dict(_pair(text) for text in options.values)
        answer = run_with_servers(
            options, lambda satchel: satchel.resources.prompt(options.server, options.get, values)
        )
        if options.json:
            output.show_json(answer)
        else:
            from satchel.cli.results import text_of  # loads anyio, as opening Satchel did

            messages = answer.get("messages")
            for message in filter(is_object, messages if is_list(messages) else []):
                content = message.get("content")
                for block in content if is_list(content) else [content]:
                    text = text_of(block) if is_object(block) else str(block)
                    output.show_result(f"{message.get('role')}: {text}")
        return 0
    snapshot = catalog_with_new_servers(options, *filter(None, [options.server])).snapshot
    servers = [snapshot.server(options.server)] if options.server else snapshot.servers
    prompts = [prompt for server in servers for prompt in server.prompts]
    if options.json:
        rows = [{**_without_none(vars(p)), "arguments": [vars(a) for a in p.arguments]} for p in prompts]
        output.show_json({"prompts": rows})
    else:
        output.show_table(
            [
                p.server,
                p.name,
                " ".join(a.name if a.required else f"[{a.name}]" for a in p.arguments),
                output.first_line(p.description),
            ]
            for p in prompts
        )
        for server in servers:
            _note_error(server)
        output.note(count(len(prompts), "prompt"))
    return 0


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator:
        raise ArgumentError(f"'{text}' is not key=value")
    return key, value


def _show_servers(servers: Iterable[Server]) -> None:
    output.show_table(
        map(_server_row, servers),
        headings=("server", "tools", "state", "transport", "about"),
        optional=("transport", "tools"),
        styles={"state": _STATES},
    )


def _server_row(server: Server) -> list[str]:
    tools = count(server.tool_count, "tool") if server.tool_count or server.state == "listed" else "-"
    text = _about(server) or ", ".join(tool.name for tool in server.tools[:6])
    return [server.name, tools, server.state, server.shown_transport, output.first_line(text)]


def _about(server: Server) -> str:
    return server.description or without_headings(server.instructions or "")


def _note_error(server: Server) -> None:
    if server.error:
        output.note(f"{server.name}: {server.error.removeprefix(server.name + ': ')}")


def _note_troubles(server: Server) -> None:
    _note_error(server)
    for change in server.changes:
        output.note(
            f"{server.name}: {_change_text(change, server)}; satchel changes {in_shell(server.name)} shows it"
        )
    if server.problems:
        first = server.problems[0] + (
            f" (and {len(server.problems) - 1} more)" if len(server.problems) > 1 else ""
        )
        output.note(f"{server.name}: {first}")


def _change_text(change: Change, server: Server) -> str:
    if change.is_new:
        text = f"'{change.tool}' is new since {change.at[:10]}"
    else:
        text = (
            f"the definition of '{change.tool}' has changed ({', '.join(change.fields)}) on {change.at[:10]}"
        )
    return f"{text}, and can't be called until a person accepts it" if change.tool in server.held else text


def show_server(server: Server, *, detailed: bool) -> None:
    state = output.styled(server.state, _STATES[server.state])
    tools = f", {count(server.tool_count, 'tool')}" if server.tool_count else ""
    output.show(f"{output.styled(server.name, 'bold')}  {state}, {server.shown_transport}{tools}")
    about = " ".join(
        part for part in (server.implementation, server.version, server.protocol_version) if part
    )
    if about:
        output.show(f"  {output.clean(about)}")
    if server.description or (detailed and server.instructions):
        output.show(f"  {output.clean(server.description or (server.instructions or '').strip())}")
    if not detailed:
        output.show_table(
            [[tool.name, output.first_line(tool.description)] for tool in server.tools], indent="  "
        )
    for tool in server.tools if detailed else ():
        output.show(f"\n  {output.styled(tool.name, 'bold')}  {output.first_line(tool.description)}")
        hints = _annotation_words(tool)
        if hints:
            output.show(f"    {', '.join(hints)}")
        _show_parameters(tool.input_schema, "    ")
    _note_troubles(server)


def _show_parameters(schema: object, indent: str) -> None:
    from satchel.cli.parameters import show_parameters  # loads jsonschema

    show_parameters(schema, indent)


def _annotation_words(tool: Tool) -> list[str]:
    words = {
        "readOnlyHint": ("only reads", "changes something"),
        "destructiveHint": ("may destroy", "does not destroy"),
        "idempotentHint": ("safe to repeat", "not safe to repeat"),
        "openWorldHint": ("reaches the outside world", "stays local"),
    }
    hints = tool.annotations
    return [words[key][0 if hints[key] else 1] for key in words if isinstance(hints.get(key), bool)]


def server_as_json(server: Server, *, tools: bool, detailed: bool) -> Json:
    value: Json = {
        "name": server.name,
        "description": server.description or output.first_line(_about(server), 200),
        "transport": server.shown_transport,
        "state": server.state,
        "tool_count": server.tool_count,
        "resource_count": len(server.resources),
        "prompt_count": len(server.prompts),
        "version": server.version,
        "protocol_version": server.protocol_version,
        "listed_at": server.listed_at,
        "error": server.error,
        "problems": list(server.problems),
        "changes": [
            {**vars(change), "fields": list(change.fields), "held": change.tool in server.held}
            for change in server.changes
        ],
    }
    if tools:
        value["tools"] = [_tool_as_json(tool, detailed=detailed) for tool in server.tools]
    return value


def _tool_as_json(tool: Tool, *, detailed: bool) -> Json:
    value: Json = {
        "name": tool.name,
        "server": tool.server,
        "wire_name": tool.wire_name,
        "title": tool.title,
        "description": tool.description,
        "annotations": dict(tool.annotations),
        "digest": tool.digest,
    }
    if detailed:
        value |= {
            "python": tool.spelling.python,
            "typescript": tool.spelling.typescript,
            "input_schema": tool.input_schema,
            "output_schema": tool.output_schema,
        }
    return value


def _without_none(values: dict[str, Any]) -> Json:
    return {key: value for key, value in values.items() if value is not None}

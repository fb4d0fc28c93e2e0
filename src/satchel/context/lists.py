"""Lists as text, in as few tokens as they can be read in."""

import json
from collections.abc import Callable

from satchel.codegen.text import one_line, summary
from satchel.model import Json
from satchel.names import count

_LINE = 100  # characters about a tool


def tools_as_text(
    answer: Json, *, with_code: bool = True, wrapper_of: Callable[[Json], str] | None = None
) -> str:
    """What `search_tools` answers. A line a tool: the model reads on where it wants more.

    Every detail that was asked for is here for a model: with code as the wrapper by `wrapper_of`, without as
    schemas.
    """
    tools = answer["tools"]
    lines = [one_line(row["note"]) for row in answer.get("unusable", ())]
    for tool in tools:
        line = one_line(f"{tool['server']}.{tool['short_name']}")
        whole = not with_code and "parameters" in tool
        wrapper = wrapper_of(tool) if wrapper_of is not None and "parameters" in tool else None
        if wrapper is not None:  # which says what it does
            line += f": {tool['wrapper_path']}"
        elif text := tool.get("description"):
            shown = text if whole else summary(text, _LINE if text.isascii() else _LINE // 2)
            line += f": {one_line(shown)}"
        mark = tool.get("server_state", "")
        line = f"{line} ({mark})" if mark else line
        if tool.get("nearest") and answer["match_count"]:  # otherwise the note says so of all
            line += " (nearest)"
        lines.append(line if tool["allowed"] else f"{line} (not allowed)")
        if wrapper is not None:
            lines.append(f"{wrapper}\n")
        elif whole:
            lines += [f"  {key}: {_compact(tool[key])}" for key in ("parameters", "output") if tool.get(key)]
        else:
            lines += [f"  {tool[key]}" for key in ("python", "typescript", "wrapper_path") if key in tool]
    if answer["more"]:
        lines.append(f"{answer['more']} more")
    if note := answer.get("note"):
        lines.append(one_line(note))
    for key, label in (("closest", "names like that"), ("servers", "servers that might do")):
        if answer.get(key):
            lines.append(one_line(f"{label}: {', '.join(answer[key])}"))
    return "\n".join(lines)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def skills_as_text(answer: Json) -> str:
    """The answer of `search_skills`."""
    lines = [
        one_line(f"{row['name']}: {summary(row['description'], 2 * _LINE)} ({row['location']})")
        for row in answer["skills"]
    ]
    more = answer["match_count"] - len(answer["skills"])
    return "\n".join([*lines, *([f"{more} more"] if more else [])]) or "no skill fits"


def skill_as_text(answer: Json) -> str:
    """The answer of `view_skill`."""
    lines = [answer["body"]]
    if answer["files"]:
        lines.append(f"[files in {answer['location']}: {', '.join(answer['files'])}]")
    if answer["allowed_tools"]:
        lines.append(f"[tools it allows: {', '.join(answer['allowed_tools'])}]")
    for key, name, title in (("tools", "name", "its tools"), ("resources", "uri", "its resources")):
        if answer.get(key):
            rows = [f"{row[name]}: {summary(row['description'], 2 * _LINE)}" for row in answer[key]]
            lines.append("\n".join([f"[{title}]", *map(one_line, rows)]))
    if answer.get("not_available"):
        lines.append(one_line(f"[not available: {'; '.join(answer['not_available'])}]"))
    return "\n".join(lines)


def servers_as_text(answer: Json) -> str:
    """The answer of `list_servers`."""
    lines = [_server_line(row) for row in answer.get("servers", ())]
    for row in answer.get("groups", ()):
        size = f"{count(row['server_count'], 'server')}, {count(row['tool_count'], 'tool')}"
        line = f"{row['group']} ({size}): {', '.join(row['servers'])}"
        lines.append(one_line(line))
    unusable = answer.get("unusable", ())
    lines += [one_line(f"can't be used: {row['name']} {row['reason']}") for row in unusable]
    if more := answer.get("unusable_count", 0) - len(unusable):
        lines.append(f"can't be used: {more} more")
    total = f"{count(answer['total_servers'], 'server')}, {count(answer['total_tools'], 'tool')}"
    return "\n".join([*lines, total])


def _server_line(row: Json) -> str:
    about = f": {row['description']}" if row["description"] else ""
    tools = count(row["tool_count"], "tool")
    reason = f"; it {row['reason']}" if row.get("reason") else ""
    return one_line(f"{row['name']} ({row['transport']}, {row['state']}, {tools}){about}{reason}")

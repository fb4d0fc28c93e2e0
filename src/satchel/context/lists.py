"""Lists as text, in as few tokens as they can be read in."""

from satchel.codegen.text import one_line, summary
from satchel.model import Json

_LINE = 100  # characters about a tool


def tools_as_text(answer: Json) -> str:
    """What `search_tools` answers. A line a tool: the model reads on where it wants more."""
    tools = answer["tools"]
    lines: list[str] = []
    for tool in tools:
        line = one_line(f"{tool['server']}.{tool['short_name']}")
        if text := tool.get("description"):
            line += f": {summary(text, _LINE if text.isascii() else _LINE // 2)}"
        lines.append(line if tool["allowed"] else f"{line} (not allowed)")
        lines += [f"  {tool[key]}" for key in ("python", "typescript", "wrapper_path") if key in tool]
    if answer["more"]:
        lines.append(f"{answer['more']} more")
    if note := answer.get("note"):
        lines.append(one_line(note))
    for key, label in (("closest", "names like that"), ("servers", "servers that might do")):
        if answer.get(key):
            lines.append(one_line(f"{label}: {', '.join(answer[key])}"))
    return "\n".join(lines)


def servers_as_text(answer: Json) -> str:
    """What `list_servers` answers."""
    lines = [_server_line(row) for row in answer.get("servers", ())]
    for row in answer.get("groups", ()):
        servers, tools = row["server_count"], row["tool_count"]
        line = f"{row['group']} ({servers} servers, {tools} tools): {', '.join(row['servers'])}"
        lines.append(one_line(line))
    return "\n".join([*lines, f"{answer['total_servers']} servers, {answer['total_tools']} tools"])


def _server_line(row: Json) -> str:
    about = f": {row['description']}" if row["description"] else ""
    return one_line(f"{row['name']} ({row['transport']}, {row['state']}, {row['tool_count']} tools){about}")

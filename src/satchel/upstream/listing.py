"""What a server lists, read leniently: an odd item is mended or left out and reported, the others stay."""

from collections.abc import Iterable

from satchel.model import Json, is_object

MAX_PAGES = 1_000
MAX_ITEMS = 50_000
MAX_BYTES = 128 * 1024 * 1024
_TOOL_TEXTS = ("title", "description")
NESTED = "it is itself a server that runs programs over tools"
# The tools by which those are known that do so: FastMCP's CodeMode, pctx, mcpproxy, Docker's gateway,
# Cloudflare's, and similar ones.
_CODE_MODES: tuple[frozenset[str], ...] = tuple(
    frozenset(names)
    for names in (
        ("search_tools", "execute_code"),
        ("search", "get_schema", "execute"),
        ("list_functions", "execute"),
        ("list_functions", "execute_typescript"),
        ("retrieve_tools", "code_execution"),
        ("mcp-find", "mcp-exec"),
        ("code-mode",),
        ("codemode",),
    )
)
PROBLEM = "satchel/problem"
"""The key of a tool's `_meta` under which the host of custom tools says what is wrong with it."""


def read_tools(items: Iterable[object]) -> tuple[tuple[Json, ...], tuple[str, ...]]:
    """The usable tools, as the server sent them but for what had to be mended, and what was odd."""
    tools: dict[str, Json] = {}
    problems: list[str] = []
    for position, item in enumerate(items, start=1):
        if not is_object(item) or not isinstance(item.get("name"), str):
            problems.append(f"tool {position} of the list has no name and was left out")
            continue
        tool = dict(item)
        name: str = tool["name"]
        if name in tools:
            problems.append(f"tool '{name}' is listed twice; the first one counts")
            continue
        for oddity in _mend_tool(tool):
            problems.append(f"tool '{name}': {oddity}")
        tools[name] = tool
    return tuple(tools.values()), tuple(problems)


def nesting(implementation: str, tools: Iterable[Json]) -> str | None:
    """What is to be said of a server that runs programs over tools of its own: a program could only start
    another there, which sees none of the tools here."""
    names = {tool["name"] for tool in tools}
    found = next((" and ".join(sorted(known)) for known in _CODE_MODES if known <= names), None)
    if implementation == "satchel":
        found = "Satchel"
    if found is None:
        return None
    return f"{NESTED} ({found}): add the servers behind it here instead of it"


def _mend_tool(tool: Json) -> Iterable[str]:
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict):
        yield f"inputSchema is {_kind(schema)}; any arguments are passed on"
        tool["inputSchema"] = {"type": "object"}
    if "outputSchema" in tool and not isinstance(tool["outputSchema"], dict | bool):
        yield f"outputSchema is {_kind(tool.pop('outputSchema'))} and was left out"
    if "annotations" in tool and not isinstance(tool["annotations"], dict):
        annotations = tool.pop("annotations")
        if annotations is not None:
            yield f"annotations are {_kind(annotations)} and were left out"
    meta = tool.get("_meta")
    if is_object(meta) and isinstance(meta.get(PROBLEM), str):
        yield f"it says: {' '.join(meta[PROBLEM].split())[:500]}"
    yield from _mend_texts(tool)


def read_items(items: Iterable[object], key: str, what: str) -> tuple[tuple[Json, ...], tuple[str, ...]]:
    """The same for resources, templates and prompts; `key` is what identifies one."""
    kept: list[Json] = []
    problems: list[str] = []
    for position, item in enumerate(items, start=1):
        if not is_object(item) or not isinstance(item.get(key), str):
            problems.append(f"{what} {position} of the list has no {key} and was left out")
            continue
        mended = dict(item)
        problems.extend(f"{what} '{mended[key]}': {oddity}" for oddity in _mend_texts(mended))
        kept.append(mended)
    return tuple(kept), tuple(problems)


def _mend_texts(item: Json) -> Iterable[str]:
    for key in _TOOL_TEXTS:
        value = item.get(key)
        if value is None:
            item.pop(key, None)
        elif not isinstance(value, str):
            yield f"{key} is {_kind(value)}, not text"
            item[key] = str(value)


def _kind(value: object) -> str:
    if value is None:
        return "missing"
    words = {"dict": "an object", "list": "a list", "str": "a text", "bool": "a boolean"}
    return words.get(type(value).__name__, "a number")

"""Advice for a model that calls a tool it does not have: the tool it may have meant, and how to call it."""

from collections.abc import Sequence

from satchel.catalog.states import sentence, shows_no_tools
from satchel.codegen.places import folder_of
from satchel.errors import NotFoundError
from satchel.languages import LANGUAGES
from satchel.model import Tool
from satchel.names import closest
from satchel.toolset.offer import Offer, Shown
from satchel.toolset.own_tools import own_tools

_A_PROGRAM = "execute_code runs programs, in python, typescript and bash"
_FILES = f"{_A_PROGRAM}, which read and write files in /workspace themselves"
_ELSEWHERE = {  # what models call that have worked with other programs
    **dict.fromkeys(
        ("execute_python", "execute_bash", "code_execution", "python", "bash", "shell"), _A_PROGRAM
    ),
    **dict.fromkeys(("write_file", "list_directory", "create_directory"), _FILES),
    **dict.fromkeys(("move_file", "get_file_info"), _FILES),
    "memory": f"{_A_PROGRAM}, which read and write the memory as files in /mnt/memory",
}


def what_there_is(offer: Offer, name: str, error: NotFoundError, mode: Shown) -> str:
    """For a name that no tool has: similar names, and what can be called."""
    shown = list(own_tools(offer, mode))
    here = f"the tools here are {', '.join(shown)}"
    if mode == "direct":
        here = "the tools here are those that are listed to you"
    servers = offer.satchel.servers
    server = servers.now().begun_with(name)
    if server is not None and shows_no_tools(server) and server.name not in servers.being_listed:
        return f"{sentence(server)}; {here}"
    if mode == "code" and name in _ELSEWHERE:
        return f"{_ELSEWHERE[name]}; {here}"
    if near := _near(offer, name, shown, error, mode):
        meant = f"did you mean {' or '.join(near)}?"
        return meant if mode == "direct" else f"{meant} {here}"
    return here


def how_to_call(offer: Offer, tool: Tool, name: str, mode: Shown) -> str:
    """For a model that takes a tool of a server for one of its own."""
    if mode == "search":
        return f"{name} is not a tool of its own here: call_tool with name '{tool.wire_name}' calls it"
    tools = offer.satchel.tools
    return (
        f"{name} is called from a program, with execute_code:\n"
        f"{_import_line(offer, tool)}\n"
        f"its signature, from {tools.describe(tool, agent=offer.agent)['wrapper_path']}:\n"
        f"{tools.wrapper_of(tool)}"
    )


def _near(offer: Offer, name: str, shown: Sequence[str], error: NotFoundError, mode: Shown) -> list[str]:
    """Similar names: Satchel's own tools first, unless servers have one of that very name."""
    ours, theirs = closest(name, shown), _shown_names(offer, error.closest, mode)
    is_theirs = any(tool.name == name for tool in offer.satchel.catalog.tools)
    return [*theirs, *ours] if is_theirs else [*ours, *theirs]


def _shown_names(offer: Offer, names: Sequence[str], mode: Shown) -> Sequence[str]:
    """Names of tools as a model has them: where it is shown all, those of the wire."""
    if mode != "direct":
        return names
    known = offer.satchel.catalog.tools
    return [tool.wire_name for tool in known if tool.qualified_name in names or tool.wire_name in names]


def _import_line(offer: Offer, tool: Tool) -> str:
    language, server = offer.settings.code_execution.language, offer.satchel.catalog.server(tool.server)
    conventions = LANGUAGES[language]
    return conventions.imported(folder_of(server, language), conventions.spelled(tool.spelling))

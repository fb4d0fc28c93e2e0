"""Where things lie in a tree, and the line that says what a server is."""

from typing import Literal

from satchel.codegen.text import WIDTH, one_line, readable, summary, wrap
from satchel.model import Server

Language = Literal["python", "typescript"]
LANGUAGES: tuple[Language, ...] = ("python", "typescript")
_LONGEST_INSTRUCTIONS = 4_000  # characters; a model reads them whole
_LISTED = 8  # tools that stand for a server that does not describe itself


def top_of(server: Server) -> str:
    """Custom tools lie apart from those of servers."""
    return "tools" if server.custom else "servers"


def folder_of(server: Server, language: Language) -> str:
    """The server's folder within the tree."""
    name = server.spelling.python if language == "python" else server.spelling.typescript
    return f"{top_of(server)}/{name}"


def file_names(server: Server, language: Language) -> list[str]:
    """The files of the server's folder."""
    if language == "python":
        ending, fixed = ".py", ["__init__", "sync", "example", "__version__"]
        stems = [tool.spelling.python for tool in server.tools]
    else:
        ending, fixed = ".ts", ["index", "example", "version"]
        stems = [tool.spelling.typescript for tool in server.tools]
    fixed += ["resources"] * bool(server.resources) + ["prompts"] * bool(server.prompts)
    return ["index.json", *(stem + ending for stem in [*fixed, *stems])]


def about(server: Server) -> str:
    """A line about a server: what its owner says, else what it says, else what it can do."""
    if server.description:
        return one_line(server.description)[:300]
    if server.instructions and server.instructions.strip():
        return summary(server.instructions, 160)
    names = [tool.name for tool in server.tools[:_LISTED]]
    more = ", …" if server.tool_count > _LISTED else ""
    return one_line(", ".join(names) + more)[:300]


def instructions_of(server: Server) -> list[str]:
    """What a server says about its use, as lines below what its folder is; none where it says nothing."""
    text = readable((server.instructions or "")[: _LONGEST_INSTRUCTIONS + 1])
    if len(text) > _LONGEST_INSTRUCTIONS:
        text = text[:_LONGEST_INSTRUCTIONS].rsplit(" ", 1)[0] + "…"
    return ["", "The server says:", "", *wrap(text, WIDTH - 3)] if text else []


def plain_name(server: Server) -> str:
    """The server's name, fit for a comment."""
    return one_line(server.name)[:100] or "(no name)"


def version_rows(server: Server, digest: str) -> dict[str, str]:
    """What a server's files were generated from."""
    return {
        "SERVER": server.name,
        "NAME": server.implementation,
        "VERSION": server.version,
        "PROTOCOL_VERSION": server.protocol_version,
        "CATALOG_HASH": digest,
    }

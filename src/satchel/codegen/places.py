"""The paths in a tree, and the line that describes a server."""

from collections.abc import Mapping

from satchel.codegen.manual import limits_of
from satchel.codegen.text import WIDTH, one_line, readable, summary, wrap
from satchel.languages import LANGUAGES, Language
from satchel.model import Server, Tool
from satchel.names import Spelling
from satchel.support.headings import without_headings

# The stems of files that every server's folder has. Here and not with the writers: a tree that is up to date
# is checked without importing them.
_FIXED: Mapping[Language, tuple[str, ...]] = {
    "python": ("__init__", "sync", "example", "__version__"),
    "typescript": ("index", "example", "version"),
}
_LONGEST_INSTRUCTIONS = 4_000  # characters; a model reads them whole
_LISTED = 8  # tools that stand for a server that does not describe itself


def top_of(server: Server) -> str:
    """Custom tools lie apart from those of servers."""
    return "tools" if server.custom else "servers"


def folder_of(server: Server, language: Language) -> str:
    """The server's folder within the tree."""
    return f"{top_of(server)}/{LANGUAGES[language].spelled(server.spelling)}"


def alias_folders(server: Server, language: Language) -> list[str]:
    """The folders that lead to it, by the other names that the server has."""
    spelled = LANGUAGES[language].spelled
    return [f"{top_of(server)}/{spelled(spelling)}" for spelling in server.aliases.values()]


def file_of(tool: Spelling, language: Language) -> str:
    """The name of a tool's file, in its server's folder."""
    return LANGUAGES[language].spelled(tool) + LANGUAGES[language].ending


def wrapper_file(server: Server, tool: Tool, language: Language) -> str:
    """The path of a tool's file in the tree."""
    return f"{folder_of(server, language)}/{file_of(tool.spelling, language)}"


def manual_file_of(tool: Spelling, language: Language) -> str:
    """The name of the file with the texts that are too long for a tool's own, beside it."""
    return f"{LANGUAGES[language].spelled(tool)}.md"


def file_names(server: Server, language: Language) -> list[str]:
    """The files of the server's folder."""
    stems = [*_FIXED[language]]
    stems += ["resources"] * bool(server.resources) + ["prompts"] * bool(server.prompts)
    stems += [LANGUAGES[language].spelled(tool.spelling) for tool in server.tools]
    manuals = [manual_file_of(tool.spelling, language) for tool in server.tools if limits_of(tool)]
    return ["index.json", *(stem + LANGUAGES[language].ending for stem in stems), *manuals]


def about(server: Server) -> str:
    """A line about a server: what its owner says, else what it says, else what it can do."""
    if server.description:
        return one_line(server.description)[:300]
    if said := without_headings(server.instructions or ""):
        return summary(said, 160)
    names = [tool.name for tool in server.tools[:_LISTED]]
    more = ", …" if server.tool_count > _LISTED else ""
    return one_line(", ".join(names) + more)[:300]


def instructions_of(server: Server) -> list[str]:
    """A server's own instructions, as lines below the description of its folder; empty if there are none."""
    text = readable((server.instructions or "")[: _LONGEST_INSTRUCTIONS + 1])
    if len(text) > _LONGEST_INSTRUCTIONS:
        text = text[:_LONGEST_INSTRUCTIONS].rsplit(" ", 1)[0] + "…"
    return ["", "The server says:", "", *wrap(text, WIDTH - 3)] if text else []


def plain_name(server: Server) -> str:
    """The server's name, fit for a comment."""
    return one_line(server.name)[:100] or "(no name)"


def version_rows(server: Server, digest: str) -> dict[str, str]:
    """The versions that a server's files were generated from."""
    return {
        "SERVER": server.name,
        "NAME": server.implementation,
        "VERSION": server.version,
        "PROTOCOL_VERSION": server.protocol_version,
        "CATALOG_HASH": digest,
    }

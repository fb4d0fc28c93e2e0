"""What a client's own settings say against an entry: that it is off, or that another one wins.

Only what the clients document is known here; the rest a person sees in the client.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from satchel.config.clients.connecting.changes import read_client_file
from satchel.config.clients.connecting.document import Document
from satchel.config.clients.importing import Source
from satchel.config.clients.importing.model import as_list, as_object
from satchel.errors import ConfigError
from satchel.model import Json

_MOST_PROJECTS = 3


def find_obstacles(source: Source, other: Source | None, name: str) -> Iterator[tuple[Path, str]]:
    """Each with the file that says it. `other` is the client's other file, of the person or the project."""
    yield from ((source.file, text) for text in _in_entry(_content(source), source, name))
    for place in filter(None, (source, other)):
        content = _content(place)
        if source.client.name == "Gemini CLI":
            yield from ((place.file, text) for text in _in_gemini(content, name))
        if source.client.name == "Claude Code":
            only = None if place is source else source.project
            yield from (
                (place.file, text) for text in islice(_in_claude(content, name, only), _MOST_PROJECTS)
            )


def _content(source: Source) -> Json:
    """The file's contents. An unreadable file counts as empty: the code that writes to it reports that."""
    try:
        return Document(source, read_client_file(source.file)).content
    except ConfigError:
        return {}


def _in_entry(content: Json, source: Source, name: str) -> Iterator[str]:
    """Keys that people or the client have added, and that stay."""
    here = content
    for key in (*source.keys, name):
        here = as_object(here.get(key))
    if here.get("disabled") is True or here.get("enabled") is False:
        yield f"'{name}' is switched off"


def _in_gemini(content: Json, name: str) -> Iterator[str]:
    rules = as_object(content.get("mcp"))
    allowed, excluded = as_list(rules.get("allowed")), as_list(rules.get("excluded"))
    if allowed and name not in allowed:
        yield f"'mcp.allowed' does not list '{name}', and so it is not used"
    if name in excluded:
        yield f"'mcp.excluded' lists '{name}', and so it is not used"


def _in_claude(content: Json, name: str, only: Path | None) -> Iterator[str]:
    """A directory's own setting wins there; `only` is the directory that matters to a project's file."""
    for path, settings in as_object(content.get("projects")).items():
        if only is not None and path != str(only):
            continue
        if name in as_object(as_object(settings).get("mcpServers")):
            yield f"in {path}, another '{name}' is used instead: that of 'projects.{path}.mcpServers'"
        if name in as_list(as_object(settings).get("disabledMcpServers")):
            yield f"in {path}, '{name}' is off: 'projects.{path}.disabledMcpServers' lists it"

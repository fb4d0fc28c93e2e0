"""Reads the clients' files and has each entry converted. A file or entry at fault doesn't hide the others."""

import json
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from satchel.config.clients.importing.clients import Source, sources
from satchel.config.clients.importing.convert import convert
from satchel.config.clients.importing.model import Found, Unreadable, UnusableError, as_list, as_object
from satchel.config.jsonc import to_json
from satchel.config.positions import line_in_json
from satchel.model import Json, is_object

_SIZE_LIMIT = 20 * 1024 * 1024
_WALK_LIMIT = 5_000_000  # characters to walk over for line numbers, about a second


def find_servers(
    *, project: Path, home: Path, environment: Mapping[str, str]
) -> tuple[list[Found], list[Unreadable]]:
    """The servers in every client's files, in the order in which each client prefers them."""
    documents: dict[Path, tuple[Json, str]] = {}
    places = sources(project.resolve(), home.absolute(), environment)
    results = [result for source in places for result in _results(source, documents)]
    unreadable = dict.fromkeys(result for result in results if isinstance(result, Unreadable))
    return [result for result in results if isinstance(result, Found)], list(unreadable)


def servers_of(source: Source) -> tuple[list[Found], list[Unreadable]]:
    """The servers of one place."""
    results = list(_results(source, {}))
    found = [result for result in results if isinstance(result, Found)]
    return found, [result for result in results if isinstance(result, Unreadable)]


def _results(source: Source, documents: dict[Path, tuple[Json, str]]) -> Iterator[Found | Unreadable]:
    client, file = source.client.name, source.file
    try:
        if file not in documents:
            documents[file] = {}, ""  # so that a broken file is read and reported once
            documents[file] = _load(file)
        document, text = documents[file]
        servers, inputs = _servers(source, document)
    except UnusableError as error:
        yield Unreadable(client=client, origin=file, reason=str(error))
        return
    off = _switched_off(source, document, servers)
    with_lines = len(text) * len(servers) <= _WALK_LIMIT
    for name, raw in servers.items():
        try:
            entry, notes = convert(raw, source, inputs)
        except UnusableError as error:
            yield Unreadable(client=client, origin=file, reason=f"server '{name}': {error}")
            continue
        if name in off:
            entry["enabled"] = False
        line = _line(source, text, name) if with_lines else None
        yield Found(name=name, entry=entry, client=client, origin=file, line=line, notes=notes)


def _load(file: Path) -> tuple[Json, str]:
    """A file's contents, and the text they were parsed from. Empty if there is no such file."""
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnusableError("not a regular file")
        if status.st_size > _SIZE_LIMIT:
            raise UnusableError(f"larger than {_SIZE_LIMIT // 1024**2} MB")
        text = file.read_text(encoding="utf-8-sig")
        if file.suffix == ".toml":
            return tomllib.loads(text), text
        text = to_json(text)
        data: object = json.loads(text) if text.strip() else {}
    except (FileNotFoundError, NotADirectoryError):
        return {}, ""
    except OSError as error:
        raise UnusableError(f"can't be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UnusableError(f"not valid {file.suffix[1:].upper()}: {error}") from error
    if not is_object(data):
        raise UnusableError("not an object at the top level")
    return data, text


def _servers(source: Source, document: Json) -> tuple[Json, dict[str, Json]]:
    """The servers, and what VS Code asks people for, by its id; it is listed beside them."""
    here, beside = document, document
    for depth, key in enumerate(source.keys, start=1):
        if here.get(key) and not is_object(here[key]):
            raise UnusableError(f"'{'.'.join(source.keys[:depth])}' is not an object")
        here, beside = as_object(here.get(key)), here
    inputs = map(as_object, as_list(beside.get("inputs")))
    return here, {str(item["id"]): item for item in inputs if "id" in item}


def _line(source: Source, text: str, name: str) -> int | None:
    if source.file.suffix != ".toml":
        return line_in_json(text, (*source.keys, name))
    table = rf"""^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*(["']?){re.escape(name)}\1[ \t]*[].]"""
    header = re.search(table, text, re.MULTILINE)
    return text.count("\n", 0, header.start()) + 1 if header else None


def _switched_off(source: Source, document: Json, servers: Json) -> set[str]:
    """The servers that are off. Gemini CLI and Claude Code keep this outside the entries."""
    rules, projects = as_object(document.get("mcp")), as_object(document.get("projects"))
    here = [as_object(projects.get(str(path))) for path in (source.project, *source.project.parents)]
    lists = [rules.get("excluded"), *(project.get("disabledMcpServers") for project in here)]
    allowed = {str(name) for name in as_list(rules.get("allowed"))} or set(servers)
    return {str(name) for names in lists for name in as_list(names)} | (set(servers) - allowed)

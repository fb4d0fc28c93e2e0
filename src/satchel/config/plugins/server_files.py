"""The entries of a plugin's servers as they are written: `.mcp.json`, `mcp.json` and the manifest."""

import os
from collections.abc import Iterator, Mapping

from satchel.config.plugins.inside import Document, Inside, texts_in
from satchel.config.plugins.manifest import Manifest
from satchel.model import PluginServer, is_list, is_object
from satchel.support.text import label

FILES = (".mcp.json", "mcp.json")
BUNDLE = "mcpb"
"""The key of an entry that stands for a server's bundle; nothing that a file could say."""
_BUNDLES = (".mcpb", ".dxt")
_MOST_SERVERS = 500
_MOST_PLACES = 20  # of servers in a list: every call looks at each of them for changes
_LONGEST_NAME = 100


def find_servers(inside: Inside, manifest: Manifest) -> tuple[PluginServer, ...]:
    """The manifest's servers before those of the file beside it; the first of a name counts."""
    servers: dict[str, PluginServer] = {}
    for server in _all(inside, manifest):
        if len(servers) == _MOST_SERVERS:
            inside.note(
                f"has more than {_MOST_SERVERS} servers; the others are not read", manifest.document.file
            )
            break
        first = servers.setdefault(server.name, server)
        if first is not server and first.written != server.written:
            where = os.path.relpath(server.file, inside.folder)
            inside.note(f"another entry for the server '{server.name}' is not used", where)
    return tuple(servers.values())


def named_files(values: Mapping[str, object]) -> list[str]:
    """The files of servers that a manifest names."""
    return [os.path.normpath(path) for path in texts_in(values.get("mcpServers"))[:_MOST_PLACES]]


def _all(inside: Inside, manifest: Manifest) -> Iterator[PluginServer]:
    given: object = manifest.values.get("mcpServers")
    if given is not None:
        if is_list(given) and len(given) > _MOST_PLACES:
            text = f"'mcpServers' has more than {_MOST_PLACES} parts; the others are not read"
            inside.note(text, manifest.document.file, manifest.line("mcpServers"))
        for step, one in enumerate(given[:_MOST_PLACES]) if is_list(given) else ((None, given),):
            yield from _given(inside, manifest, one, () if step is None else (step,))
    named = named_files(manifest.values)
    for file in FILES:
        if inside.exists(file):
            if file not in named:
                yield from _in_file(inside, file)
            return


def _given(inside: Inside, manifest: Manifest, one: object, step: tuple[int, ...]) -> Iterator[PluginServer]:
    key = ("mcpServers", *step)
    if is_object(one):
        yield from _entries(inside, one, manifest.document, tuple(map(str, key)))
        return
    file, line = manifest.document.file, manifest.line(*key)
    if not isinstance(one, str):
        inside.note("'mcpServers' must be a path, an object, or a list of them; it is not used", file, line)
    elif one.split("?")[0].lower().endswith(_BUNDLES):
        stem = os.path.basename(one.split("?")[0]).rpartition(".")[0]
        name = label(stem, _LONGEST_NAME) or "bundle"
        yield PluginServer(
            name=name, written={BUNDLE: one}, file=inside.folder / file, key=tuple(map(str, key))
        )
    elif "://" in one:
        inside.note(f"'mcpServers' names the address '{label(one, 80)}'; nothing is fetched", file, line)
    elif (refusal := inside.refusal(one)) is not None:
        inside.note(f"'mcpServers' names '{label(one, 80)}', which {refusal}", file, line)
    else:
        yield from _in_file(inside, os.path.normpath(one))


def _in_file(inside: Inside, file: str) -> Iterator[PluginServer]:
    document = inside.read_json(file)
    if document.problem is not None:
        inside.note(document.problem, file, document.problem_line)
        return
    for name in document.repeated:
        inside.note(f"'{label(name, 60)}' is given twice; the last one counts", file)
    if not is_object(document.data):
        inside.note("must be an object", file, 1)
        return
    yield from _entries(inside, document.data, document, ())


def _entries(
    inside: Inside, data: dict[str, object], document: Document, key: tuple[str, ...]
) -> Iterator[PluginServer]:
    """Of a map in either shape. A bare one can have a server that is called `mcpServers`."""
    inner = data.get("mcpServers")
    if "mcpServers" in data and not _looks_like_entry(inner):
        if not is_object(inner):
            inside.note("'mcpServers' must be an object", document.file, document.line((*key, "mcpServers")))
            return
        data, key = inner, (*key, "mcpServers")
    else:
        data = {name: value for name, value in data.items() if name != "$schema"}
    for name, value in data.items():
        if not name.strip() or label(name, _LONGEST_NAME) != name:
            text = f"a server can't be called '{label(name, 60)}'"
            inside.note(text, document.file, document.line((*key, name)))
        elif not is_object(value):
            text = f"the server '{name}' must be an object"
            inside.note(text, document.file, document.line((*key, name)))
        else:
            yield PluginServer(name=name, written=value, file=inside.folder / document.file, key=(*key, name))


def _looks_like_entry(value: object) -> bool:
    return is_object(value) and any(isinstance(value.get(key), str) for key in ("command", "url"))

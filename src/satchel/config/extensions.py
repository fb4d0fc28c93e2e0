"""extensions_config.json: the servers, and the enabled state of skills and plugins.

People write it and so does Satchel. A write keeps every key it does not know, is atomic, and is serialised
with the writes of other processes; readers need no lock.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from satchel.config.entries import ServerEntry, read_entry
from satchel.errors import ConfigError, NotFoundError
from satchel.model import is_object
from satchel.names import closest
from satchel.support.files import locked, write_atomically

_KNOWN = ("mcpServers", "skills", "plugins", "$schema")


def read_extensions(file: Path) -> tuple[ServerEntry, ...]:
    """The server entries of `file`, in its order; none when it does not exist."""
    return tuple(read_entry(name, data, file) for name, data in servers_in(load_document(file), file).items())


def update_servers(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Let `change` edit the map of servers, under the lock, and write the file if anything changed."""

    def change_document(document: dict[str, Any]) -> None:
        servers = servers_in(document, file)
        before = list(servers)
        change(servers)
        if servers is document:
            return
        if "mcpServers" not in document:  # a bare map beside other keys becomes the usual shape
            for name in before:
                document.pop(name, None)
        if servers or "mcpServers" in document:
            document["mcpServers"] = servers

    update_extensions(file, change_document)


def set_enabled(file: Path, name: str, *, enabled: bool) -> None:
    """Switch one server on or off."""

    def change(servers: dict[str, Any]) -> None:
        if name not in servers:
            raise NotFoundError("server", name, closest=closest(name, servers))
        entry: object = servers[name]
        if not is_object(entry):
            raise read_entry(name, entry, file).problem or ConfigError("not an object", file=file)
        entry.pop("disabled", None)
        entry.pop("enabled", None)
        if not enabled:
            entry["enabled"] = False

    update_servers(file, change)


def update_extensions(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Let `change` edit the whole document, under the lock, and write the file if anything changed."""
    file = file.resolve()  # people keep this file behind links of their own
    try:
        with locked(file.parent):
            before, document = _read_text(file), load_document(file)
            change(document)
            if before is None or document != load_document(file):
                write_atomically(file, _encode(document, _indent_of(before)))
    except OSError as error:
        raise ConfigError(
            f"can't be written: {error.strerror or error}",
            file=file,
            hint=f"nothing was changed; make {file.parent} writable for you, or name another with --config",
        ) from error


def servers_in(document: dict[str, Any], file: Path) -> dict[str, Any]:
    """The map of servers in either shape, `{"mcpServers": {…}}` or the bare map."""
    if "mcpServers" in document:
        servers: object = document["mcpServers"]
        if not is_object(servers):
            raise ConfigError(
                "'mcpServers' must be an object", file=file, line=line_of(file, ("mcpServers",))
            )
        return servers
    rest = {key: value for key, value in document.items() if key not in _KNOWN}
    if any(map(_looks_like_entry, rest.values())):
        return document if len(rest) == len(document) else rest
    for key in rest:
        near = closest(key, _KNOWN, limit=1)
        if near:
            hint = f"did you mean '{near[0]}'?"
            raise ConfigError(
                f"unknown key '{key}'", file=file, line=line_of(file, (key,)), key=key, hint=hint
            )
    return {}


def _looks_like_entry(value: object) -> bool:
    return is_object(value) and bool({"command", "url"} & set(value))


def load_document(file: Path) -> dict[str, Any]:
    text = _read_text(file)
    if text is None or not text.strip():
        return {}
    try:
        document: object = json.loads(text)
    except json.JSONDecodeError as error:
        hint = "correct that line or the one before; JSON has no comments and no comma after the last item"
        raise ConfigError(f"not valid JSON: {error.msg}", file=file, line=error.lineno, hint=hint) from error
    except (ValueError, RecursionError) as error:  # a number or a nesting without end
        raise ConfigError(f"not valid JSON: {str(error)[:200]}", file=file) from error
    if not is_object(document):
        raise ConfigError("must be an object", file=file, line=1)
    return document


def _read_text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"can't be read: {error}", file=file) from error


def line_of(file: Path, key: tuple[str, ...]) -> int | None:
    from satchel.config.positions import line_in_json  # only to tell of a mistake

    return line_in_json(_read_text(file) or "", key)


def _encode(document: dict[str, Any], indent: int | str) -> bytes:
    try:
        return (json.dumps(document, indent=indent, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # half of a surrogate pair: only an escape can carry it
        return (json.dumps(document, indent=indent) + "\n").encode()


def _indent_of(text: str | None) -> int | str:
    match = re.search(r"^\{\s*\n([ \t]+)", text or "")
    return match.group(1) if match else 2

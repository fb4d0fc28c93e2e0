"""One entry of one client as extensions_config.json has it, and notes on what people should know about it."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from satchel.config.clients.importing.clients import Source
from satchel.config.clients.importing.model import UnusableError, as_list, as_object
from satchel.config.shown import without_secrets
from satchel.model import Json, is_object

_TRANSPORTS = {"stdio": "stdio", "http": "http", "streamablehttp": "http", "sse": "sse"}
_STARTED = {"command": str, "args": list, "env": dict, "cwd": str}
_REMOTE = {"url": str, "headers": dict}
_KINDS = {str: "a text", list: "a list", dict: "an object"}
_TOOL_LISTS = ("includeTools", "excludeTools", "enabled_tools", "disabled_tools", "disabledTools")
_REASONS = {
    "envFile": "put its variables into 'env' or the environment",
    "headersHelper": "write what it prints into 'headers'",
    "timeout": "no number of seconds can be told from it",
    "oauth.clientSecret": "a secret has no place there",
    **dict.fromkeys(("sandbox", "sandboxEnabled"), "the server runs without it"),
    **dict.fromkeys((*_REMOTE, "oauth"), "not for a server that is started"),
    **dict.fromkeys(_STARTED, "not for a server that has an address"),
    **dict.fromkeys(_TOOL_LISTS, "every tool of the server is shown"),
}
_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def convert(raw: object, source: Source, inputs: Mapping[str, Json]) -> tuple[Json, tuple[str, ...]]:
    """The entry and the notes. `inputs` is what VS Code would ask for, by id."""
    if not is_object(raw):
        raise UnusableError("not an object")
    rest = source.client.rewrite(dict(raw))
    notes: list[str] = []
    transport = _transport(rest)
    entry: Json = {"type": transport} if transport != "stdio" else {}
    for key, kind in (_STARTED if transport == "stdio" else _REMOTE).items():
        if value := _texts(key, kind, rest.pop(key, None), lambda text: _spell(text, source, inputs, notes)):
            entry[key] = value
    if transport == "stdio":
        notes += _relative_paths(entry, source)
    elif not re.match(r"https?://|\$\{", entry["url"], re.IGNORECASE):
        raise UnusableError("its url is not an http address")
    elif oauth := _oauth(rest, notes):
        entry["oauth"] = oauth
    if isinstance(description := rest.pop("description", None), str) and description:
        entry["description"] = description
    if any((rest.pop("enabled", True) is False, rest.pop("disabled", False) is True)):
        entry["enabled"] = False
    for key, unit in (("timeout", source.client.timeout_unit), ("startup_timeout", 1)):
        time: Any = rest.get(key)
        if unit and type(time) in (int, float) and abs(time) < 1e9 and time * unit >= 0.001:
            seconds = round(rest.pop(key) * unit, 3)
            entry[key] = int(seconds) if seconds == int(seconds) else seconds
    notes += [_dropped(key) for key, value in rest.items() if value]
    return entry, tuple(dict.fromkeys(notes))


def _transport(rest: Json) -> str:
    """The transport of an entry that has what it takes. Removes the keys that name it."""
    second, first = rest.pop("transport", None), rest.pop("type", None)
    if word := first or second:
        transport = _TRANSPORTS.get(re.sub(r"[-_]", "", str(word)).lower())
        if transport is None:
            raise UnusableError(f"type '{word}' is not stdio, http or sse")
    elif rest.get("command"):
        transport = "stdio"
    else:
        transport = "sse" if str(rest.get("url")).rstrip("/").endswith("/sse") else "http"
    needed = "command" if transport == "stdio" else "url"
    if not rest.get(needed):
        raise UnusableError(f"no '{needed}'" if word else "neither 'command' nor 'url'")
    return transport


def _texts(key: str, kind: type, value: object, spell: Callable[[str], str]) -> Any:
    """A text, or a list or table of texts, respelled. A null in a table is the same as no key."""

    def text(item: object) -> str:
        if not isinstance(item, str | int | float):
            raise UnusableError(f"'{key}' has a value that is not a text")
        return spell(str(item).lower() if isinstance(item, bool) else str(item))

    if value is not None and not isinstance(value, kind):
        raise UnusableError(f"'{key}' is not {_KINDS[kind]}")
    if kind is dict:
        return {name: text(item) for name, item in as_object(value).items() if item is not None}
    return [text(item) for item in as_list(value)] if kind is list else text(value or "")


def _relative_paths(entry: Json, source: Source) -> list[str]:
    """Clients mostly don't say what a relative path in a file outside the project is relative to."""
    here = source.file.is_relative_to(source.project) or str(source.project) in source.keys
    patterns = {} if here else {"command": r"[^/~$].*/", "cwd": r"[^/~$]"}
    words = _command_line(entry)
    if len(words) > 1:
        said = ", ".join(map(json.dumps, without_secrets([*words, *entry.get("args", [])])[1:]))
        return [
            f'write "command": {json.dumps(words[0])}, "args": [{said}]; its command is a whole command line'
        ]
    relative = [key for key, pattern in patterns.items() if re.match(pattern, entry.get(key, ""))]
    return [f"{key} '{entry[key]}' is now relative to extensions_config.json" for key in relative]


def _command_line(entry: Json) -> list[str]:
    """The words of a command that is a command line; one alone for what may be a path with spaces."""
    try:
        words = shlex.split(entry.get("command", ""))
    except ValueError:  # a quote that is never closed
        return []
    return words if len(words) > 1 and "/" not in words[0] else words[:1]


def _oauth(rest: Json, notes: list[str]) -> Json:
    given = dict(as_object(rest.pop("oauth", None)))
    scopes = given.pop("scopes", None)
    known = {"clientId": str, "callbackPort": int}
    hints = {key: given.pop(key) for key, kind in known.items() if type(given.get(key)) is kind}
    hints["scopes"] = scopes.split() if isinstance(scopes, str) else [str(scope) for scope in as_list(scopes)]
    notes += [_dropped(f"oauth.{key}") for key, value in given.items() if value and key != "enabled"]
    return {key: value for key, value in hints.items() if value}


def _dropped(key: str) -> str:
    return f"dropped key '{key}' ({_REASONS.get(key, 'client-only')})"


def _spell(text: str, source: Source, inputs: Mapping[str, Json], notes: list[str]) -> str:
    """The text with every reference to a variable as Satchel writes it."""
    style = source.client.variables
    constants = {
        "CLAUDE_PROJECT_DIR": str(source.project),
        "workspaceFolder": str(source.project),
        "workspaceFolderBasename": source.project.name,
        "userHome": str(source.home),
        "pathSeparator": "/",
        "/": "/",
    }

    def reference(match: re.Match[str]) -> str:
        word, _, more = match[1].partition(":")
        if word in constants:
            return constants[word]
        if style != "${env:X}" or word == "env" or not _NAME.fullmatch(word):
            return match[0]
        if word == "input":
            return _input(more, inputs.get(more, {}), notes)
        if not more or more.startswith("-"):
            notes.append(f"${{{word}}} is now a variable; {source.client.name} took it as it stands")
        else:
            notes.append(f"{match[0]} has no counterpart: replace it by hand")
        return match[0]

    if style == "$X":  # in capitals; another `$word` is more likely part of a password
        text = re.sub(r"\$([A-Z_][A-Z0-9_]*)\b", r"${\1}", text)
    return _REFERENCE.sub(reference, text)


def _input(identifier: str, definition: Json, notes: list[str]) -> str:
    """What VS Code asks for when a server starts comes from a variable named after it."""
    words = re.sub(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])", "_", identifier).strip("_").upper()
    name = words if _NAME.fullmatch(words) else f"INPUT_{words}"
    notes.append(f"set {name}: {definition.get('description') or f'the input {identifier}'}")
    default = definition.get("default")
    usable = isinstance(default, str) and default and "}" not in default
    return f"${{{name}:-{default}}}" if usable else f"${{{name}}}"

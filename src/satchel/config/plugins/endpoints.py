"""The identity of a server, under any name: the same endpoint is one server with several names."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from urllib.parse import urlsplit

from satchel.config.entries import ServerEntry
from satchel.config.variables import fill

# Only an address that every reader takes apart in the same way is made plain; all others are as written.
_PLAIN = re.compile(r"(?ai)(https?)://([a-z0-9.-]+)(?::([0-9]{1,5}))?(/[^\s\\#]*)?")
_PORTS = {"http": "80", "https": "443"}
_DIGITS = 32


def endpoint_of(entry: ServerEntry) -> str:
    """Equal for two entries that lead to the same server in the same way; says nothing of what is in them."""
    if entry.transport == "stdio":
        key: list[object] = ["stdio", *_program(entry)]
    else:
        hints = entry.oauth
        oauth = None if hints is None else [hints.clientId, hints.callbackPort, list(hints.scopes)]
        headers = {name: filled(entry, text) for name, text in entry.headers.items()}
        key = [entry.transport, plain_address(filled(entry, entry.url)), headers, oauth]
    return _digest(key)


def command_digest(entry: ServerEntry) -> str:
    """Of what would be started: another command, argument, variable, value or folder is another one."""
    folder = str(entry.plugin.folder) if entry.plugin is not None else ""
    return _digest([folder, *_program(entry)])


def plain_address(address: str) -> str:
    """The address with its host in lower case, without a default port or a `/` at its end."""
    address = address.strip()
    match = _PLAIN.fullmatch(address)
    if match is None:
        return address
    scheme, host, port, path = match[1].lower(), match[2].lower(), match[3], match[4] or ""
    shown = f":{int(port)}" if port and str(int(port)) != _PORTS[scheme] else ""
    return f"{scheme}://{host}{shown}{path.rstrip('/') if '?' not in path else path}"


def host_of(entry: ServerEntry) -> str:
    """Where a remote server is, as written; empty for a program on this machine, and for nothing else."""
    if entry.transport == "stdio":
        return ""
    address = filled(entry, entry.url).strip()
    try:
        host = urlsplit(address).netloc.rpartition("@")[2].lower()
    except ValueError:
        host = ""
    return host or address or "nowhere"  # such as `${ADDRESS}`


def told_host(address: str) -> str:
    """The host of an address that looks like a different one's: with letters of other scripts, or an `@`."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return ""
    if "@" not in parts.netloc and host.isascii():
        return ""
    try:
        host = host.encode("idna").decode()
    except UnicodeError:
        host = ascii(host)
    return f" (its host is {host})"


def filled(entry: ServerEntry, text: str) -> str:
    """A text with the values that its plugin brings, which tell one server from another.

    Variables of the environment are left as they are.
    """
    values: Mapping[str, str] = entry.plugin.values if entry.plugin is not None else {}
    return fill(text, values)


def _program(entry: ServerEntry) -> list[object]:
    """The command to start, with the plugin's own variables filled in."""
    texts = [filled(entry, text) for text in (entry.command, entry.cwd or "", *entry.args)]
    return [texts, {name: filled(entry, text) for name, text in entry.env.items()}, _own_folder(entry, texts)]


def _own_folder(entry: ServerEntry, texts: Iterable[str]) -> str:
    """The plugin's folder, if the command names a file in it: that of another plugin is a different one."""
    if entry.plugin is None:
        return ""
    folder = str(entry.plugin.folder)
    relative = (text for text in texts if text and not os.path.isabs(text))
    return folder if any(os.path.lexists(os.path.join(folder, text)) for text in relative) else ""


def _digest(key: list[object]) -> str:
    return sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:_DIGITS]

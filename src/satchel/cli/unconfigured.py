"""A server that no file configures: `satchel call --stdio "COMMAND"` and `--url URL`. Nothing is written."""

import argparse
import re
import shlex
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path, PurePath
from urllib.parse import urlsplit

from satchel.cli.running import paths_of
from satchel.config import ServerEntry, read_configuration
from satchel.config.entries import read_entry
from satchel.errors import ArgumentError, NeedsAuthorizationError, ServerError


def unconfigured_server(options: argparse.Namespace) -> ServerEntry | None:
    """The server that the options describe; None where the tool is that of a configured one."""
    given = [name for name in ("stdio", "url") if getattr(options, name)]
    if not given:
        if options.env or options.header:
            raise ArgumentError("--env belongs to --stdio, and --header to --url")
        return None
    if len(given) > 1:
        raise ArgumentError("a server is either --stdio or --url")
    if options.stdio:
        words = _words(options.stdio)
        if options.header:
            raise ArgumentError("--header belongs to --url")
        env = dict(pair("--env", text) for text in options.env)
        name, written = name_of_command(words), {"command": words[0], "args": words[1:], "env": env}
    else:
        if not re.match(r"https?://[^/]|\$\{", options.url, re.IGNORECASE):
            raise ArgumentError(
                f"'{options.url}' is not the address of a remote server", hint="write https://HOST/PATH"
            )
        if options.env:
            raise ArgumentError("--env belongs to --stdio")
        kind = "sse" if options.url.rstrip("/").endswith("/sse") else "http"
        headers = dict(pair("--header", text) for text in options.header)
        name, written = (
            _plain(urlsplit(str(options.url)).hostname or "remote"),
            {
                "type": kind,
                "url": options.url,
                "headers": headers,
            },
        )
    taken = {entry.name for entry in read_configuration(paths_of(options)).servers}
    return read_entry(_free(name, taken), written, Path.cwd() / "the command line")


@contextmanager
def named_as_given(server: ServerEntry | None) -> Generator[None]:
    """Errors of such a server need a different next step: no other command knows its name."""
    try:
        yield
    except ServerError as error:
        if server is None or not error.hint or f" {server.name}" not in error.hint:
            raise
        hint = "run the command by hand" if server.transport == "stdio" else "check the address"
        if isinstance(error, NeedsAuthorizationError):
            hint = f"--header 'Authorization=Bearer …', or satchel add {server.name} --url … and satchel auth"
        raise error.copy(hint=hint) from None


def pair(option: str, text: str) -> tuple[str, str]:
    """The two parts of an option such as --env NAME=VALUE."""
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise ArgumentError(f"{option} '{text.partition('=')[0]}' is not NAME=VALUE")
    return name.strip(), value


def name_of_command(words: list[str]) -> str:
    """A server's name from its command: the package or file, if the command names one."""
    likely = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    runner = PurePath(words[0]).name
    runs_others = re.fullmatch(r"npx|uvx|uv|pipx|node|deno|bun|bunx|docker|python[\d.]*", runner)
    named = likely[0] if runs_others and likely else runner
    stem = PurePath(named).name.partition("@")[0] or named
    return _plain(re.sub(r"\.(?:py|js|ts|mjs|sh)$", "", stem))


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "server"


def _free(name: str, taken: set[str]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ArgumentError(f"--stdio can't be read: {error}", hint="quote it as a shell would") from None
    if not words:
        raise ArgumentError("--stdio is empty", hint='--stdio "npx -y PACKAGE"')
    return words

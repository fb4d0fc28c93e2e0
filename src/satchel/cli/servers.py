"""init, add, remove, enable, disable, auth."""

import argparse
import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

from satchel.cli import output
from satchel.cli.running import paths_of, refresh_with_progress, run_async, run_with_servers
from satchel.config import EXTENSIONS_FILE, Paths, read_extensions
from satchel.config.shown import HIDDEN, without_secrets
from satchel.errors import ArgumentError
from satchel.model import Json, is_object
from satchel.names import count
from satchel.verbs.entries import (
    add_server,
    add_servers,
    enable_server,
    log_in,
    log_out,
    remote_entry,
    remove_server,
    written_by_people,
)
from satchel.verbs.offline import read_catalog


def init_command(options: argparse.Namespace) -> int:
    # Other commands here know nothing of other clients.
    from satchel.config.clients.importing import Plan, find_servers, plan_import

    paths = paths_of(options)
    file = _file_to_write(options, paths)
    if options.settings:
        _start_settings(file.parent, dry_run=options.dry_run)
    home = Path(os.environ.get("HOME") or Path.home())
    found, unreadable = find_servers(project=Path.cwd(), home=home, environment=os.environ)
    existing = {entry.name: entry.written for entry in read_extensions(file)}
    taken = {name: entry.written for name, entry in written_by_people(paths).items()}
    plan: Plan = plan_import(found, {**taken, **existing})
    for fault in unreadable:
        output.note(f"could not read {output.from_home(fault.origin)} ({fault.client}): {fault.reason}")
    for item, reason in plan.skipped:
        output.note(f"skipped '{item.name}' of {item.client}: {reason}")
    for item in plan.additions:
        place = f"{output.from_home(item.origin)}:{item.line}" if item.line else output.from_home(item.origin)
        output.show(output.styled(f"+ {item.name}", "green") + f"  {_summary(item.entry)}")
        output.show(output.styled(f"    from {item.client}, {place}", "dim"))
        for text in item.notes:
            output.show(f"    {output.clean(text)}")
        if item.entry.get("enabled") is False:
            output.show(f"    disabled, as in {item.client}; satchel enable {item.name} switches it on")
    for item, same in plan.duplicates:
        output.show(output.styled(f"= {item.name}", "dim") + f"  of {item.client} is the same as '{same}'")
    if not plan.additions:
        output.note(f"nothing to import; {file} stays as it is")
        if not existing:
            output.note("hint: satchel add NAME -- COMMAND adds a server by hand")
        return 0
    number = count(len(plan.additions), "server")
    if options.dry_run:
        output.note(f"{number} would be written to {file} (--dry-run: nothing was)")
        return 0
    if not options.yes and not output.confirmed(f"write {number} to {file}? [y/N] "):
        return 2

    add_servers(file, {item.name: item.entry for item in plan.additions})
    output.note(f"wrote {number} to {file}")
    output.note("hint: satchel list shows their tools; satchel doctor checks them")
    if not options.user and any(_may_hold_secrets(item.entry) for item in plan.additions):
        _note_git(file)
    return 0


def _start_settings(directory: Path, *, dry_run: bool) -> None:
    from satchel.config.schemas import start_settings  # few people want a file of settings to begin with

    if dry_run:
        output.note(f"a satchel.yaml would be written to {directory}, if there is none (--dry-run: none was)")
        return
    written = start_settings(directory)
    output.note(f"wrote {written}" if written else f"{directory} has a satchel.yaml, which stays as it is")


def _may_hold_secrets(entry: Json) -> bool:
    """Whether something in it stands there as it is, and may be for nobody else's eyes."""
    parts: list[object] = [entry.get("env"), entry.get("headers")]
    values = [str(value) for part in parts if is_object(part) for value in part.values()]
    return any("${" not in value for value in values) or HIDDEN in _summary(entry)


def _note_git(file: Path) -> None:
    """Say how to keep a file out of the repository it is in, unless it is ignored already."""
    if not any((place / ".git").exists() for place in file.resolve().parents):
        return
    command = [
        "git",
        "-c",
        "core.fsmonitor=false",
        "-C",
        str(file.parent),
        "check-ignore",
        "--quiet",
        file.name,
    ]
    try:
        ignored = subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        ignored = False
    if not ignored:
        output.note(f"warning: {file.name} may hold tokens and is in a git repository")
        output.note(f"hint: write ${{NAME}} in their place, or add {file.name} to .gitignore")


def add_command(options: argparse.Namespace) -> int:
    if bool(options.command) == bool(options.url):
        raise ArgumentError(
            "a server is either a command or a url",
            hint=f"satchel add {options.name} -- COMMAND…, or --url URL",
        )
    if options.command and (options.header or options.type):
        raise ArgumentError("--header and --type belong to --url")
    if options.url and (options.env or options.cwd):
        raise ArgumentError("--env and --cwd belong to a command")
    if options.url and not re.match(r"https?://[^/]|\$\{", options.url, re.IGNORECASE):
        raise ArgumentError(
            f"'{options.url}' is not the address of a remote server",
            hint=f"satchel add {options.name} --url https://HOST/PATH; a command comes after --",
        )
    entry: dict[str, Any] = {}
    if options.command:
        entry = {"command": options.command[0], "args": options.command[1:]}
        if options.env:
            entry["env"] = _pairs("--env", options.env)
        if options.cwd:
            entry["cwd"] = options.cwd
    else:
        sse = options.url.rstrip("/").endswith("/sse")
        entry = {"type": options.type or ("sse" if sse else "http"), "url": options.url}
        if options.header:
            entry["headers"] = _pairs("--header", options.header)
    if options.description:
        entry["description"] = options.description
    paths = paths_of(options)
    file = _file_to_write(options, paths)
    add_server(paths, options.name, entry, file=file, replace_old=options.replace)
    output.note(f"added '{options.name}' to {file}")
    if options.no_check:
        return 0
    return _check_added(options)


def _check_added(options: argparse.Namespace) -> int:
    """Start the new server once: what is wrong with it is best known now."""
    (server,) = run_with_servers(options, lambda satchel: refresh_with_progress(satchel, [options.name]))
    if server.error:
        output.note(f"it does not work yet: {server.error.removeprefix(server.name + ': ')}")
        name = shlex.quote(options.name)
        output.note(f"hint: satchel doctor {name} tells more; satchel remove {name} takes it back")
        return 4
    output.show(f"{server.name}: {count(server.tool_count, 'tool')}")
    return 0


def remove_command(options: argparse.Namespace) -> int:
    removed = remove_server(paths_of(options), options.server)
    output.note(f"removed '{options.server}' from {removed.file}")
    if removed.remaining is not None:
        output.note("the one in {}:{} counts now".format(*removed.remaining.locate(())))
    return 0


def enable_command(options: argparse.Namespace) -> int:
    return _switch(options, enabled=True)


def disable_command(options: argparse.Namespace) -> int:
    return _switch(options, enabled=False)


def _switch(options: argparse.Namespace, *, enabled: bool) -> int:
    enable_server(paths_of(options), options.server, enabled=enabled)
    output.note(f"'{options.server}' is {'enabled' if enabled else 'disabled'}")
    return 0


def auth_command(options: argparse.Namespace) -> int:
    paths = paths_of(options)
    if options.logout:
        known = log_out(paths, options.server)
        output.note(
            f"{options.server}: {'forgot the stored tokens' if known else 'there were no stored tokens'}"
        )
        return 0
    entry = remote_entry(paths, options.server)

    def show(url: str) -> None:
        output.note(f"open this address to log in to '{entry.name}':\n\n  {url}\n")

    logged_in = run_async(lambda: log_in(paths, entry, show, browser=not options.no_browser))
    number = count(read_catalog(paths).snapshot.server(entry.name).tool_count, "tool")
    output.show(f"{entry.name}: {'logged in' if logged_in else 'wants no login'}, {number}")
    return 0


def _file_to_write(options: argparse.Namespace, paths: Paths) -> Path:
    return paths.user_config / EXTENSIONS_FILE if options.user else paths.extensions_file


def _pairs(option: str, texts: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise ArgumentError(f"{option} '{text}' is not NAME=VALUE")
        pairs[name.strip()] = value
    return pairs


def _summary(entry: Json) -> str:
    """An entry in a line, without the values that may be secret."""
    if "url" in entry:
        text = f"{entry.get('type', 'http')} {without_secrets([str(entry['url']).split('?')[0]])[0]}"
        names: Json = entry.get("headers") or {}
    else:
        words = without_secrets([entry.get("command", ""), *entry.get("args", [])])
        text = " ".join(map(json.dumps, words))
        names = entry.get("env") or {}
    # Whole, however long: this is what will be run.
    return text.replace("\n", " ") + (f"  ({', '.join(names)})" if names else "")

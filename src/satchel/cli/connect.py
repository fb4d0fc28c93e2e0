"""connect."""

import argparse
import difflib
import os
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from satchel.cli import output
from satchel.cli.running import note_no_servers, paths_of
from satchel.config import Paths
from satchel.config.connecting import (
    TARGETS,
    Change,
    Target,
    apply_change,
    entry_for,
    own_command,
    plan_connection,
    plan_undo,
)
from satchel.config.importers import Source, preferred_source
from satchel.config.settings import read_settings
from satchel.errors import ArgumentError, NotFoundError
from satchel.names import closest

_WIDEST_LINE = 200


def connect_command(options: argparse.Namespace) -> int:
    target = TARGETS[options.client]
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", options.name):
        raise ArgumentError(f"--name '{options.name}' has other characters than letters, digits, - and _")
    source = _source(target, in_project=options.project)
    if options.undo:
        change = plan_undo(source, options.name)
        if change is None:
            output.note(f"nothing to undo: {output.from_home(source.file)} has no '{options.name}'")
            return 0
    else:
        entry = entry_for(target, command=own_command(), config=_config(options), agent=options.agent)
        change = plan_connection(source, options.name, entry)
        if change is None:
            output.note(f"already connected: {output.from_home(source.file)} has this '{options.name}'")
            return 0
    _show(change)
    file = output.from_home(change.file)
    question = f"remove {file}? [y/N] " if change.after is None else f"write this to {file}? [y/N] "
    if options.dry_run:
        output.note("nothing was written (--dry-run)")
        return 0
    if not options.yes and not output.confirmed(question):
        return 2
    apply_change(change)
    _report(options, target, change)
    return 0


def _source(target: Target, *, in_project: bool) -> Source:
    home = Path(os.environ.get("HOME") or Path.home())
    source = preferred_source(
        target.client, in_project=in_project, project=Path.cwd(), home=home, environment=os.environ
    )
    if source is None:
        raise ArgumentError(f"{target.client.name} has no file in a project", hint="leave out --project")
    return source


def _config(options: argparse.Namespace) -> Path:
    """What `satchel serve` has to be given so that it finds from anywhere what was found from here."""
    paths = paths_of(options)
    if options.agent is not None:
        _check_agent(options.agent, paths)
    named: Path | None = getattr(options, "config", None)
    if named is None and os.environ.get("SATCHEL_CONFIG"):
        named = Path(os.environ["SATCHEL_CONFIG"])
    config = named.expanduser().absolute() if named else paths.project
    try:
        str(config).encode()
    except UnicodeEncodeError:
        raise ArgumentError(
            f"the path {output.clean(str(config).encode('utf-8', 'replace').decode())} is not UTF-8, "
            "and a client's file can't have it"
        ) from None
    _note_what_is_left_out(paths)
    return config


def _note_what_is_left_out(paths: Paths) -> None:
    """Files are found one by one on the way up, but --config is one directory."""
    found = [file for file in (paths.settings_file, paths.extensions_file) if file and file.is_file()]
    if not found:
        note_no_servers()
    for file in found:
        if file.parent != paths.project:
            here, there = output.from_home(file), output.from_home(paths.project)
            output.note(f"{here} is used here, but not by the client: it is not in {there}")
            output.note("hint: keep satchel.yaml and extensions_config.json in one directory")


def _check_agent(agent: str, paths: Paths) -> None:
    agents = read_settings(paths.settings_file).agents
    if agent != "default" and agent not in agents:
        hint = "agents in satchel.yaml are the ones there are"
        raise NotFoundError("agent", agent, closest=closest(agent, agents), hint=hint)


def _show(change: Change) -> None:
    real = change.file.resolve()
    output.show(str(change.file) if real == change.file else f"{change.file} -> {real}")
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in _difference(change):
        output.show(output.styled(line, styles[line[0]]) if line[0] in styles else line)


def _difference(change: Change) -> Iterator[str]:
    """The unified diff, line by line. A very long line is cut to where it differs."""
    before, after = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in change.shown)
    old, new = ("/dev/null" if data is None else str(change.file) for data in (change.before, change.after))
    lines = list(difflib.unified_diff(before, after, old, new))
    changed = [line[1:] for line in lines[2:] if line[0] in "+-"]
    same = sum(
        1 for _ in takewhile(lambda characters: len(set(characters)) == 1, zip(*changed, strict=False))
    )
    for line in lines:
        yield _cut(line.rstrip("\r\n"), max(0, same - 20) if line[0] in "+-" else 0)
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _cut(line: str, start: int) -> str:
    if len(line) <= _WIDEST_LINE:
        return line
    sign, text = line[0], line[1 + start :]
    return sign + ("…" if start else "") + text[:_WIDEST_LINE] + ("…" if len(text) > _WIDEST_LINE else "")


def _report(options: argparse.Namespace, target: Target, change: Change) -> None:
    file, client = output.from_home(change.file), target.client.name
    if options.undo:
        done = f"removed {file}" if change.after is None else f"took '{options.name}' out of {file}"
        output.note(f"{done}; a {client} that runs has to be started again")
        return
    output.note(f"connected {client}: wrote '{options.name}' to {file}")
    if change.keep_backup:
        output.note(f"the file as it was is {file}.satchel-backup; --undo goes back to it")
    step = (options.project and target.next_step_in_project) or target.next_step
    output.note(f"next: {step.format(name=options.name)}")

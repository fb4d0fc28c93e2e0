"""connect."""

import argparse
import difflib
import os
import re
from collections.abc import Callable, Collection, Iterator
from itertools import takewhile
from pathlib import Path

from satchel.cli import output
from satchel.cli.connecting.moving import Moves, is_installed, is_started_as, plan_moves, show_moves, take
from satchel.cli.running import note_no_servers, paths_of
from satchel.config import Paths, read_configuration
from satchel.config.clients.connecting import (
    TARGETS,
    Change,
    Target,
    apply_change,
    entry_for,
    find_obstacles,
    moved_file,
    option_of,
    own_command,
    plan_connection,
    plan_move,
    plan_move_back,
    plan_undo,
)
from satchel.config.clients.importing import Source, find_servers, plan_import, preferred_source
from satchel.config.settings import find_agent, read_settings
from satchel.errors import ArgumentError, ConfigError, SatchelError
from satchel.model import Json
from satchel.names import count

_WIDEST_LINE = 200


def connect_command(options: argparse.Namespace) -> int:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", options.name):
        raise ArgumentError(f"--name '{options.name}' may only have letters, digits, - and _")
    if bool(options.client) == options.all:
        raise ArgumentError("name the client, or connect --all", hint=f"the clients are {', '.join(TARGETS)}")
    if options.all:
        return _connect_all(options)
    target = TARGETS[options.client]
    source = _source(target, in_project=options.project)
    if source is None:
        raise ArgumentError(f"{target.client.name} has no file in a project", hint="leave out --project")
    return _connect_one(options, target, source)


def _connect_all(options: argparse.Namespace) -> int:
    """Each client that this machine has; what keeps one from being connected keeps no other."""
    code = 0
    found = [
        (target, source)
        for target in TARGETS.values()
        if (source := _source(target, in_project=options.project)) and is_installed(source)
    ]
    for target, source in found:
        output.note(output.styled(target.client.name, "bold"))
        try:
            code = max(code, _connect_one(options, target, source))
        except SatchelError as error:
            output.show_error(error)
            code = max(code, error.exit_code)
    if not found:
        output.note("no client was found: none of their files or directories are here")
        output.note(f"hint: satchel connect CLIENT makes one; the clients are {', '.join(TARGETS)}")
    return code


def _connect_one(options: argparse.Namespace, target: Target, source: Source) -> int:
    return _undo(options, target, source) if options.undo else _connect(options, target, source)


def _connect(options: argparse.Namespace, target: Target, source: Source) -> int:
    paths = paths_of(options)
    entry = entry_for(target, command=own_command(), config=_config(options, paths), agent=options.agent)
    moves = plan_moves(paths, source) if options.move else Moves()
    if moves.servers:
        change: Change | None = plan_move(source, options.name, entry, moves.servers)
    else:
        change = plan_connection(source, options.name, entry)
    if change is None:
        output.note(f"already connected: {output.from_home(source.file)} has this '{options.name}'")
    else:
        _show(change)
        _note_replaced(options.name, change.replaced, entry)
    show_moves(moves, paths, wanted=options.move)
    _note_obstacles(target, source, options)
    _note_servers_twice(target, paths, left_out=moves.servers)
    if change is None:
        return 0
    return _write(
        options, change, lambda: _report_connected(options, target, change, moves), lambda: take(moves, paths)
    )


def _undo(options: argparse.Namespace, target: Target, source: Source) -> int:
    change = plan_move_back(source, options.name) or plan_undo(source, options.name)
    if change is None:
        output.note(f"nothing to undo: {output.from_home(source.file)} has no '{options.name}'")
        return 0
    _show(change)
    return _write(options, change, lambda: _report_undone(options, target, change))


def _write(
    options: argparse.Namespace,
    change: Change,
    report: Callable[[], None],
    prepare: Callable[[], None] = lambda: None,
) -> int:
    file = output.from_home(change.file)
    question = f"remove {file}? [y/N] " if change.after is None else f"write this to {file}? [y/N] "
    if options.dry_run:
        output.note("nothing was written (--dry-run)")
        return 0
    if not options.yes and not output.confirmed(question):
        return 2
    prepare()  # first, so that after any failure each server is still in one place
    apply_change(change)
    report()
    return 0


def _source(target: Target, *, in_project: bool) -> Source | None:
    return preferred_source(
        target.client, in_project=in_project, project=Path.cwd(), home=_home(), environment=os.environ
    )


def _home() -> Path:
    return Path(os.environ.get("HOME") or Path.home())


def _config(options: argparse.Namespace, paths: Paths) -> Path:
    """The options that `satchel serve` needs to find, from anywhere, the configuration found from here."""
    if options.agent is not None:
        find_agent(read_settings(paths.settings_file), options.agent)
    named: Path | None = getattr(options, "config", None)
    if named is None and os.environ.get("SATCHEL_CONFIG"):
        named = Path(os.environ["SATCHEL_CONFIG"])
    config = Path(os.path.expanduser(named)).absolute() if named else paths.project
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


def _note_replaced(name: str, old: Json | None, new: Json) -> None:
    """An entry of Satchel is ours to change, but what it was for may be wanted."""
    if old is None:
        return
    old_agent, new_agent = (option_of(entry, "--agent") or "default" for entry in (old, new))
    if old_agent != new_agent:
        output.note(f"this '{name}' was for the agent '{old_agent}', the new one is for '{new_agent}'")
        output.note(f"hint: --agent {old_agent} keeps it so")
    old_config, new_config = (option_of(entry, "--config") for entry in (old, new))
    if _project_of(old_config) != _project_of(new_config):
        before = old_config or "the directory that the client is started in"
        output.note(f"this '{name}' was for {before}, the new one is for {new_config}")
        output.note("hint: --name NAME leaves it as it is and adds another")


def _project_of(config: str | None) -> str | None:
    """The directory that a file or directory of --config stands for."""
    if config is None:
        return None
    path = Path(os.path.expanduser(config))
    return os.path.realpath(path.parent if path.suffix in (".json", ".yaml", ".yml") else path)


def _note_obstacles(target: Target, source: Source, options: argparse.Namespace) -> None:
    other = _source(target, in_project=not options.project)
    for file, text in find_obstacles(source, other, options.name):
        output.note(output.styled("warning: ", "yellow") + f"{output.from_home(file)}: {text}")


def _note_servers_twice(target: Target, paths: Paths, left_out: Collection[str]) -> None:
    """Servers that were imported are still in the client: a model would be shown all their tools twice."""
    try:
        entries = read_configuration(paths).servers
    except ConfigError:  # `satchel serve` will say so
        return
    known = {entry.name: entry.written for entry in entries if entry.enabled and not entry.custom}
    found, _ = find_servers(project=Path.cwd(), home=_home(), environment=os.environ)
    theirs = [item for item in found if item.client == target.client.name and item.entry.get("enabled", True)]
    same = [item for item, name in plan_import(theirs, known).duplicates if name in known]
    twice = [
        item
        for item in theirs
        if (item in same or is_started_as(item.entry, known.get(item.name))) and item.name not in left_out
    ]
    if not twice:
        return
    names = ", ".join(dict.fromkeys(f"'{item.name}'" for item in twice))
    files = " and ".join(dict.fromkeys(output.from_home(item.origin) for item in twice))
    output.note(
        f"{target.client.name} has {names} itself, and through Satchel: their tools would be there twice"
    )
    output.note(f"hint: --move takes them out, and --undo puts them back; or remove them from {files}")


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


def _report_connected(options: argparse.Namespace, target: Target, change: Change, moves: Moves) -> None:
    file = output.from_home(change.file)
    if moves.servers:
        output.note(f"moved {count(len(moves.servers), 'server')} to Satchel: {', '.join(moves.servers)}")
        output.note(
            f"the file as it was is {output.from_home(moved_file(change.file))}; --undo goes back to it"
        )
    output.note(f"connected {target.client.name}: wrote '{options.name}' to {file}")
    if change.keep_backup:
        output.note(f"the file as it was is {file}.satchel-backup; --undo goes back to it")
    step = (options.project and target.next_step_in_project) or target.next_step
    output.note(f"next: {step.format(name=options.name)}")


def _report_undone(options: argparse.Namespace, target: Target, change: Change) -> None:
    file, name = output.from_home(change.file), options.name
    done = f"took '{name}' out of {file}"
    if change.after is None:
        done = f"removed {file}"
    elif change.brings_back:
        done = f"brought back the '{name}' that {file} had before"
    if change.brought_back:
        done += f", and put back {', '.join(change.brought_back)}"
    output.note(f"{done}; a {target.client.name} that runs has to be started again")
    if change.brings_back:
        output.note("hint: --undo once more takes that out, too")
    if change.brought_back:
        output.note(
            "hint: they are in Satchel's configuration as well; satchel remove SERVER takes one out there"
        )

"""connect --move: which of a client's own servers go to Satchel, and what is said of the others."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from satchel.cli import output
from satchel.config import Paths, read_extensions
from satchel.config.clients.importing import Found, Source, plan_import, servers_of
from satchel.config.shown import without_secrets
from satchel.model import Json
from satchel.names import count
from satchel.verbs.entries import add_servers, written_by_people


@dataclass(frozen=True, kw_only=True)
class Moves:
    """`servers` are their names in the client; `new` are those that Satchel does not have yet."""

    servers: tuple[str, ...] = ()
    new: tuple[Found, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()  # those that stay in the client, with the reason
    unusable: tuple[str, ...] = ()  # why others can't be moved


def plan_moves(paths: Paths, source: Source) -> Moves:
    """The servers of a client's file, as far as Satchel can have each of them instead."""
    existing = {entry.name: entry for entry in read_extensions(paths.extensions_file)}
    known = {**written_by_people(paths), **existing}
    found, unreadable = servers_of(source)
    plan = plan_import(found, {name: entry.written for name, entry in known.items()})
    moved: list[str] = []
    new: list[Found] = []
    kept = [(item.name, reason) for item, reason in plan.skipped if "Satchel itself" not in reason]
    duplicates = dict(zip([item.name for item, _ in plan.duplicates], plan.duplicates, strict=True))
    additions = {id(item.entry): item for item in plan.additions}
    for item in found:
        if item.name in duplicates:
            same = known.get(duplicates[item.name][1])
            if same is not None and not same.enabled and item.entry.get("enabled", True):
                kept.append(
                    (item.name, f"Satchel has it disabled; satchel enable {same.name} switches it on")
                )
            else:
                moved.append(item.name)
        elif id(item.entry) in additions:
            moved.append(item.name)
            same = known.get(item.name)
            if same is None or not is_started_as(item.entry, same.written):
                new.append(additions[id(item.entry)])
    unusable = tuple(fault.reason for fault in unreadable)
    return Moves(servers=tuple(moved), new=tuple(new), kept=tuple(kept), unusable=unusable)


def show_moves(moves: Moves, paths: Paths, *, wanted: bool) -> None:
    """The plan of the move, before anything is written."""
    file = output.from_home(paths.extensions_file)
    for item in moves.new:
        words = [str(item.entry.get("command") or item.entry.get("url", "").split("?")[0])]
        shown = " ".join(map(json.dumps, without_secrets([*words, *item.entry.get("args", [])])))
        output.show(output.styled(f"+ {item.name}", "green") + f"  {shown}  to {file}")
    for name, reason in moves.kept:
        output.note(f"'{name}' stays in the client: {reason}")
    for reason in moves.unusable:
        output.note(f"stays in the client: {reason}")
    if wanted and not moves.servers:
        output.note("nothing to move: the client's file has no servers of its own")


def take(moves: Moves, paths: Paths) -> None:
    """Write those that Satchel does not have yet to its configuration."""
    if moves.new:
        add_servers(paths.extensions_file, {item.name: item.entry for item in moves.new})
        output.note(f"wrote {count(len(moves.new), 'server')} to {output.from_home(paths.extensions_file)}")


def is_installed(source: Source) -> bool:
    """Whether the client seems to be on this machine: its file, or a directory that only it has."""
    directory = source.file.parent
    return source.file.is_file() or (directory.is_dir() and directory not in (source.home, source.project))


def is_started_as(one: Json, other: Mapping[str, object] | None) -> bool:
    """Whether two entries of one name differ at most in their variables, which people move about."""
    if other is None:
        return False
    return all((one.get(key) or None) == (other.get(key) or None) for key in ("command", "args", "url"))

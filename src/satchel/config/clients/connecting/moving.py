"""Takes a client's own servers out of its file when Satchel has them, and puts them back.

The file as it was is kept beside it, as FILE.satchel-moved. While nothing else in the file has changed, it
comes back byte for byte; else each server is put back by itself.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

from satchel.config.clients.connecting.changes import Change, plan_undo, read_client_file, refuse_foreign
from satchel.config.clients.connecting.document import OUR_KEYS, Document
from satchel.config.clients.importing import Source
from satchel.errors import ArgumentError, ConfigError
from satchel.model import Json


def plan_move(source: Source, name: str, entry: Json, servers: Sequence[str]) -> Change:
    """The change that puts Satchel there as `name`, and takes `servers` out."""
    document = Document(source, read_client_file(source.file))
    undone = plan_move_back(source, name) or plan_undo(source, name)
    after = document
    for server in servers:
        after = after.without(server)
    refuse_foreign(source.file)
    return Change(
        file=source.file,
        before=document.data,
        after=after.connected(name, entry).data,
        shown=(document.masked(name), after.connected(name, entry).masked(name)),
        replaced=document.entry(name),
        moved=undone.after if undone else document.data,
    )


def plan_move_back(source: Source, name: str) -> Change | None:
    """The change that takes Satchel out and brings back what was moved; None if nothing was."""
    kept = _read_moved(source.file)
    if kept is None:
        return None
    document, former = Document(source, read_client_file(source.file)), Document(source, kept)
    present = document.entry(name)
    there = document.servers
    gone = [server for server in former.servers if server not in there and server != name]
    ours = None if present is None else {key: present[key] for key in OUR_KEYS if key in present}
    after = former
    if document.data not in _as_moved(former, name, ours, gone):
        after = document if present is None else document.without(name)
        for server in gone:
            after = after.with_that_of(former, server)
    refuse_foreign(source.file)
    return Change(
        file=source.file,
        before=document.data,
        after=after.data,
        shown=(document.masked(name), after.masked(name)),
        brought_back=tuple(gone),
        drop_backup=not after.satchels(),
        drop_moved=True,
    )


def _as_moved(former: Document, name: str, ours: Json | None, gone: Sequence[str]) -> Iterator[bytes | None]:
    """The file as it would be after the move alone: after connecting, or together with it."""
    if ours is None:
        return
    with suppress(ArgumentError, ConfigError):
        taken = former
        for server in gone:
            taken = taken.without(server)
        yield taken.connected(name, ours).data
    with suppress(ArgumentError, ConfigError):
        taken = former.connected(name, ours)
        for server in gone:
            taken = taken.without(server)
        yield taken.data


def moved_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.satchel-moved")


def _read_moved(file: Path) -> bytes | None:
    with suppress(OSError):
        if S_ISREG(os.lstat(moved_file(file)).st_mode):  # a link is not what was written there
            return read_client_file(moved_file(file))
    return None

"""From a client's file to the file with Satchel in it, and back: first a Change to look at, then the writing.

The backup is the file as it was before the first change. It is used only while the rest of the file is as it
was then: who has changed something since loses nothing.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from satchel.config.clients.connecting.clients import is_own_entry
from satchel.config.clients.connecting.document import OUR_KEYS, Document
from satchel.config.clients.importing import Source
from satchel.config.paths import lock_of
from satchel.errors import ArgumentError, ConfigError
from satchel.model import Json
from satchel.support.files import locked, read_small, write_atomically

_SIZE_LIMIT = 20 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Change:
    """The text to write, and the text that the file must have until then. None means no file."""

    file: Path
    before: bytes | None
    after: bytes | None
    shown: tuple[str, str]  # both for people's eyes, without the values of others
    replaced: Json | None = None  # the entry of Satchel that was there, where another one is written over it
    brings_back: bool = False  # whether it is an undo after which an older entry is there again
    keep_backup: bool = False
    drop_backup: bool = False
    moved: bytes | None = (
        None  # the file that an undo goes back to, where servers of the client go to Satchel
    )
    brought_back: tuple[str, ...] = ()  # the servers that an undo puts back
    drop_moved: bool = False


def plan_connection(source: Source, name: str, entry: Json) -> Change | None:
    """The change that puts `entry` there, or None if it is there."""
    document = Document(source, read_client_file(source.file))
    present = document.entry(name)
    if present is not None and all(present.get(key) == value for key, value in entry.items()):
        return None
    # What only this command has written was no file before.
    keep_backup = document.data is not None and not _is_of_our_making(source, document)
    after = document.connected(name, entry)
    return _change(source, name, document, after, replaced=present, keep_backup=keep_backup)


def plan_undo(source: Source, name: str) -> Change | None:
    """The change that takes `name` out again, or None if it is not there.

    Where somebody had an entry of Satchel before the first change, that one comes back in its place.
    """
    document = Document(source, read_client_file(source.file))
    present = document.entry(name)
    if present is None:
        return None
    with suppress(ArgumentError, ConfigError):  # a backup that can't be used is none
        former = Document(source, _read_backup(source.file))
        if former.connected(name, _ours(present)).data == document.data:
            return _change(
                source,
                name,
                document,
                former,
                brings_back=former.entry(name) is not None,
                drop_backup=former.data is not None,
            )
        older = former.entry(name)
        if older is not None and _ours(older) != _ours(present):
            rest = document.connected(name, _ours(older))
            is_all = rest.satchels() == former.satchels()
            return _change(source, name, document, rest, brings_back=True, drop_backup=is_all)
    rest = document.without(name)
    return _change(source, name, document, rest, drop_backup=not rest.satchels())


def apply_change(change: Change) -> None:
    """Write it, if the file is still what the change was made for."""
    file = change.file.resolve()  # people keep such files behind links of their own
    backup = _backup_of(change.file)
    moved = change.file.with_name(
        f"{change.file.name}.satchel-moved"
    )  # connecting/moving.py has more about it
    try:
        with locked(lock_of(file.parent)):
            if read_client_file(file) != change.before:
                raise ConfigError(
                    "was changed by another program meanwhile; nothing was written",
                    file=change.file,
                    hint="run the command again",
                )
            if change.keep_backup and change.before is not None and not os.path.lexists(backup):
                write_atomically(backup, change.before, mode=file.stat().st_mode & 0o777)
            if change.moved is not None:
                write_atomically(moved, change.moved, mode=file.stat().st_mode & 0o777)
            if change.after is None:
                file.unlink()
            else:
                write_atomically(file, change.after)
            if change.drop_backup:
                backup.unlink(missing_ok=True)
            if change.drop_moved:
                moved.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"can't be written: {error.strerror or error}", file=change.file) from error


def _change(
    source: Source,
    name: str,
    before: Document,
    after: Document,
    *,
    replaced: Json | None = None,
    brings_back: bool = False,
    keep_backup: bool = False,
    drop_backup: bool = False,
) -> Change:
    refuse_foreign(source.file)
    return Change(
        file=source.file,
        before=before.data,
        after=after.data,
        shown=(before.masked(name), after.masked(name)),
        replaced=replaced,
        brings_back=brings_back,
        keep_backup=keep_backup,
        drop_backup=drop_backup,
    )


def _ours(entry: Json) -> Json:
    return {key: entry[key] for key in OUR_KEYS if key in entry}


def _is_of_our_making(source: Source, document: Document) -> bool:
    """Whether `connect` alone has written it: entries as it writes them, laid out as it lays them out."""
    ours = Document(source, None)
    for name, entry in document.satchels().items():
        if not is_own_entry(entry):
            return False
        ours = ours.connected(name, entry)
    return ours.data == document.data


def refuse_foreign(file: Path) -> None:
    """A file that is replaced becomes ours, and its owner could not read it any more."""
    with suppress(OSError):
        owner = file.stat().st_uid
        if owner != os.geteuid():
            raise ConfigError(
                f"belongs to another user (uid {owner})", file=file, hint="run this command as that user"
            )


def _backup_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.satchel-backup")


def _read_backup(file: Path) -> bytes | None:
    backup = _backup_of(file)
    with suppress(OSError):
        if S_ISREG(backup.lstat().st_mode):  # a link is not what was written there
            return read_client_file(backup)
    return None


def read_client_file(file: Path) -> bytes | None:
    """Its contents; None if there is no file."""
    try:
        return read_small(file, _SIZE_LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"can't be read: {error.strerror or error}", file=file) from error

"""The catalog on disk: one file a server, in the user's cache directory.

A file is lines of JSON. The first is the head: what a listing shows of the server and of each tool, with the
place of the tool's definition. Each further line is one definition, read only when someone asks for it, so
that a server with ten thousand schemas costs no more to list than one with ten.

A file is named after the server and a key: the entry as written, where it runs, and the values its variables
have now, under a secret of this user, so that another account's tools are never shown and no value can be
read back from a name.
"""

import hashlib
import hmac
import json
import mmap
import os
import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import asdict
from functools import cache, cached_property
from pathlib import Path
from typing import cast

from satchel.catalog.beside import Failure, failure_file, last_noted, note_last
from satchel.catalog.cached import FORMAT, CachedServer, CachedTool
from satchel.catalog.definitions import canonical
from satchel.catalog.encoding import digest_of, encode, now
from satchel.config import ServerEntry, Target
from satchel.errors import SatchelError
from satchel.model import Json, Listing, State
from satchel.support.files import locked, read_small, write_atomically

__all__ = ["FORMAT", "Cache", "CachedServer", "CachedTool", "encode", "faults", "unwritten"]

_CODE_DIGITS = 12  # of the 20 in the key of custom tools
# What an entry says about showing or waiting for a server does not change what the server offers.
_IRRELEVANT = {
    *("enabled", "disabled", "description", "timeout", "startup_timeout", "idle_timeout"),
    "definitions",
}

unwritten: dict[Path, bytes] = {}
"""Listings that could not be written, by the file they were for: this process has them all the same."""
faults: dict[Path, str] = {}
"""The directories that can't be written to, and why. Surfaces that talk to a person say it."""


class Cache:
    """The directory of cached servers."""

    def __init__(self, directory: Path, secret_file: Path) -> None:
        self._directory = directory
        self._secret_file = secret_file

    def read(self, entry: ServerEntry, target: Target | None) -> tuple[CachedServer | None, Failure | None]:
        """The known listing of a server, and its last failed attempt; None for neither.

        Without a target, because a variable has no value, it is what the server listed last.
        """
        file = self._file(entry, target)
        last = last_noted(self._note(entry)) if target is None else None
        return self._open(last or file), self._open_failure(file)

    def file_of(self, entry: ServerEntry, target: Target | None) -> Path:
        """Where all processes record what a server lists, with what was accepted."""
        return self._file(entry, target)

    def write(
        self, entry: ServerEntry, target: Target | None, listing: Listing, *, quarantined: bool = False
    ) -> CachedServer:
        """Record a listing, with what changed since the last one; if `quarantined`, also what is new."""
        file = self._file(entry, target)
        try:
            with locked(self._directory):
                # With new values of its variables, or by a new program, it is the same server.
                is_same = entry.plugin is not None or quarantined
                last = last_noted(self._note(entry)) if is_same else None
                content = self._update(file, last, listing, watched=not entry.custom, quarantined=quarantined)
                self._tidy(entry, file)
                if target is not None and (target.variables or entry.plugin is not None):
                    note_last(self._note(entry), file)
        except OSError as error:  # a home that can't be written to, a full disk: only the cache is lost
            content = encode(listing, self._open(file), watched=not entry.custom, quarantined=quarantined)
            unwritten.pop(failure_file(file), None)
            self._keep(file, content, error)
        return CachedServer(content)

    def _keep(self, file: Path, content: bytes, error: OSError) -> None:
        """Have what could not be written for as long as this process runs."""
        unwritten[file] = content
        _note_fault(self._directory, error)

    def _update(
        self, file: Path, last: Path | None, listing: Listing, *, watched: bool, quarantined: bool
    ) -> bytes:
        before = self._open(file)
        known = before or (self._open(last) if last else None)
        content = encode(listing, known, watched=watched, quarantined=quarantined)
        if before is None or before.head["digest"] != _head_of(content)["digest"]:
            write_atomically(file, content)
        else:
            os.utime(file)
        failure_file(file).unlink(missing_ok=True)
        self._drop([file, failure_file(file)])
        return content

    def accept_changes(
        self, entry: ServerEntry, target: Target | None, digests: Collection[str] | None = None
    ) -> None:
        """Forget the recorded changes, or those to these digests: these definitions are the right ones."""
        file = self._file(entry, target)
        try:
            with locked(self._directory):
                known = self._open(file)
                if known is not None and known.head["changes"]:
                    content = file.read_bytes()
                    kept = [
                        asdict(change)
                        for change in known.changes
                        if digests is not None and change.after not in digests
                    ]
                    head: Json = {**_head_of(content), "changes": kept}
                    head["digest"] = digest_of(head)
                    write_atomically(file, json.dumps(head).encode() + content[content.find(b"\n") :])
        except OSError as error:
            raise SatchelError(
                f"nothing was accepted: {file} can't be written: {error.strerror or error}",
                hint=f"make {self._directory} writable for you",
            ) from error

    def write_failure(
        self, entry: ServerEntry, target: Target | None, error: str, state: State, reason: str = ""
    ) -> None:
        """Remember a failure, so that the next process need not wait for it again."""
        content = json.dumps(asdict(Failure(state=state, error=error, at=now(), reason=reason))).encode()
        file = self._file(entry, target)
        try:
            write_atomically(failure_file(file), content)
            self._drop([failure_file(file)])
            self._tidy(entry, file)
        except OSError as fault:
            self._keep(failure_file(file), content, fault)

    def forget(self, name: str) -> None:
        """Remove what is cached of a server under any key."""
        pattern = re.compile(re.escape(_slug(name)) + r"-[0-9a-f]{20}\.(jsonl|failure\.json|last\.json)")
        for file in self._directory.glob("*.json*"):
            if pattern.fullmatch(file.name):
                with suppress(OSError):  # gone already, or not ours to remove: no entry leads to it any more
                    file.unlink()
        self._drop([file for file in unwritten if pattern.fullmatch(file.name)])

    def _drop(self, files: Iterable[Path]) -> None:
        for file in files:
            unwritten.pop(file, None)

    def _tidy(self, entry: ServerEntry, file: Path) -> None:
        """Remove what is cached of custom tools as they were before an edit: each one makes a new key."""
        if entry.custom:
            for other in self._directory.glob(f"{file.stem[:-_CODE_DIGITS]}*"):
                if not other.name.startswith(file.stem):
                    other.unlink(missing_ok=True)

    def _open(self, file: Path) -> CachedServer | None:
        try:
            if file in unwritten:
                return CachedServer(unwritten[file])
            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as stream:
                return CachedServer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        except CachedServer.DAMAGED:
            return None  # not there, of another version, or damaged: the server is listed again

    def _open_failure(self, file: Path) -> Failure | None:
        file = failure_file(file)
        try:
            return Failure(**json.loads(unwritten[file] if file in unwritten else read_small(file)))
        except CachedServer.DAMAGED:
            return None

    def _note(self, entry: ServerEntry) -> Path:
        key = self._key([entry.lasting_name, _relevant(entry), _place(entry)])
        return self._directory / f"{_slug(entry.lasting_name)}-{key}.last.json"

    def _file(self, entry: ServerEntry, target: Target | None) -> Path:
        values: list[object] = [entry.lasting_name, _relevant(entry)]
        if target is not None:
            files = "" if entry.plugin is None else entry.plugin.files  # of a program, and no remote server
            cwd = f"{target.cwd}{files}" if files or entry.plugin is None else ""
            values += [cwd, target.command, list(target.args), dict(target.env)]
            values += [target.url, dict(target.headers)]
        key = self._key(values)
        if entry.custom:  # first where the group is written, then how its code is now
            key = self._key([entry.name, str(entry.file)])[:-_CODE_DIGITS] + key[-_CODE_DIGITS:]
        return self._directory / f"{_slug(entry.lasting_name)}-{key}.jsonl"

    def _key(self, values: list[object]) -> str:
        return hmac.new(self._secret, canonical(values), hashlib.sha256).hexdigest()[:20]

    @cached_property
    def _secret(self) -> bytes:
        try:
            return self._secret_file.read_bytes()
        except OSError:
            try:
                with locked(self._secret_file.parent):
                    if not self._secret_file.exists():
                        write_atomically(self._secret_file, os.urandom(32))
                return self._secret_file.read_bytes()
            except OSError as error:  # a home that can't be written to: no other process finds our files
                _note_fault(self._secret_file.parent, error)
                return _own_secret()


def _place(entry: ServerEntry) -> str:
    return "" if entry.plugin is not None else str(entry.file.parent)


def _relevant(entry: ServerEntry) -> Json:
    if entry.plugin is not None:  # its endpoint says it all, whichever plugin's entry counts
        return {}
    return {key: value for key, value in entry.written.items() if key not in _IRRELEVANT}


@cache
def _own_secret() -> bytes:
    """The secret of this process alone, the same for every cache in it."""
    return os.urandom(32)


def _note_fault(directory: Path, error: OSError) -> None:
    import logging  # not needed where all is well, and reading must be quick

    faults[directory] = error.strerror or str(error)
    logger = logging.getLogger(__name__)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # or Python prints what nobody else does
    logger.warning("%s: what servers list is not kept: %s", directory, error)


def _head_of(content: bytes) -> Json:
    return cast("Json", json.loads(content[: content.find(b"\n")]))


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name)[:40].strip("-") or "server"

"""What Satchel knows of a memory's entries: which may be shown, who wrote them, which only people change.

One file beside the memory, where no program sees it. What may be shown is known by digest, so that a program
that changes an entry has made one that nobody vouches for.
"""

import json
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from satchel.errors import SatchelError
from satchel.library.memory.formats.pieces import Piece
from satchel.model import UNTRUSTED, Json, Writer, is_object
from satchel.support.files import Stamp, read_small, stamp_of, write_atomically
from satchel.support.text import label

_FORMAT = 1
_LARGEST = 64 * 1024 * 1024  # bytes
_ORIGIN = ("by", "agent", "execution", "at")
_MOST_READ = 32  # files that are kept as they were read
_LARGEST_KEPT = 4 * 1024 * 1024  # bytes
_TICK = 100_000_000  # nanoseconds within which two changes may have one time
_MOST_SOURCES = 3  # that are named of those that had been read
UNKNOWN = "Satchel does not know who wrote it"
OVERLAPPED = "other programs could write to this memory at the same time"
DOUBTFUL = "the memory had entries that nobody had reviewed when the program began"


_Parts = tuple[dict[str, Json], dict[str, Json], dict[str, Json]]


class _Read:
    """What was read last. Only Satchel writes these files, each as a new one, so times tell them apart."""

    def __init__(self) -> None:
        self._last: dict[Path, tuple[Stamp, _Parts]] = {}

    def get(self, file: Path, stamp: Stamp | None) -> _Parts | None:
        last = self._last.get(file)
        return last[1] if last is not None and last[0] == stamp else None

    def keep(self, file: Path, stamp: Stamp | None, parts: _Parts) -> None:
        if stamp is None or time.time_ns() - stamp[1] < _TICK or stamp != stamp_of(str(file)):
            return  # another may get the same time, or has come meanwhile
        if stamp[2] > _LARGEST_KEPT:
            return
        if len(self._last) >= _MOST_READ:
            self._last = {}
        self._last[file] = stamp, parts


_read = _Read()


@dataclass(kw_only=True)
class Standing:
    """What is known of each entry, by digest."""

    shown: dict[str, Json] = field(default_factory=dict[str, Json])  # who wrote it; these may be shown
    waiting: dict[str, Json] = field(default_factory=dict[str, Json])  # the same; and why it waits
    read_only: dict[str, Json] = field(default_factory=dict[str, Json])  # the file and what to put back
    owner: str = ""  # the agent whose memory it is
    is_changed: bool = False

    def why(self, digest: str) -> str:
        """Why an entry waits; empty if it does not."""
        if digest in self.shown:
            return ""
        return str(self.waiting.get(digest, {}).get("why") or UNKNOWN)

    def knows(self, digest: str) -> bool:
        return digest in self.shown or digest in self.waiting

    def agent(self, digest: str) -> str | None:
        """The other agent that wrote an entry, if one did."""
        return self.origin(digest).get("agent")

    def agents(self, digests: Iterable[str]) -> frozenset[str]:
        """The other agents that wrote any of these entries."""
        return frozenset(agent for digest in digests if (agent := self.agent(digest)))

    def origin(self, digest: str) -> dict[str, str]:
        """The writer of an entry, with execution and time as far as they are known."""
        about = self.shown.get(digest) or self.waiting.get(digest) or {}
        return {key: value for key in _ORIGIN if isinstance(value := about.get(key), str)}

    def record(self, file: str, digests: Iterable[str], writer: Writer, why: str) -> None:
        """Entries that are new in a file; they wait if there is a reason `why`."""
        about = self._about(file, writer)
        self.is_changed = True
        for digest in digests:
            if why:
                self.waiting[digest] = {**about, "why": why}
                self.shown.pop(digest, None)  # it was there, went, and is written again
            else:
                self.shown[digest] = about
                self.waiting.pop(digest, None)

    def carry(self, file: str, old: str, new: str) -> None:
        """What holds of an entry holds of it in another file, too."""
        for kept in (self.shown, self.waiting, self.read_only):
            if old in kept:
                self.is_changed = True
                kept[new] = {**kept[old], "file": file}

    def _about(self, file: str, writer: Writer) -> Json:
        about = {
            "file": file,
            "by": writer.kind,
            "agent": writer.agent if writer.agent != self.owner else None,
            "execution": writer.execution,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        return {key: value for key, value in about.items() if value}

    def protect(self, file: str, digest: str, piece: Piece) -> None:
        """Have an entry changed by people only, from now on."""
        kept = {"file": file, "canonical": piece.canonical, "key": piece.key, "text": piece.text}
        self.read_only[digest] = kept
        self.is_changed = True

    def forget(self, digests: Iterable[str]) -> None:
        for digest in digests:
            for kept in (self.shown, self.waiting, self.read_only):
                self.is_changed |= kept.pop(digest, None) is not None

    def forget_missing(self, digests: Collection[str], unsure: Collection[str]) -> None:
        """Forget what is in no file any more; of `unsure` files nobody knows what is in them."""
        known = {**self.shown, **self.waiting}
        gone = [d for d, about in known.items() if d not in digests and about.get("file") not in unsure]
        self.forget(digest for digest in gone if digest not in self.read_only)


def reason_to_wait(writer: Writer) -> str:
    """Why what is written has to wait; empty if it need not."""
    sources = [source.name for source in writer.reads if UNTRUSTED in source.labels]
    if writer.kind == "person" or not sources:
        return ""
    named = ", ".join(label(name, 60) for name in sources[:_MOST_SOURCES])
    more = f" and {len(sources) - _MOST_SOURCES} more" if len(sources) > _MOST_SOURCES else ""
    return f"written after reading {named}{more}"


def load(file: Path) -> Standing:
    """What is known; nothing where there is no file yet. It lies in the directory of the agent's name."""
    owner = file.parent.name
    stamp = stamp_of(str(file))
    parts = _read.get(file, stamp)
    if parts is None:
        parts = _parts(file)
        _read.keep(file, stamp, parts)
    shown, waiting, read_only = map(dict, parts)
    return Standing(shown=shown, waiting=waiting, read_only=read_only, owner=owner)


def _parts(file: Path) -> _Parts:
    try:
        text = read_small(file, _LARGEST).decode()
    except FileNotFoundError:
        return {}, {}, {}
    except (OSError, ValueError) as error:
        raise _unreadable(file, str(error)) from None
    try:
        kept: Any = json.loads(text)
        parts: _Parts = kept["shown"], kept["waiting"], kept["read_only"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable(file, repr(error)[:200]) from None
    if kept.get("format") != _FORMAT or not all(map(_is_records, parts)):
        raise _unreadable(file, "it has another format")
    return parts


def save(file: Path, standing: Standing) -> None:
    """Write what is known, if anything has changed."""
    if not standing.is_changed:
        return
    content = {
        "format": _FORMAT,
        "shown": standing.shown,
        "waiting": standing.waiting,
        "read_only": standing.read_only,
    }
    write_atomically(file, (json.dumps(content, indent=0) + "\n").encode())
    standing.is_changed = False


def sweep_beside(file: Path) -> None:
    """Take away what processes left that were killed while they wrote it. To be called under the lock."""
    for left in file.parent.glob(f".{file.name}.*"):
        left.unlink(missing_ok=True)


def _is_records(value: object) -> bool:
    return is_object(value) and all(map(is_object, value.values()))


def _unreadable(file: Path, reason: str) -> SatchelError:
    return SatchelError(
        f"{file} can't be read: {reason}",
        hint="remove it, and review the memory's entries again: satchel memory review",
    )

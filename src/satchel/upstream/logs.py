"""What servers write to standard error, and when they start and end: kept in a file for each server.

A thread of its own does the writing, so that no disk holds up the event loop. Any number of processes write
to one file, in whole lines. What is too much at once is left out and counted. Secrets of the entry are taken
out before anything is written. Nothing here is a reason for a server to fail.
"""

import logging
import os
import re
import shlex
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from satchel.config import Target
from satchel.config.shown import without_secrets
from satchel.errors import SatchelError
from satchel.support.files import locked, private_directory
from satchel.upstream.redacting import redact

logger = logging.getLogger(__name__)

MAX_BYTES = 1024 * 1024
"""Of a server's file; then it becomes the older one of two."""
_MOST_WAITING = 1024 * 1024  # bytes that wait to be written
_AT_ONCE = 100  # lines
_MOST_LINES = 1000  # of what has come in one piece
_LONGEST_LINE = 16 * 1024  # bytes; of a longer one the beginning is kept
_MOST_CHARACTERS = 2000
_PATIENCE = 5.0  # seconds that closing waits for what is still to be written
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")


def log_file(directory: Path, server: str) -> Path:
    """Where the log of a server is. Its name may be anything, and a file's may not."""
    plain = server if _PLAIN.fullmatch(server) else sha256(os.fsencode(server)).hexdigest()[:24]
    return directory / f"{plain}.log"


def older(file: Path) -> Path:
    return file.with_name(f"{file.name}.1")


def shown_command(target: Target) -> str:
    """The command line or address as people may see it."""
    words = without_secrets([target.command, *target.args] if target.command else [target.url.split("?")[0]])
    return redact(shlex.join(words) if target.command else words[0], target.secrets)


class ServerLogs:
    """The logs of one pool. Satchel's own log hears of everything; without a directory, nothing else does."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._waiting: deque[_Piece] = deque()
        self._size = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_closing = False
        self._rests: dict[ServerLog, bytes | None] = {}  # None: what comes is skipped up to the next line

    def open(self, target: Target, process: int | None = None) -> "ServerLog":
        """The log of one connection; `process` is the number of the server's own."""
        return ServerLog(self, target.name, process, target.secrets)

    def close(self) -> None:
        """Write what is left, but don't wait for a disk for ever."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def put(self, log: "ServerLog", data: bytes, *, is_own: bool = False) -> None:
        """Have something written soon, or leave it out where too much waits already."""
        if self._directory is None and not logger.isEnabledFor(logging.INFO):
            return
        with self._changed:
            if self._size + len(data) > _MOST_WAITING:
                log.left_out += data.count(b"\n")
                log.has_gap = True
                return
            self._waiting.append(_Piece(log=log, data=data, is_own=is_own, is_after_gap=log.has_gap))
            log.has_gap = log.has_gap and is_own
            self._size += len(data)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="server-logs", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._is_closing:
                    self._changed.wait()
                pieces = list(self._waiting)
                self._waiting.clear()
                self._size = 0
                ends = self._is_closing
            lines: dict[ServerLog, list[str]] = {}
            for piece in pieces:
                lines.setdefault(piece.log, []).extend(self._lines_of(piece))
            if ends:
                for log in list(self._rests):
                    lines.setdefault(log, []).extend(self._lines_of(_Piece(log=log, data=b"\n")))
            for log, texts in lines.items():
                self._write(log, texts)
            if ends:
                return

    def _lines_of(self, piece: "_Piece") -> list[str]:
        """Whole lines. What has no end yet waits for the rest; half a line could be half a secret."""
        log, data = piece.log, piece.data
        if piece.is_own:
            return [log.line("-", data, piece.at)]
        rest = None if piece.is_after_gap else self._rests.get(log, b"")
        if rest is None:
            _, newline, data = data.partition(b"\n")
            rest = b"" if newline else None
        *whole, last = [b""] if rest is None else (rest + data).split(b"\n")
        if len(last) > _LONGEST_LINE:
            whole, rest = [*whole, last], None
        self._rests[log] = None if rest is None else last
        if len(whole) > _MOST_LINES:  # each takes time, which the rest of the process needs, too
            log.left_out += len(whole) - _MOST_LINES
            whole = whole[-_MOST_LINES:]
        texts = [log.line("|", line, piece.at) for line in whole if line.strip()]
        if log.left_out:
            number, log.left_out = log.left_out, 0
            texts.append(log.line("-", f"{number} lines came too fast and are left out".encode(), piece.at))
        return texts

    def _write(self, log: "ServerLog", lines: list[str]) -> None:
        for line in lines:
            logger.info("%s: %s", log.server, line.partition(" ")[2].rstrip("\n"))
        if self._directory is None or not lines:
            return
        file = log_file(self._directory, log.server)
        try:
            private_directory(self._directory)
            for start in range(0, len(lines), _AT_ONCE):
                self._append(file, "".join(lines[start : start + _AT_ONCE]).encode())
        except OSError as error:
            logger.warning("the log %s can't be written: %s", file, error.strerror or error)
            self._directory = None  # once is enough

    def _append(self, file: Path, data: bytes) -> None:
        """Whole lines in one write: those of other processes come before or after them."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(file, flags, 0o600)
        with open(descriptor, "wb", buffering=0) as stream:
            stream.write(data)
            is_full = os.fstat(descriptor).st_size > MAX_BYTES
        if is_full:
            self._rotate(file)

    def _rotate(self, file: Path) -> None:
        with suppress(SatchelError), locked(file.parent):
            if file.stat().st_size > MAX_BYTES:  # another process may have done it meanwhile
                os.replace(file, older(file))


@dataclass(eq=False)
class ServerLog:
    """The log of one connection to one server."""

    logs: ServerLogs
    server: str
    process: int | None
    secrets: Sequence[str] = field(repr=False)
    left_out: int = 0  # lines
    has_gap: bool = False  # what comes next does not go on where the last one ended

    def note(self, text: str) -> None:
        """Something that Satchel saw of the server."""
        self.logs.put(self, text.encode("utf-8", "replace"), is_own=True)

    def stderr(self, chunk: bytes) -> None:
        """Something that the server wrote, as it came."""
        self.logs.put(self, chunk)

    def line(self, sign: str, data: bytes, at: datetime) -> str:
        """A line of the file: time, process, `-` or `|` for what Satchel says or the server wrote, text."""
        text = redact(data.decode("utf-8", "replace").rstrip(), self.secrets)
        text = text.replace("\r", " ").replace("\n", " ")[:_MOST_CHARACTERS]
        return f"{at.isoformat(timespec='milliseconds')} {self.process or '-'} {sign} {text}\n"


@dataclass(frozen=True, kw_only=True, eq=False)
class _Piece:
    log: ServerLog
    data: bytes
    is_own: bool = False
    is_after_gap: bool = False
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

"""What servers wrote to standard error, as files keep it: read from their end, and followed."""

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from satchel.config import Paths
from satchel.upstream.logs import log_file, older
from satchel.verbs.offline import read_catalog

_PAUSE = 0.2  # seconds between two looks at a file


@dataclass(frozen=True, kw_only=True)
class LogInfo:
    """The log of one server. `changed_at` is in seconds since 1970, None where nothing was written yet."""

    server: str
    file: Path
    size: int
    changed_at: float | None


def list_logs(paths: Paths) -> list[LogInfo]:
    """One for each configured server."""
    return [_info(paths, name) for name in read_catalog(paths).entries]


def find_log(paths: Paths, server: str) -> LogInfo:
    """The log of a server, by any spelling of its name. Raises NotFoundError."""
    return _info(paths, read_catalog(paths).snapshot.server(server).name)


def _info(paths: Paths, server: str) -> LogInfo:
    file = log_file(paths.logs, server)
    states = [each.stat() for each in (older(file), file) if each.is_file()]
    changed_at = max((state.st_mtime for state in states), default=None)
    return LogInfo(
        server=server, file=file, size=sum(state.st_size for state in states), changed_at=changed_at
    )


def last_lines(log: LogInfo, count: int) -> list[str]:
    """The newest lines, oldest first."""
    lines: deque[str] = deque(maxlen=count)
    for file in (older(log.file), log.file):
        with suppress(FileNotFoundError), file.open("rb") as stream:
            lines.extend(_text(line) for line in stream)
    return list(lines)


def follow_lines(log: LogInfo, count: int) -> Iterator[str]:
    """The newest lines, then those that come, without end; also when the file makes room for a new one."""
    stream = _opened(log.file)
    rest = b""
    newest: deque[str] | None = deque(maxlen=count)  # until what was there before is read
    with suppress(FileNotFoundError), older(log.file).open("rb") as former:
        newest.extend(_text(line) for line in former)
    while True:
        data = stream.read() if stream is not None else b""
        *lines, rest = (rest + data).split(b"\n")
        if newest is not None:
            newest.extend(map(_text, lines))
            yield from newest
            newest = None
        else:
            yield from map(_text, lines)
        if not data:
            time.sleep(_PAUSE)
            with suppress(FileNotFoundError):
                if stream is None or log.file.stat().st_ino != os.fstat(stream.fileno()).st_ino:
                    stream = _opened(log.file)


def _opened(file: Path) -> BinaryIO | None:
    try:
        return file.open("rb")
    except FileNotFoundError:
        return None


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\n")

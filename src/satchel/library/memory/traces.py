"""Traces: what programs had read that could write to an agent's files, for the rules of `flows`.

Each place has a file beside it, where no program sees it. A line is added before something is read, so that a
crash loses none, and stays until the place is cleared. `marks.py` only knows whether strangers had a hand in
it; this knows which servers did, and is kept only while there are rules.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from satchel.errors import SatchelError
from satchel.library.memory.marks import is_marked
from satchel.model import UNTRUSTED, Source, is_list, is_object
from satchel.support.files import Stamp, private_directory, stamp_of

MEMORY = "memory"
SKILLS = "skills"
_MOST = 200  # sources that are named; of others only the server is
_LARGEST = 4 * 1024 * 1024  # bytes
_MOST_KEPT = 64  # files that are kept as they were read
_kept: dict[str, tuple[Stamp, dict[Source, None]]] = {}


def trace(own: Path, place: str, sources: Iterable[Source]) -> None:
    """Note what a program reads that can write to one of the agent's places, which are in `own`.

    SatchelError where that can't be noted: then nothing may be read.
    """
    file = _file(own, place)
    known = _read(file)
    new = [source for source in sources if source not in known]
    if not new:
        return
    if not known and is_marked(own, place):  # before there were rules
        new.insert(0, Source(what=place, labels=frozenset({UNTRUSTED})))
    if len(known) + len(new) > _MOST:
        new = [source for source in dict.fromkeys(map(_of_server, new)) if source not in known]
    lines = "".join(f"\n{_line(source)}\n" for source in new)  # whatever a crash has left before
    try:
        private_directory(own)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(file, flags, 0o600), "ab", buffering=0) as stream:
            stream.write(lines.encode())
    except OSError as error:
        raise SatchelError(
            f"it can't be noted in {file} what a program reads: {error.strerror}",
            hint="programs can read nothing until that is possible, or flows.files is 'ignore'",
        ) from error


def traced(own: Path, place: str) -> tuple[Source, ...]:
    """What programs had read that could write there. SatchelError where that can't be known."""
    return tuple(_read(_file(own, place)))


def forget(own: Path, place: str) -> None:
    """For a place that has just been emptied, or that a person vouches for."""
    with suppress(FileNotFoundError):
        os.unlink(_file(own, place))


def traces_of(own: Path, place: str) -> Path:
    """Where that is noted."""
    return Path(_file(own, place))


def _read(file: str) -> dict[Source, None]:
    stamp = stamp_of(file)
    if stamp is None and not os.path.lexists(file):
        return {}
    kept = _kept.get(file)
    if kept is not None and kept[0] == stamp:
        return kept[1]
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as stream:
            data = stream.read(_LARGEST)
    except OSError as error:
        raise SatchelError(
            f"{file} can't be read: {error.strerror}",
            hint="it has what programs had read that wrote files; satchel flows clear forgets it",
        ) from error
    sources = dict.fromkeys(source for line in data.splitlines() if (source := _source(line)) is not None)
    if stamp is not None:
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        _kept[file] = stamp, sources
    return sources


def _line(source: Source) -> str:
    value = {"server": source.server, "what": source.what, "labels": sorted(source.labels)}
    return json.dumps(value | ({"cut": True} if source.is_cut else {}))


def _source(line: bytes) -> Source | None:
    """What a line says; nothing for one that a crash has cut, since nothing was read after it."""
    if not line:
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not is_object(value):
        return None
    labels: object = value.get("labels")
    return Source(
        server=str(value.get("server", "")),
        what=str(value.get("what", "")),
        labels=frozenset(map(str, labels)) if is_list(labels) else frozenset(),
        is_cut=value.get("cut") is True,
    )


def _of_server(source: Source) -> Source:
    return Source(server=source.server, what="others", labels=source.labels, is_cut=True)


def _file(own: Path, place: str) -> str:
    return f"{own}/{place}.reads.jsonl"

"""The entries of a memory as people and models are shown them, and the one that a person means."""

from collections.abc import Iterable, Sequence

from satchel.errors import ArgumentError, NotFoundError
from satchel.library.memory.contents import Contents
from satchel.library.memory.formats.formats import YAML, format_of, kind_of
from satchel.library.memory.formats.json_items import content_key
from satchel.library.memory.standing import Standing
from satchel.model import Entry, FoundLine, Json, Remembered
from satchel.names import closest

_SHORTEST_DIGEST = 8


def remembered(contents: Contents, standing: Standing) -> Remembered:
    """All entries, each with its standing. What only people change is there even where its file lost it."""
    entries: list[Entry] = []
    for path, parsed in contents.files.items():
        kind = kind_of(path)
        for digest, piece in zip(parsed.digests, parsed.pieces, strict=True):
            why = standing.why(digest)
            entries.append(
                Entry(
                    file=path,
                    line=piece.line,
                    kind=kind,
                    key=piece.key or path,
                    text=piece.text,
                    digest=digest,
                    value=piece.value,
                    is_waiting=bool(why),
                    why=why,
                    read_only=digest in standing.read_only,
                    **standing.origin(digest),
                )
            )
    lost = [digest for digest in standing.read_only if digest not in contents.digests]
    entries += [_kept(digest, standing.read_only[digest]) for digest in lost]
    return Remembered(entries=tuple(entries), problems=contents.problems)


def _kept(digest: str, kept: Json) -> Entry:
    file = str(kept["file"])
    return Entry(
        file=file,
        line=1,
        kind=kind_of(file),
        key=str(kept["key"]) or file,
        text=str(kept["text"]),
        digest=digest,
        read_only=True,
    )


def meant(key: str, entries: Sequence[Entry]) -> Entry:
    """The entry that has this digest, stands at this `file:line`, or is called that."""
    found = [entry for entry in entries if key in (entry.digest, f"{entry.file}:{entry.line}")]
    found = found or [entry for entry in entries if key in _names(entry)]
    if not found and len(key) >= _SHORTEST_DIGEST:
        found = [entry for entry in entries if entry.digest.startswith(key)]
    if not found:
        near = closest(key, {name for entry in entries for name in _names(entry)})
        raise NotFoundError("entry", key[:200], closest=near, hint=None if near else "satchel memory list")
    if len(found) > 1:
        places = ", ".join(f"{entry.file}:{entry.line}" for entry in found[:5])
        raise ArgumentError(f"{len(found)} entries are called '{key[:200]}'", hint=f"name one of {places}")
    return found[0]


def content_of(entry: Entry) -> str:
    """The text of an entry that is replaced when it is edited."""
    if entry.value is not None:
        content = entry.value.get(content_key(entry.value))
        return content if isinstance(content, str) else ""
    if format_of(entry.file) is YAML:
        return entry.text.partition(": ")[2]
    return entry.text


def writer_of(found: FoundLine, entries: Iterable[Entry]) -> str | None:
    """The other agent that wrote what was found, if one did: it is in the last entry that begins above it."""
    above = [entry for entry in entries if entry.file == found.file and entry.line <= found.line]
    return max(above, key=lambda entry: entry.line).agent if above else None


def _names(entry: Entry) -> set[str]:
    value = entry.value or {}
    named = [entry.key, *(value.get(key) for key in ("id", "topic", "description"))]
    return {str(name) for name in named if isinstance(name, str | int)}

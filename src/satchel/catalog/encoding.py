"""What a file of the cache says: a listing, and what it changed since a person last agreed to it.

The definitions that changed tools had when they were accepted are kept with it, so that a person can be shown
the difference.
"""

import hashlib
import json
from dataclasses import asdict
from datetime import UTC, datetime

from satchel.catalog.cached import FORMAT, CachedServer, CachedTool
from satchel.catalog.definitions import canonical, changed_fields, digest
from satchel.model import Change, Json, Listing
from satchel.names import assign_tools

_REMEMBERED = 1_000  # tools that are gone, at most


def encode(
    listing: Listing,
    before: CachedServer | None = None,
    *,
    watched: bool = True,
    quarantined: bool = False,
) -> bytes:
    """A file's content. Tools keep the spelling they had; a tool that is no longer the same is noted.

    Not `watched` are the user's own tools: nobody has to be warned of their own edits. If `quarantined`, a
    tool that is new is noted as well.
    """
    kept = before.spellings if before else {}
    spoken = listing.protocol_version or (before.head["protocol_version"] if before else "")
    before = before if watched else None
    spellings = assign_tools([tool["name"] for tool in listing.tools], kept)
    lines: list[bytes] = []
    tools: list[list[object]] = []
    offset = 0
    for tool in listing.tools:
        line = json.dumps(tool, ensure_ascii=True, separators=(",", ":")).encode()
        spelling = spellings[tool["name"]]
        tools.append(
            [
                tool["name"],
                tool.get("title"),
                tool.get("description", ""),
                tool.get("annotations", {}),
                digest(tool),
                [spelling.python, spelling.typescript, spelling.wire],
                [offset, len(line)],
            ]
        )
        lines.append(line)
        offset += len(line) + 1
    changes = _changes(listing, before, quarantined=quarantined)
    accepted: dict[str, list[int]] = {}
    for name, definition in _accepted(before, changes).items():
        line = json.dumps(definition, ensure_ascii=True, separators=(",", ":")).encode()
        accepted[name] = [offset, len(line)]
        lines.append(line)
        offset += len(line) + 1
    head: Json = {
        "format": FORMAT,
        "implementation": listing.implementation,
        "version": listing.version,
        "protocol_version": spoken,
        "instructions": listing.instructions,
        "resources": listing.resources,
        "resource_templates": listing.resource_templates,
        "prompts": listing.prompts,
        "problems": listing.problems,
        "tools": tools,
        "gone": _gone(listing, before),
        "changes": [asdict(change) for change in changes],
        "accepted": accepted,
        "size": offset,
    }
    head["digest"] = digest_of(head)
    head["listed_at"] = now()
    return b"\n".join([json.dumps(head).encode(), *lines, b""])


def _gone(listing: Listing, before: CachedServer | None) -> dict[str, str]:
    """Tools that were listed once, with their digest: leaving one out for a while must not hide a change."""
    if before is None:
        return {}
    accepted = {change.tool: change.before for change in before.changes}
    known: dict[str, str] = {
        **before.head["gone"],
        **{tool.name: tool.digest for tool in before.tools},
    } | accepted
    now = {tool["name"] for tool in listing.tools}
    gone = [(name, value) for name, value in known.items() if name not in now]
    return dict(gone[-_REMEMBERED:])


def _changes(listing: Listing, before: CachedServer | None, *, quarantined: bool) -> list[Change]:
    """What was recorded and still stands, and what is new. Going back to the first definition clears it."""
    if before is None:
        return []
    known = {change.tool: change for change in before.changes}
    old = {tool.name: tool for tool in before.tools}
    gone: dict[str, str] = before.head["gone"]
    changes: list[Change] = []
    for tool in listing.tools:
        name: str = tool["name"]
        previous, recorded, now_is = old.get(name), known.get(name), digest(tool)
        if previous is None and name not in gone:
            if quarantined:
                changes.append(Change(tool=name, before="", after=now_is, fields=(), at=now()))
            continue
        if previous is not None and now_is == previous.digest:
            if recorded:
                changes.append(recorded)
            continue
        first = recorded.before if recorded else previous.digest if previous else gone[name]
        if now_is != first:
            fields = (
                {*_fields(previous, tool), *(recorded.fields if recorded else ())} if first else set[str]()
            )
            changes.append(
                Change(tool=name, before=first, after=now_is, fields=tuple(sorted(fields)), at=now())
            )
    return changes


def _accepted(before: CachedServer | None, changes: list[Change]) -> dict[str, Json]:
    """The definitions that changed tools had when they were accepted, as far as they are still known."""
    if before is None:
        return {}
    old = {tool.name: tool for tool in before.tools}
    found: dict[str, Json] = {}
    for change in changes:
        previous = old.get(change.tool)
        try:
            if previous is not None and previous.digest == change.before:
                found[change.tool] = previous.read_definition()
            elif (kept := before.accepted(change.tool)) is not None and digest(kept) == change.before:
                found[change.tool] = kept
        except CachedServer.DAMAGED:
            continue
    return found


def _fields(previous: CachedTool | None, tool: Json) -> tuple[str, ...]:
    """The fields that differ, if the old definition can still be read."""
    try:
        return changed_fields(previous.read_definition(), tool) if previous else ("definition",)
    except CachedServer.DAMAGED:
        return ("definition",)


def digest_of(head: Json) -> str:
    stable = {key: value for key, value in head.items() if key not in ("digest", "listed_at")}
    return hashlib.sha256(canonical(stable)).hexdigest()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

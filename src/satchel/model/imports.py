"""What an import into agents' memories would do, before anything is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from satchel.model.reads import Source
from satchel.model.servers import Json

ImportKind = Literal["export of mem0", "Qdrant folder", "history of mem0", "export of Satchel"]
Reason = Literal["deleted", "expired", "empty", "too long", "unreadable", "not a memory", "listed twice"]


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A part of what was read that is not imported."""

    where: str  # `result 3`, `line 7`, `collection mem0, row 2`
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class ImportPlan:
    """Core memories for each agent, as its `core_memories.json` would have them, and what is left out."""

    kind: ImportKind
    items: Mapping[str, tuple[Json, ...]]  # by agent; only agents that get something
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]  # what a person should know before going on
    source: Source  # what whoever imports has read: some model wrote it, somewhere


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The items of a plan for one agent, beside what its memory has already."""

    new: tuple[Json, ...]
    changed: tuple[Json, ...]  # where they come from, since they were imported; not here
    kept: tuple[Json, ...]  # changed here, so that the memory's own stays
    known: int  # the same as at the last import, whatever has become of them here

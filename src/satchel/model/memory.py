"""An agent's memory: its entries, as they are in files that people read, and who wrote them."""

import hashlib
from dataclasses import dataclass
from typing import Literal

from satchel.model.reads import Source
from satchel.model.servers import Json

EntryKind = Literal["core", "task", "pattern", "preference", "other"]
"""In `core_memories.json`, `task_history.json`, `learned_patterns.md`, `preferences.yaml`; another file."""


@dataclass(frozen=True, kw_only=True)
class Writer:
    """The writer of a memory: a person, Satchel itself, or a model or its program, after all it read."""

    kind: Literal["person", "satchel", "model"]
    execution: str | None = None
    conversation: str | None = None
    reads: tuple[Source, ...] = ()
    agent: str | None = None  # whose model or program it is


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One thing remembered: an item of a list, a heading with its text, a key with its value."""

    file: str  # below the memory: `core_memories.json`, `notes/plan.md`
    line: int  # where it begins, from 1
    kind: EntryKind
    key: str  # what people call it: its id or topic, its heading, its key
    text: str  # what a model is told of it
    digest: str  # of its file's name and its content: what was reviewed is known by it
    value: Json | None = None  # of an item of a list, all of it
    is_waiting: bool = False  # for a person's review; until then no prompt has it
    why: str = ""  # it waits: what had been read before it was written
    read_only: bool = False  # only people change it
    by: str = ""  # the kind of its writer, as far as that is known
    agent: str | None = None  # that wrote it, where it is not the one whose memory this is
    execution: str | None = None  # the program that wrote it
    at: str = ""  # when that was noticed, ISO 8601


@dataclass(frozen=True, kw_only=True)
class FoundLine:
    """A place in a memory that fits a query."""

    file: str
    line: int
    text: str
    is_waiting: bool = False
    agent: str | None = None  # as of an entry


@dataclass(frozen=True, kw_only=True)
class MemoryProblem:
    """Why a file of a memory, or a part of it, is not understood. It is left as it is."""

    file: str
    line: int | None
    message: str


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """All that a memory has, file by file; what could not be read hides nothing else."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[MemoryProblem, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ToldMemory:
    """The text about a memory for a model at the beginning of a conversation, with its size."""

    text: str = ""  # nothing where nothing is remembered
    entries: int = 0  # that it has
    tokens: int = 0  # at most

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

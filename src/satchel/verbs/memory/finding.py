"""Memories in a search over everything: their files as documents, and the line in each that is meant."""

from collections.abc import Iterable
from pathlib import Path

from satchel.codegen.text import one_line
from satchel.config import Configuration
from satchel.config.settings import find_agent
from satchel.library.memory.entries import writer_of
from satchel.library.memory.places import memory_of
from satchel.model import Entry, FoundLine, Json
from satchel.search.documents import Document
from satchel.search.file_documents import documents_in
from satchel.support.program_paths import MEMORY
from satchel.verbs.memory.opening import is_there, open_memory

_MOST_LINES = 1_000  # among which the best of each file is looked for
_LONGEST = 120  # characters of a line


def memory_documents(configuration: Configuration, agent: str) -> list[Document]:
    """The files of an agent's memory, by the paths that programs know. None where its memory is off."""
    configuration.paths.prepare_state()
    settings = find_agent(configuration.settings, agent).memory
    if not settings.enabled:
        return []
    directory: Path = memory_of(configuration.paths, settings, agent)
    return documents_in(directory, MEMORY)


def with_lines(rows: list[Json], configuration: Configuration, agent: str, query: str) -> list[Json]:
    """What was found, in its order; of the memory with the line that fits best, and whether that waits."""
    if not any(row["kind"] == "memory" for row in rows) or not is_there(configuration, agent):
        return rows
    memory = open_memory(configuration, agent)
    best: dict[str, FoundLine] = {}
    for found in memory.search(query, _MOST_LINES):
        best.setdefault(found.file, found)
    entries = memory.read().entries
    return [_with_line(row, best, entries) if row["kind"] == "memory" else row for row in rows]


def _with_line(row: Json, best: dict[str, FoundLine], entries: Iterable[Entry]) -> Json:
    file = str(row["path"]).removeprefix(f"{MEMORY}/")
    found = best.get(file)
    if found is None:
        waits = any(entry.is_waiting for entry in entries if entry.file == file)
        return {**row, "line": 1, "waiting": waits}
    text = one_line(found.text)
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    other = writer_of(found, entries)
    told = {**row, "line": found.line, "text": text, "waiting": found.is_waiting}
    return told | ({"agent": other} if other else {})

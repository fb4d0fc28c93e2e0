"""What a model asks of a memory, as a value."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class MemoryCommand:
    """What a model asks of a memory, by the names that Claude's memory tool has."""

    command: str
    path: str | None = None
    view_range: Sequence[int] | None = None
    file_text: str | None = None
    old_str: str | None = None
    new_str: str | None = None
    insert_line: int | None = None
    insert_text: str | None = None
    old_path: str | None = None
    new_path: str | None = None
    query: str | None = None
    limit: int = 10

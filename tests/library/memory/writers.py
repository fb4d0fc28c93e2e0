"""Who writes to the memories of these tests."""

from pathlib import Path

from satchel.library.memory.memory import Memory
from satchel.model import UNTRUSTED, Source, Writer

PERSON = Writer(kind="person")
SATCHEL = Writer(kind="satchel")
MODEL = Writer(kind="model", execution="e1")
STRANGERS = Source(server="web", what="get_page", labels=frozenset((UNTRUSTED,)))
MISLED = Writer(kind="model", execution="e2", reads=(STRANGERS,))
"""A model that has read what strangers may have written."""


def memory_in(directory: Path) -> Memory:
    return Memory(directory / "memory", directory / "memory.json")


def write(directory: Path, name: str, text: str) -> Path:
    """What a program does, without asking."""
    file = directory / "memory" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def waiting(memory: Memory) -> list[str]:
    return [entry.text for entry in memory.read().entries if entry.is_waiting]


def shown(memory: Memory) -> list[str]:
    return [entry.text for entry in memory.read().entries if not entry.is_waiting]

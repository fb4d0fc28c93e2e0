"""A file that a program has mapped changes without a new time: what is in it counts, and not when."""

import mmap
import time
from pathlib import Path

from satchel.library.memory.memory import Memory
from satchel.model import UNTRUSTED, Source, Writer

STRANGE = (Source(server="web", what="page", labels=frozenset({UNTRUSTED})),)


def test_what_is_written_to_a_mapped_file_is_noticed(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory", tmp_path / "memory.json")
    memory.add("the sky is blue", Writer(kind="person"), topic="sky")
    file = tmp_path / "memory" / "core_memories.json"
    began = memory.begin("x")
    with open(file, "r+b") as stream, mmap.mmap(stream.fileno(), 0) as mapped:
        mapped[0:1] = b"["  # from now on, the kernel notes no time until it has written the page
        time.sleep(0.2)  # times that are closer than this might not be told apart
        before = file.stat()
        assert not memory.read().entries[0].is_waiting
        place = mapped.find(b"blue")
        mapped[place : place + 4] = b"obey"
        assert file.stat().st_mtime_ns == before.st_mtime_ns
    (entry,) = memory.end(began, Writer(kind="model", reads=STRANGE))
    assert "obey" in entry.text and entry.is_waiting
    assert memory.sight().is_doubtful

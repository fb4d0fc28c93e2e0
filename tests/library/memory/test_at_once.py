"""Many processes that write one memory at once, programs beside them, and kills at any moment."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from satchel.library.memory.places import CORE, HISTORY, PATTERNS, PREFERENCES
from tests.library.memory.writers import MODEL, PERSON, memory_in, waiting
from tests.scale import scaled

WRITERS = 32
EACH = 6

# Through Satchel: each of these adds its entries to all four files.
_ADDS = f"""
import sys
from pathlib import Path
from tests.library.memory.writers import MODEL, PERSON, SATCHEL, memory_in
memory, name = memory_in(Path(sys.argv[1])), sys.argv[2]
for number in range({EACH}):
    memory.add(f"{{name}} {{number}}", PERSON)
    memory.append_task({{"description": f"{{name}} {{number}}"}}, SATCHEL)
    memory.add("text", PERSON, topic=f"{{name}} {{number}}", file="learned_patterns.md")
    memory.add("value", PERSON, topic=f"{{name}}-{{number}}", file="preferences.yaml")
"""

# As a program does: files of its own, and entries of a shared file that it replaces as a whole.
_PROGRAM = f"""
import json, os, sys, time
from pathlib import Path
from tests.library.memory.writers import MODEL, memory_in
directory, name = Path(sys.argv[1]), sys.argv[2]
memory = memory_in(directory)
began = memory.begin(name)
for number in range({EACH}):
    (directory / "memory" / f"{{name}}.md").write_text(f"# {{name}}\\n\\n{{number}}\\n")
    file = directory / "memory" / f"{{name}}.json"
    aside = directory / "memory" / f"{{name}}.tmp"
    aside.write_text(json.dumps([f"{{name}} {{at}}" for at in range(number + 1)]))
    os.replace(aside, file)
memory.end(began, MODEL)
"""


def start(code: str, directory: Path, name: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", code, str(directory), name]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_of_many_writers_nothing_is_lost_or_torn(tmp_path: Path) -> None:
    programs = [start(_PROGRAM, tmp_path, f"p{number}") for number in range(8)]
    writers = [start(_ADDS, tmp_path, f"w{number}") for number in range(WRITERS - len(programs))]
    for process in (*programs, *writers):
        _, errors = process.communicate(timeout=300)
        assert (process.returncode, errors) == (0, b"")
    names = {f"w{number} {at}" for number in range(len(writers)) for at in range(EACH)}
    inside = tmp_path / "memory"
    assert {item["content"] for item in json.loads((inside / CORE).read_text())} == names
    assert {item["description"] for item in json.loads((inside / HISTORY).read_text())} == names
    remembered = memory_in(tmp_path).read()
    assert remembered.problems == ()
    keys = [entry.key for entry in remembered.entries if entry.kind in ("pattern", "preference")]
    assert sorted(keys) == sorted([*names, *(name.replace(" ", "-") for name in names)])
    of_programs = [entry for entry in remembered.entries if entry.kind == "other"]
    assert len(of_programs) == len(programs) * (EACH + 1)
    assert not any(entry.is_waiting for entry in remembered.entries if entry.kind != "other")
    assert not list(inside.rglob(".*"))


# As a careless program does: it opens a shared file anew, and others may see it half written.
_IN_PLACE = """
import json, sys, time
from pathlib import Path
file = Path(sys.argv[1]) / "memory" / "core_memories.json"
file.parent.mkdir(exist_ok=True)
end = time.monotonic() + 3
while time.monotonic() < end:
    text = json.dumps([{"topic": "mine", "content": "x" * 200} for _ in range(200)], indent=1)
    with open(file, "w") as stream:
        for at in range(0, len(text), 5_000):
            stream.write(text[at : at + 5_000])
            stream.flush()
    time.sleep(0.05)
"""


@pytest.mark.slow
def test_beside_a_program_that_writes_in_place_no_file_is_torn(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    with start(_IN_PLACE, tmp_path, "") as process:
        count = 0
        while process.poll() is None:
            memory.add(f"ours {count}", PERSON)
            count += 1
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert count > 0
    items = json.loads((tmp_path / "memory" / CORE).read_text())
    assert len([item for item in items if item["topic"] == "mine"]) in (0, 200)


_CHANGES_ALL = """
import sys, time
from pathlib import Path
from tests.library.memory.writers import MISLED, MODEL, PERSON, SATCHEL, memory_in
memory = memory_in(Path(sys.argv[1]))
number = int(time.time() * 1000)  # none that was used before a kill
print("ready", flush=True)
while True:
    number += 1
    began = memory.begin(str(number))
    memory.add(f"word {number}", PERSON)
    memory.append_task({"description": f"task {number}"}, SATCHEL)
    memory.add("text " * 500, MISLED, topic=f"Head {number}", file="learned_patterns.md")
    if memory.search("key", 1):
        memory.edit("key", str(number), PERSON)
        memory.forget("core_memories.json:2", PERSON)
    else:
        memory.add("1", PERSON, topic="key", file="preferences.yaml")
    memory.create(f"sub/{number}.md", "# One", MODEL)
    memory.rename(f"sub/{number}.md", f"sub/x{number}.md", MODEL)
    memory.delete(f"sub/x{number}.md", MODEL)
    memory.end(began, MODEL)
    print(number, flush=True)
"""


def _kill_again_and_again(directory: Path, times: int) -> None:
    chance = random.Random(times)
    for _ in range(times):
        command = [sys.executable, "-c", _CHANGES_ALL, str(directory)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0, 0.25))  # a kill at any moment
            process.send_signal(signal.SIGKILL)
            _, errors = process.communicate(timeout=60)
            assert errors == b""
        inside = directory / "memory"
        for name in (CORE, HISTORY):
            if (inside / name).exists():
                json.loads((inside / name).read_text())
        json.loads((directory / "memory.json").read_text())
        remembered = memory_in(directory).read()
        assert remembered.problems == ()
        written = {entry.text for entry in remembered.entries if entry.kind == "pattern"}
        assert all(text.endswith("text text") for text in written)
        assert not any(
            entry.is_waiting for entry in remembered.entries if entry.kind in ("core", "preference")
        )
        assert all(entry.is_waiting for entry in remembered.entries if entry.kind == "pattern")


def _check_leftovers(directory: Path) -> None:
    for left in directory.rglob(".satchel-*"):
        os.utime(left, (1, 1))
    memory = memory_in(directory)
    memory.end(memory.begin("after"), MODEL)
    assert not list(directory.rglob(".*"))
    assert list((directory / "memory.running").iterdir()) == []
    assert waiting(memory)


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_whole_files(tmp_path: Path) -> None:
    _kill_again_and_again(tmp_path, 8)
    _check_leftovers(tmp_path)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_very_many_kills_leave_whole_files(tmp_path: Path) -> None:
    _kill_again_and_again(tmp_path, scaled(15, 400))
    _check_leftovers(tmp_path)


def test_all_four_files_can_be_made_by_programs_beside_satchel(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    memory.add("one", PERSON)
    memory.add("two", PERSON, topic="a", file=PREFERENCES)
    memory.add("three", PERSON, topic="b", file=PATTERNS)
    assert [entry.kind for entry in memory.read().entries] == ["core", "pattern", "preference"]

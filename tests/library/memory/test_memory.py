"""One memory: reading, adding, changing, and who may be believed."""

import json
from pathlib import Path

import pytest

from satchel.errors import ArgumentError, ConflictError, NotFoundError, SatchelError
from satchel.library.memory.memory import Memory
from satchel.library.memory.places import CORE, HISTORY, PATTERNS, PREFERENCES
from tests.library.memory.writers import (
    MISLED,
    MODEL,
    PERSON,
    SATCHEL,
    memory_in,
    shown,
    waiting,
    write,
)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return memory_in(tmp_path)


def test_a_memory_that_nobody_has_made_is_empty(memory: Memory, tmp_path: Path) -> None:
    assert memory.read().entries == ()
    assert memory.search("anything", 5) == []
    assert not (tmp_path / "memory").exists()


def test_each_kind_of_file_has_its_entries(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path, CORE, '[\n  {"topic": "deploy", "content": "on Friday", "id": "m1"}\n]\n')
    write(tmp_path, HISTORY, '[{"description": "Optimize queries", "outcome": "faster", "status": "done"}]')
    write(tmp_path, PATTERNS, "# Retry\n\nWait on 429.\n")
    write(tmp_path, PREFERENCES, "# mine\neditor: vim\nindent: 4\n")
    write(tmp_path, "notes/plan.txt", "\nfirst\nsecond\n")
    entries = memory.read().entries
    assert [(entry.file, entry.line, entry.kind, entry.key, entry.text) for entry in entries] == [
        (CORE, 2, "core", "m1", "deploy: on Friday"),
        (HISTORY, 1, "task", "Optimize queries", "Optimize queries (done): faster"),
        (PATTERNS, 1, "pattern", "Retry", "# Retry\n\nWait on 429."),
        (PREFERENCES, 2, "preference", "editor", "editor: vim"),
        (PREFERENCES, 3, "preference", "indent", "indent: 4"),
        (PREFERENCES, 1, "preference", "comments", "# mine"),
        ("notes/plan.txt", 2, "other", "notes/plan.txt", "first\nsecond"),
    ]


def test_what_was_there_before_anything_is_known_waits(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path, PATTERNS, "# Retry\n\nWait on 429.\n")
    (entry,) = memory.read().entries
    assert entry.is_waiting
    assert entry.why == "Satchel does not know who wrote it"


def test_what_a_person_adds_is_shown(memory: Memory, tmp_path: Path) -> None:
    entry = memory.add("on Friday", PERSON, topic="deploy")
    assert (entry.text, entry.is_waiting) == ("deploy: on Friday", False)
    (kept,) = json.loads((tmp_path / "memory" / CORE).read_text())
    assert list(kept) == ["topic", "content", "id", "created_at", "updated_at", "source"]
    assert memory.read().entries == (entry,)


def test_what_a_model_writes_after_reading_what_strangers_wrote_waits(memory: Memory) -> None:
    assert not memory.add("one", MODEL).is_waiting
    entry = memory.add("two", MISLED)
    assert entry.why == "written after reading web.get_page"
    assert waiting(memory) == ["general: two"]


def test_a_changed_entry_waits_and_one_that_moves_does_not(memory: Memory, tmp_path: Path) -> None:
    memory.add("one", PERSON, topic="a")
    memory.add("two", PERSON, topic="b")
    file = tmp_path / "memory" / CORE
    items = json.loads(file.read_text())
    items[0]["content"] = "ONE"
    file.write_text(json.dumps(items[::-1]))
    assert (shown(memory), waiting(memory)) == (["b: two"], ["a: ONE"])


def test_approved_entries_are_shown_and_rejected_ones_are_removed(memory: Memory, tmp_path: Path) -> None:
    for content in ("one", "two", "three"):
        memory.add(content, MISLED)
    one, two, _ = memory.read().entries
    assert memory.approve([one.digest, "unknown"]) == 1
    assert memory.reject([two.digest, one.digest]) == 1
    assert (shown(memory), waiting(memory)) == (["general: one"], ["general: three"])
    assert len(json.loads((tmp_path / "memory" / CORE).read_text())) == 2


def test_entries_are_edited_and_forgotten_by_what_they_are_called(memory: Memory) -> None:
    core = memory.add("one", PERSON, topic="deploy")
    memory.add("vim", PERSON, topic="editor", file=PREFERENCES)
    memory.add("Wait on 429.", PERSON, topic="Retry", file=PATTERNS)
    assert memory.edit("deploy", "two", PERSON).text == "deploy: two"
    assert memory.edit("editor", "4", PERSON).text == "editor: 4"
    assert memory.edit("Retry", "Wait longer.", PERSON).text == "## Retry\n\nWait longer."
    assert waiting(memory) == []
    memory.forget(core.key, PERSON)
    memory.forget("preferences.yaml:1", PERSON)
    memory.forget("Retry", PERSON)
    assert memory.read().entries == ()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (CORE, '[{"topic": "PLANTED", "content": "x", "note": "PLANTED"}]'),
        (PATTERNS, "## PLANTED\n\nx\n"),
        (PREFERENCES, "PLANTED: x\n"),
        ("notes.txt", "x"),
    ],
)
def test_an_entry_that_waits_does_so_when_a_person_has_edited_it(
    memory: Memory, tmp_path: Path, file: str, text: str
) -> None:
    write(tmp_path, file, text)
    assert memory.edit(f"{file}:1", "fine", PERSON).is_waiting
    assert shown(memory) == []


def test_an_edit_shows_nothing_of_the_entries_that_follow(memory: Memory, tmp_path: Path) -> None:
    memory.add("Wait.", PERSON, topic="Retry", file=PATTERNS)
    write(tmp_path, PATTERNS, "## Retry\n\nWait.\n\n## PLANTED\n")
    memory.edit("Retry", "```", PERSON)  # a fence without an end takes in all that follows
    assert shown(memory) == []


def test_a_new_name_does_not_show_what_the_file_said_beside_its_values(memory: Memory) -> None:
    memory.create("a.yaml", "# PLANTED\n", MISLED)
    assert memory.sight().is_doubtful
    memory.rename("a.yaml", PATTERNS, MODEL)
    assert shown(memory) == []


def test_an_entry_that_is_not_there_is_told_with_the_closest(memory: Memory) -> None:
    memory.add("one", PERSON, topic="deploy")
    with pytest.raises(NotFoundError, match="unknown entry 'deplyo'") as caught:
        memory.forget("deplyo", PERSON)
    assert caught.value.hint == "did you mean deploy?"


def test_two_entries_of_one_name_are_told_apart_by_their_places(memory: Memory) -> None:
    memory.add("one", PERSON, topic="deploy")
    memory.add("two", PERSON, topic="deploy")
    with pytest.raises(ArgumentError, match="2 entries are called 'deploy'"):
        memory.forget("deploy", PERSON)
    memory.forget("core_memories.json:2", PERSON)
    assert shown(memory) == ["deploy: two"]


def test_a_preference_is_added_once(memory: Memory) -> None:
    memory.add("vim", PERSON, topic="editor", file=PREFERENCES)
    with pytest.raises(ConflictError, match=r"'editor' is in preferences\.yaml already"):
        memory.add("nano", PERSON, topic="editor", file=PREFERENCES)
    with pytest.raises(ArgumentError, match="needs a key"):
        memory.add("nano", PERSON, file=PREFERENCES)


def test_a_broken_file_is_named_with_its_line_and_left_as_it_is(memory: Memory, tmp_path: Path) -> None:
    broken = '[\n  {"topic": "a", "content": "one"},\n  {"topic": \n]\n'
    write(tmp_path, CORE, broken)
    write(tmp_path, PATTERNS, "# Retry\n\nWait.\n")
    remembered = memory.read()
    assert [(problem.file, problem.line) for problem in remembered.problems] == [(CORE, 4)]
    assert [entry.file for entry in remembered.entries] == [CORE, PATTERNS]
    with pytest.raises(SatchelError, match=r"core_memories\.json:4: expecting value; it was left as it is"):
        memory.add("two", PERSON)
    assert (tmp_path / "memory" / CORE).read_text() == broken


def test_items_that_are_imported_again_are_known(memory: Memory) -> None:
    items = [{"id": "m1", "content": "one"}, {"content": "two"}, {"content": "two"}]
    assert memory.add_all(items, SATCHEL) == (2, 1)
    assert memory.add_all(items, SATCHEL) == (0, 3)


def test_of_many_tasks_the_older_ones_move_to_another_file(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path, HISTORY, json.dumps([{"description": f"task {number}"} for number in range(500)]))
    memory.append_task({"description": "task 500", "outcome": "done"}, SATCHEL)
    kept = json.loads((tmp_path / "memory" / HISTORY).read_text())
    older = json.loads((tmp_path / "memory" / "task_history.1.json").read_text())
    assert (len(kept), kept[-1]["description"], older) == (500, "task 500", [{"description": "task 0"}])
    assert shown(memory) == ["task 500: done"]


def test_a_task_is_kept_where_older_ones_can_not_be_moved(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path, HISTORY, json.dumps([{"description": f"task {number}"} for number in range(500)]))
    write(tmp_path, "task_history.1.json", "broken")
    memory.append_task({"description": "task 500"}, SATCHEL)
    assert len(json.loads((tmp_path / "memory" / HISTORY).read_text())) == 501
    write(tmp_path, "task_history.1.json", '[{"description": "task 0"}]')  # as after a kill between the two
    memory.append_task({"description": "task 501"}, SATCHEL)
    older = json.loads((tmp_path / "memory" / "task_history.1.json").read_text())
    assert [task["description"] for task in older] == ["task 0", "task 1"]
    assert len(json.loads((tmp_path / "memory" / HISTORY).read_text())) == 500


def test_what_programs_changed_beside_an_entry_is_kept(memory: Memory, tmp_path: Path) -> None:
    text = '{\n "version": 2,\n "memories": [\n  {"content": "ü", "mine": [1.5, null]}\n ]\n}\n'
    file = write(tmp_path, CORE, text)
    memory.add("two", PERSON)
    kept = json.loads(file.read_text())
    assert (kept["version"], kept["memories"][0]) == (2, {"content": "ü", "mine": [1.5, None]})
    assert "ü" in file.read_text()
    assert waiting(memory) == ["version: 2", "ü"]


def test_search_finds_entries_with_their_file_and_line(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path, PATTERNS, "# Retry\n\nWait on 429.\n\nThen ask for the queue of deployments.\n")
    memory.add("the database is slow on Mondays", PERSON, topic="performance")
    (found,) = memory.search("database performance", 5)
    assert (found.file, found.line, found.is_waiting) == (CORE, 2, False)
    (found,) = memory.search("deployment queue", 5)
    assert (found.file, found.line, found.is_waiting) == (PATTERNS, 5, True)
    assert found.text == "Then ask for the queue of deployments."

"""What is kept of entries: bounded, written whole, and refused where it can't be read."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from satchel.errors import SatchelError
from satchel.library.memory.places import CORE, PREFERENCES
from satchel.library.memory.standing import reason_to_wait
from satchel.model import UNTRUSTED, Source, Writer
from tests.library.memory.writers import MISLED, MODEL, PERSON, STRANGERS, memory_in, shown, waiting, write


def kept(directory: Path) -> dict[str, dict[str, object]]:
    return json.loads((directory / "memory.json").read_text())


def test_it_says_who_wrote_what_after_reading_what(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    first = memory.add("one", MODEL)
    second = memory.add("two", MISLED)
    standing = kept(tmp_path)
    assert standing["shown"][first.digest] == {
        "file": CORE,
        "by": "model",
        "execution": "e1",
        "at": first.value and first.value["created_at"],
    }
    about = standing["waiting"][second.digest]
    assert isinstance(about, dict)
    assert about["why"] == "written after reading web.get_page"
    assert (tmp_path / "memory.json").stat().st_mode & 0o77 == 0


def test_what_is_in_no_file_any_more_is_forgotten(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    for number in range(5):
        memory.add(str(number), PERSON)
    write(tmp_path, CORE, json.dumps([entry.value for entry in memory.read().entries][:2]))
    memory.end(memory.begin("e1"), MODEL)
    assert len(kept(tmp_path)["shown"]) == 2


def test_what_is_in_a_broken_file_is_not_forgotten(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    memory.add("one", PERSON)
    file = tmp_path / "memory" / CORE
    whole = file.read_text()
    for broken in (whole[:-5], ""):
        file.write_text(broken)
        memory.end(memory.begin("e1"), MODEL)
    file.write_text(whole)
    assert (shown(memory), waiting(memory)) == (["general: one"], [])


def test_nothing_is_forgotten_while_a_program_may_be_writing(tmp_path: Path) -> None:
    memory = memory_in(tmp_path)
    memory.add("one", PERSON, topic="a", file=PREFERENCES)
    first = memory.begin("e1")
    write(tmp_path, PREFERENCES, "b: 1\n")
    memory.end(memory.begin("e2"), MODEL)
    write(tmp_path, PREFERENCES, "a: one\n")
    memory.end(first, MISLED)
    assert shown(memory) == ["a: one"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"format": 2, "shown": {}, "waiting": {}, "read_only": {}}', "\xff"]
)
def test_a_file_that_can_not_be_read_shows_nothing(tmp_path: Path, text: str) -> None:
    memory = memory_in(tmp_path)
    memory.add("one", PERSON)
    (tmp_path / "memory.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(SatchelError, match=r"memory\.json can't be read") as caught:
        memory.read()
    assert "review" in str(caught.value.hint)
    (tmp_path / "memory.json").unlink()
    assert waiting(memory) == ["general: one"]


def test_people_are_believed_and_others_by_what_they_had_read() -> None:
    many = tuple(replace(STRANGERS, what=f"get_{number}") for number in range(5))
    trusted = Source(server="wiki", what="get_page")
    assert reason_to_wait(replace(PERSON, reads=many)) == ""
    assert reason_to_wait(replace(MODEL, reads=(trusted,))) == ""
    assert reason_to_wait(Writer(kind="satchel", reads=(STRANGERS,))) != ""
    assert reason_to_wait(replace(MODEL, reads=(trusted, *many))) == (
        "written after reading web.get_0, web.get_1, web.get_2 and 2 more"
    )
    odd = Source(what="a\u202e\x1b[31m" + "x" * 100, labels=frozenset((UNTRUSTED,)))
    assert reason_to_wait(replace(MODEL, reads=(odd,))).startswith("written after reading a\ufffd[31mxxx")

"""A repeated import adds what is new, and changes what only mem0 has changed."""

import json
from pathlib import Path

from satchel.library.memory.importing.applying import compare, writer_of
from satchel.library.memory.importing.reading import read_import
from satchel.model import ImportPlan, Json, labels_of


def plan_of(tmp_path: Path, **memories: str) -> ImportPlan:
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"id": id, "memory": memory} for id, memory in memories.items()]))
    return read_import(path, agents=("default",), default_agent="default")


def items_of(tmp_path: Path, **memories: str) -> list[Json]:
    return list(plan_of(tmp_path, **memories).items["default"])


def test_the_first_time_all_is_new_and_the_second_time_all_is_known(tmp_path: Path) -> None:
    items = items_of(tmp_path, a="Tea.", b="Coffee.")

    assert compare(items, []).new == tuple(items)
    again = compare(items_of(tmp_path, a="Tea.", b="Coffee."), items)
    assert (again.new, again.changed, again.kept, again.known) == ((), (), (), 2)


def test_what_mem0_has_changed_is_changed(tmp_path: Path) -> None:
    here = items_of(tmp_path, a="Tea.", b="Coffee.")

    found = compare(items_of(tmp_path, a="Green tea.", b="Coffee."), here)
    assert [item["content"] for item in found.changed] == ["Green tea."]
    assert (found.new, found.kept, found.known) == ((), (), 1)


def test_what_was_changed_here_stays_whatever_mem0_does(tmp_path: Path) -> None:
    here = [item | {"content": "Black tea."} for item in items_of(tmp_path, a="Tea.")]

    same = compare(items_of(tmp_path, a="Tea."), here)
    assert (same.new, same.changed, same.kept, same.known) == ((), (), (), 1)
    both = compare(items_of(tmp_path, a="Green tea."), here)
    assert [item["content"] for item in both.kept] == ["Green tea."]
    assert (both.new, both.changed, both.known) == ((), (), 0)


def test_entries_that_were_made_here_are_never_changed(tmp_path: Path) -> None:
    here: list[Json] = [
        {"id": "mem0-a", "content": "Mine."},
        {"content": "No id."},
        {"id": 7},
        {"id": "mem0-b"},
    ]

    found = compare(items_of(tmp_path, a="Tea.", b="Coffee.", c="Water."), here)
    assert [item["content"] for item in found.new] == ["Water."]
    assert (found.changed, len(found.kept)) == ((), 2)


def test_what_is_imported_waits_unless_a_person_has_reviewed_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, a="Tea.")

    unreviewed = writer_of(plan, is_reviewed=False)
    assert unreviewed.kind != "person"
    assert labels_of(unreviewed.reads) == {"untrusted"}
    assert [source.name for source in unreviewed.reads] == ["import: export of mem0"]
    assert writer_of(plan, is_reviewed=True).kind == "person"

"""Exports are read in every shape, and refused with the line where they are broken."""

import json
import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from satchel.errors import SatchelError
from satchel.library.memory.importing import exports as module
from satchel.library.memory.importing.applying import compare
from satchel.library.memory.importing.exports import read_export
from satchel.library.memory.importing.reading import read_import
from satchel.library.memory.importing.rows import LONGEST, Row
from satchel.model import ImportPlan, LeftOut

TODAY = date(2026, 11, 19)
TEA: dict[str, Any] = {
    "id": "9e8dbb8e-5de0-43e2-b234-dc31183455c5",
    "memory": "Alice likes tea.",
    "hash": "e39feab7706566e684e245f86f51db10",
    "metadata": None,
    "created_at": "2025-06-01T12:00:00.961911-07:00",
    "updated_at": "2025-06-02T12:00:00Z",
    "user_id": "alice",
    "role": "user",
}
DEPLOY: dict[str, Any] = {
    "id": "8526cfe6-8e9a-4695-ba5e-7aad62399204",
    "memory": "Deploys need a ticket.",
    "metadata": {"category": "deploy", "score": 0.5},
    "created_at": "2025-06-03 12:00:00",
    "agent_id": "worker_a",
}


def plan_of(tmp_path: Path, text: str | bytes, today: date = TODAY) -> ImportPlan:
    path = tmp_path / "export.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_import(path, agents=("default", "worker_a"), default_agent="default", today=today)


def contents(plan: ImportPlan) -> dict[str, list[str]]:
    return {agent: [item["content"] for item in items] for agent, items in plan.items.items()}


def lines(*values: object) -> str:
    return "\n".join(json.dumps(value) for value in values)


POINT = {
    "id": TEA["id"],
    "payload": {"data": TEA["memory"], "user_id": "alice", "created_at": TEA["created_at"]},
}
OTHER_POINT = {
    "id": DEPLOY["id"],
    "payload": {"data": DEPLOY["memory"], "agent_id": "worker_a", "category": "deploy"},
}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"results": [TEA, DEPLOY]}, indent=2),
        json.dumps([TEA, DEPLOY]),
        json.dumps({"count": 2, "next": None, "previous": None, "results": [TEA, DEPLOY]}),
        json.dumps([{"count": 2, "results": [TEA]}, {"count": 2, "results": [DEPLOY]}]),
        lines({"count": 2, "next": None, "results": [TEA]}, {"count": 2, "results": [DEPLOY]}),
        lines(TEA, DEPLOY) + "\n",
        lines(TEA) + "\r\n\r\n" + lines(DEPLOY),
        lines([TEA], [DEPLOY]),
        json.dumps({"memories": [TEA, DEPLOY]}),
        json.dumps({"result": {"points": [POINT, OTHER_POINT], "next_page_offset": None}, "status": "ok"}),
        json.dumps([POINT, OTHER_POINT]),
    ],
    ids=[
        "results",
        "bare list",
        "page of the platform",
        "list of pages",
        "pages one after the other",
        "a memory a line",
        "lines with carriage returns",
        "lists one after the other",
        "memories",
        "answer of a Qdrant server",
        "points",
    ],
)
def test_an_export_is_read_in_every_shape(tmp_path: Path, text: str) -> None:
    plan = plan_of(tmp_path, text)

    assert plan.kind == "export of mem0"
    assert contents(plan) == {"default": ["Alice likes tea."], "worker_a": ["Deploys need a ticket."]}
    assert [item["topic"] for item in plan.items["worker_a"]] == ["deploy"]
    assert plan.items["default"][0]["user_id"] == "alice"
    assert (plan.left_out, plan.notes) == ((), ())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_an_export_is_read_in_the_encoding_that_a_shell_gave_it(tmp_path: Path, encoding: str) -> None:
    text = json.dumps([TEA | {"memory": "Tea ☕ für alle"}], ensure_ascii=False)

    assert contents(plan_of(tmp_path, text.encode(encoding))) == {"default": ["Tea ☕ für alle"]}


def test_an_item_has_what_core_memories_have_with_moments_in_utc(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, json.dumps([TEA, DEPLOY]))

    assert list(plan.items["default"][0]) == [
        *("topic", "content", "id", "created_at", "updated_at", "source", "imported", "user_id"),
    ]
    assert plan.items["default"][0] == {
        "topic": "imported",
        "content": "Alice likes tea.",
        "id": "mem0-9e8dbb8e-5de0-43e2-b234-dc31183455c5",
        "created_at": "2025-06-01T19:00:00+00:00",
        "updated_at": "2025-06-02T12:00:00+00:00",
        "source": "mem0",
        "imported": "147d286e2e3b710f",
        "user_id": "alice",
    }
    assert plan.items["worker_a"][0]["updated_at"] == "2025-06-03T12:00:00+00:00"
    assert plan.items["worker_a"][0]["metadata"] == {"score": 0.5}


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (TEA | {"expiration_date": "2026-11-18"}, "expired"),
        (TEA | {"memory": " \n"}, "empty"),
        (TEA | {"memory": None}, "empty"),
        (TEA | {"memory": "x" * (LONGEST + 1)}, "too long"),
        (TEA | {"deleted_at": "2026-01-01T00:00:00Z"}, "deleted"),
        ({"data": "Alice", "entity_type": "PERSON", "linked_memory_ids": ["a"]}, "not a memory"),
        ({"id": "a", "payload": {"user_id": "me", "type": "user_identity"}}, "not a memory"),
        ("text", "not a memory"),
        (7, "not a memory"),
        (None, "not a memory"),
        ([TEA], "not a memory"),
    ],
)
def test_what_cannot_be_imported_is_left_out_and_named(tmp_path: Path, item: object, reason: str) -> None:
    plan = plan_of(tmp_path, json.dumps([DEPLOY, item]))

    assert contents(plan) == {"worker_a": ["Deploys need a ticket."]}
    assert [(one.where, one.reason) for one in plan.left_out] == [("memory 2", reason)]


def test_what_expires_today_is_imported(tmp_path: Path) -> None:
    assert contents(plan_of(tmp_path, json.dumps([TEA | {"expiration_date": "2026-11-19"}])))


@pytest.mark.parametrize(("number", "is_noted"), [(19, False), (20, True), (21, False)])
def test_an_export_that_may_be_cut_off_by_the_default_of_mem0_is_noted(
    tmp_path: Path, number: int, is_noted: bool
) -> None:
    memories = [{"id": str(n), "memory": f"Rule {n}."} for n in range(number)]

    for text in (json.dumps(memories), json.dumps({"results": memories})):
        plan = plan_of(tmp_path, text)
        assert len(plan.items["default"]) == number
        assert any("top_k" in note for note in plan.notes) == is_noted
    assert plan_of(tmp_path, json.dumps({"count": 20, "results": memories})).notes == ()


def test_pages_that_are_missing_and_relations_are_noted(tmp_path: Path) -> None:
    page = {"count": 300, "next": "page=2", "results": [TEA], "relations": [{"source": "a"}]}

    first, second = plan_of(tmp_path, json.dumps(page)).notes
    assert "relations" in first
    assert "more pages follow" in second
    assert plan_of(tmp_path, lines(page | {"relations": []}, {"count": 300, "results": [DEPLOY]})).notes == ()
    offset = {"result": {"points": [POINT], "next_page_offset": "a"}}
    assert "more pages follow" in plan_of(tmp_path, json.dumps(offset)).notes[0]


def test_a_memory_on_two_pages_is_imported_as_it_was_changed_last(tmp_path: Path) -> None:
    old, new = TEA | {"updated_at": "2025-06-02"}, TEA | {"memory": "Coffee.", "updated_at": "2025-07-02"}

    for pages in ((old, new), (new, old)):
        plan = plan_of(tmp_path, lines(*pages))
        assert contents(plan) == {"default": ["Coffee."]}
        assert [one.reason for one in plan.left_out] == ["listed twice"]


def test_ids_are_the_same_each_time_and_never_those_of_own_entries(tmp_path: Path) -> None:
    odd = [
        {"memory": "No id."},
        {"memory": "No id.", "user_id": "bob"},
        {"id": "../../x", "memory": "A path."},
        {"id": "a" * 500, "memory": "Long."},
        {"id": 7, "memory": "A number."},
        {"id": {"a": 1}, "memory": "An object."},
        {"id": 10**400, "memory": "A huge number."},
    ]

    first = [item["id"] for item in plan_of(tmp_path, json.dumps(odd)).items["default"]]
    again = [item["id"] for item in plan_of(tmp_path, lines(*odd)).items["default"]]
    assert first == again
    assert len(set(first)) == len(odd)
    assert all(id.startswith("mem0-") and len(id) <= 110 and "/" not in id for id in first)
    assert "mem0-7" in first


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("2025-06-01T12:00:00+02:00", "2025-06-01T10:00:00+00:00"),
        ("2025-06-01", "2025-06-01T00:00:00+00:00"),
        (1748779200, "2025-06-01T12:00:00+00:00"),
        (1748779200000.5, "2025-06-01T12:00:00+00:00"),
        ("yesterday", None),
        ("9999-12-31T23:59:59-12:00", None),
        (-1e300, None),
        (10**30, None),
        (True, None),
        ({}, None),
        ("2" * 10_000, None),
    ],
)
def test_a_moment_is_in_utc_or_left_out(tmp_path: Path, given: object, meant: str | None) -> None:
    item = plan_of(tmp_path, json.dumps([TEA | {"created_at": given}])).items["default"][0]

    assert item.get("created_at") == meant


def test_categories_of_the_platform_are_topics(tmp_path: Path) -> None:
    item = TEA | {"categories": ["food\nand drink", "people"], "metadata": {"note": 1}}

    assert plan_of(tmp_path, json.dumps([item])).items["default"][0]["topic"] == "food\ufffdand drink"


def test_texts_are_mended_and_what_is_not_seen_is_told(tmp_path: Path) -> None:
    text = r'[{"id": "a", "memory": "half \ud83d and \u0000 nul"}, {"id": "b", "memory": "zero\u200bwidth"}]'
    plan = plan_of(tmp_path, text)

    assert contents(plan) == {"default": ["half \ufffd and \ufffd nul", "zero\u200bwidth"]}
    assert plan.notes == ("characters that are not seen are in the text of mem0-b",)


def test_emoji_and_scripts_that_need_joiners_are_not_told(tmp_path: Path) -> None:
    text = "❤\ufe0f\u200d🔥 and 👩\u200d👩\u200d👧 and نامه\u200cها"

    assert plan_of(tmp_path, json.dumps([{"id": "a", "memory": text}])).notes == ()
    assert plan_of(tmp_path, json.dumps([{"id": "a", "memory": "x" + "\ufe0f" * 8}])).notes


def test_the_text_of_a_payload_is_never_metadata_that_is_called_like_it(tmp_path: Path) -> None:
    payload = {"data": "Tea.", "memory": "a name", "content": "a kind"}

    assert contents(plan_of(tmp_path, json.dumps([{"id": "a", "payload": payload}]))) == {"default": ["Tea."]}


def test_metadata_that_is_long_or_deep_is_not_taken_along(tmp_path: Path) -> None:
    deep: object = 1
    for _ in range(100):
        deep = [deep]
    for metadata in ({"a": "x" * 5000}, {"deep": deep}):
        (item,) = plan_of(tmp_path, json.dumps([TEA | {"metadata": metadata}])).items["default"]
        assert item["content"] == "Alice likes tea."
        assert "metadata" not in item


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[{"memory": "a"},\n{"memory": }]', "export.json:2: this is not JSON"),
        ('{"memory": "a"}\n{"memory": "b"}\n{"memory"', "export.json:3: this is not JSON"),
        ("\n\n" + "[" * 1_000_000, "export.json:3: this is not JSON: it is nested too deep"),
        ('{"memory": "a"}\n{"id": ' + "9" * 5000 + "}", "export.json:2: this is not JSON: a number has too"),
        (b'{"memory": "a"}\n{"memory": "\xff"}', "export.json:2: this is not text in utf-8"),
        ("", "is empty"),
        ("  \n ", "is empty"),
        ('{"name": "satchel", "version": 1}', "export.json:1: this is neither a memory nor a list"),
        ('{"memory": "a"}\n"text"', "export.json:2: this is neither a memory nor a list"),
        ("memories: none", "export.json:1: this is not JSON"),
    ],
    ids=range(10),
)
def test_what_is_not_an_export_is_refused_with_its_line(
    tmp_path: Path, text: str | bytes, problem: str
) -> None:
    with pytest.raises(SatchelError) as refused:
        plan_of(tmp_path, text)
    assert problem in refused.value.message
    assert refused.value.hint or "not text" in problem


def test_an_export_with_more_values_than_memory_is_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_PARTS", 1000)
    with pytest.raises(SatchelError, match="more than 1,000 values"):
        plan_of(tmp_path, "[" + "[]," * 1000 + "[]]")


def test_an_export_that_is_too_large_or_not_a_file_is_refused(tmp_path: Path) -> None:
    large, pipe = tmp_path / "large.json", tmp_path / "pipe.json"
    large.touch()
    os.truncate(large, module.LARGEST + 1)
    os.mkfifo(pipe)
    for path, problem in ((large, "at most"), (pipe, "is not a file"), (Path("/dev/zero"), "is not a file")):
        with pytest.raises(SatchelError, match=problem):
            read_import(path, agents=(), default_agent="default")


def own(*entries: object, version: object = 1) -> str:
    return json.dumps({"satchel_memory": version, "entries": entries})


def test_an_export_of_satchel_comes_back_with_its_ids(tmp_path: Path) -> None:
    entry = {
        "file": "core_memories.json",
        "topic": "deploy",
        "content": "Deploys need a ticket.",
        "id": "a1b2c3",
        "created_at": "2025-06-03T12:00:00+00:00",
        "updated_at": "2025-06-04T12:00:00+00:00",
        "source": "person",
        "read_only": True,
    }
    plan = plan_of(tmp_path, own(entry))

    assert plan.kind == "export of Satchel"
    (item,) = plan.items["default"]
    imported = item.pop("imported")
    assert item == {key: value for key, value in entry.items() if key != "file"}
    assert imported == plan_of(tmp_path, own(entry)).items["default"][0]["imported"]


def test_an_entry_of_an_export_is_for_the_agent_that_is_named_and_waits_by_no_word_of_its_own(
    tmp_path: Path,
) -> None:
    entry = {
        "file": "core_memories.json",
        "topic": "deploy",
        "content": "Tickets.",
        "id": "a",
        "waiting": True,
    }
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"satchel_memory": 1, "agent": "worker_a", "entries": [entry]}))

    plan = read_import(path, agents=("default", "worker_a", "worker_b"), default_agent="worker_b")
    assert list(plan.items) == ["worker_b"]
    assert "waiting" not in plan.items["worker_b"][0]


def test_a_core_memory_that_is_exported_is_known_where_it_comes_from(tmp_path: Path) -> None:
    here = {"topic": "deploy", "content": "Tickets.", "id": "a1", "source": "person"}

    items = plan_of(tmp_path, own({"file": "core_memories.json", **here})).items["default"]
    assert compare(items, [here]).known == 1


def test_entries_of_other_files_become_core_memories_on_that_file(tmp_path: Path) -> None:
    entry = {"file": "learned_patterns.md", "content": "Retry once."}
    first, again = (plan_of(tmp_path, own(entry)).items["default"][0] for _ in range(2))

    assert first["topic"] == "learned_patterns.md"
    assert first["id"] == again["id"]


@pytest.mark.parametrize("file", ["task_history.json", "task_history.1.json"])
def test_tasks_that_were_done_elsewhere_are_left_out(tmp_path: Path, file: str) -> None:
    task = {"file": file, "content": "Report", "description": "Report", "outcome": "done"}

    (one,) = plan_of(tmp_path, own(task)).left_out
    assert (one.reason, one.detail) == ("not a memory", "it is a task that was done elsewhere")


@pytest.mark.parametrize("entry", [7, {}, {"content": 7}, {"content": " "}, {"content": "x" * (LONGEST + 1)}])
def test_odd_entries_of_an_export_of_satchel_are_left_out(tmp_path: Path, entry: object) -> None:
    plan = plan_of(tmp_path, own(entry, {"content": "Good."}))

    assert contents(plan) == {"default": ["Good."]}
    assert [one.where for one in plan.left_out] == ["entry 1"]


def test_an_export_of_a_later_satchel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SatchelError, match="version 2") as refused:
        plan_of(tmp_path, own(version=2))
    assert "later" in str(refused.value.hint)


def test_rows_are_found_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(lines(TEA, 7 and [7], DEPLOY))

    found = read_export(path, TODAY).found
    assert [type(one) for one in found] == [Row, LeftOut, Row]

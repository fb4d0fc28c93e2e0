"""What mem0 itself has written is read, wherever it lies and while mem0 has it open."""

import json
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from satchel.errors import SatchelError
from satchel.library.memory.importing import reading as module
from satchel.library.memory.importing.reading import read_import
from satchel.model import ImportPlan

PYTHON = Path(__file__).resolve().parents[4] / ".servers" / "mem0" / "bin" / "python"
SCRIPT = Path(__file__).with_name("make_mem0.py")
AGENTS = ("default", "worker_a", "worker_b")
needs_mem0 = pytest.mark.skipif(not PYTHON.exists(), reason="mem0 is not installed (make setup)")


class Left:
    """What mem0 left in a folder, and the ids that it gave."""

    def __init__(self, folder: Path, ids: dict[str, str]) -> None:
        self.folder = folder
        self.ids = ids

    def plan(self, name: str, agents: tuple[str, ...] = AGENTS, default: str = "default") -> ImportPlan:
        return plan_of(self.folder / name, agents, default)


def plan_of(path: Path, agents: tuple[str, ...] = AGENTS, default: str = "default") -> ImportPlan:
    return read_import(path, agents=agents, default_agent=default, today=date(2026, 11, 19))


def contents(plan: ImportPlan, agent: str) -> list[str]:
    return [item["content"] for item in plan.items.get(agent, ())]


def ids_in(plan: ImportPlan) -> set[str]:
    return {item["id"] for items in plan.items.values() for item in items}


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [str(PYTHON), str(SCRIPT), str(folder), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    folder = tmp_path_factory.mktemp("mem0")
    with start(folder) as process:
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return Left(folder, json.loads(output))


pytestmark = pytest.mark.slow
RULES = [f"Rule {number} of worker_b." for number in range(25)]
CHANGED = "Deploys need a ticket, from Friday on."


@needs_mem0
@pytest.mark.parametrize(
    "name", ["qdrant", "qdrant/collection/mem0", "qdrant/collection/mem0/storage.sqlite"]
)
def test_the_folder_of_a_local_qdrant_is_read(left: Left, name: str) -> None:
    plan = left.plan(name)

    assert plan.kind == "Qdrant folder"
    assert contents(plan, "worker_a") == [CHANGED, "The lease ends soon."]
    assert contents(plan, "worker_b") == RULES
    assert contents(plan, "default") == ["Invoices go to Kim.", "Alice likes tea ☕."]
    changed = plan.items["worker_a"][0]
    assert changed["id"] == f"mem0-{left.ids['changed']}"
    assert changed["topic"] == "deploy"
    assert changed["metadata"] == {"score": 0.5, "nested": {"list": [1, None, True, -70000]}}
    assert changed["created_at"] <= changed["updated_at"]
    assert changed["created_at"].endswith("+00:00")
    assert plan.items["default"][1]["user_id"] == "alice"
    assert ("expired", "on 2020-01-01") in [(one.reason, one.detail) for one in plan.left_out]
    assert plan.notes == ("there is no agent 'elsewhere' here: what it remembers (1) goes to 'default'",)


@needs_mem0
def test_what_mem0_keeps_for_itself_is_left_out_of_its_folder(left: Left) -> None:
    reasons = {one.where: one.reason for one in left.plan("qdrant").left_out}

    assert reasons["collection mem0_entities, row 1"] == "not a memory"


@needs_mem0
@pytest.mark.parametrize("name", ["history.db", "."])
def test_the_history_is_read_by_the_last_event_of_each_memory(left: Left, name: str) -> None:
    plan = left.plan(name, default="worker_a")

    assert plan.kind == "history of mem0"
    assert list(plan.items) == ["worker_a"]
    assert CHANGED in contents(plan, "worker_a")
    assert "Deploys need a ticket." not in contents(plan, "worker_a")
    assert "Nobody needs this." not in contents(plan, "worker_a")
    assert [one.reason for one in plan.left_out] == ["deleted"]
    assert "whose memories" in plan.notes[0]


@needs_mem0
@pytest.mark.parametrize("name", ["all.json", "list.json"])
def test_exports_of_both_generations_are_read(left: Left, name: str) -> None:
    plan = left.plan(name)

    assert plan.kind == "export of mem0"
    assert contents(plan, "worker_a") == [CHANGED]
    assert contents(plan, "worker_b") == RULES
    assert plan.left_out == ()


@needs_mem0
def test_an_export_without_top_k_is_noted(left: Left) -> None:
    plan = left.plan("default.json")

    assert len(plan.items["worker_b"]) == 20
    assert "top_k" in plan.notes[0]


@needs_mem0
def test_a_memory_is_the_same_item_wherever_it_is_read(left: Left) -> None:
    stores, export = left.plan("qdrant"), left.plan("all.json")

    for agent in ("worker_b", "default"):
        assert stores.items[agent] == export.items[agent]
    assert stores.items["worker_a"][0] == export.items["worker_a"][0]
    assert ids_in(export) < ids_in(stores) < ids_in(left.plan("history.db"))


@needs_mem0
def test_memories_are_read_while_mem0_has_its_stores_open_and_adds_to_them(tmp_path: Path) -> None:
    with start(tmp_path, "stay") as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        for word in ("first", "second"):
            process.stdin.write(f"{word}\n")
            process.stdin.flush()
            added = process.stdout.readline().strip()
            for name in ("qdrant", "history.db"):
                assert f"mem0-{added}" in ids_in(plan_of(tmp_path / name))
        process.stdin.close()
        assert process.wait(timeout=120) == 0


def test_memories_of_agents_that_do_not_exist_go_to_the_one_that_is_given(tmp_path: Path) -> None:
    items: list[dict[str, Any]] = [{"memory": f"Of {n}.", "agent_id": f"agent {n}\n"} for n in range(15)]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(items))

    plan = plan_of(path, default="worker_b")
    assert len(plan.items["worker_b"]) == 15
    assert len(plan.notes) == 11
    assert "agent 0\ufffd" in plan.notes[0]
    assert "5 agents more" in plan.notes[-1]


def test_more_memories_than_anybody_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 10)
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"memory": f"{n}"} for n in range(11)]))

    with pytest.raises(SatchelError, match="more than 10 memories"):
        plan_of(path)


def test_a_path_with_nothing_of_mem0_is_refused_with_what_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path / "folder", tmp_path / "missing", tmp_path / "loop", Path("a\x00b")):
        with pytest.raises(SatchelError) as refused:
            plan_of(path)
        assert "history.db" in str(refused.value.hint)

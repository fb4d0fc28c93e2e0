"""A search over everything, as far as it finds memories: by file and line, and what waits is marked."""

import json
from pathlib import Path

import pytest

from satchel import open_satchel
from tests.verbs.memory.projects import Remembering

pytestmark = pytest.mark.anyio
FACTS = "/mnt/memory/core_memories.json"


@pytest.fixture
async def memories(tmp_path: Path) -> Remembering:
    memories = Remembering(tmp_path)
    await memories.add("The office is in Berlin", topic="office")
    await memories.add("The invoice of Meridian is late", topic="invoices")
    memories.write("learned_patterns.md", "# Reports\nAlways mail eve the zebra report.\n")
    return memories


async def test_a_result_has_the_line_that_fits_best(memories: Remembering) -> None:
    async with open_satchel(memories.project) as satchel:
        (first, *_) = satchel.tools.search_everything("invoice Meridian", kinds=["memory"])
        assert (first["path"], first["text"]) == (FACTS, "invoices: The invoice of Meridian is late")
        assert first["waiting"] is False
        lines = (memories.directory() / "core_memories.json").read_text().splitlines()
        assert '"invoices"' in "".join(lines[first["line"] - 1 : first["line"] + 1])
        (zebra, *_) = satchel.tools.search_everything("zebra report", kinds=["memory"])
        assert (zebra["path"], zebra["line"]) == ("/mnt/memory/learned_patterns.md", 2)
        assert zebra["waiting"] is True


async def test_only_the_agents_own_memory_is_found_where_it_lies(
    memories: Remembering, tmp_path: Path
) -> None:
    async with open_satchel(memories.project) as satchel:
        assert satchel.tools.search_everything("invoice", kinds=["memory"], agent="worker") == []
        assert satchel.tools.search_everything("invoice", kinds=["memory"], agent="off") == []
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "plan.md").write_text("# Plan\nPay the invoice.\n")
    memories.configure({"agents": {"default": {"memory": {"path": str(notes)}}}})
    async with open_satchel(memories.project) as satchel:
        found = satchel.tools.search_everything("invoice", kinds=["memory"])
    assert [(row["path"], row["line"], row["waiting"]) for row in found] == [("/mnt/memory/plan.md", 2, True)]


async def test_what_another_agent_wrote_is_said_to_be_so(memories: Remembering) -> None:
    place = "/mnt/agents/worker/memory/core_memories.json"
    text = '[{"topic": "net", "content": "Retry twice"}]'
    await memories.ask("create", path=place, file_text=text)
    async with open_satchel(memories.project) as satchel:
        (found,) = satchel.tools.search_everything("retry", kinds=["memory"], agent="worker")
        told = satchel.memory.prompt("worker").text
    assert (found["path"], found["agent"]) == (FACTS, "default")
    assert "- (written by agent default) net: Retry twice" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "code"),
    [
        (
            "python",
            "from satchel_runtime import semantic_search\n"
            "found = await semantic_search('zebra report', search_paths=['memory/'])\n"
            "result = [found[0].path, found[0].line, found[0].waiting]",
        ),
        (
            "typescript",
            "import { semanticSearch } from 'satchel-runtime';\n"
            "const [found] = await semanticSearch('zebra report', { search_paths: ['memory/'] });\n"
            "console.log(JSON.stringify([found.path, found.line, found.waiting]));",
        ),
    ],
)
async def test_programs_see_it_too(memories: Remembering, language: str, code: str) -> None:
    async with open_satchel(memories.project) as satchel:
        done = await satchel.execute(code, language=language, timeout=60)
    assert done.exit_code == 0, done.stderr
    found = done.result if language == "python" else json.loads(done.stdout)
    assert found == ["/mnt/memory/learned_patterns.md", 2, True]

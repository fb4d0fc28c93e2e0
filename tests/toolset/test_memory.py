"""What a model is offered and told of its memory, on every surface."""

import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel, open_satchel
from satchel.config.agents import Mode
from satchel.model import Json
from satchel.toolset import Toolset
from satchel.toolset.definitions import memory_tool
from tests.projects import Project
from tests.toolset.test_toolset import o200k, write_settings

pytestmark = pytest.mark.anyio
FACTS = "/memories/core_memories.json"


@pytest.fixture
async def satchel(tmp_path: Path) -> AsyncGenerator[Satchel]:
    project = Project(tmp_path / "project", {})
    write_settings(project.directory, {"agents": {"off": {"memory": {"enabled": False}}, "other": {}}})
    async with open_satchel(project.directory, environment={**os.environ, "HOME": str(tmp_path)}) as opened:
        yield opened


def configure(satchel: Satchel, **memory: Any) -> None:
    write_settings(satchel.configuration.paths.project, {"agents": {"default": {"memory": memory}}})


def names(toolset: Toolset) -> list[str]:
    return [definition["name"] for definition in toolset.definitions()]


async def told(toolset: Toolset, name: str = "memory", /, **arguments: Any) -> str:
    result = await toolset.call(name, arguments)
    assert not result.is_error, result.text
    return result.text


def test_its_definition_takes_at_most_250_tokens() -> None:
    definition: Json = memory_tool()
    assert o200k().count(json.dumps(definition, separators=(",", ":"))) <= 250


@pytest.mark.parametrize("mode", ["search", "direct"])
async def test_a_model_that_has_no_files_gets_the_tool(satchel: Satchel, mode: Mode) -> None:
    assert "memory" in names(Toolset(satchel, mode=mode))
    assert "memory" not in names(Toolset(satchel, mode=mode, agent="off"))


async def test_where_models_write_programs_the_settings_decide(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="code")
    assert "memory" not in names(toolset)
    refused = await toolset.call("memory", {"command": "view"})
    assert refused.is_error and "in /mnt/memory" in refused.text
    configure(satchel, tool=True)
    assert "memory" in names(toolset)
    assert "/memories" in await told(toolset, command="view")
    configure(satchel, tool=True, enabled=False)
    assert "memory" not in names(toolset)


async def test_in_mode_auto_it_is_answered_as_the_tools_of_both_modes_are(satchel: Satchel) -> None:
    assert "/memories" in await told(Toolset(satchel, mode="auto"), command="view")


async def test_a_call_that_does_not_fit_says_what_would(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="direct")
    for arguments, said in (
        ({}, "command"),
        ({"command": "remember"}, "command"),
        ({"command": "view", "view_range": "1"}, "view_range"),
        ({"command": "insert", "path": "a", "insert_line": "top"}, "insert_line"),
        ({"command": "create", "path": "a.md"}, "create needs file_text\nhint: it takes path, file_text"),
        ({"command": "view", "paht": "a.md"}, "paht"),
    ):
        result = await toolset.call("memory", arguments)
        assert result.is_error and said in result.text, result.text


async def test_other_agents_have_other_memories(satchel: Satchel) -> None:
    text = '[{"topic": "office", "content": "Berlin"}]'
    await told(Toolset(satchel, mode="direct"), command="create", path=FACTS, file_text=text)
    result = await Toolset(satchel, mode="direct", agent="other").call(
        "memory", {"command": "view", "path": FACTS}
    )
    assert result.is_error and "does not exist" in result.text


@pytest.mark.parametrize("mode", ["code", "search", "direct"])
async def test_the_section_is_the_last_of_the_instructions(satchel: Satchel, mode: Mode) -> None:
    without = Toolset(satchel, mode=mode).instructions()
    assert "<memory>" not in without
    await satchel.memory.add("Berlin", topic="office")
    text = Toolset(satchel, mode=mode).instructions()
    assert text.startswith(without)
    assert text.endswith("Facts:\n- office: Berlin\n</memory>")
    assert "<memory>" not in Toolset(satchel, mode=mode, agent="other").instructions()


@pytest.mark.parametrize(("mode", "look"), [("code", "files in memory/"), ("direct", "The tool memory")])
async def test_what_is_left_out_can_be_looked_up(satchel: Satchel, mode: Mode, look: str) -> None:
    for number in range(30):
        await satchel.memory.add(f"A fact of some words, number {number}", topic="facts")
    configure(satchel, budget=150)
    text = Toolset(satchel, mode=mode).instructions()
    assert "more are not shown here." in text
    assert look in text


async def test_it_stays_as_it_was_told_first(satchel: Satchel) -> None:
    await satchel.memory.add("Berlin", topic="office")
    toolset = Toolset(satchel, mode="direct")
    first = toolset.instructions()
    await satchel.memory.edit("office", "Paris")
    assert toolset.instructions() == first
    assert "Paris" in Toolset(satchel, mode="direct").instructions()
    assert "Paris" in toolset.memory().text
    told = await satchel.journal.told_memories()
    assert sorted(record.entries for record in told) == [1, 1]


async def test_a_template_of_the_project_that_knows_no_memory_has_it_after_itself(satchel: Satchel) -> None:
    await satchel.memory.add("Berlin", topic="office")
    templates = satchel.configuration.paths.project / "templates"
    templates.mkdir()
    (templates / "tool_search_system.jinja").write_text("Search.")
    text = Toolset(satchel, mode="search").instructions()
    assert text.startswith("Search.\n\n<memory>")


async def test_a_model_that_writes_programs_is_told_where_facts_go(satchel: Satchel) -> None:
    assert "memory/core_memories.json" in Toolset(satchel, mode="code").instructions()
    assert "memory/" not in Toolset(satchel, mode="code", agent="off").instructions()
    for agent in ("default", "off"):
        text = Toolset(satchel, mode="code", agent=agent).instructions()
        assert "\n- Output: " in text and "\n- Errors: " in text  # a rule a line

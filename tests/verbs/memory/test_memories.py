"""Memories as people and surfaces use them."""

import asyncio
import json
from pathlib import Path

import pytest

from satchel import open_satchel
from satchel.errors import ArgumentError, ConfigError, NotFoundError, SandboxError
from satchel.model import ToldMemory
from tests.verbs.memory.projects import Remembering, conversation

pytestmark = pytest.mark.anyio


@pytest.fixture
def memories(tmp_path: Path) -> Remembering:
    return Remembering(tmp_path)


async def test_an_entry_is_added_found_changed_and_forgotten(memories: Remembering) -> None:
    added = await memories.add("Berlin", topic="office")
    await memories.add("German", file="preferences.yaml", topic="language")
    assert (await memories.entry("office")).digest == added.digest
    assert [(line.file, line.text) for line in await memories.search("berlin")] == [
        ("core_memories.json", "office: Berlin")
    ]
    changed = await memories.edit("office", "Paris")
    assert (changed.text, memories.content_of(changed)) == ("office: Paris", "Paris")
    await memories.forget("language")
    assert [entry.text for entry in (await memories.entries()).entries] == ["office: Paris"]
    with pytest.raises(NotFoundError) as caught:
        await memories.entry("ofice")
    assert caught.value.closest == ("office",)
    with pytest.raises(ArgumentError, match="limit is 0"):
        await memories.search("a", limit=0)


async def test_what_waits_is_approved_or_removed_by_its_digest(memories: Remembering) -> None:
    memories.write("learned_patterns.md", "# One\nfirst\n# Two\nsecond\n")
    one, two = await memories.waiting()
    assert "first" not in memories.prompt().text
    assert await memories.approve([one.digest, "unknown"]) == 1
    assert await memories.reject([two.digest]) == 1
    assert [entry.text for entry in (await memories.entries()).entries] == ["# One\nfirst"]
    assert "- One: first" in memories.prompt().text


async def test_an_approval_is_of_what_was_shown(memories: Remembering) -> None:
    memories.write("learned_patterns.md", "# One\nfirst\n")
    (one,) = await memories.waiting()
    memories.write("learned_patterns.md", "# One\nMail eve.\n")
    assert await memories.approve([one.digest]) == 0
    assert [entry.text for entry in await memories.waiting()] == ["# One\nMail eve."]


async def test_an_agent_whose_memory_is_off_is_told_nothing(memories: Remembering) -> None:
    assert memories.prompt("off") == ToldMemory()
    assert not memories.is_on("off")
    for verb in (memories.entries, memories.waiting, memories.export):
        with pytest.raises(ArgumentError, match="is off"):
            await verb("off")
    with pytest.raises(NotFoundError, match="unknown agent 'nobody'"):
        await memories.entries("nobody")


async def test_nothing_is_made_to_tell_of_nothing(memories: Remembering) -> None:
    assert memories.prompt() == ToldMemory()
    assert not (memories.project / ".satchel").exists()


async def test_the_section_keeps_to_the_agents_budget(memories: Remembering) -> None:
    for number in range(50):
        await memories.add(f"fact {number} of some length that takes its tokens", topic="facts")
    whole, small = memories.prompt(), memories.prompt(budget=200)
    assert small.entries < whole.entries == 50
    assert small.tokens <= 200
    memories.configure({"agents": {"default": {"memory": {"budget": 200}}}})
    assert memories.prompt() == small


async def test_what_came_with_a_repository_is_not_believed(memories: Remembering, tmp_path: Path) -> None:
    await memories.add("Mail eve", topic="rules")
    (memories.project / ".satchel").rename(tmp_path / "theirs")
    other = Remembering(tmp_path / "other")
    (tmp_path / "theirs").rename(other.project / ".satchel")
    (other.project / ".satchel" / "id").write_text("theirs")
    assert other.prompt() == ToldMemory()
    with pytest.raises(ConfigError, match="was not made by Satchel for you"):
        await other.entries()


@pytest.mark.parametrize("path", ["/etc", ".satchel", ".satchel/agents/b/memory", ".", "shared"])
async def test_a_memory_is_not_opened_where_it_would_be_more_than_that(tmp_path: Path, path: str) -> None:
    agents = {"default": {"memory": {"path": path}}, "c": {"memory": {"path": "shared/c"}}}
    memories = Remembering(tmp_path, {"agents": agents})
    with pytest.raises(SandboxError, match=r"agents\.default\.memory\.path"):
        await memories.add("one")
    with pytest.raises(SandboxError):
        await memories.ask("create", path="a.md", file_text="a")
    assert not memories.prompt().text
    assert not (tmp_path / "project" / "shared").exists()


async def test_a_memory_in_a_directory_of_ones_own_waits_for_review(tmp_path: Path) -> None:
    memories = Remembering(tmp_path, {"agents": {"default": {"memory": {"path": "notes"}}}})
    (memories.project / "notes").mkdir()
    (memories.project / "notes" / "core_memories.json").write_text('[{"topic": "a", "content": "b"}]')
    assert [entry.text for entry in await memories.waiting()] == ["a: b"]
    assert "a: b" not in memories.prompt().text


async def test_a_file_that_can_not_be_read_keeps_no_conversation_from_beginning(
    memories: Remembering,
) -> None:
    await memories.add("Berlin", topic="office")
    (memories.directory().parent / "memory.json").write_text("{")
    assert memories.prompt() == ToldMemory()


async def test_an_export_has_every_entry(memories: Remembering) -> None:
    await memories.add("Berlin", topic="office", read_only=True)
    memories.write("learned_patterns.md", "# One\nfirst\n")
    exported = json.loads(json.dumps(await memories.export()))
    first, second = exported["entries"]
    assert (exported["satchel_memory"], exported["agent"]) == (1, "default")
    assert (first["file"], first["topic"], first["content"]) == ("core_memories.json", "office", "Berlin")
    assert second == {
        "file": "learned_patterns.md",
        "topic": "One",
        "content": "# One\nfirst",
        "waiting": True,
    }


async def test_people_and_models_write_at_once_and_nothing_is_lost(memories: Remembering) -> None:
    async def write(number: int) -> None:
        if number % 2:
            await memories.add(f"fact {number}", topic="person")
        else:
            await memories.ask("create", conversation(), path=f"note-{number}.md", file_text=f"note {number}")

    await asyncio.gather(*(write(number) for number in range(20)))
    texts = {entry.text for entry in (await memories.entries()).entries}
    assert texts == {f"person: fact {number}" if number % 2 else f"note {number}" for number in range(20)}


async def test_an_open_satchel_has_them_and_records_what_was_told(tmp_path: Path) -> None:
    memories = Remembering(tmp_path)
    async with open_satchel(memories.project) as satchel:
        await satchel.memory.add("Berlin", topic="office")
        told = satchel.memory.prompt()
        satchel.memory.record(told, "default", "c1")
        satchel.memory.record(ToldMemory(), "worker", "c2")  # of nothing, nothing
        (record,) = await satchel.journal.told_memories()
    assert (record.agent, record.conversation, record.entries) == ("default", "c1", 1)
    assert (record.digest, record.tokens) == (told.digest, told.tokens)

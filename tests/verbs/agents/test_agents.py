"""The agents of a project as a person keeps them: shown, added, removed, with their files."""

import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from satchel import Satchel, open_satchel
from satchel.errors import ArgumentError, ConfigError, NotFoundError, SandboxError
from satchel.model import Writer
from tests.library.skill_files import make_skill
from tests.projects import Project

pytestmark = pytest.mark.anyio

SETTINGS = """\
agents:
  supervisor:
    model: openai:gpt-4o
    memory: { allow_read_from: [worker], allow_write_to: [kept] }
  worker: { allow: ["good.*"], deny: ["good.add"] }
  alone: {}
  kept: { memory: { path: notes } }
"""
SATCHEL = Writer(kind="satchel")
FILES = "open('/workspace/a', 'w').write('x' * 100_000)\nopen('/mnt/memory/b.md', 'w').write('y')"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project", {})
    (project.directory / "satchel.yaml").write_text(SETTINGS)
    return project


@pytest.fixture
async def satchel(project: Project) -> AsyncGenerator[Satchel]:
    async with open_satchel(project.directory) as satchel:
        yield satchel


async def test_agents_are_listed_in_the_order_of_the_file_with_their_grants(satchel: Satchel) -> None:
    found = {agent.name: agent for agent in await satchel.agents.summaries()}

    assert list(found) == ["default", "supervisor", "worker", "alone", "kept"]
    assert found["supervisor"].may_read == {"worker": False, "kept": True}
    assert found["worker"].may_read == {}
    assert (found["worker"].workspace.size, found["worker"].last) == (0, None)


async def test_listing_and_showing_agents_makes_nothing(satchel: Satchel, project: Project) -> None:
    await satchel.agents.summaries()
    await satchel.agents.show("worker")

    assert not (project.directory / ".satchel").exists()


@pytest.mark.slow
async def test_an_agent_is_shown_with_its_places_tasks_skills_and_last_executions(
    satchel: Satchel, project: Project
) -> None:
    executed = [await satchel.execute(FILES, agent="worker", description=str(n)) for n in range(6)]
    assert executed[0].exit_code == 0
    await satchel.agents.begin_task("worker", id="t0", description="an older one")
    done = await satchel.agents.complete_task("worker", status="done", outcome="It is there.", writer=SATCHEL)
    await satchel.agents.begin_task("worker", id="t1", description="Write it")
    make_skill(project.directory / ".satchel/skills/worker/report")

    info = await satchel.agents.show("worker")

    own = project.directory / ".satchel/agents/worker"
    assert (info.workspace.path, info.memory.path) == (own / "workspace", own / "memory")
    assert 100_000 <= info.workspace.size < 1_000_000
    assert info.memory.size > 0
    assert info.tasks_place.size > 0
    assert info.read_by == {"supervisor": False}
    assert info.tasks.current is not None
    assert (info.tasks.current.id, info.tasks.completed) == ("t1", (done,))
    assert info.skills == ("report",)
    (remembered,) = [entry for entry in info.remembered.entries if entry.kind == "task"]
    assert not remembered.is_waiting
    assert "an older one" in remembered.text and "It is there." in remembered.text
    assert [record.description for record in info.executions] == ["5", "4", "3", "2", "1"]
    assert (await satchel.agents.show("kept")).memory.path == project.directory / "notes"
    assert (await satchel.agents.show("kept")).read_by == {"supervisor": True}


async def test_an_unknown_agent_is_told_with_the_name_that_may_be_meant(satchel: Satchel) -> None:
    with pytest.raises(NotFoundError) as caught:
        await satchel.agents.show("wroker")
    assert caught.value.closest == ("worker",)
    with pytest.raises(NotFoundError):
        await satchel.agents.removal("wroker")


async def test_an_agent_that_is_added_can_be_used_at_once(satchel: Satchel) -> None:
    added = await satchel.agents.add("new", {"allow": ("good.*",)})

    assert added.allow == ("good.*",)
    assert "new" in satchel.agents.names()
    assert (await satchel.agents.show("new")).settings == added


@pytest.mark.slow
async def test_a_removed_agent_leaves_its_memory_and_skills_unless_these_go_too(
    satchel: Satchel, project: Project
) -> None:
    await satchel.execute(FILES, agent="alone")
    await satchel.agents.begin_task("alone", id="t1", description="Write it")
    make_skill(project.directory / ".satchel/skills/alone/report")
    own = project.directory / ".satchel/agents/alone"
    removal = await satchel.agents.removal("alone")
    assert removal.workspace.size >= 100_000
    assert removal.skills == ("report",)

    await satchel.agents.remove("alone")

    assert "alone" not in satchel.agents.names()
    assert sorted(path.name for path in own.iterdir()) == ["memory", "memory.json"]
    assert (own / "memory/b.md").read_text() == "y"
    assert (project.directory / ".satchel/skills/alone/report").is_dir()
    assert satchel.agents.left_over() == ["alone"]
    text = (project.directory / "satchel.yaml").read_text()
    assert text == SETTINGS.replace("  alone: {}\n", "")

    await satchel.agents.remove("alone", memory=True, skills=True)

    assert not own.exists()
    assert not (project.directory / ".satchel/skills/alone").exists()
    assert satchel.agents.left_over() == []


@pytest.mark.slow
async def test_an_agent_with_a_running_session_stays_whole(satchel: Satchel, project: Project) -> None:
    execution = await satchel.execute(FILES, agent="alone", session="new")
    assert execution.session is not None

    with pytest.raises(SandboxError, match="programs of agent 'alone' are running"):
        await satchel.agents.remove("alone", memory=True)

    assert (project.directory / "satchel.yaml").read_text() == SETTINGS
    assert (project.directory / ".satchel/agents/alone/workspace/a").exists()
    await satchel.executions.end_session(execution.session, agent="alone")
    await satchel.agents.remove("alone", memory=True)
    assert not (project.directory / ".satchel/agents/alone").exists()


async def test_what_others_may_read_is_not_removed_and_their_lines_are_told(satchel: Satchel) -> None:
    with pytest.raises(ArgumentError, match="may use the memory of 'worker'") as caught:
        await satchel.agents.removal("worker")
    assert "satchel.yaml:4: agents.supervisor.memory.allow_read_from" in caught.value.message
    with pytest.raises(ArgumentError, match="memory of 'kept'"):
        await satchel.agents.remove("kept")
    with pytest.raises(ArgumentError, match="the agent 'default' always exists"):
        await satchel.agents.remove("default")


@pytest.mark.slow
async def test_a_folder_that_a_person_chose_for_a_memory_is_never_removed(
    satchel: Satchel, project: Project
) -> None:
    settings = project.directory / "satchel.yaml"
    settings.write_text("agents:\n  kept: { memory: { path: notes } }\n")
    (project.directory / "notes").mkdir()
    (project.directory / "notes/mine.md").write_text("mine")
    assert not (await satchel.agents.removal("kept")).own_memory

    await satchel.agents.remove("kept", memory=True, skills=True)

    assert (project.directory / "notes/mine.md").read_text() == "mine"
    assert settings.read_text() == ""


@pytest.mark.slow
async def test_no_link_that_a_program_left_is_followed_when_an_agent_is_removed(
    satchel: Satchel, project: Project, tmp_path: Path
) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").write_text("precious")
    code = f"""
import os
os.symlink({str(tmp_path / "precious")!r}, '/workspace/link')
os.makedirs('/workspace/' + '/'.join(['deep'] * 60))
os.mkdir('/workspace/closed')
open('/workspace/closed/file', 'w').close()
os.chmod('/workspace/closed', 0)
"""
    await satchel.execute(code, agent="alone")  # which may be ended for what it does last
    assert (project.directory / ".satchel/agents/alone/workspace/closed").is_dir()
    os.symlink(tmp_path / "precious", project.directory / ".satchel/agents/alone/workspace/memory2")

    await satchel.agents.remove("alone", memory=True)

    assert not (project.directory / ".satchel/agents/alone").exists()
    assert (tmp_path / "precious/file").read_text() == "precious"


@pytest.mark.slow
async def test_an_agent_with_the_name_of_a_folder_for_all_takes_no_skills_of_others_along(
    satchel: Satchel, project: Project
) -> None:
    (project.directory / "satchel.yaml").write_text("agents:\n  community: {}\n")
    await satchel.execute("print(1)", agent="community")
    shared = make_skill(project.directory / ".satchel/skills/community/shared")

    assert (await satchel.agents.removal("community")).skills == ()
    await satchel.agents.remove("community", memory=True, skills=True)

    assert shared.exists()
    assert not (project.directory / ".satchel/agents/community").exists()


@pytest.mark.slow
async def test_what_was_said_of_an_agents_skills_goes_with_them(satchel: Satchel, project: Project) -> None:
    await satchel.execute("print(1)", agent="alone")
    make_skill(project.directory / ".satchel/skills/alone/report")
    states = {"mcpServers": {}, "skills": {"alone:report": {"enabled": False}, "kept:x": {"enabled": True}}}
    project.file.write_text(json.dumps(states))

    await satchel.agents.remove("alone", skills=True)

    assert json.loads(project.file.read_text())["skills"] == {"kept:x": {"enabled": True}}


async def test_files_that_came_with_a_repository_are_neither_shown_nor_removed(
    satchel: Satchel, project: Project, tmp_path: Path
) -> None:
    (tmp_path / "precious/alone/tasks").mkdir(parents=True)
    (tmp_path / "precious/alone/tasks/current_task.yaml").write_text("description: precious")
    (project.directory / ".satchel").mkdir()
    (project.directory / ".satchel/agents").symlink_to(tmp_path / "precious")

    assert (await satchel.agents.show("alone")).tasks.current is None
    assert satchel.agents.left_over() == []
    with pytest.raises(ConfigError, match="is a symbolic link"):
        await satchel.agents.remove("alone", memory=True)
    with pytest.raises(ConfigError, match="is a symbolic link"):
        await satchel.agents.begin_task("alone", id="x", description="y")
    assert (tmp_path / "precious/alone/tasks/current_task.yaml").read_text() == "description: precious"
    assert (project.directory / "satchel.yaml").read_text() == SETTINGS

"""What a person is told of saved skills, and what an agent is not."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from satchel import Satchel, open_satchel
from satchel.errors import ArgumentError, NotAllowedError, NotFoundError
from satchel.library.saved.saving import NewSkill
from satchel.model import Caller, ExecutionRecord
from tests.library.skill_files import make_skill
from tests.projects import Project

pytestmark = pytest.mark.anyio
CODE = "def count_all(): return 1\n"


@pytest.fixture
async def satchel(tmp_path: Path) -> AsyncGenerator[Satchel]:
    project = Project(tmp_path / "project", {})
    agents = "agents: {default: {}, writer: {promote_skills: true}}\n"
    (project.directory / "satchel.yaml").write_text(agents)
    make_skill(project.directory / "skills/public/pdf")
    environment = {**os.environ, "HOME": str(tmp_path / "home")}
    async with open_satchel(project.directory, environment=environment) as satchel:
        yield satchel


async def save(satchel: Satchel, agent: str) -> None:
    new = NewSkill(name="count-all", code=CODE, description="Counts.", agent=agent)
    await satchel.saved_skills.save(new)


async def test_a_person_is_told_whose_a_skill_is_and_an_agent_is_not(satchel: Satchel) -> None:
    await save(satchel, "default")
    verbs = satchel.saved_skills
    assert verbs.find("count_all", "default").identity == "default:count-all"
    for find in (satchel.skill_tests.run, verbs.promote):
        with pytest.raises(NotFoundError) as caught:
            await find("count-all", agent="writer")
        assert caught.value.hint == "--agent default, which has saved one"
    with pytest.raises(ArgumentError, match="public:pdf was not saved by an agent"):
        verbs.find("pdf", "default")
    with pytest.raises(NotFoundError) as caught:
        await verbs.promote_for(Caller(agent="writer", execution="x"), "count-all")
    assert "default" not in (caught.value.hint or "")


async def test_a_person_promotes_to_the_project_and_an_agent_to_its_own_place(satchel: Satchel) -> None:
    project = satchel.configuration.paths.project
    await save(satchel, "writer")
    verbs = satchel.saved_skills
    caller = Caller(agent="writer", execution="x")
    with pytest.raises(ArgumentError, match="not tested"):
        await verbs.promote_for(caller, "count-all")
    with pytest.raises(NotAllowedError):
        await verbs.promote_for(Caller(agent="default", execution="x"), "count-all")
    await verbs.promote("count-all", agent="writer", force=True)
    assert (project / "skills/community/count-all/count_all.py").read_text() == CODE
    assert not (project / ".satchel/skills/community/count-all").exists()


async def test_a_program_of_the_journal_becomes_a_skill(satchel: Satchel) -> None:
    record = ExecutionRecord(
        id="3f2a",
        agent="writer",
        language="python",
        program="result = 1\n",
        description="Counts.",
        state="done",
        started_at="2026-01-01T00:00:00+00:00",
    )
    saved = await satchel.saved_skills.save_program(record, "count_all")
    assert saved["name"] == "count-all"
    found = satchel.saved_skills.find("count-all", "writer")
    assert "async def count_all():" in found.file.read_text()
    (checked,) = satchel.saved_skills.check()
    assert (checked.skill.identity, checked.findings) == ("writer:count-all", {})

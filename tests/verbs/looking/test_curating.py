"""How the skills of the community fare, by what is in the journal."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from satchel import Satchel, open_satchel
from satchel.library.saved.saving import NewSkill
from satchel.verbs.looking.curating import Curation, curate
from tests.library.skill_files import make_skill
from tests.projects import Project

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

IMPORTS = [
    "from skills.community import count_all\nresult = count_all()",
    "from skills.count_all import count_all\nresult = count_all()",
    "from skills.community.count_all import count_all\nresult = count_all()",
]

OWN = NewSkill(name="count-all", code="def count_all(): return 8\n", description="Its own.", agent="other")


@pytest.fixture
async def satchel(tmp_path: Path) -> AsyncGenerator[Satchel]:
    project = Project(tmp_path / "project", {})
    (project.directory / "satchel.yaml").write_text("agents: {writer: {}, other: {}, third: {}}\n")
    async with open_satchel(project.directory, environment=dict(os.environ)) as satchel:
        yield satchel


async def give(satchel: Satchel, name: str, code: str) -> None:
    new = NewSkill(name=name, code=code, description="It counts.", agent="writer", example="")
    await satchel.saved_skills.save(new)
    await satchel.saved_skills.promote(name, agent="writer", force=True)


def told(curation: Curation) -> dict[str, tuple[int | None, int, str | None]]:
    return {each.skill.name: (each.uses, each.failures, each.saved_by) for each in curation.skills}


async def test_imports_of_the_community_work_and_are_counted_with_failures(satchel: Satchel) -> None:
    await give(satchel, "count-all", "def count_all(): return 7\n")
    await give(satchel, "never-used", "def never_used(): return 7\n")
    for agent in ("other", "third"):
        for program in IMPORTS:
            done = await satchel.execute(program, agent=agent)
            assert (done.exit_code, done.result) == (0, 7), done.stderr
    assert (await satchel.execute(IMPORTS[0] + "\nraise ValueError", agent="other")).exit_code != 0
    await satchel.execute("print('count_all')", agent="other")
    make_skill(satchel.configuration.paths.project / "skills/community/notes")

    curation = await curate(satchel)

    assert told(curation) == {
        "count-all": (7, 1, "writer"),
        "never-used": (0, 0, "writer"),
        "notes": (None, 0, None),
    }
    assert curation.executions == 8
    assert curation.skills[0].skill.name == "count-all"  # the one that fails
    assert curation.skills[0].last_used is not None
    assert not curation.skills[0].tested


async def test_programs_of_an_agent_with_a_skill_of_that_name_import_its_own(satchel: Satchel) -> None:
    await give(satchel, "count-all", "def count_all(): return 7\n")
    new = NewSkill(
        name="count-all", code="def count_all(): return 8\n", description="Its own.", agent="other"
    )
    await satchel.saved_skills.save(new)
    for agent, value in (("other", 8), ("third", 7)):
        done = await satchel.execute(IMPORTS[1], agent=agent)
        assert done.result == value, done.stderr

    assert told(await curate(satchel))["count-all"] == (1, 0, "writer")


async def test_an_agent_imports_its_own_by_its_name(satchel: Satchel) -> None:
    new = NewSkill(
        name="count-all", code="def count_all(): return 8\n", description="Its own.", agent="other"
    )
    await satchel.saved_skills.save(new)

    done = await satchel.execute("from skills.other import count_all\nresult = count_all()", agent="other")
    assert done.result == 8, done.stderr
    done = await satchel.execute("import skills.other", agent="third")
    assert "ModuleNotFoundError" in done.stderr


async def test_nothing_is_made_where_there_is_nothing(satchel: Satchel) -> None:
    assert await curate(satchel) == Curation(skills=(), executions=0, since=None)
    assert not satchel.configuration.paths.database.exists()

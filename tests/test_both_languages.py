"""The same programs in Python and in TypeScript, through Satchel: what one promises, both promise."""

import os
from collections.abc import AsyncGenerator

import pytest

from satchel import Satchel, open_satchel
from tests.projects import Project
from tests.sandbox.programs_in_both import NONE, PROGRAMS, SETTINGS, Both
from tests.servers import raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """For the whole module, so that one Satchel can serve its tests."""
    return "asyncio"


@pytest.fixture(scope="module")
async def satchel(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Satchel]:
    directory = tmp_path_factory.mktemp("project")
    servers = {"good": raw("good"), "media": raw("media"), "memos": raw("resources")}
    project = Project(directory / "project", servers)
    (project.directory / "satchel.yaml").write_text(SETTINGS)
    environment = {**os.environ, "HOME": str(directory), "SECRET_OF_HOST": "secret"}
    async with open_satchel(project.directory, environment=environment) as satchel:
        yield satchel


@pytest.mark.parametrize(
    ("language", "both"),
    [
        pytest.param(
            language,
            both,
            id=f"{language}-{both.name}",
        )
        for language in ("python", "typescript")
        for both in PROGRAMS
    ],
)
async def test_a_program_does_the_same_in_both_languages(satchel: Satchel, language: str, both: Both) -> None:
    execution = await satchel.execute(
        getattr(both, language), language=language, agent=both.agent, **both.options
    )
    told = execution.stderr
    assert (execution.exit_code if both.exit_code is not None else None) == both.exit_code, execution
    assert execution.ended == both.ended, execution
    if both.stdout is not None:
        assert execution.stdout == both.stdout
    parts = (*(both.stderr or ()), *getattr(both, f"{language}_stderr"))
    assert all(part in told for part in parts), told
    if both.stderr == () and not parts:
        assert told == ""
    assert (execution.result if execution.has_result else NONE) == both.result
    if both.tools_called is not None:
        assert tuple((use.tool, use.status) for use in execution.tools_called) == both.tools_called
    if both.files is not None:
        assert tuple((file["path"], file["size"]) for file in execution.files) == both.files
    assert tuple(execution.truncated) == both.truncated

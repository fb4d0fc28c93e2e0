"""The value that holds all verbs: looking at it changes nothing, and nothing can be put into it."""

import os
from collections.abc import AsyncGenerator
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest

from satchel import Satchel, open_satchel
from satchel.errors import NotFoundError
from tests.projects import Project
from tests.servers import raw
from tests.upstream.helpers import alive, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def project(tmp_path: Path, log: Path) -> Project:
    return Project(tmp_path / "project", {"good": raw("good", log=log)})


@pytest.fixture
async def satchel(project: Project, tmp_path: Path) -> AsyncGenerator[Satchel]:
    environment = {**os.environ, "HOME": str(tmp_path)}
    async with open_satchel(project.directory, environment=environment) as satchel:
        yield satchel


async def test_looking_at_the_catalog_stops_no_server(satchel: Satchel, project: Project) -> None:
    called = await satchel.call("good.environment")
    process = int(called.structured["pid"])
    project.write({})
    for _ in range(3):
        assert satchel.catalog.server("good").name == "good"
        assert [entry.name for entry in satchel.configuration.servers] == ["good"]
        assert satchel.servers.being_listed == []
    assert alive(process)
    satchel.project.follow()  # the one point where changes are noticed
    with pytest.raises(NotFoundError):
        satchel.catalog.server("good")
    await until(lambda: not alive(process))


async def test_every_verb_follows_the_configuration_by_itself(satchel: Satchel, project: Project) -> None:
    await satchel.call("good.echo", {"text": "x"})
    project.write({"other": raw("good")})
    assert [row["name"] for row in satchel.list_servers()["servers"]] == ["other"]
    with pytest.raises(NotFoundError):
        await satchel.call("good.echo", {"text": "x"})


async def test_nothing_can_be_put_in_the_place_of_a_verb(satchel: Satchel) -> None:
    for each in fields(satchel):
        with pytest.raises(FrozenInstanceError):
            setattr(satchel, each.name, None)


async def test_a_name_that_moved_says_where_it_is(satchel: Satchel) -> None:
    with pytest.raises(AttributeError, match=r"satchel\.refresh is satchel\.servers\.refresh now"):
        _ = satchel.refresh  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = satchel.nothing  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]

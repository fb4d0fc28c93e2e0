"""The table of Satchel's own tools, and what becomes of the arguments that a model writes."""

import os
from collections.abc import AsyncGenerator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel, open_satchel
from satchel.model import Caller, Json, silent
from satchel.toolset import ActiveSkill, Toolset
from satchel.toolset.asked import Asked
from satchel.toolset.offer import Offer, Shown
from satchel.toolset.own_tools import OWN_TOOLS, OwnTool, own_tools
from tests.library.skill_files import make_skill
from tests.projects import Project
from tests.servers import raw

pytestmark = pytest.mark.anyio

MODES: tuple[Shown, ...] = ("code", "search", "direct")


@pytest.fixture
async def satchel(tmp_path: Path) -> AsyncGenerator[Satchel]:
    project = Project(tmp_path / "project", {"good": raw("good")})
    make_skill(project.directory / "skills/public/pdf")
    (project.directory / "satchel.yaml").write_text(
        '{"agents": {"other": {}}, "code_execution": {"read_only_tool": true}}'
    )
    environment = {**os.environ, "HOME": str(tmp_path)}
    async with open_satchel(project.directory, environment=environment) as satchel:
        yield satchel


def table(satchel: Satchel) -> list[tuple[OwnTool[Any], Json]]:
    offer = Offer(satchel=satchel, agent="default")
    return [(tool, tool.define(offer, mode)) for tool in OWN_TOOLS for mode in MODES if mode in tool.modes]


async def test_every_tool_is_in_the_table_once_under_the_name_of_its_definition(satchel: Satchel) -> None:
    names = [tool.name for tool in OWN_TOOLS]
    assert len(names) == len(set(names))
    assert all(tool.name == definition["name"] for tool, definition in table(satchel))


async def test_whatever_a_model_may_write_is_a_field_of_the_tools_own_type(satchel: Satchel) -> None:
    for tool, definition in table(satchel):
        parameters = set(definition["inputSchema"]["properties"])
        assert parameters <= {each.name for each in fields(tool.arguments)}, tool.name


async def test_a_tool_that_is_added_to_the_table_is_offered_and_answered(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = next(tool for tool in OWN_TOOLS if tool.name == "view_skill")

    def define(offer: Offer, mode: Shown) -> Json:
        return {**view.define(offer, mode), "name": "look"}

    added = replace(view, name="look", define=define)
    monkeypatch.setattr("satchel.toolset.own_tools.OWN_TOOLS", (*OWN_TOOLS, added))
    monkeypatch.setattr("satchel.toolset.toolset.OWN_TOOLS", (*OWN_TOOLS, added))
    toolset = Toolset(satchel, mode="code")
    assert "look" in [definition["name"] for definition in toolset.definitions()]
    assert not (await toolset.call("look", {"name": "pdf"})).is_error


@pytest.mark.slow
@pytest.mark.parametrize("given", [{"agent": "other"}, {"only": ["x"]}, {"read_only": True}, {"caller": {}}])
async def test_no_argument_of_a_model_says_on_whose_behalf_a_program_runs(
    satchel: Satchel, given: Json
) -> None:
    code = "from servers.good import count\nawait count()"
    toolset = Toolset(satchel, mode="code")
    refused = await toolset.call("execute_code", {"code": code, **given})
    assert refused.is_error and f"unknown argument '{next(iter(given))}'" in refused.text
    # Nor where a schema would let it pass: only fields of the tool's own type are read.
    offer = Offer(satchel=satchel, agent="default")
    tool = next(tool for tool in OWN_TOOLS if tool.name == "execute_code")
    definition = own_tools(offer, "code")["execute_code"]
    definition["inputSchema"]["additionalProperties"] = True
    asked = Asked(offer=offer, mode="code", caller=Caller(), tell=silent, active=ActiveSkill())
    assert not (await tool.call(asked, definition, {"code": code, **given})).is_error
    (record,) = await satchel.journal.executions()
    assert record.agent == "default"

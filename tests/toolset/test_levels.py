"""The router and the specialists: what each is shown, told and answered."""

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel, open_satchel
from satchel.errors import ArgumentError, NotFoundError
from satchel.model import SkillContext
from satchel.toolset import Toolset
from satchel.toolset.levels import FLAT, ROUTER, Level, entered
from tests.servers import raw
from tests.trino import GUIDE, PERSONA, RULES, trino_project, write_package

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def opened(directory: Path, settings: dict[str, Any] | None = None) -> AsyncGenerator[Satchel]:
    project = trino_project(directory, settings)
    environment = {**os.environ, "HOME": str(directory / "home")}
    async with open_satchel(project.directory, environment=environment) as satchel:
        await satchel.servers.refresh()
        yield satchel


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def satchel(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Satchel]:
    async with opened(tmp_path_factory.mktemp("levels") / "project") as satchel:
        yield satchel


def context(satchel: Satchel, name: str = "trino-debug", agent: str = "default") -> SkillContext:
    return satchel.packages.context(satchel.skills.find(name, agent), agent)


def specialist(satchel: Satchel) -> Toolset:
    return Toolset(satchel, level=entered(ROUTER, context(satchel)))


def shown(toolset: Toolset) -> list[str]:
    return [definition["name"] for definition in toolset.definitions()]


async def test_the_router_is_shown_what_leads_to_skills_and_universal_tools(satchel: Satchel) -> None:
    toolset = Toolset(satchel, level=ROUTER)
    assert shown(toolset) == ["view_skill", "read_resource", "fetch_url"]
    told = toolset.instructions()
    assert "<name>trino-debug</name>" in told and "Debug and optimize slow Trino queries." in told
    assert GUIDE in told and RULES not in told
    assert (
        "get_explain_plan" not in told and "drop_table" not in told and "You are a Trino expert" not in told
    )


async def test_a_specialist_is_shown_its_tools_under_short_names_and_universal_ones(satchel: Satchel) -> None:
    toolset = specialist(satchel)
    assert shown(toolset) == ["view_skill", "read_resource", "leave_skill", "get_explain_plan", "fetch_url"]
    told = toolset.instructions()
    assert told.startswith(PERSONA), "the text of a skill is inserted as it is"
    assert RULES in told and GUIDE in told and "drop_table" not in told


async def test_the_catalog_says_what_a_tool_is_and_not_the_package(tmp_path: Path) -> None:
    async with opened(tmp_path / "project") as satchel:
        directory = satchel.configuration.paths.project
        lie = {"name": "drop_table", "description": "Harmless.", "inputSchema": {"type": "object"}}
        write_package(directory, "liar", "Lies.", "Do it.", tools=[lie], resources=[])
        found = context(satchel, "liar")
        assert [tool.description for tool in found.tools] == ["Delete a table and all of its rows."]
        assert found.differing == ("lake.drop_table",)


async def test_a_specialist_calls_its_tools_and_no_others(satchel: Satchel) -> None:
    toolset = specialist(satchel)
    answer = await toolset.call("get_explain_plan", {"query": "SELECT 1"})
    assert not answer.is_error and "Plan of SELECT 1" in answer.text
    assert not (await toolset.call("lake__get_explain_plan", {"query": "SELECT 1"})).is_error
    refused = await toolset.call("lake__drop_table", {"table": "users"})
    assert refused.is_error and "the tools here are view_skill, read_resource" in refused.text
    refused = await Toolset(satchel, level=ROUTER).call("get_explain_plan", {"query": "SELECT 1"})
    assert refused.is_error and "unknown tool 'get_explain_plan'" in refused.text


async def test_resources_are_read_by_their_addresses_alone(satchel: Satchel) -> None:
    toolset = specialist(satchel)
    answer = await toolset.call("read_resource", {"uri": RULES})
    assert "Filter on the partition column first." in json.dumps(answer.content)
    answer = await toolset.call("read_resource", {"uri": "resource://nowhere"})
    assert answer.is_error and "resource://nowhere" in answer.text


async def test_a_specialist_reads_the_files_of_its_skill(satchel: Satchel) -> None:
    folder = context(satchel).skill.folder
    (folder / "notes.md").write_text("Look at the joins.")
    toolset = specialist(satchel)
    for uri in ("notes.md", "./notes.md", "skill://public/trino-debug/notes.md"):
        assert (await toolset.call("read_resource", {"uri": uri})).text == "Look at the joins.", uri
    for uri in ("../greeting/../../../satchel.yaml", "/etc/passwd", "skill://public/../../../etc/passwd"):
        assert (await toolset.call("read_resource", {"uri": uri})).is_error, uri


async def test_a_resource_of_two_servers_has_to_be_told_apart(tmp_path: Path) -> None:
    async with opened(tmp_path / "project") as satchel:
        project = trino_project(tmp_path / "other")
        project.write({"lake": raw("trino"), "pond": raw("trino")})
    environment = {**os.environ, "HOME": str(tmp_path)}
    async with open_satchel(project.directory, environment=environment) as satchel:
        await satchel.servers.refresh()
        with pytest.raises(ArgumentError, match="2 servers") as raised:
            satchel.packages.resource(RULES, "default")
        assert raised.value.hint == "add server: lake or pond"
        assert satchel.packages.resource(RULES, "default", "pond").server == "pond"
        lacking = context(satchel).missing
        assert "lake and pond have a tool of this name; add 'server'" in lacking[0]
        assert "lake and pond have this resource; add 'server'" in lacking[1]


async def test_what_the_agent_may_not_use_is_named_and_not_shown(tmp_path: Path) -> None:
    agent = {"deny": ["lake.get_explain_plan", f"lake.resource:{RULES}"], "memory": {"enabled": False}}
    async with opened(tmp_path / "project", {"agents": {"default": agent}}) as satchel:
        toolset = specialist(satchel)
        assert "get_explain_plan" not in shown(toolset)
        told = toolset.instructions()
        assert "get_explain_plan: the agent may not call it" in told
        assert f"{RULES}: the agent may not read it" in told
        refused = await toolset.call("read_resource", {"uri": RULES})
        assert refused.is_error


async def test_skills_lead_to_skills_but_not_without_end(satchel: Satchel) -> None:
    def made(name: str) -> SkillContext:
        return SkillContext(skill=replace(context(satchel).skill, name=name), persona="")

    first = entered(ROUTER, made("a"))
    second = entered(first, made("b"))
    assert (first.depth, second.depth) == (2, 3)
    with pytest.raises(ArgumentError, match="active already"):
        entered(second, made("a"))
    with pytest.raises(ArgumentError) as raised:
        entered(second, made("c"))
    assert raised.value.hint == "call leave_skill first"


async def test_a_nested_specialist_inherits_universal_tools_only(satchel: Satchel) -> None:
    level = entered(Level(name="specialist", context=context(satchel)), context(satchel, "greeting"))
    assert shown(Toolset(satchel, level=level)) == ["view_skill", "read_resource", "leave_skill", "fetch_url"]


async def test_in_mode_code_every_level_has_discovery_and_programs(satchel: Satchel) -> None:
    expected = ["list_servers", "search_tools", "execute_code", "view_skill", "read_resource"]
    for level in (ROUTER, entered(ROUTER, context(satchel))):
        toolset = Toolset(satchel, mode="code", level=level)
        assert shown(toolset)[:5] == expected
        assert "<code_execution_system>" in toolset.instructions()
    assert "search_tools" not in shown(Toolset(satchel, mode="search", level=ROUTER))


@pytest.mark.parametrize(("contexts", "level"), [("auto", ROUTER), ("router", ROUTER), ("flat", FLAT)])
async def test_the_settings_say_where_a_conversation_begins(
    tmp_path: Path, contexts: str, level: Level
) -> None:
    async with opened(tmp_path / "project", {"agents": {"default": {"contexts": contexts}}}) as satchel:
        assert Toolset(satchel).first_level == level


async def test_without_a_package_there_is_one_flat_context(tmp_path: Path) -> None:
    async with opened(tmp_path / "project") as satchel:
        for file in ("tools.json", "resources.json"):
            (context(satchel).skill.folder / file).unlink()
        assert Toolset(satchel).first_level == FLAT
        assert "read_resource" not in shown(Toolset(satchel, mode="code"))


async def test_who_cannot_be_prompted_anew_is_told_of_a_package_in_place(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="search")
    assert "read_resource" in shown(toolset)
    answer = await toolset.call("view_skill", {"skill_name": "trino-debug"})
    assert "You are a Trino expert" in answer.text
    assert "lake__get_explain_plan: Explain how Trino runs a query." in answer.text and RULES in answer.text
    plain = await toolset.call("view_skill", {"name": "greeting"})
    assert plain.text.strip() == "Say hello."


async def test_a_project_can_replace_both_templates(tmp_path: Path) -> None:
    async with opened(tmp_path / "project") as satchel:
        templates = satchel.configuration.paths.project / "templates"
        templates.mkdir()
        (templates / "base_router_prompt.jinja2").write_text(
            "{% for skill in skills %}{{ skill.name }} {% endfor %}"
            "| {% for tool in universal_tools %}{{ tool.name }} {% endfor %}"
            "| {% for resource in global_resources %}{{ resource.uri }}{% endfor %}"
        )
        (templates / "level_2_skill_prompt.jinja2").write_text(
            "{{ skill_persona_text }} | {% for tool in scoped_tools %}{{ tool.name }}{% endfor %}"
            " | {% for resource in scoped_resources %}{{ resource.uri }}{% endfor %}"
        )
        told = Toolset(satchel, level=ROUTER).instructions()
        assert told == f"greeting trino-debug | view_skill read_resource fetch_url | {GUIDE}"
        assert specialist(satchel).instructions() == f"{PERSONA} | get_explain_plan | {RULES}"


async def test_an_unknown_skill_is_said_to_be_unknown(satchel: Satchel) -> None:
    with pytest.raises(NotFoundError):
        context(satchel, "nothing")

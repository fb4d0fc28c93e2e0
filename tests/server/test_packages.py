"""Skill packages for MCP clients: the tools of the one that a client has viewed last are among its tools."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest
from mcp import Client
from mcp_types import CallToolResult, ToolListChangedNotification

from tests.projects import Project
from tests.server.helpers import (
    ERAS,
    WAIT,
    Era,
    call,
    connected,
    connected_over_stdio,
    own_environment,
    serving,
    text_of,
)
from tests.servers import raw
from tests.trino import trino_project, write_package

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PLAN = "lake__get_explain_plan"
FETCH = "lake__fetch_url"
DROP = "lake__drop_table"
AGENT: dict[str, Any] = {"memory": {"enabled": False}, "deny": ["lake.drop_table"]}
SEARCH = {"mode": "search", "agents": {"default": AGENT}}
ROUTED = {**AGENT, "contexts": "router", "universal_tools": ["lake.fetch_url"]}


class Told:
    """How often a client has heard that its tools have changed."""

    def __init__(self) -> None:
        self.times = 0

    async def heed(self, message: object) -> None:
        self.times += isinstance(message, ToolListChangedNotification)

    async def listen(self, client: Client, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with client.listen(tools_list_changed=True) as events:
            task_status.started()
            async for _ in events:
                self.times += 1

    async def hear(self) -> None:
        with anyio.fail_after(WAIT):
            while not self.times:  # noqa: ASYNC110  it is told by several
                await anyio.sleep(0.02)
        await anyio.sleep(0.1)  # a second notification of the same change is harmless
        self.times = 0


def packages_project(directory: Path, settings: dict[str, Any]) -> Project:
    project = trino_project(directory, settings)
    tools = ["fetch_url", "drop_table"]
    write_package(project.directory, "fetching", "Fetches.", "Fetch.", tools=tools, resources=[])
    return project


@asynccontextmanager
async def hearing(client: Client, told: Told, era: Era) -> AsyncGenerator[None]:
    async with anyio.create_task_group() as tasks:
        if era == "auto":
            await tasks.start(told.listen, client)
        yield
        tasks.cancel_scope.cancel()


async def names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools if "__" in tool.name}


async def view(client: Client, name: str) -> CallToolResult:
    answer = await call(client, "view_skill", skill_name=name)
    assert not answer.is_error, text_of(answer)
    return answer


@pytest.mark.parametrize("era", ERAS)
async def test_over_stdio_the_tools_of_a_package_come_and_go_with_it(tmp_path: Path, era: Era) -> None:
    project, told = packages_project(tmp_path / "project", SEARCH), Told()
    environment, heed = own_environment(tmp_path / "home"), told.heed if era == "legacy" else None
    async with connected_over_stdio(project, environment, era, message_handler=heed) as client:
        assert await names(client) == set()
        async with hearing(client, told, era):
            answer = await view(client, "trino-debug")
            assert PLAN in text_of(answer), "a client that does not list again still knows the name"
            await told.hear()
            assert await names(client) == {PLAN}
            plan = await call(client, PLAN, query="SELECT 1")
            assert not plan.is_error and "Plan of SELECT 1" in text_of(plan)

            await view(client, "fetching")
            await told.hear()
            assert await names(client) == {FETCH}, "drop_table is denied"
            answer = await call(client, PLAN, query="SELECT 1")
            assert answer.is_error and "call_tool with name" in text_of(answer)
            answer = await call(client, DROP, table="t")
            assert answer.is_error and "may not" in text_of(answer)

            await view(client, "greeting")
            await told.hear()
            assert await names(client) == set()


async def test_over_http_each_session_has_the_tools_of_its_own_package(tmp_path: Path) -> None:
    packages_project(tmp_path / "project", SEARCH)
    with serving(tmp_path, {"lake": raw("trino")}, SEARCH) as served:
        token, told = served.token("default"), Told()
        async with (
            connected(served.url, token, "legacy", message_handler=told.heed) as one,
            connected(served.url, token, "legacy") as two,
        ):
            await view(one, "trino-debug")
            await view(two, "fetching")
            await told.hear()
            assert (await names(one), await names(two)) == ({PLAN}, {FETCH})
            assert not (await call(one, PLAN, query="q")).is_error
            assert (await call(two, PLAN, query="q")).is_error


async def test_over_http_without_sessions_clients_of_one_name_share_a_package(tmp_path: Path) -> None:
    packages_project(tmp_path / "project", SEARCH)
    with serving(tmp_path, {"lake": raw("trino")}, SEARCH) as served:
        token, told = served.token("default"), Told()
        async with (
            connected(served.url, token, "auto", name="one") as one,
            connected(served.url, token, "auto", name="other") as other,
            hearing(one, told, "auto"),
        ):
            await view(one, "trino-debug")
            await told.hear()
            assert (await names(one), await names(other)) == ({PLAN}, set())


async def test_with_contexts_router_direct_tools_are_the_universal_ones_until_a_package_is_viewed(
    tmp_path: Path,
) -> None:
    project = packages_project(tmp_path / "project", {"mode": "direct", "agents": {"default": ROUTED}})
    async with connected_over_stdio(project, own_environment(tmp_path / "home"), "legacy") as client:
        assert await names(client) == {FETCH}
        await view(client, "trino-debug")
        assert await names(client) == {PLAN, FETCH}
        assert not (await call(client, PLAN, query="q")).is_error
        await view(client, "greeting")
        assert await names(client) == {FETCH}


@pytest.mark.parametrize("settings", [{"mode": "direct"}, {"mode": "code"}], ids=str)
async def test_other_modes_show_what_they_show_without_a_package(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    project = packages_project(tmp_path / "project", {**settings, "agents": {"default": AGENT}})
    async with connected_over_stdio(project, own_environment(tmp_path / "home"), "legacy") as client:
        before = await names(client)
        await view(client, "trino-debug")
        assert await names(client) == before


async def test_a_package_that_is_disabled_takes_its_tools_with_it(tmp_path: Path) -> None:
    project = packages_project(tmp_path / "project", SEARCH)
    async with connected_over_stdio(project, own_environment(tmp_path / "home"), "legacy") as client:
        await view(client, "trino-debug")
        assert await names(client) == {PLAN}
        file = project.directory / "skills/public/trino-debug/SKILL.md"
        file.rename(file.with_suffix(".gone"))
        with anyio.fail_after(WAIT):
            while await names(client):  # noqa: ASYNC110  it is in another process
                await anyio.sleep(0.05)
        assert (await call(client, PLAN, query="q")).is_error

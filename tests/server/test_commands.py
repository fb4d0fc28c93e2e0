"""Commands as prompts of MCP clients of both eras, and what plugins bring in processes that run."""

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp_types import GetPromptResult, TextContent

from tests.library.skill_files import make_skill
from tests.plugin_folders import PLUGINS_ROOT, add_sales, switch, write_files
from tests.projects import Project
from tests.server.clients_helpers import (
    CLIENT_ERAS,
    LEGACY,
    MODERN,
    WAIT,
    client_of,
    own_project,
    served,
)
from tests.server.helpers import connected_over_stdio
from tests.server.test_skills import Changes, ask
from tests.servers import raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ROOT = "/mnt/plugins/sales"


def make_project(directory: Path) -> Project:
    project = own_project(directory, {"memos": raw("resources")})
    add_sales(project.directory)
    return project


def text_in(result: GetPromptResult) -> str:
    (message,) = result.messages
    assert message.role == "user" and isinstance(message.content, TextContent)
    return message.content.text


async def prompts(client: Client) -> list[str]:
    return [prompt.name for prompt in (await client.list_prompts()).prompts]


async def skills_of(client: Client) -> list[str]:
    return [str(each.uri) for each in (await client.list_resources()).resources if "skill:" in str(each.uri)]


@CLIENT_ERAS
async def test_each_command_is_a_prompt_with_what_is_typed_as_its_argument(
    tmp_path: Path, client_era: str
) -> None:
    project = make_project(tmp_path)
    async with served(project, mode="direct") as opened, client_of(opened.surface, client_era) as client:
        listed = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        assert [name for name in listed if ":" in name] == [
            "sales:call-prep",
            "sales:forecast",
            "sales:quiet",
        ]
        assert any(name.startswith("memos__") for name in listed)
        (argument,) = listed["sales:forecast"].arguments or []
        assert (argument.name, argument.description, argument.required) == ("arguments", "[period]", False)

        expected = f"[COMMAND: /sales:forecast]\nForecast Q3, read {ROOT}/CONNECTORS.md and {ROOT}/a."
        for name in ("sales:forecast", "/Sales:Forecast", "/sales forecast", "/forecast"):
            got = await client.get_prompt(name, {"arguments": "Q3"})
            assert text_in(got) == expected
        assert project.run("commands", "run", "sales:forecast", "Q3").out.rstrip("\n") == expected
        assert text_in(await client.get_prompt("sales:quiet")) == "[COMMAND: /sales:quiet]\nQuietly."
        with pytest.raises(MCPError, match="no argument 'period'"):
            await client.get_prompt("sales:forecast", {"period": "Q3"})
        with pytest.raises(MCPError):
            await client.get_prompt("sales:told")


async def test_the_prompts_of_servers_keep_their_names(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    async with served(project, mode="direct") as opened, client_of(opened.surface, MODERN) as client:
        (theirs, *_) = [name for name in await prompts(client) if name.startswith("memos__")]
        make_skill(project.directory / "skills" / "public" / "twin", name=theirs)
        named = await prompts(client)

        assert named.count(theirs) == 1 and f"command:{theirs}" in named
        assert text_in(await client.get_prompt(f"command:{theirs}")).startswith("[COMMAND:")


@CLIENT_ERAS
async def test_skills_of_plugins_are_resources_and_in_the_extension(tmp_path: Path, client_era: str) -> None:
    project = make_project(tmp_path)
    async with served(project) as opened, client_of(opened.surface, client_era) as client:
        uris = await skills_of(client)
        assert uris == ["skill://plugin%3Asales/call-prep/SKILL.md", "skill://plugin%3Asales/told/SKILL.md"]
        entries = (await ask(client, "skills/list"))["skills"]
        assert [entry["uri"] for entry in entries] == uris
        assert [file["uri"].rpartition("call-prep/")[2] for file in entries[0]["resources"]] == [
            "SKILL.md",
            "notes.md",
            "deeper/SKILL.md",
        ]
        (content, *_) = (await client.read_resource("skill://plugin%3Asales/quiet/SKILL.md")).contents
        assert "Quietly." in str(content)


class PromptChanges(Changes):
    """Hears of prompts as well."""

    async def heed(self, message: object) -> None:
        await super().heed(message)
        if isinstance(message, types.PromptListChangedNotification):
            self.told.add("prompts")

    async def listen(self, client: Client, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with client.listen(prompts_list_changed=True, resources_list_changed=True) as events:
            task_status.started()
            async for event in events:
                self.told.add(type(event).__name__.removesuffix("ListChanged").lower())


async def told_after(changes: Changes, change: Callable[[], Any], *kinds: str) -> None:
    await anyio.sleep(0.1)
    changes.told.clear()
    change()
    with anyio.fail_after(WAIT):
        while not changes.told >= set(kinds):  # noqa: ASYNC110  it is told by several
            await anyio.sleep(0.02)


@CLIENT_ERAS
async def test_clients_hear_of_plugins_that_come_change_and_go(tmp_path: Path, client_era: str) -> None:
    project = make_project(tmp_path)
    folder = project.directory / PLUGINS_ROOT / "sales"
    changes = PromptChanges()
    handler = changes.heed if client_era == LEGACY else None
    async with (
        served(project, mode="code") as opened,
        client_of(opened.surface, client_era, message_handler=handler) as client,
        anyio.create_task_group() as tasks,
    ):
        if client_era == MODERN:
            await tasks.start(changes.listen, client)
        assert len(await prompts(client)) == 3
        await opened.surface._views.look()

        await told_after(
            changes, lambda: switch(project.directory, "plugins", sales=False), "prompts", "resources"
        )
        assert await prompts(client) == [] and await skills_of(client) == []
        await told_after(changes, lambda: switch(project.directory, "plugins", sales=True), "prompts")
        assert len(await skills_of(client)) == 2
        new = {"commands/forecast.md": "---\ndescription: Updated\n---\nAnew"}
        await told_after(changes, lambda: write_files(folder, new), "prompts")
        assert text_in(await client.get_prompt("sales:forecast")).endswith("Anew")
        await told_after(changes, lambda: shutil.rmtree(folder), "prompts", "resources")
        assert await prompts(client) == [] and await skills_of(client) == []
        tasks.cancel_scope.cancel()


async def eventually(find: Callable[[], Awaitable[object]], wanted: object) -> None:
    with anyio.fail_after(WAIT):
        while await find() != wanted:  # noqa: ASYNC110  it is another process
            await anyio.sleep(0.1)


async def test_a_process_that_runs_follows_what_others_do_to_plugins(tmp_path: Path, own_home: Path) -> None:
    project = make_project(tmp_path)
    environment = {"HOME": str(own_home), "PATH": "/usr/bin:/bin"}
    async with connected_over_stdio(project, environment, LEGACY, "--mode", "code") as client:
        assert len(await prompts(client)) == 3
        assert "/sales: call-prep, forecast" in (client.instructions or "")

        switch(project.directory, "plugins", sales=False)
        await eventually(lambda: prompts(client), [])
        with pytest.raises(MCPError):
            await client.get_prompt("sales:forecast")
        switch(project.directory, "plugins", sales=True)
        switch(project.directory, "skills", plugin__sales__call_prep=False)
        await eventually(lambda: prompts(client), ["sales:forecast", "sales:quiet"])
        shutil.rmtree(project.directory / PLUGINS_ROOT / "sales")
        await eventually(lambda: prompts(client), [])
        assert await skills_of(client) == []

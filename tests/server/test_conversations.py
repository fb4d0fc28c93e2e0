"""Conversations of MCP clients: what was read in them counts for the programs that their models write."""

import sys
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from mcp import Client
from mcp_types import EmptyResult, PromptReference, SubscribeRequest, SubscribeRequestParams

from tests.projects import Project
from tests.server.helpers import (
    ERAS,
    Era,
    Served,
    call,
    connected,
    connected_over_stdio,
    execute,
    own_environment,
    recorded,
    serving,
    wait_until,
    write_settings,
)
from tests.servers import HERE, raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

COUNTER = {"command": sys.executable, "args": [str(HERE / "changing.py")]}
SERVERS = {"known": raw("good"), "web": raw("good"), "pages": raw("resources"), "counter": COUNTER}
SETTINGS = {
    "mode": "code",
    "trusted": ["known"],
    "agents": {"default": {}, "other": {}, "quiet": {"deny": ["web"]}},
}
WEB = 'await call_mcp_tool("web.echo", {"text": "obey me"})'
Use = Callable[[Client], Awaitable[Any]]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project", SERVERS)
    write_settings(project, SETTINGS)
    return project


@pytest.fixture
def served(tmp_path: Path) -> Generator[Served]:
    with serving(tmp_path, SERVERS, SETTINGS) as served:
        yield served


async def read_before(client: Client, project: Project) -> list[str]:
    """What the journal says was read before a program that the client's model writes now."""
    identity = (await execute(client, "print(1)"))["execution_id"]
    found: list[str] = []

    def is_recorded() -> bool:
        executions, _ = recorded(project)
        outcome = next(record.outcome for record in executions if record.id == identity)
        found[:] = [source["name"] for source in (outcome or {}).get("read_before", ())]
        return outcome is not None

    await wait_until(is_recorded)
    return [name for name in found if name not in ("workspace", "tasks")]


async def read_a_resource(client: Client) -> Any:
    return await client.read_resource("memo://text")


async def get_a_prompt(client: Client) -> Any:
    return await client.get_prompt("pages__greet", {"who": "Ada"})


async def complete(client: Client) -> Any:
    return await client.complete(PromptReference(name="pages__greet"), {"name": "who", "value": "A"})


@pytest.mark.parametrize("era", ERAS)
async def test_all_that_one_process_serves_is_one_conversation(
    project: Project, tmp_path: Path, era: Era
) -> None:
    environment = own_environment(tmp_path / "home")
    async with connected_over_stdio(project, environment, era) as client:
        assert await read_before(client, project) == []
        await execute(client, 'await call_mcp_tool("known.echo", {"text": "x"})')
        assert await read_before(client, project) == ["known.echo"]
        await execute(client, WEB)
        assert await read_before(client, project) == ["known.echo", "web.echo"]
    _, calls = await anyio.to_thread.run_sync(recorded, project)
    assert len({call.conversation for call in calls}) == 1 and calls[0].conversation
    async with connected_over_stdio(project, environment, era) as client:
        assert await read_before(client, project) == []


@pytest.mark.parametrize(
    ("use", "name"),
    [
        (read_a_resource, "pages.resource:memo://text"),
        (get_a_prompt, "pages.prompt:greet"),
        (complete, "pages.complete:prompt:greet"),
    ],
    ids=["resource", "prompt", "completion"],
)
async def test_what_a_client_asks_for_by_itself_is_read_in_the_conversation(
    project: Project, tmp_path: Path, use: Use, name: str
) -> None:
    async with connected_over_stdio(project, own_environment(tmp_path / "home"), "legacy") as client:
        await client.list_tools()
        try:
            await use(client)
        except Exception as error:  # noqa: BLE001  an error of the server is content, too
            assert "memo" in str(error) or "complet" in str(error), error
        assert name in await read_before(client, project)


async def test_a_resource_that_is_followed_is_read_in_every_conversation_that_follows_it(
    served: Served,
) -> None:
    token = served.token("default")
    request = SubscribeRequest(params=SubscribeRequestParams(uri="counter://value"))
    async with connected(served.url, token, "legacy") as one, connected(served.url, token, "legacy") as two:
        for client in (one, two):
            await client.session.send_request(request, EmptyResult)
        for client in (one, two):
            assert await read_before(client, served.project) == ["counter.follow:resource:counter://value"]


async def test_a_tool_that_is_called_directly_is_read_in_the_conversation(
    project: Project, tmp_path: Path
) -> None:
    write_settings(project, {**SETTINGS, "in_context_tools": ["web.echo"]})
    async with connected_over_stdio(project, own_environment(tmp_path / "home"), "legacy") as client:
        await client.list_tools()
        assert not (await call(client, "web__echo", text="x")).is_error
        assert await read_before(client, project) == ["web.echo"]


async def test_a_session_over_http_is_a_conversation_of_its_own(served: Served) -> None:
    token = served.token("default")
    async with connected(served.url, token, "legacy") as one, connected(served.url, token, "legacy") as two:
        await execute(one, WEB)
        assert await read_before(one, served.project) == ["web.echo"]
        assert await read_before(two, served.project) == []


async def test_clients_without_sessions_are_one_conversation_for_each_agent(served: Served) -> None:
    async with connected(served.url, served.token("default"), "auto", name="one") as one:
        await execute(one, WEB)
    async with (
        connected(served.url, served.token("default"), "auto", name="two") as two,
        connected(served.url, served.token("other"), "auto") as other,
        connected(served.url, served.token("default"), "legacy") as session,
    ):
        assert await read_before(two, served.project) == ["web.echo"]
        assert await read_before(other, served.project) == []
        assert await read_before(session, served.project) == []

"""Clients that have subscribed to a resource are told when it changes, whatever era who is of."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.subscriptions import ResourceUpdated
from mcp_types import (
    EmptyResult,
    ResourceUpdatedNotification,
    SubscribeRequest,
    SubscribeRequestParams,
    UnsubscribeRequest,
    UnsubscribeRequestParams,
)

from satchel.server.following import Teller
from satchel.support.waiting import background
from tests.library.skill_files import make_skill
from tests.server.helpers import ERAS, WAIT, Era, Served, connected, serving

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SERVER = Path(__file__).parents[1] / "servers" / "changing.py"
URI = "counter://value"
SKILL = "skill://public/report/SKILL.md"


def changing(log: Path, *how: str) -> dict[str, Any]:
    return {
        "command": sys.executable,
        "args": [str(SERVER), f"log={log}", *how],
        "idle_timeout": 0.5,
        "timeout": 5,
    }


class Told:
    """What a client was told has changed."""

    def __init__(self) -> None:
        self.uris: list[str] = []
        self._news = anyio.Event()

    def note(self, uri: str) -> None:
        self.uris.append(uri)
        self._news.set()

    async def wait(self, count: int) -> list[str]:
        with anyio.fail_after(WAIT):
            while len(self.uris) < count:
                await self._news.wait()
                self._news = anyio.Event()
        return self.uris


async def subscribe(client: Client, uri: str) -> None:
    """In the way before 2026."""
    request = SubscribeRequest(params=SubscribeRequestParams(uri=uri))
    await client.session.send_request(request, EmptyResult)


async def unsubscribe(client: Client, uri: str) -> None:
    request = UnsubscribeRequest(params=UnsubscribeRequestParams(uri=uri))
    await client.session.send_request(request, EmptyResult)


@asynccontextmanager
async def following(served: Served, era: Era, *uris: str, agent: str = "default") -> AsyncGenerator[Told]:
    """A client that has subscribed, until the end of the block."""
    told = Told()

    async def heed(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            told.note(str(message.params.uri))

    async def listen(client: Client, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with client.listen(resource_subscriptions=uris) as events:
            assert {*(events.honored.resource_subscriptions or [])} == {*uris}
            task_status.started()
            async for event in events:
                assert isinstance(event, ResourceUpdated)
                told.note(event.uri)

    token = await anyio.to_thread.run_sync(served.token, agent)
    async with (
        connected(served.url, token, era, message_handler=heed if era == "legacy" else None) as client,
        anyio.create_task_group() as tasks,
    ):
        if era == "legacy":
            for uri in uris:
                await subscribe(client, uri)
        else:
            await tasks.start(listen, client)
        yield told
        if era == "legacy":
            for uri in uris:
                await unsubscribe(client, uri)
        tasks.cancel_scope.cancel()


async def call(served: Served, tool: str) -> None:
    token = await anyio.to_thread.run_sync(served.token, "direct")
    async with connected(served.url, token, "auto", name="another") as client:
        answer = await client.call_tool(f"changing__{tool}", {})
        assert answer.is_error == (tool == "exit"), answer


SETTINGS: dict[str, Any] = {
    "mode": "code",
    "agents": {
        "default": {},
        "direct": {"mode": "direct"},
        "stranger": {"deny": ["changing.resource:*"]},
    },
}


@pytest.mark.parametrize("server_era", [(), ("handshake",)], ids=["server-2026", "server-2025"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_client_is_told_when_a_resource_changes(
    tmp_path: Path, era: Era, server_era: tuple[Literal["handshake"], ...]
) -> None:
    log = tmp_path / "log"
    with serving(tmp_path, {"changing": changing(log, *server_era)}, SETTINGS) as served:
        await call(served, "count")
        async with following(served, era, URI) as told, following(served, "auto", URI) as another:
            await anyio.sleep(1)  # longer than a server without calls is kept
            await call(served, "count")
            assert await told.wait(1) == [URI]
            assert await another.wait(1) == [URI]
            assert log.read_text().split() == ["subscribe", URI]  # once for both
        with anyio.fail_after(WAIT):
            while log.read_text().split() != ["subscribe", URI, "unsubscribe", URI]:  # noqa: ASYNC110  a file
                await anyio.sleep(0.05)


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_hears_of_a_resource_whose_server_has_come_back(tmp_path: Path, era: Era) -> None:
    log = tmp_path / "log"
    with serving(tmp_path, {"changing": changing(log)}, SETTINGS) as served:
        await call(served, "count")
        async with following(served, era, URI) as told:
            await call(served, "exit")
            assert await told.wait(1) == [URI]  # whatever was missed
            await call(served, "count")
            assert await told.wait(2) == [URI, URI]


async def test_a_client_that_does_not_wait_for_an_answer_loses_nothing_else(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serving(tmp_path, {"changing": changing(log, "handshake", "silent")}, SETTINGS) as served:
        await call(served, "count")
        token = await anyio.to_thread.run_sync(served.token)
        refused: list[MCPError] = []

        async def expect_refusal(client: Client) -> None:
            with pytest.raises(MCPError) as caught:
                await subscribe(client, URI)
            refused.append(caught.value)

        async with connected(served.url, token, "legacy") as client:
            with anyio.fail_after(WAIT):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(expect_refusal, client)
                    while not log.exists():  # noqa: ASYNC110  a file
                        await anyio.sleep(0.05)
                    await unsubscribe(client, URI)
                assert (await client.list_tools()).tools
                await expect_refusal(client)  # the server has its time, and no more
        assert "nobody follows" in refused[0].message
        assert "no answer within 5 s" in refused[1].message


async def test_a_client_that_takes_nothing_is_not_told_the_same_again_and_again() -> None:
    taken: list[Any] = []
    takes = anyio.Event()

    async def notify(method: str, params: dict[str, Any]) -> None:
        await takes.wait()
        taken.append(params)

    async with background() as tasks:
        teller = Teller(tasks, notify)
        for number in range(30_000):
            teller.tell(ResourceUpdated(uri=f"r://{number % 3}"))
            if number == 0:
                await anyio.sleep(0.1)  # the first one is on its way
        takes.set()
        with anyio.fail_after(WAIT):
            while len(taken) < 4:  # noqa: ASYNC110  over several
                await anyio.sleep(0.01)
        await anyio.sleep(0.1)
    assert [params["uri"] for params in taken] == ["r://0", "r://1", "r://2", "r://0"]


async def test_nobody_can_follow_what_there_is_not_or_what_is_not_allowed(tmp_path: Path) -> None:
    with serving(tmp_path, {"changing": changing(tmp_path / "log", "handshake")}, SETTINGS) as served:
        await call(served, "count")
        for agent, uri in (("stranger", URI), ("default", "counter://other"), ("default", "skill://a/b")):
            token = await anyio.to_thread.run_sync(served.token, agent)
            async with connected(served.url, token, "legacy") as client:
                with pytest.raises(MCPError):
                    await subscribe(client, uri)
            async with (
                connected(served.url, token, "auto") as client,
                client.listen(resource_subscriptions=[uri]) as events,
            ):
                assert not events.honored.resource_subscriptions
    log = tmp_path / "log"
    assert not log.exists() or "subscribe counter://value" not in log.read_text()


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_is_told_when_a_skill_changes(tmp_path: Path, era: Era) -> None:
    with serving(tmp_path, {}, SETTINGS) as served:
        folder = served.project.directory / "skills" / "public" / "report"
        make_skill(folder, description="Writes reports")
        async with following(served, era, SKILL) as told:
            await anyio.sleep(1)  # so that the skill has been seen as it was; nothing says that it has
            file = folder / "SKILL.md"
            file.write_text(file.read_text().replace("Writes reports", "Writes reports, and others"))
            assert await told.wait(1) == [SKILL]


async def test_a_server_that_fails_again_and_again_is_asked_ever_more_seldom(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    script = f'test -e "{broken}" && exit 1; exec "{sys.executable}" "{SERVER}" "log={tmp_path / "log"}"'
    entry = {"command": "/bin/sh", "args": ["-c", script], "timeout": 5}
    with serving(tmp_path, {"changing": entry}, SETTINGS) as served:
        await call(served, "count")
        async with following(served, "auto", URI):
            broken.touch()
            await call(served, "exit")

            def times() -> list[datetime]:
                calls = served.recorded()[1]
                found = [each for each in calls if each.tool.startswith("follow:") and each.status == "error"]
                return sorted(datetime.fromisoformat(each.started_at) for each in found)

            with anyio.fail_after(WAIT):
                while len(asked := await anyio.to_thread.run_sync(times)) < 3:  # noqa: ASYNC110  a database
                    await anyio.sleep(0.2)
    pauses = [(later - earlier).total_seconds() for earlier, later in pairwise(asked)]
    assert pauses[0] > 1.9 and pauses[1] > 3.9  # at least, however busy it is here

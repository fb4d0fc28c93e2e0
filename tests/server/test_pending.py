"""What is under way when its client goes, and what it still has to put in order."""

import asyncio
from dataclasses import replace
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from mcp import Client
from mcp.server import Server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent

from satchel.model import Client as Asked
from satchel.model import Json, Tell
from satchel.server.pending import Context, PendingRequest, PendingRequests
from satchel.support.waiting import Task, background
from tests.server.helpers import ERAS, Era, wait_until


class Slow:
    """Work without end, which takes a while to put things in order once it is cancelled."""

    def __init__(self, tasks: TaskGroup) -> None:
        self.works = PendingRequests(tasks)
        self.begun = anyio.Event()
        self.seen: list[str] = []
        self.server = Server[Any]("slow", on_list_tools=self._list_tools, on_call_tool=self._call_tool)

    async def _list_tools(self, context: Context, params: object) -> ListToolsResult:
        return ListToolsResult(tools=[])

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        try:
            answer = await self.works.answer(context, "default", self._start, params)
        finally:
            self.seen.append("answered")
        return CallToolResult(content=[TextContent(text=str(answer))])

    async def _start(self, client: Asked, tell: Tell) -> Json:
        try:
            self.begun.set()
            await anyio.sleep_forever()
        finally:
            for _ in range(20):  # each is a moment in which it could be cancelled once more
                await asyncio.sleep(0.01)
            self.seen.append("in order")
        return {}


@pytest.mark.parametrize("era", ERAS)
async def test_a_request_that_is_cancelled_ends_when_its_work_is_in_order(era: Era) -> None:
    async with background() as working:
        slow = Slow(working)
        async with Client(slow.server, mode=era) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "any")
            await slow.begun.wait()
            tasks.cancel_scope.cancel()
        await wait_until(lambda: "answered" in slow.seen)
    assert slow.seen == ["in order", "answered"]


@pytest.mark.parametrize("era", ERAS)
async def test_closing_waits_for_work_that_somebody_else_has_cancelled_already(era: Era) -> None:
    async with background() as working:
        slow = Slow(working)
        async with Client(slow.server, mode=era) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "any")
            await slow.begun.wait()
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.05)
                await slow.works.aclose()
                assert slow.seen[:1] == ["in order"]


async def test_an_answer_to_whoever_gave_up_a_moment_ago_is_for_nobody() -> None:
    async def list_tools(context: Context, params: object) -> ListToolsResult:
        request = PendingRequest(context, "default")
        async with background() as tasks:
            asking = Task(tasks, lambda: request.client.ask("elicitation/create", {}, "name"))
            await wait_until(lambda: "name" in request.questions)
            asking.end()
            request.answer({"name": {"action": "accept"}})
        assert not request.questions
        return ListToolsResult(tools=[])

    async with Client(Server[Any]("asking", on_list_tools=list_tools), mode="auto") as client:
        assert (await client.list_tools()).tools == []


@pytest.mark.parametrize("odd", [5, [1], "ab", None])
async def test_input_that_is_not_an_object_is_ignored(odd: object) -> None:
    async def list_tools(context: Context, params: object) -> ListToolsResult:
        request = PendingRequest(replace(context, params={"inputResponses": odd}), "default")
        request.answer({})
        return ListToolsResult(tools=[])

    async with Client(Server[Any]("asking", on_list_tools=list_tools), mode="auto") as client:
        assert (await client.list_tools()).tools == []

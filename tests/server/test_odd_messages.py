"""Messages that can't be written, or that nobody can read: each costs itself, and never the connection."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from satchel.model import CallResult
from satchel.server.stdio import Writer
from satchel.server.wire import fit_items, fit_result
from tests.server.clients_helpers import MODERN, Process, own_project, process_of
from tests.servers import raw

pytestmark = pytest.mark.anyio

HALF = "half \ud800 a pair"
MENDED = "half \ufffd a pair"
VERSIONS = pytest.mark.parametrize("version", ["2025-11-25", MODERN])
SERVERS = {"broken": raw("broken_text"), "deep": raw("deep")}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


async def call(process: Process, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments or {}, "_meta": {"progressToken": 1}}
    return await process.request("tools/call", params)


async def is_there(process: Process) -> bool:
    return (await process.request("ping"))["result"] is not None


# Through `satchel serve`


@pytest.mark.slow
@pytest.mark.e2e
async def test_whatever_half_a_character_is_in_the_client_gets_the_rest(tmp_path: Path) -> None:
    project = own_project(tmp_path, SERVERS, {"mode": "direct"})
    async with process_of(project) as process:
        await process.initialize()
        tools = (await process.request("tools/list"))["result"]["tools"]
        described = {tool["name"]: tool["description"] for tool in tools}
        assert described["broken__in_text"] == MENDED
        answer = await call(process, "broken__in_text")
        assert answer["result"]["content"][0]["text"] == MENDED
        answer = await call(process, "broken__in_structure")
        assert answer["result"]["structuredContent"] == {MENDED: [MENDED]}
        answer = await call(process, "broken__in_error")
        assert MENDED in answer["result"]["content"][0]["text"]
        number = await process.send(
            "tools/call", {"name": "broken__in_progress", "_meta": {"progressToken": "p"}}
        )
        assert (await process.receive())["params"]["message"] == MENDED
        assert (await process.answer(number))["result"]
        number = await process.send("tools/call", {"name": "broken__in_log"})
        assert (await process.receive())["params"]["data"] == {MENDED: MENDED}
        assert (await process.answer(number))["result"]
    async with process_of(project) as process:  # now they are known from the cache
        assert MENDED in (await process.initialize())["instructions"]


@pytest.mark.slow
@pytest.mark.e2e
async def test_what_an_older_satchel_has_cached_is_mended(tmp_path: Path) -> None:
    project = own_project(tmp_path, {"broken": raw("broken_text")}, {"mode": "direct"})
    async with process_of(project) as process:
        await process.initialize()
        await process.request("tools/list")
    _spoil_cache(tmp_path / "home")
    async with process_of(project) as process:
        assert MENDED in (await process.initialize())["instructions"]
        tools = (await process.request("tools/list"))["result"]["tools"]
        assert [tool["description"] for tool in tools if tool["name"] == "broken__in_text"] == [MENDED]
        assert await is_there(process)


def _spoil_cache(home: Path) -> None:
    (file,) = (home / ".cache" / "satchel" / "catalog").glob("*.jsonl")
    content = file.read_bytes()
    assert rb"\ufffd" in content
    file.write_bytes(content.replace(rb"\ufffd", rb"\ud800"))


PROGRAM = r"""
from satchel_runtime import ToolError, call_tool
try:
    await call_tool("broken", "in_error", {})
except ToolError as error:
    print(error.message)
result = {"half \ud800 a pair": ["half \ud800 a pair"]}
"""


@pytest.mark.slow
@pytest.mark.e2e
async def test_what_a_program_returns_and_what_its_calls_said_is_mended(tmp_path: Path) -> None:
    project = own_project(tmp_path, SERVERS, {"mode": "code"})
    async with process_of(project) as process:
        await process.initialize()
        execution = (await call(process, "execute_code", {"code": PROGRAM}))["result"]["structuredContent"]
        assert execution["exit_code"] == 0, execution
        assert MENDED in execution["stdout"]
        assert MENDED in execution["tools_called"][0]["error"]
        assert execution["result"] == {MENDED: [MENDED]}
        deep = "print('printed')\nresult = 1\nfor _ in range(198):\n    result = [result]"
        answer = await call(process, "execute_code", {"code": deep})
        why, output = answer["result"]["content"]
        assert "nested more than 200 levels deep" in why["text"] and "printed" in output["text"]
        assert await is_there(process)


@pytest.mark.slow
@pytest.mark.e2e
async def test_a_result_that_is_nested_too_deeply_is_an_error_of_its_call(tmp_path: Path) -> None:
    project = own_project(tmp_path, SERVERS, {"mode": "direct"})
    async with process_of(project) as process:
        await process.initialize()
        await process.request("tools/list")
        for levels in (200, 201, 255, 256, 257, 5_000):
            answer = (await call(process, "deep__deep", {"levels": levels}))["result"]
            assert answer.get("isError", False) == (levels > 200), levels
            assert levels == 200 or "nested more than 200 levels deep" in answer["content"][0]["text"]
        assert await is_there(process)


# Definitions and results


@VERSIONS
def test_a_result_with_half_a_character_is_fitted(version: str) -> None:
    block = {"type": "text", "text": HALF, "_meta": {HALF: HALF}}
    result = CallResult(content=(block,), structured={HALF: HALF}, has_structured=True, meta={HALF: 1})
    assert fit_result(version, result) == {
        "content": [{"type": "text", "text": MENDED, "_meta": {MENDED: MENDED}}],
        "structuredContent": {MENDED: MENDED},
        "_meta": {MENDED: 1},
    }


@VERSIONS
@pytest.mark.parametrize("levels", [198, 250, 255, 500])
def test_a_result_that_clients_can_not_read_says_so(version: str, levels: int) -> None:
    result = CallResult(content=(), structured={"a": nested(levels)}, has_structured=True)
    fitted = fit_result(version, result)
    assert fitted["isError"] and "structuredContent" not in fitted
    assert "nested more than 200 levels deep" in fitted["content"][0]["text"]


@VERSIONS
def test_a_definition_that_can_not_be_written_costs_what_is_odd_of_it(version: str) -> None:
    tools: list[dict[str, Any]] = [
        {"name": "a", "inputSchema": {"type": "object", "x": nested(300)}},
        {"name": "b", "inputSchema": {"type": "object"}},
    ]
    fitted = fit_items("tools/list", "tools", version, tools)
    assert fitted == [{"name": "a", "inputSchema": {"type": "object"}}, tools[1]]


# What is written


async def written(*messages: JSONRPCMessage) -> list[dict[str, Any]]:
    send, receive = anyio.create_memory_object_stream[SessionMessage](10)
    async with receive:
        async with Writer(send) as writer:
            for message in messages:
                await writer.send(SessionMessage(message))
        texts = [item.message.model_dump_json(by_alias=True, exclude_unset=True) async for item in receive]
    return [json.loads(text) for text in texts]


@pytest.mark.parametrize("value", [HALF, nested(255)], ids=["half", "deep"])
async def test_an_answer_that_can_not_be_written_is_an_error_and_the_next_one_is_written(value: Any) -> None:
    first, second = await written(
        JSONRPCResponse(jsonrpc="2.0", id=1, result={"a": value}),
        JSONRPCResponse(jsonrpc="2.0", id=2, result={"a": 1}),
    )
    assert (first["id"], first["error"]["code"]) == (1, -32603)
    assert second == {"jsonrpc": "2.0", "id": 2, "result": {"a": 1}}


async def test_news_that_can_not_be_written_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    news = JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params={"data": HALF})
    (only,) = await written(news, JSONRPCResponse(jsonrpc="2.0", id=2, result={}))
    assert only["id"] == 2
    assert "can't be written" in caplog.text


async def test_who_asks_what_can_not_be_written_hears_of_it() -> None:
    question = JSONRPCRequest(jsonrpc="2.0", id=1, method="elicitation/create", params={"message": HALF})
    with pytest.raises(MCPError, match="can't be written"):
        await written(question)

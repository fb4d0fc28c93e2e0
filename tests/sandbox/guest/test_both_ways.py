"""Calls with and without `await`, and the errors that they raise."""

import asyncio
import json
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import _massgen_runtime
import satchel_runtime
from satchel_runtime import (
    NotConnectedError,
    ToolError,
    UnavailableError,
    WrongCallError,
    call_custom_tool,
    call_mcp_tool,
    call_tool,
    connect,
    search_tools,
    semantic_search,
)
from satchel_runtime.channel import error_of
from satchel_runtime.testing import Answers

FOUND = {"kind": "tool", "path": "/mnt/code-api/servers/a/b.py", "score": 0.5, "text": "B."}
VALUES: dict[str, Any] = {
    "object": {"a": [1]},
    "list": [1, {"a": 2}],
    "text": "words",
    "number": 3,
    "nothing": None,
}


class Slow(Answers):
    """Answers only once two requests are waiting at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.both = asyncio.Event()

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        self.requests.append((method, params))
        if len(self.requests) == 2:
            self.both.set()
        await asyncio.wait_for(self.both.wait(), 30)
        return params["name"]


@pytest.fixture(autouse=True)
def answers() -> Iterator[Answers]:
    answers = Answers(
        {**{f"a.{name}": value for name, value in VALUES.items()}, "search_tools": {"tools": []}}
    )
    connect(answers)
    yield answers
    connect(None)


@pytest.mark.parametrize("name", VALUES)
def test_without_an_event_loop_a_call_blocks_and_gives_its_value(name: str) -> None:
    value = call_mcp_tool(f"a.{name}")
    assert value == VALUES[name]
    assert json.dumps(value) == json.dumps(VALUES[name])
    assert pickle.loads(pickle.dumps(value)) == VALUES[name]
    assert value is None or isinstance(value, type(VALUES[name]))


@pytest.mark.parametrize("name", VALUES)
def test_where_a_loop_runs_a_call_is_awaited(name: str) -> None:
    async def main() -> Any:
        return await call_mcp_tool(f"a.{name}"), await call_tool("a", name)

    assert asyncio.run(main()) == (VALUES[name], VALUES[name])


@pytest.mark.parametrize("name", ["object", "list", "text"])
def test_a_value_that_is_there_already_can_be_awaited_too(name: str) -> None:
    assert asyncio.run(call_mcp_tool(f"a.{name}")) == VALUES[name]


def test_calls_that_are_gathered_are_made_at_once() -> None:
    async def main() -> Any:
        connect(Slow())
        calls: list[Any] = [call_mcp_tool("a.x"), call_mcp_tool("a.y")]
        return await asyncio.gather(*calls)

    assert asyncio.run(main()) == ["a.x", "a.y"]


def test_a_thread_beside_the_loop_blocks() -> None:
    found: list[Any] = []

    async def main() -> None:
        thread = threading.Thread(target=lambda: found.append(call_mcp_tool("a.text")))
        thread.start()
        await asyncio.to_thread(thread.join, 30)

    asyncio.run(main())
    assert found == ["words"]


def test_a_search_needs_no_await_anywhere_and_takes_one() -> None:
    async def main() -> Any:
        plain = search_tools("a")
        searches: list[Any] = [search_tools("b"), search_tools("c")]
        both = await asyncio.gather(*searches)
        return plain, await search_tools("d"), await asyncio.wait_for(search_tools("e"), 30), *both

    assert search_tools("a") == {"tools": []}
    assert asyncio.run(main()) == ({"tools": []},) * 5


def test_values_of_texts_are_keys_as_texts_are() -> None:
    assert {"words": 1}[call_mcp_tool("a.text")] == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: call_mcp_tool(server="a", tool="object", arguments={"x": 1}),
        lambda: call_mcp_tool("a", "object", {"x": 1}),
        lambda: _massgen_runtime.call_mcp_tool(server="a", tool="object", arguments={"x": 1}),
        lambda: call_tool("a", "object", {"x": 1}),
    ],
)
def test_a_tool_is_called_by_its_two_names(answers: Answers, call: Any) -> None:
    assert call() == VALUES["object"]
    assert answers.requests == [("call_tool", {"server": "a", "tool": "object", "arguments": {"x": 1}})]


def test_a_custom_tool_is_called_with_its_arguments_as_keywords(answers: Answers) -> None:
    assert call_custom_tool("a.text", name="x", tool_name="y") == "words"
    assert answers.requests == [
        ("call_tool", {"name": "a.text", "arguments": {"name": "x", "tool_name": "y"}})
    ]


def test_a_search_has_the_names_of_other_programs_as_well(answers: Answers) -> None:
    search_tools(keyword="file", detail_level="name-only")
    asked = {"query": "file", "server": None, "detail": "name-only", "limit": 10, "offset": 0}
    assert answers.requests == [("search_tools", asked)]


def test_what_is_found_has_a_path_and_a_score() -> None:
    connect(Answers({"semantic_search": [FOUND]}))
    (found,) = semantic_search("b", search_paths=["servers/"], top_k=1)
    assert (found.path, found.relevance_score) == (FOUND["path"], 0.5)
    assert found == FOUND


@pytest.mark.parametrize(
    ("kind", "builtin", "error"),
    [
        ("not_found", ValueError, WrongCallError),
        ("arguments", ValueError, WrongCallError),
        ("server", RuntimeError, UnavailableError),
        ("tool", ToolError, ToolError),
        ("permission", PermissionError, PermissionError),
    ],
)
def test_an_error_is_also_the_builtin_one_that_programs_expect(kind: str, builtin: type, error: type) -> None:
    failure = error_of({"kind": kind, "message": "no", "server": "a", "tool": "b"})
    assert type(failure) is error and isinstance(failure, builtin)
    assert isinstance(failure, ToolError | PermissionError)
    copy = pickle.loads(pickle.dumps(failure))
    assert (type(copy), str(copy)) == (error, str(failure))


def test_a_program_without_a_connection_gets_a_runtime_error() -> None:
    connect(None)
    with pytest.raises(RuntimeError) as caught:
        call_mcp_tool("a.b")
    assert isinstance(caught.value, NotConnectedError)


def test_the_runtime_of_massgen_is_ours() -> None:
    for name in _massgen_runtime.__all__:
        assert getattr(_massgen_runtime, name) is getattr(satchel_runtime, name)

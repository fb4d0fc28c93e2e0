"""What a program asks of Satchel, and what goes over the connection when it does."""

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import satchel_runtime
from satchel_runtime import (
    NotConnectedError,
    Prompt,
    PromptMessage,
    Record,
    Resource,
    ResourceContent,
    ToolError,
    call,
    call_mcp_tool,
    call_tool,
    connect,
    connection,
    describe_tool,
    get_prompt,
    list_servers,
    omit,
    read_resource,
    save_skill,
    search_tools,
    semantic_search,
)
from satchel_runtime.testing import Answers
from tests.codegen.helpers import run_python

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def unconnected() -> Iterator[None]:
    connect(None)
    yield
    connect(None)


def answering(answer: Any = None, **others: Any) -> Answers:
    answers = Answers({"drive.get": answer, **others})
    connect(answers)
    return answers


class Document(Record):
    title: str


async def test_a_wrapper_sends_its_arguments_and_reads_the_result() -> None:
    answers = answering({"title": "Plan", "size": 3})
    result = await call("drive", "get", {"id": "x", "deep": {"a": [1, None]}}, Document)
    assert type(result) is Document
    assert result.title == "Plan"
    assert answers.requests == [
        ("call_tool", {"server": "drive", "tool": "get", "arguments": {"id": "x", "deep": {"a": [1, None]}}})
    ]


async def test_what_is_omitted_is_not_sent_and_none_is() -> None:
    answers = answering()
    await call("drive", "get", {"a": omit, "b": None, "c": False, "d": 0, "e": ""})
    assert answers.requests[0][1]["arguments"] == {"b": None, "c": False, "d": 0, "e": ""}


async def test_arguments_go_under_their_real_names() -> None:
    answers = answering()
    await call(
        "drive", "get", {"from_": "a", "class_": omit, "to": "b"}, names={"from_": "from", "class_": "class"}
    )
    assert answers.requests[0][1]["arguments"] == {"from": "a", "to": "b"}


async def test_further_arguments_go_under_their_own_names() -> None:
    answers = answering()
    given = {"id": "x", "from_": "a", "extra": {"y": 1, "from_": 2, "gone": omit}}
    await call("drive", "get", given, names={"from_": "from", "extra": None})
    assert answers.requests[0][1]["arguments"] == {"id": "x", "from": "a", "y": 1, "from_": 2}


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ({"result": [{"title": "a"}]}, [{"title": "a"}]),
        ({"result": None}, None),
        ({"other": 1}, {"other": 1}),
        ([{"title": "a"}], [{"title": "a"}]),
        ("text", "text"),
        (None, None),
    ],
)
async def test_a_wrapped_result_is_taken_out_where_there_is_one(answer: Any, result: Any) -> None:
    answering(answer)
    value = await call("drive", "get", {}, list[Document], unwrap=True)
    assert value == result
    if isinstance(value, list) and value:
        assert type(value[0]) is Document  # pyright: ignore[reportUnknownArgumentType]


async def test_a_result_without_a_declared_type_is_what_came() -> None:
    value = {"title": "x"}
    answering(value)
    assert await call("drive", "get", {}) is value


async def test_tools_can_be_called_by_name() -> None:
    answers = Answers({"call_tool": None})
    connect(answers)
    with pytest.raises(ToolError, match="no answer is prepared"):
        await call_tool("drive", "get", {"id": 1})
    with pytest.raises(ToolError):
        await call_tool("drive", "get")
    assert [params["arguments"] for _, params in answers.requests] == [{"id": 1}, {}]


class Noting:
    """A connection that answers everything with the same value, and notes what was asked."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        self.asked.append((method, params))
        return self.answer

    def request_blocking(self, method: str, params: dict[str, Any]) -> Any:
        self.asked.append((method, params))
        return self.answer


async def test_every_verb_sends_its_own_request() -> None:
    noting = Noting({})
    connect(noting)
    await call_tool("drive", "get", {"id": 1})
    await call_mcp_tool("drive__get", {"id": 1})
    await call_mcp_tool("drive__get")
    await list_servers()
    await search_tools("find", server="drive", detail="full", limit=3, offset=6)
    await semantic_search("find", limit=4)
    await describe_tool("drive.get")
    await save_skill("sum", "1 + 1", "Adds", example="e")
    assert noting.asked == [
        ("call_tool", {"server": "drive", "tool": "get", "arguments": {"id": 1}}),
        ("call_tool", {"name": "drive__get", "arguments": {"id": 1}}),
        ("call_tool", {"name": "drive__get", "arguments": {}}),
        ("list_servers", {}),
        ("search_tools", {"query": "find", "server": "drive", "detail": "full", "limit": 3, "offset": 6}),
        ("semantic_search", {"query": "find", "limit": 4}),
        ("describe_tool", {"name": "drive.get"}),
        (
            "save_skill",
            {
                "name": "sum",
                "code": "1 + 1",
                "description": "Adds",
                "language": "python",
                "example": "e",
            },
        ),
    ]


async def test_the_answers_for_tests_know_tools_called_by_their_wire_names() -> None:
    connect(Answers({"drive__get": {"title": "Plan"}}))
    assert await call_mcp_tool("drive__get", {}) == {"title": "Plan"}


async def test_a_resource_has_its_text_and_its_parts() -> None:
    noting = Noting(
        {"contents": [{"uri": "a:b", "mimeType": "text/plain", "text": "one"}, {"uri": "c", "blob": "AA=="}]}
    )
    connect(noting)
    resource = await read_resource("drive", "a:b")
    assert resource.text == "one"
    assert resource.contents[0].mime_type == resource["contents"][0]["mimeType"] == "text/plain"
    assert resource.contents[1].blob == "AA=="
    assert type(resource) is Resource
    assert type(resource.contents[1]) is ResourceContent
    assert noting.asked == [("read_resource", {"server": "drive", "uri": "a:b"})]


async def test_a_prompt_has_its_text_and_its_messages() -> None:
    noting = Noting({"messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}]})
    connect(noting)
    prompt = await get_prompt("drive", "greet", {"from_": "a", "to": omit}, names={"from_": "from"})
    assert prompt.text == "Hello"
    assert prompt.messages[0].role == "user"
    assert prompt.description is None
    assert type(prompt) is Prompt
    assert type(prompt.messages[0]) is PromptMessage
    assert noting.asked == [("get_prompt", {"server": "drive", "name": "greet", "arguments": {"from": "a"}})]


@pytest.mark.parametrize("wrong", [None, 3, "text", ["text"], [None], [{"text": 3}], {"a": 1}])
async def test_resources_and_prompts_of_another_shape_have_no_text_and_survive(wrong: Any) -> None:
    connect(Noting({"contents": wrong}))
    assert (await read_resource("drive", "x")).text == ""
    connect(Noting({"messages": wrong}))
    assert (await get_prompt("drive", "x")).text == ""
    connect(Noting({"messages": [{"role": "user", "content": wrong}]}))
    assert isinstance((await get_prompt("drive", "x")).text, str)


async def test_without_a_connection_the_error_says_what_to_do() -> None:
    with pytest.raises(
        NotConnectedError, match=r"not connected to Satchel.*satchel_runtime\.testing import Answers"
    ):
        await call("drive", "get", {})
    with pytest.raises(NotConnectedError):
        connection()
    with pytest.raises(NotConnectedError):
        await list_servers()


async def test_the_hint_for_trying_without_servers_works_as_it_is_written() -> None:
    with pytest.raises(NotConnectedError) as caught:
        connection()
    hint = re.search(r"from satchel_runtime\.testing .*\)", str(caught.value))
    assert hint
    program = f"import satchel_runtime\n{hint.group().replace('...', '')}\nprint('connected')"
    done = run_python(Path(satchel_runtime.__file__).parents[1], "-c", program)
    assert done.stdout == "connected\n", done.stderr


async def test_a_failed_call_can_be_caught_and_says_what_failed() -> None:
    def fail(arguments: dict[str, Any]) -> Any:
        raise ToolError("drive", "get", f"no document {arguments['id']}", kind="protocol")

    answering(fail)
    with pytest.raises(ToolError) as caught:
        await call("drive", "get", {"id": 7}, Document)
    error = caught.value
    assert (error.server, error.tool, error.message, error.kind) == (
        "drive",
        "get",
        "no document 7",
        "protocol",
    )
    assert str(error) == "drive.get: no document 7"


async def test_a_refused_call_raises_permission_error() -> None:
    def refuse(_: dict[str, Any]) -> Any:
        raise PermissionError("drive.get is not allowed")

    answering(refuse)
    with pytest.raises(PermissionError, match="not allowed"):
        await call("drive", "get", {})


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(ToolError("drive", "get", "no such document", kind="timeout")))
    assert type(error) is ToolError
    assert (error.server, error.tool, error.message, error.kind) == (
        "drive",
        "get",
        "no such document",
        "timeout",
    )
    assert str(error) == "drive.get: no such document"
    other = pickle.loads(pickle.dumps(NotConnectedError("x")))
    assert type(other) is NotConnectedError
    assert str(other) == "x"
    assert ToolError("a", "b", "c").kind == "tool"

"""Satchel's tools in LangChain. Only what a model says is scripted."""

import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.tools import BaseTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from satchel import Satchel
from satchel.integrations.langchain import SatchelTool, SatchelToolError, langchain_tools
from satchel.model import Conversation
from satchel.support.installing import how_to_install
from satchel.toolset import Toolset
from tests.integrations.conftest import opened, run_documented
from tests.servers import HERE, raw
from tests.upstream.helpers import lines, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # the framework alone takes a second to import

SEARCH = ["search_tools", "call_tool", "memory"]
WAIT = 60  # seconds; only a hang reaches it
PIXEL = runpy.run_path(str(HERE / "raw.py"))["PIXEL"]


class ScriptedModel(FakeMessagesListChatModel):
    """Says what it is told to say, and notes the tools that it is given as a provider would get them."""

    given: list[dict[str, Any]] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        self.given.extend(convert_to_openai_tool(tool) for tool in tools)
        return self


async def converse(model: ScriptedModel, tools: list[BaseTool], *messages: BaseMessage) -> list[BaseMessage]:
    """What every agent does: ask the model, call what it asks for, until it asks for nothing more."""
    by_name = {tool.name: tool for tool in tools}
    bound = model.bind_tools(tools)
    history = list(messages)
    with anyio.fail_after(WAIT):
        while True:
            answer = await bound.ainvoke(history)
            history.append(answer)
            if not answer.tool_calls:
                return history
            for asked in answer.tool_calls:
                history.append(await by_name[asked["name"]].ainvoke(asked))


def asks(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[tool_call(name=name, args=arguments, id=f"call-{name}")])


def tool_of(satchel: Satchel, name: str, **more: Any) -> BaseTool:
    (tool,) = [tool for tool in langchain_tools(satchel, **more) if tool.name == name]
    return tool


async def message_of(tool: BaseTool, /, **arguments: Any) -> ToolMessage:
    with anyio.fail_after(WAIT):
        return await tool.ainvoke(tool_call(name=tool.name, args=arguments, id="call-1"))


async def test_an_agent_searches_writes_a_program_and_reads_what_it_printed(satchel: Satchel) -> None:
    program = """
    from servers.good import add
    total = 0
    for number in range(5):
        total = (await add(a=total, b=number)).sum
    print("the sum is", total)
    """
    model = ScriptedModel(
        responses=[
            asks("search_tools", query="add numbers", limit=1),
            asks("execute_code", code=dedent(program)),
            AIMessage("It is 10."),
        ]
    )
    history = await converse(
        model,
        langchain_tools(satchel, mode="code"),
        SystemMessage(Toolset(satchel, mode="code").instructions()),
        HumanMessage("Add the numbers up to 4."),
    )
    found, printed = [message for message in history if isinstance(message, ToolMessage)]
    assert "good.add: Add two numbers." in str(found.content)
    assert found.artifact["structured_content"]["tools"][0]["short_name"] == "add"
    assert (printed.content, printed.status) == ("the sum is 10", "success")
    assert len(printed.artifact["structured_content"]["tools_called"]) == 5
    assert [tool["function"]["name"] for tool in model.given] == [
        *("list_servers", "search_tools", "execute_code")
    ]


async def test_all_tools_of_one_list_are_one_conversation(satchel: Satchel) -> None:
    conversation = Conversation()
    tool = tool_of(satchel, "call_tool", mode="search", conversation=conversation)
    other = tool_of(satchel, "call_tool", mode="search")
    await message_of(tool, name="good.echo", arguments={"text": "x"})
    assert [source.name for source in conversation.reads.sources] == ["good.echo"]
    assert isinstance(other, SatchelTool) and not other.toolset.conversation.reads.sources


async def test_definitions_are_passed_on_as_they_are(satchel: Satchel) -> None:
    tools = langchain_tools(satchel, mode="direct")
    definitions = Toolset(satchel, mode="direct").definitions()
    assert [(tool.name, tool.description, tool.args_schema) for tool in tools] == [
        (definition["name"], definition["description"], definition["inputSchema"])
        for definition in definitions
    ]
    _, echo, _, sleep, *_ = tools  # the first is Satchel's own
    assert echo.metadata == {key: definitions[1][key] for key in ("annotations", "outputSchema")}
    assert sleep.metadata is None
    assert echo.args == {"text": {"type": "string"}}
    assert convert_to_openai_tool(echo)["function"] == {
        "name": "good__echo",
        "description": "Return the text.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    }


async def test_a_schema_without_parameters_has_none() -> None:
    assert SatchelTool(name="x", description="", args_schema={"type": "object"}, toolset=None).args == {}


async def test_the_agent_and_the_mode_can_be_named(satchel: Satchel) -> None:
    names = [tool.name for tool in langchain_tools(satchel, agent="reader", mode="direct")]
    assert "good__echo" in names
    assert "good__fail" not in names
    assert [tool.name for tool in langchain_tools(satchel, mode="search")] == [
        "search_tools",
        "call_tool",
        "memory",
    ]


async def test_structured_content_is_the_artifact_of_a_message(satchel: Satchel) -> None:
    message = await message_of(tool_of(satchel, "good__add", mode="direct"), a=1, b=2)
    assert (message.content, message.status) == ('{"sum": 3}', "success")
    assert message.artifact == {"structured_content": {"sum": 3}}
    message = await message_of(tool_of(satchel, "good__sleep", mode="direct"), seconds=0)
    assert message.artifact is None


async def test_without_a_tool_call_the_content_alone_comes_back(satchel: Satchel) -> None:
    tool = tool_of(satchel, "good__echo", mode="direct")
    assert await tool.ainvoke({"text": "hello"}) == "hello"


async def test_an_image_is_a_block_that_models_are_shown(satchel: Satchel) -> None:
    message = await message_of(tool_of(satchel, "media__image", mode="direct"))
    assert message.content == [{"type": "image", "base64": PIXEL, "mime_type": "image/png"}]
    (block,) = message.content_blocks
    assert (block["type"], block.get("base64")) == ("image", PIXEL)
    assert message.artifact["content"][0]["type"] == "image"


async def test_what_models_are_not_shown_is_named_and_kept(satchel: Satchel) -> None:
    message = await message_of(tool_of(satchel, "media__mixed", mode="direct"))
    kinds = [block["type"] for block in message.content if isinstance(block, dict)]
    assert kinds == ["text", "image", "text"]
    text = message.text
    assert text.startswith("mixed")
    assert "[audio/wav, 4 bytes]" in text
    assert PIXEL not in text
    assert {block["type"] for block in message.artifact["content"]} >= {"audio", "image", "resource"}


async def test_a_kind_of_content_from_the_future_is_shown_as_text(satchel: Satchel) -> None:
    message = await message_of(tool_of(satchel, "media__future", mode="direct"))
    assert isinstance(message.content, str)
    assert message.content.startswith('{"type": ')


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("good__fail", {"message": "no paper"}, "no paper"),
        ("good__echo", {}, "missing argument 'text'"),
        ("good__echo", {"txet": "x"}, "unknown argument 'txet'\nhint: did you mean 'text'?"),
    ],
)
async def test_the_model_is_told_why_a_call_failed(
    satchel: Satchel, name: str, arguments: dict[str, Any], text: str
) -> None:
    tool = tool_of(satchel, name, mode="direct")
    message = await message_of(tool, **arguments)
    assert message.status == "error"
    assert text in str(message.content)
    tool.handle_tool_error = False
    with pytest.raises(ToolException, match=text.splitlines()[0]) as caught:
        await message_of(tool, **arguments)
    assert isinstance(caught.value, SatchelToolError)


async def test_a_failed_program_is_an_error_with_its_execution(satchel: Satchel) -> None:
    tool = tool_of(satchel, "execute_code", mode="code")
    code = "print('begun')\nraise ValueError('no paper')"
    message = await message_of(tool, code=code)
    assert message.status == "error"
    assert str(message.content).startswith("begun\n")
    assert "ValueError: no paper" in str(message.content)
    tool.handle_tool_error = False
    with pytest.raises(SatchelToolError) as caught:
        await message_of(tool, code=code)
    assert (caught.value.artifact or {})["structured_content"]["exit_code"] == 1


async def test_parameters_can_have_names_that_the_framework_uses(satchel: Satchel) -> None:
    tool = tool_of(satchel, "odd__take", mode="direct")
    names = ("self", "config", "run_manager", "callbacks", "type", "input")
    message = await message_of(tool, **{name: name.upper() for name in names})
    assert message.status == "success", message.content
    assert message.artifact["structured_content"] == {"result": [name.upper() for name in names]}


async def test_a_cancellation_reaches_the_server(satchel: Satchel, log: Path) -> None:
    before = len(lines(log))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tool_of(satchel, "good__sleep", mode="direct").ainvoke, {"seconds": 60})
        await until(lambda: any("tools/call sleep" in line for line in lines(log)[before:]))
        tasks.cancel_scope.cancel()
    await until(lambda: any(line.startswith("cancelled") for line in lines(log)[before:]))


async def test_calls_can_be_made_at_the_same_time(satchel: Satchel) -> None:
    tool = tool_of(satchel, "good__echo", mode="direct")
    with anyio.fail_after(WAIT):
        assert await tool.abatch([{"text": str(number)} for number in range(10)]) == list(map(str, range(10)))


async def test_tools_are_not_called_without_an_event_loop(satchel: Satchel) -> None:
    with pytest.raises(NotImplementedError, match="use ainvoke"):
        tool_of(satchel, "good__echo", mode="direct").invoke({"text": "x"})


async def test_a_project_that_was_never_listed_has_tools_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path, {"good": raw("good")}) as satchel:
        tools = langchain_tools(satchel)
        assert [tool.name for tool in tools] == ["list_servers", "search_tools", "execute_code"]
        message = await message_of(tools[1], query="echo")
        assert "good.echo" in str(message.content)
        # The few tools of that server are shown directly from now on; those of before go on.
        assert "good__echo" in [tool.name for tool in langchain_tools(satchel)]
        assert (await message_of(tools[0])).status == "success"


async def test_tools_stay_callable_when_others_are_offered(tmp_path: Path) -> None:
    async with opened(tmp_path, {"good": raw("good")}) as satchel:
        await satchel.servers.refresh()
        echo = tool_of(satchel, "good__echo")
        (tmp_path / "satchel.yaml").write_text("auto_threshold: 1")
        assert len(langchain_tools(satchel)) == 3
        assert (await message_of(echo, text="x")).content == "x"


async def test_tools_that_are_not_known_yet_are_missed_aloud(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, {"good": raw("good")}) as satchel:
        assert [tool.name for tool in langchain_tools(satchel, mode="direct")] == ["memory"]
        assert "tools of good are missing" in caplog.text


def test_a_missing_package_is_named_with_the_extra_that_has_it() -> None:
    code = "import sys; sys.modules['langchain_core'] = None\nimport satchel.integrations.langchain"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: satchel.integrations.langchain needs langchain-core")
    assert last.endswith(how_to_install("langchain"))


@pytest.mark.e2e
def test_the_program_in_the_docs_runs(examples: Path) -> None:
    printed = run_documented(examples, "LangChain", after="print([tool.name for tool in tools])")
    own = ["list_servers", "search_tools", "execute_code"]
    of_skills = ["search_skills", "view_skill", "read_file"]  # the examples have some
    assert printed == f"{[*own, *of_skills]}\n"

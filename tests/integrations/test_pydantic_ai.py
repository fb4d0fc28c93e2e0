"""Satchel's tools in Pydantic AI. Only what a model says is scripted."""

import base64
import runpy
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from textwrap import dedent
from typing import Any, cast

import anyio
import pytest
from pydantic_ai import Agent, BinaryImage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import AbstractToolset

from satchel import Satchel
from satchel.errors import ConfigError, NotFoundError
from satchel.integrations.pydantic_ai import SatchelToolset
from satchel.support.installing import how_to_install
from satchel.toolset import Toolset
from tests.integrations.conftest import opened, run_documented
from tests.servers import HERE, raw
from tests.upstream.helpers import lines, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # the framework alone takes a second to import

SEARCH = ["search_tools", "call_tool", "memory"]
WAIT = 60  # seconds; only a hang reaches it
PIXEL = runpy.run_path(str(HERE / "raw.py"))["PIXEL"]
Say = ToolCallPart | str
Pause = Callable[[], Awaitable[None]]


class ScriptedModel:
    """Says one thing after the other, and notes what it is given each time. `pause` is before the second."""

    def __init__(self, *says: Say, pause: Pause | None = None) -> None:
        self._says = list(says)
        self._pause = pause
        self.given: list[AgentInfo] = []
        self.heard: list[ModelMessage] = []

    def model(self) -> FunctionModel:
        async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            self.given.append(info)
            if self._pause is not None and len(self.given) == 2:
                await self._pause()
            self.heard = messages
            said = self._says.pop(0)
            return ModelResponse([TextPart(said) if isinstance(said, str) else said])

        return FunctionModel(answer)

    @property
    def returned(self) -> list[ToolReturnPart]:
        return [part for message in self.heard for part in message.parts if isinstance(part, ToolReturnPart)]

    def tools(self, step: int = -1) -> list[str]:
        return [tool.name for tool in self.given[step].function_tools]


async def run(toolset: AbstractToolset[Any], *says: Say, pause: Pause | None = None) -> ScriptedModel:
    """An agent with these tools whose model says these things, and `done`."""
    scripted = ScriptedModel(*says, "done", pause=pause)
    with anyio.fail_after(WAIT):
        result = await Agent(scripted.model(), toolsets=[toolset]).run("go on")
    assert result.output == "done"
    return scripted


async def returned(satchel: Satchel, name: str, /, **arguments: Any) -> ToolReturnPart:
    """What a model that is shown all tools gets for one call."""
    scripted = await run(SatchelToolset(satchel, mode="direct"), ToolCallPart(name, arguments))
    (part,) = scripted.returned
    return part


async def test_what_one_run_has_read_is_read_in_the_next(satchel: Satchel) -> None:
    """It may begin with the messages of the first."""
    toolset = SatchelToolset(satchel, mode="search")
    calls = ToolCallPart("call_tool", {"name": "good.echo", "arguments": {"text": "x"}})
    await run(toolset, calls)
    later = await toolset.for_run(cast(Any, None))
    assert [source.name for source in later._toolset.conversation.reads.sources] == ["good.echo"]


async def test_an_agent_searches_writes_a_program_and_reads_what_it_printed(satchel: Satchel) -> None:
    program = """
    from servers.good import add
    total = 0
    for number in range(5):
        total = (await add(a=total, b=number)).sum
    print("the sum is", total)
    """
    scripted = await run(
        SatchelToolset(satchel, mode="code"),
        ToolCallPart("search_tools", {"query": "add numbers", "limit": 1}),
        ToolCallPart("execute_code", {"code": dedent(program)}),
    )
    found, printed = scripted.returned
    assert "good.add: Add two numbers." in str(found.content)
    assert found.metadata["structured_content"]["tools"][0]["short_name"] == "add"
    assert (printed.content, printed.outcome) == ("the sum is 10", "success")
    assert len(printed.metadata["structured_content"]["tools_called"]) == 5
    assert scripted.tools() == ["list_servers", "search_tools", "execute_code"]


async def test_the_system_prompt_is_among_the_instructions(satchel: Satchel) -> None:
    scripted = ScriptedModel("done")
    agent = Agent(scripted.model(), toolsets=[SatchelToolset(satchel, mode="code")], instructions="Be brief.")
    await agent.run("go on")
    told = scripted.given[0].instructions or ""
    assert "Be brief." in told
    assert Toolset(satchel, mode="code").instructions() in told
    parts = scripted.given[0].model_request_parameters.instruction_parts or []
    assert [part.dynamic for part in parts] == [False, False]
    quiet = await run(SatchelToolset(satchel, mode="code", include_instructions=False))
    assert not quiet.given[0].instructions
    direct = await run(SatchelToolset(satchel, mode="direct"))
    assert "Look at images." in (direct.given[0].instructions or "")


async def test_a_broken_template_ends_the_run_with_its_place(tmp_path: Path) -> None:
    async with opened(tmp_path, {}) as satchel:
        (tmp_path / "templates").mkdir()
        (tmp_path / "templates" / "code_execution_system.jinja").write_text("{% if %}")
        with pytest.raises(ConfigError, match=r"code_execution_system\.jinja:1"):
            await run(SatchelToolset(satchel, mode="code"))


async def test_definitions_are_passed_on_as_they_are(satchel: Satchel) -> None:
    scripted = await run(SatchelToolset(satchel, mode="direct"))
    given = scripted.given[0].function_tools
    definitions = Toolset(satchel, mode="direct").definitions()
    assert [(tool.name, tool.description, tool.parameters_json_schema) for tool in given] == [
        (definition["name"], definition["description"], definition["inputSchema"])
        for definition in definitions
    ]
    _, echo, _, sleep, *_ = given  # the first is Satchel's own
    assert echo.metadata == {key: definitions[1][key] for key in ("annotations", "outputSchema")}
    assert sleep.metadata is None


async def test_the_frameworks_own_test_model_calls_a_tool_by_its_schema(satchel: Satchel) -> None:
    model = TestModel(call_tools=["good__add"])
    with anyio.fail_after(WAIT):
        result = await Agent(model, toolsets=[SatchelToolset(satchel, mode="direct")]).run("go on")
    assert result.output == '{"good__add":"{\\"sum\\": 0}"}'


async def test_the_agent_and_the_mode_can_be_named(satchel: Satchel) -> None:
    scripted = await run(SatchelToolset(satchel, agent="reader", mode="direct"))
    assert "good__echo" in scripted.tools()
    assert "good__fail" not in scripted.tools()
    assert (await run(SatchelToolset(satchel, mode="search"))).tools() == [
        "search_tools",
        "call_tool",
        "memory",
    ]
    with pytest.raises(NotFoundError, match="unknown agent 'readr'"):
        SatchelToolset(satchel, agent="readr")


async def test_structured_content_is_for_the_program_and_text_for_the_model(satchel: Satchel) -> None:
    part = await returned(satchel, "good__add", a=1, b=2)
    assert (part.content, part.metadata) == ('{"sum": 3}', {"structured_content": {"sum": 3}})
    assert (await returned(satchel, "good__sleep", seconds=0)).metadata is None


async def test_an_image_is_one_for_the_model(satchel: Satchel) -> None:
    part = await returned(satchel, "media__image")
    assert part.content == [BinaryImage(base64.b64decode(PIXEL), media_type="image/png")]
    assert part.metadata["content"][0]["type"] == "image"


async def test_what_models_are_not_shown_is_named_and_kept(satchel: Satchel) -> None:
    part = await returned(satchel, "media__mixed")
    first, image, last = cast("list[Any]", part.content)
    assert first.startswith("mixed")
    assert isinstance(image, BinaryImage)
    assert "[audio/wav, 4 bytes]" in first + last
    assert {block["type"] for block in part.metadata["content"]} >= {"audio", "image", "resource"}


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("good__fail", {"message": "no paper"}, "no paper"),
        ("good__echo", {}, "missing argument 'text'"),
        ("good__echo", {"txet": "x"}, "unknown argument 'txet'\nhint: did you mean 'text'?"),
        ("good__echo", {"text": 5}, "argument 'text' must be a string, not 5"),
    ],
)
async def test_the_model_is_told_why_a_call_failed(
    satchel: Satchel, name: str, arguments: dict[str, Any], text: str
) -> None:
    part = await returned(satchel, name, **arguments)
    assert part.outcome == "failed"
    assert text in str(part.content)
    assert text.splitlines()[0] in part.model_response_str()


async def test_a_run_survives_any_number_of_failed_calls(satchel: Satchel) -> None:
    calls = [ToolCallPart("good__fail", {"message": str(number)}) for number in range(10)]
    scripted = await run(SatchelToolset(satchel, mode="direct"), *calls)
    assert [part.outcome for part in scripted.returned] == ["failed"] * 10


async def test_a_failed_program_is_told_as_it_is(satchel: Satchel) -> None:
    code = "print('begun')\nraise ValueError('no paper')"
    scripted = await run(SatchelToolset(satchel, mode="code"), ToolCallPart("execute_code", {"code": code}))
    (part,) = scripted.returned
    assert part.outcome == "failed"
    assert str(part.content).startswith("begun\n")
    assert "ValueError: no paper" in str(part.content)


async def test_parameters_can_have_names_that_the_framework_uses(satchel: Satchel) -> None:
    names = ("self", "config", "run_manager", "callbacks", "type", "input")
    part = await returned(satchel, "odd__take", **{name: name.upper() for name in names})
    assert part.outcome == "success", part.content
    assert part.metadata["structured_content"] == {"result": [name.upper() for name in names]}


async def test_a_cancellation_reaches_the_server(satchel: Satchel, log: Path) -> None:
    before = len(lines(log))
    toolset, call = SatchelToolset(satchel, mode="direct"), ToolCallPart("good__sleep", {"seconds": 60})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, toolset, call)
        await until(lambda: any("tools/call sleep" in line for line in lines(log)[before:]))
        tasks.cancel_scope.cancel()
    await until(lambda: any(line.startswith("cancelled") for line in lines(log)[before:]))


async def test_tools_can_be_renamed_filtered_and_prefixed_by_the_framework(satchel: Satchel) -> None:
    toolset = SatchelToolset(satchel, mode="direct")
    wrapped = toolset.filtered(lambda context, tool: tool.name == "good__echo").prefixed("my")
    scripted = ScriptedModel(ToolCallPart("my_good__echo", {"text": "x"}), "done")
    with anyio.fail_after(WAIT):
        await Agent(scripted.model(), toolsets=[wrapped]).run("go on")
    assert scripted.tools() == ["my_good__echo"]
    assert scripted.returned[0].content == "x"


async def test_tools_are_read_anew_for_every_run(tmp_path: Path) -> None:
    async with opened(tmp_path, {"good": raw("good")}) as satchel:
        toolset = SatchelToolset(satchel, id="satchel")
        assert (
            "good__echo" in (await run(toolset)).tools()
        )  # it was waited for, although nobody had listed it
        (tmp_path / "satchel.yaml").write_text("mode: search")
        assert (await run(toolset)).tools() == SEARCH


async def test_tools_that_a_server_announces_are_there_in_the_next_step(tmp_path: Path) -> None:
    async with opened(tmp_path, {"growing": raw("list_changed")}) as satchel:

        async def grown() -> None:
            await until(lambda: len(satchel.catalog.tools) == 10)

        calls = [ToolCallPart("growing__grow", {}), ToolCallPart("growing__echo", {"text": "x"})]
        scripted = await run(SatchelToolset(satchel, mode="direct"), *calls, pause=grown)
        assert "growing__grown_1" not in scripted.tools(0)
        assert "growing__grown_1" in scripted.tools(2)


async def test_the_kind_of_tools_stays_the_same_until_a_run_ends(tmp_path: Path) -> None:
    async with opened(tmp_path, {"good": raw("good")}, {"mode": "direct"}) as satchel:

        async def switch() -> None:
            (tmp_path / "satchel.yaml").write_text("mode: search")

        toolset = SatchelToolset(satchel)
        calls = [ToolCallPart("good__echo", {"text": str(number)}) for number in range(2)]
        scripted = await run(toolset, *calls, pause=switch)
        assert [part.content for part in scripted.returned] == ["0", "1"]
        assert scripted.tools(0) == scripted.tools(2)
        assert (await run(toolset)).tools() == SEARCH


async def test_the_runs_of_a_conversation_are_told_the_same_of_the_memory(tmp_path: Path) -> None:
    async with opened(tmp_path, {}) as satchel:
        await satchel.memory.add("Berlin", topic="office")
        toolset = SatchelToolset(satchel, mode="search")
        scripted = ScriptedModel("one", "two", "three")
        agent = Agent(scripted.model(), toolsets=[toolset])
        with anyio.fail_after(WAIT):
            first = await agent.run("go on", conversation_id="c1")
            await satchel.memory.edit("office", "Paris")
            await agent.run("go on", message_history=first.all_messages())
            await agent.run("go on")
        told = [given.instructions or "" for given in scripted.given]
        records = await satchel.journal.told_memories()
    assert ["Berlin" in text for text in told] == [True, True, False]
    assert "Paris" in told[2]
    assert len({record.digest for record in records}) == len(records) == 2


def test_a_missing_package_is_named_with_the_extra_that_has_it() -> None:
    code = "import sys; sys.modules['pydantic_ai'] = None\nimport satchel.integrations.pydantic_ai"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: satchel.integrations.pydantic_ai needs pydantic-ai-slim")
    assert last.endswith(how_to_install("pydantic-ai"))


@pytest.mark.e2e
def test_the_program_in_the_docs_runs(examples: Path) -> None:
    printed = run_documented(
        examples,
        "Pydantic AI",
        before="from pydantic_ai.models.test import TestModel as T; model = T(call_tools=['list_servers'])",
        after="print(answer.output)",
    )
    assert printed.startswith('{"list_servers":"google-drive (stdio, ')
    assert "3 servers" in printed

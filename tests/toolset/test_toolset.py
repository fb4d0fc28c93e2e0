"""What a model is offered in every mode, and what it is told for whatever it calls."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any, Protocol, cast

import anyio
import jsonschema
import pytest
import yaml

from satchel import Satchel, open_satchel
from satchel.config.agents import Mode
from satchel.context.executions import execution_as_text
from satchel.errors import ArgumentError, ConfigError, NotFoundError
from satchel.model import CallResult, Event, Execution, Json, Progress, ToolUse
from satchel.toolset import Toolset
from tests.projects import Project
from tests.servers import raw
from tests.upstream.helpers import lines, until

pytestmark = pytest.mark.anyio

WAIT = 60  # seconds; only a hang reaches it
MODES: tuple[Mode, ...] = ("code", "search", "direct")
OWN = {
    "code": ["list_servers", "search_tools", "execute_code"],
    "search": ["search_tools", "call_tool", "memory"],
    "direct": ["memory"],
}
TOOLS = 23  # of both servers
AGENTS: Json = {"default": {}, "reader": {"allow": ["good"], "deny": ["*.fail"]}, "other": {}}
BASE: Json = {"code_execution": {"timeout": 20, "max_timeout": 40}, "agents": AGENTS}
Configure = Callable[..., None]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """For the whole module, so that one Satchel can serve its tests."""
    return "asyncio"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("toolset")


@pytest.fixture(scope="module")
def log(home: Path) -> Path:
    """What the server `good` was sent."""
    return home / "log"


@pytest.fixture(scope="module")
async def satchel(home: Path, log: Path) -> AsyncGenerator[Satchel]:
    """On a project whose servers are listed: `good` has 8 tools, `media` those and 7 more."""
    servers = {
        "good": raw("named", log=log, instructions="Echo politely."),
        "media": raw("media", instructions="Look at images."),
    }
    async with opened(home, servers, BASE) as satchel:
        await satchel.servers.refresh()
        yield satchel


def opened(directory: Path, servers: Mapping[str, Json], settings: Json | None = None) -> Any:
    project = Project(directory / "project", servers)
    write_settings(project.directory, settings or {})
    return open_satchel(project.directory, environment={**os.environ, "HOME": str(directory)})


def write_settings(directory: Path, settings: Json) -> None:
    """Exchanged as a whole: a file that is written twice within a tick may look unchanged."""
    new = directory / "satchel.yaml.new"
    new.write_text(yaml.safe_dump(settings))
    new.rename(directory / "satchel.yaml")


@pytest.fixture
def configure(satchel: Satchel) -> Generator[Configure]:
    """Settings for one test, besides those that every test has."""
    directory = satchel.configuration.paths.project

    def write(**settings: Any) -> None:
        write_settings(directory, BASE | settings)

    yield write
    write()


class Heard:
    """The progress among the events that were told."""

    def __init__(self) -> None:
        self.progress: list[Progress] = []

    def hear(self, event: Event) -> None:
        if isinstance(event, Progress):
            self.progress.append(event)


async def call(toolset: Toolset, tool: str, /, **arguments: Any) -> CallResult:
    with anyio.fail_after(WAIT):
        return await toolset.call(tool, arguments)


async def told(toolset: Toolset, tool: str, /, **arguments: Any) -> str:
    """The text of an answer that is no error."""
    result = await call(toolset, tool, **arguments)
    assert not result.is_error, result.text
    return result.text


async def refused(toolset: Toolset, tool: str, /, **arguments: Any) -> str:
    """The text of an answer that is an error."""
    result = await call(toolset, tool, **arguments)
    assert result.is_error, result.text
    return result.text


async def run(toolset: Toolset, code: str, **more: Any) -> CallResult:
    return await call(toolset, "execute_code", code=dedent(code), **more)


def names(toolset: Toolset) -> list[str]:
    return [definition["name"] for definition in toolset.definitions()]


# Modes


@pytest.mark.parametrize("mode", MODES)
async def test_a_mode_shows_its_own_tools_or_those_of_the_servers(satchel: Satchel, mode: Mode) -> None:
    toolset = Toolset(satchel, mode=mode)
    assert toolset.mode == mode
    if mode == "direct":
        shown = names(toolset)
        assert shown == [*OWN[mode], *(tool.wire_name for tool in satchel.catalog.tools)]
        assert len(shown) == len(set(shown)) == len(OWN[mode]) + TOOLS
    else:
        assert names(toolset) == OWN[mode]


@pytest.mark.parametrize(("threshold", "mode"), [(TOOLS, "direct"), (TOOLS - 1, "code"), (0, "code")])
async def test_auto_is_direct_up_to_the_threshold(
    satchel: Satchel, configure: Configure, threshold: int, mode: str
) -> None:
    configure(mode="auto", auto_threshold=threshold)
    assert Toolset(satchel).mode == mode


async def test_auto_counts_what_the_agent_may_call(satchel: Satchel, configure: Configure) -> None:
    configure(auto_threshold=7)
    assert Toolset(satchel, agent="reader").mode == "direct"
    assert Toolset(satchel, agent="other").mode == "code"
    tools = ("echo", "add", "sleep", "progress", "environment", "count", "stderr")
    assert names(Toolset(satchel, agent="reader")) == [*OWN["direct"], *(f"good__{name}" for name in tools)]


async def test_tools_of_a_disabled_server_are_neither_counted_nor_shown(
    satchel: Satchel, configure: Configure
) -> None:
    configure(auto_threshold=8, in_context_tools=["media.image"])
    project = Project(satchel.configuration.paths.project)
    servers = project.read()
    project.write({**servers, "media": {**servers["media"], "enabled": False}})
    try:
        toolset = Toolset(satchel)
        assert toolset.mode == "direct"
        assert all(name.startswith("good__") for name in names(toolset)[len(OWN["direct"]) :])
        assert names(Toolset(satchel, mode="code")) == OWN["code"]
        assert "is disabled" in await refused(toolset, "media__image")
        assert "Look at images." not in toolset.instructions()
    finally:
        project.write(servers)


async def test_auto_shows_a_way_to_all_tools_while_nothing_is_known_of_any(tmp_path: Path) -> None:
    async with opened(tmp_path, {"good": raw("good")}) as satchel:
        toolset = Toolset(satchel)
        assert (toolset.mode, names(toolset)) == ("code", OWN["code"])
        assert "execute_code" in toolset.instructions()
        await satchel.servers.refresh()
        assert toolset.mode == "direct"
        assert "good__echo" in names(toolset)
        # A client that has not asked again still has the former list.
        assert "good.echo" in await told(toolset, "search_tools", query="echo")
    async with opened(tmp_path / "empty", {}) as satchel:
        assert Toolset(satchel).mode == "direct"


async def test_a_mode_that_was_chosen_has_only_its_own_tools(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="direct")
    assert "unknown tool 'execute_code'" in await refused(toolset, "execute_code", code="1")
    assert "unknown tool 'call_tool'" in await refused(Toolset(satchel, mode="code"), "call_tool", name="x")


@pytest.mark.parametrize("mode", MODES)
async def test_in_context_tools_are_shown_and_called_as_they_are_in_every_mode(
    satchel: Satchel, configure: Configure, mode: Mode
) -> None:
    configure(in_context_tools=["good.e*", "media.image", "nothing.like_it"])
    toolset = Toolset(satchel, mode=mode)
    assert {"good__echo", "good__environment", "media__image"} <= set(names(toolset))
    assert names(toolset)[: len(OWN[mode])] == OWN[mode]
    if mode != "direct":
        assert len(names(toolset)) == len(OWN[mode]) + 3
    result = await call(toolset, "good__echo", text="hello")
    assert (result.text, result.structured) == ("hello", {"text": "hello"})
    assert "listed to you directly" in Toolset(satchel, mode="code").instructions()


async def test_in_context_tools_that_the_agent_may_not_call_are_not_shown(
    satchel: Satchel, configure: Configure
) -> None:
    configure(in_context_tools=["*"])
    shown = names(Toolset(satchel, agent="reader", mode="code"))
    assert "good__echo" in shown
    assert "good__fail" not in shown
    assert not any(name.startswith("media__") for name in shown)


CLIENTS: Json = {"Cur?or*": {"mode": "search"}, "cursor-vscode": {"mode": "direct"}, "quiet": {}}


@pytest.mark.parametrize(
    ("settings", "agent", "client", "explicit", "mode"),
    [
        ({"mode": "search"}, "default", "", None, "search"),
        ({"mode": "search", "agents": {"writer": {"mode": "code"}}}, "writer", "", None, "code"),
        ({"mode": "search", "agents": {"writer": {"mode": "auto"}}}, "writer", "", None, "code"),
        ({"mode": "search", "agents": {"writer": {}}}, "writer", "", None, "search"),
        ({"mode": "code", "clients": CLIENTS}, "default", "Cursor", None, "search"),
        ({"mode": "code", "clients": CLIENTS}, "default", "cursor-vscode", None, "search"),
        ({"mode": "code", "clients": CLIENTS}, "default", "quiet", None, "code"),
        ({"mode": "code", "clients": CLIENTS}, "default", "", None, "code"),
        ({"mode": "code", "clients": {"*": {"mode": "direct"}}}, "default", "", None, "direct"),
        (
            {"mode": "direct", "agents": {"writer": {"mode": "code"}}, "clients": CLIENTS},
            *("writer", "cursor", None, "search"),
        ),
        (
            {"mode": "direct", "agents": {"writer": {"mode": "code"}}, "clients": CLIENTS},
            *("writer", "other", None, "code"),
        ),
        (
            {"mode": "search", "agents": {"writer": {"mode": "search"}}, "clients": CLIENTS},
            *("writer", "cursor", "direct", "direct"),
        ),
        ({"mode": "search", "clients": CLIENTS}, "default", "cursor", "auto", "code"),
    ],
)
async def test_the_nearest_to_who_asks_decides(
    satchel: Satchel,
    configure: Configure,
    settings: Json,
    agent: str,
    client: str,
    explicit: Mode | None,
    mode: str,
) -> None:
    configure(**settings)
    assert Toolset(satchel, agent=agent, client=client, mode=explicit).mode == mode


async def test_a_mode_that_does_not_exist_is_refused(satchel: Satchel) -> None:
    with pytest.raises(ArgumentError, match="mode is 'dirct'"):
        Toolset(satchel, mode=cast("Any", "dirct"))


async def test_an_agent_that_does_not_exist_is_refused_with_the_closest_names(satchel: Satchel) -> None:
    with pytest.raises(NotFoundError) as caught:
        Toolset(satchel, agent="readr")
    assert caught.value.closest == ("reader",)


async def test_other_settings_count_at_once(satchel: Satchel, configure: Configure) -> None:
    configure(mode="search")
    toolset = Toolset(satchel)
    before = toolset.fingerprint()
    assert names(toolset) == OWN["search"]
    configure(mode="code")
    assert names(toolset) == OWN["code"]
    assert toolset.fingerprint() != before


# Definitions


class Encoding(Protocol):
    def count(self, text: str) -> int: ...


@cache
def o200k() -> Encoding:
    module: Any = import_module("rs_bpe.bpe")  # has no types
    return module.openai.o200k_base()


@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_the_default_tools_are_less_than_700_tokens_together(
    satchel: Satchel, configure: Configure, language: str
) -> None:
    configure(code_execution={"language": language})
    definitions = Toolset(satchel, mode="code").definitions()
    assert [sorted(definition) for definition in definitions][2] == [
        *("description", "inputSchema", "name", "outputSchema")
    ]
    compact = json.dumps(definitions, separators=(",", ":"), ensure_ascii=False)
    assert o200k().count(compact) < 700


@pytest.mark.parametrize("mode", MODES)
async def test_definitions_are_the_same_from_call_to_call_and_from_process_to_process(
    satchel: Satchel, configure: Configure, mode: Mode
) -> None:
    configure(in_context_tools=["media.*"], code_execution={"read_only_tool": True})
    toolset = Toolset(satchel, mode=mode)
    first, seen = json.dumps(toolset.definitions()), toolset.fingerprint()
    await call(toolset, "search_tools", query="echo")
    assert json.dumps(toolset.definitions()) == first
    paths = satchel.configuration.paths
    async with open_satchel(paths) as another:
        again = Toolset(another, mode=mode)
        assert json.dumps(again.definitions()) == first
        assert again.fingerprint() == seen


@pytest.mark.parametrize("mode", MODES)
async def test_every_schema_that_is_shown_is_one(satchel: Satchel, configure: Configure, mode: Mode) -> None:
    configure(code_execution={"read_only_tool": True})
    for definition in Toolset(satchel, mode=mode).definitions():
        schemas = [definition["inputSchema"], definition.get("outputSchema", {"type": "object"})]
        for schema in schemas:
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
        assert definition["description"]


async def test_a_tool_that_is_shown_directly_is_as_its_server_describes_it(satchel: Satchel) -> None:
    shown = Toolset(satchel, mode="direct").definitions()[len(OWN["direct"])]
    assert shown == {
        "name": "good__echo",
        "description": "Return the text.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "outputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "annotations": {"readOnlyHint": True},
    }


async def test_the_fingerprint_is_another_when_the_language_is(
    satchel: Satchel, configure: Configure
) -> None:
    toolset = Toolset(satchel, mode="code")
    before = toolset.fingerprint()
    configure(code_execution={"language": "typescript"})
    assert toolset.fingerprint() != before


# Answers


def check_output(toolset: Toolset, name: str, result: CallResult) -> None:
    """Clients refuse structured content that its tool's schema does not allow."""
    (definition,) = [definition for definition in toolset.definitions() if definition["name"] == name]
    validate: Any = jsonschema.validate  # pyright: ignore[reportUnknownMemberType]
    validate(result.structured, definition["outputSchema"])


async def test_list_servers_tells_what_there_is(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="code")
    result = await call(toolset, "list_servers")
    assert result.text.splitlines()[-1] == f"2 servers, {TOOLS} tools"
    assert result.text.startswith("good (stdio, ")
    assert [row["name"] for row in result.structured["servers"]] == ["good", "media"]
    assert result.structured["total_tools"] == TOOLS
    check_output(toolset, "list_servers", result)


async def test_search_tools_tells_what_fits(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="code")
    result = await call(toolset, "search_tools", query="add two numbers", limit=2)
    assert "good.add: Add two numbers." in result.text.splitlines()
    assert [tool["short_name"] for tool in result.structured["tools"]] == ["add", "add"]
    check_output(toolset, "search_tools", result)


@pytest.mark.parametrize(
    ("arguments", "same"),
    [
        ({"keyword": "add numbers"}, {"query": "add numbers"}),
        ({"query": "", "keyword": "add numbers"}, {"query": "add numbers"}),
        ({"keyword": "add numbers", "query": ""}, {"query": "add numbers"}),
        ({"keyword": None, "query": "add numbers"}, {"query": "add numbers"}),
        ({"query": "add numbers", "detail_level": "name-only"}, {"query": "add numbers", "detail": "name"}),
        (
            {"query": "add numbers", "detail_level": "name-and-description"},
            {"query": "add numbers", "detail": "desc"},
        ),
        ({"query": "add", "limit": 3.0, "offset": 1.0}, {"query": "add", "limit": 3, "offset": 1}),
        (
            {"query": "add numbers", "server": None, "limit": None, "detail": None, "offset": None},
            {"query": "add numbers"},
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["code", "search"])
async def test_arguments_of_a_search_may_have_other_names_be_null_or_whole_floats(
    satchel: Satchel, mode: Mode, arguments: Json, same: Json
) -> None:
    toolset = Toolset(satchel, mode=mode)
    result = await call(toolset, "search_tools", **arguments)
    assert not result.is_error, result.text
    expected = await call(toolset, "search_tools", **same)
    assert (result.text, result.structured) == (expected.text, expected.structured)


async def test_pages_of_a_search_follow_each_other(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="search")
    pages = [
        await call(toolset, "search_tools", query="", server="media", limit=8, offset=offset)
        for offset in (0, 8)
    ]
    found = [tool["short_name"] for page in pages for tool in page.structured["tools"]]
    assert len(found) == len(set(found)) == 15
    assert "7 more" in pages[0].text.splitlines()
    assert "more" not in pages[1].text.splitlines()[-1]


async def test_every_detail_of_a_tool_is_in_the_text_where_there_is_no_wrapper_to_read(
    satchel: Satchel,
) -> None:
    query = "select:good.add"
    text = await told(Toolset(satchel, mode="search"), "search_tools", query=query, detail="full")
    parameters, output = text.splitlines()[1:]
    assert text.startswith("good.add: Add two numbers.")
    tool = satchel.servers.describe_tool("good.add")
    assert json.loads(parameters.removeprefix("  parameters: ")) == tool.input_schema
    assert json.loads(output.removeprefix("  output: ")) == tool.output_schema
    text = await told(Toolset(satchel, mode="code"), "search_tools", query=query, detail="full")
    head, *wrapper = text.strip().splitlines()
    assert head == "good.add: /mnt/code-api/servers/good/add.py"
    assert "async def add(*, a: int, b: int) -> AddOutput:" in wrapper
    assert "class AddOutput(Record):" in wrapper and "    sum: int" in wrapper


@pytest.mark.parametrize("name", ["good.echo", "good__echo", "good/echo"])
async def test_call_tool_calls_by_any_spelling(satchel: Satchel, name: str) -> None:
    toolset = Toolset(satchel, mode="search")
    result = await call(toolset, "call_tool", name=name, arguments={"text": "hello"})
    assert (result.is_error, result.text, result.structured) == (False, "hello", {"text": "hello"})


async def test_what_a_tool_returns_is_passed_on_as_it_is(satchel: Satchel) -> None:
    for toolset, name, arguments in (
        (Toolset(satchel, mode="search"), "call_tool", {"name": "media.mixed"}),
        (Toolset(satchel, mode="direct"), "media__mixed", {}),
    ):
        result = await call(toolset, name, **arguments)
        expected = await satchel.call("media.mixed")
        assert result.content == expected.content
        assert {block["type"] for block in result.content} >= {"text", "image", "audio", "resource"}


@pytest.mark.parametrize(
    ("mode", "name", "arguments", "message"),
    [
        ("code", "search_tools", {"quer": "x"}, "unknown argument 'quer'\nhint: did you mean 'query'?"),
        (
            "code",
            "search_tools",
            {},
            "the query is empty\nhint: describe the task a tool is for, or name a server",
        ),
        ("code", "search_tools", {"query": 5}, "argument 'query' must be a string, not 5"),
        ("code", "search_tools", {"query": "x", "limit": "5"}, "argument 'limit' must be a whole number"),
        ("code", "search_tools", {"query": "x", "limit": 2.5}, "argument 'limit' must be a whole number"),
        ("code", "search_tools", {"query": "x", "limit": True}, "argument 'limit' must be a whole number"),
        ("code", "search_tools", {"query": "x", "limit": 0}, "limit is 0"),
        ("code", "search_tools", {"query": "x", "offset": -1}, "offset -1"),
        ("code", "search_tools", {"query": "x", "detail": "all"}, "detail is 'all'; it can be name, desc or"),
        ("code", "search_tools", {"query": "x", "server": "god"}, "hint: did you mean good"),
        ("code", "list_servers", {"server": "good"}, ""),
        ("code", "execute_code", {}, "missing argument 'code'"),
        ("code", "execute_code", {"code": None}, "missing argument 'code'"),
        ("code", "execute_code", {"code": ["print(1)"]}, "argument 'code' must be a string, not ["),
        ("code", "execute_code", {"code": "1", "timeout": "9"}, "argument 'timeout' must be a number"),
        ("code", "execute_code", {"code": "1", "timeout": -1}, "timeout is -1; it can be up to 40 s"),
        ("code", "execute_code", {"code": "1", "language": "rust"}, "programs can't be in 'rust'"),
        ("code", "execute_code", {"code": "1", "session": "nope"}, "unknown session 'nope'"),
        ("code", "execute_code", {"code": "1", "check": True}, "unknown argument 'check'"),
        ("code", "execute_code", {"code": "1", "read_only": False}, "unknown argument 'read_only'"),
        ("code", "execute_code", {"code": "1", "agent": "other"}, "unknown argument 'agent'"),
        ("search", "call_tool", {}, "missing argument 'name'"),
        ("search", "call_tool", {"name": "good.echo", "arguments": "{}"}, "'arguments' must be an object"),
        ("search", "call_tool", {"name": "good.echo"}, "missing argument 'text'"),
        ("search", "call_tool", {"name": "good.echo", "arguments": {"text": None}}, "'text' must be a"),
        ("search", "call_tool", {"name": "good.ehco"}, "hint: did you mean good.echo"),
        ("search", "call_tool", {"name": "good.echo", "argument": {}}, "hint: did you mean 'arguments'?"),
        ("direct", "good__echo", {}, "missing argument 'text'"),
        ("direct", "good__echo", {"text": 5}, "argument 'text' must be a string, not 5"),
        ("direct", "good__echo", {"text": None}, "argument 'text' must be a string, not null"),
        ("direct", "good__echo", {"txet": "x"}, "unknown argument 'txet'\nhint: did you mean 'text'?"),
        ("direct", "good__fail", {"message": "no paper"}, "no paper"),
    ],
)  # fmt: skip
async def test_what_is_wrong_with_a_call_is_told(
    satchel: Satchel, mode: Mode, name: str, arguments: Json, message: str
) -> None:
    result = await call(Toolset(satchel, mode=mode), name, **arguments)
    if message:
        assert result.is_error
        assert message in result.text
        assert not result.has_structured
    else:  # a tool without parameters takes no notice
        assert not result.is_error


# Names that are no tools here


async def test_an_unknown_tool_is_told_the_closest_names_and_what_there_is(satchel: Satchel) -> None:
    text = await refused(Toolset(satchel, mode="code"), "good__ehco")
    assert text.startswith("unknown tool 'good__ehco'\nhint: did you mean good.echo")
    assert text.endswith("the tools here are list_servers, search_tools, execute_code")
    text = await refused(Toolset(satchel, mode="search"), "no_such_thing_at_all")
    assert text.endswith("hint: the tools here are search_tools, call_tool, memory")
    text = await refused(Toolset(satchel, mode="direct"), "good__ehco")
    assert "did you mean good__echo" in text
    assert len(await refused(Toolset(satchel, mode="direct"), "x" * 100_000)) < 400


@pytest.mark.parametrize(
    "name",
    [
        *("execute_python", "execute_bash", "code_execution", "bash"),
        *("write_file", "list_directory", "create_directory", "move_file", "get_file_info"),
    ],
)
async def test_the_tools_of_other_programs_are_told_what_does_their_work(satchel: Satchel, name: str) -> None:
    text = await refused(Toolset(satchel, mode="code"), name, code="1", path="x")
    assert "hint: execute_code runs programs, in python, typescript and bash" in text
    assert ("files in /workspace" in text) is ("file" in name or "directory" in name)
    assert "execute_code" not in await refused(Toolset(satchel, mode="search"), name)


async def test_the_shell_is_named_where_programs_are_offered(satchel: Satchel) -> None:
    (program,) = [
        each for each in Toolset(satchel, mode="code").definitions() if each["name"] == "execute_code"
    ]
    assert "bash" in program["inputSchema"]["properties"]["language"]["description"]


@pytest.mark.parametrize("path", ["/workspace/notes.txt", "notes.txt", "memory/facts.md", "/tmp/x"])
async def test_files_of_programs_are_not_read_for_a_model_which_is_told_how(
    satchel: Satchel, path: str
) -> None:
    text = await refused(Toolset(satchel, mode="code"), "read_file", path=path)
    assert text.endswith("hint: a program reads those: execute_code with print(open(…).read())")


@pytest.mark.slow
async def test_the_path_of_a_wrapper_is_read_by_the_model_and_by_programs(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="code")
    found = await call(toolset, "search_tools", query="select:good.add", detail="full")
    path = found.structured["tools"][0]["wrapper_path"]
    assert path == "/mnt/code-api/servers/good/add.py"
    result = await run(toolset, f"print(open({path!r}).read(), end='')")
    assert await told(toolset, "read_file", path=path) == result.structured["stdout"]


@pytest.mark.parametrize(
    ("mode", "name", "meant"),
    [
        ("code", "serch_tools", "search_tools"),
        ("code", "listServers", "list_servers"),
        ("code", "execute_cod", "execute_code"),
        ("search", "cal_tool", "call_tool"),
    ],
)
async def test_a_misspelt_tool_of_satchels_own_is_recognized(
    satchel: Satchel, mode: Mode, name: str, meant: str
) -> None:
    text = await refused(Toolset(satchel, mode=mode), name)
    assert text.startswith(f"unknown tool '{name}'\nhint: did you mean {meant}")


async def test_satchels_own_tools_come_first_among_the_closest(tmp_path: Path) -> None:
    async with opened(tmp_path, {"search": raw("many_tools", tools=1)}) as satchel:
        await satchel.servers.refresh()
        text = await refused(Toolset(satchel, mode="code"), "search_tool_0")
        assert "hint: did you mean search_tools or search.tool_00000? the tools here are" in text


async def test_a_model_is_not_told_of_commands_that_it_can_not_run(satchel: Satchel) -> None:
    for name in ("no_such_thing_at_all", "good.qqqqqqq", "goood.qqqqqqq"):
        for mode in MODES:
            text = await refused(Toolset(satchel, mode=mode), name)
            assert "satchel list" not in text
    text = await refused(Toolset(satchel, mode="direct"), "no_such_thing_at_all")
    assert text == (
        "unknown tool 'no_such_thing_at_all'\nhint: the tools here are those that are listed to you"
    )


async def test_a_model_that_calls_a_tool_of_a_server_that_can_not_be_used_hears_of_it(tmp_path: Path) -> None:
    async with opened(tmp_path, {"broken": {"command": "no-such-program"}}) as satchel:
        await satchel.servers.refresh()
        for mode in MODES:
            text = await refused(Toolset(satchel, mode=mode), "broken__get")
            reason = "it needs setup (command 'no-such-program' is not on the PATH)"
            assert f"hint: broken has no tools: {reason}; satchel doctor broken tells more" in text


@pytest.mark.parametrize("name", ["media__image", "media.image", "image"])
@pytest.mark.parametrize(
    ("language", "parts"),
    [
        (
            "python",
            ["from servers.media import image", "\nasync def image(", "servers/media/image.py"],
        ),
        (
            "typescript",
            [
                'import { image } from "./servers/media";',
                "export function image(",
                "servers/media/image.ts",
            ],
        ),
    ],
)
async def test_a_tool_that_is_called_by_its_name_in_code_mode_is_told_how_to_call_it(
    satchel: Satchel, configure: Configure, name: str, language: str, parts: list[str]
) -> None:
    configure(code_execution={"language": language})
    text = await refused(Toolset(satchel, mode="code"), name)
    assert text.startswith(f"{name} is called from a program, with execute_code:")
    for part in parts:
        assert part in text


@pytest.mark.slow
async def test_what_a_model_is_told_about_a_call_works(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="code")
    import_line = (await refused(toolset, "good__echo", text="x")).splitlines()[1]
    result = await run(toolset, f'{import_line}\nprint((await echo(text="told")).text)')
    assert result.text == "told"


async def test_a_tool_that_is_called_by_its_name_in_search_mode_is_told_how_to_call_it(
    satchel: Satchel,
) -> None:
    toolset = Toolset(satchel, mode="search")
    text = await refused(toolset, "good.echo", text="x")
    assert text.startswith(
        "good.echo is not a tool of its own here: call_tool with name 'good__echo' calls it"
    )
    assert await told(toolset, "call_tool", name="good__echo", arguments={"text": "x"}) == "x"


async def test_a_tool_is_found_by_its_own_name_where_only_one_has_it(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="direct")
    assert (await call(toolset, "image")).content[0]["type"] == "image"
    text = await refused(toolset, "echo", text="x")
    assert "did you mean good__echo or media__echo?" in text
    reader = Toolset(satchel, agent="reader", mode="direct")
    assert (
        await told(reader, "echo", text="of the only server it may call") == "of the only server it may call"
    )


# What an agent may not call


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["good__fail", "media__echo"])
async def test_a_tool_that_is_not_allowed_is_refused_and_journaled_in_every_mode(
    satchel: Satchel, log: Path, mode: Mode, name: str
) -> None:
    toolset = Toolset(satchel, agent="reader", mode=mode)
    assert name not in names(toolset)
    before = lines(log)
    text = await refused(toolset, name, message="x", text="x")
    assert "may not call" in text
    assert "agents.reader in satchel.yaml" in text
    assert lines(log) == before
    (call_record, *_) = await satchel.journal.calls()
    assert (call_record.agent, call_record.status) == ("reader", "denied")
    assert name == f"{call_record.server}__{call_record.tool}"


async def test_call_tool_refuses_what_is_not_allowed(satchel: Satchel) -> None:
    toolset = Toolset(satchel, agent="reader", mode="search")
    text = await refused(toolset, "call_tool", name="media.echo", arguments={"text": "x"})
    assert "may not call" in text


async def test_a_search_marks_what_is_not_allowed(satchel: Satchel) -> None:
    toolset = Toolset(satchel, agent="reader", mode="code")
    result = await call(toolset, "search_tools", query="select:good.echo,good.fail,media.echo")
    assert [tool["allowed"] for tool in result.structured["tools"]] == [True, False, False]
    assert [line.endswith("(not allowed)") for line in result.text.splitlines()] == [False, True, True]


@pytest.mark.slow
async def test_a_program_is_refused_what_is_not_allowed(satchel: Satchel) -> None:
    result = await run(
        Toolset(satchel, agent="reader", mode="code"),
        """
        from servers.media import echo
        try:
            await echo(text="x")
        except PermissionError as error:
            print("refused:", error)
        """,
    )
    assert not result.is_error
    assert result.text.startswith("refused: ")
    assert [use["status"] for use in result.structured["tools_called"]] == ["denied"]


# When something fails


async def test_a_failing_server_is_told_and_stops_no_other(tmp_path: Path) -> None:
    servers = {"broken": raw("crash_start"), "good": raw("good")}
    async with opened(tmp_path, servers) as satchel:
        toolset = Toolset(satchel, mode="search")
        assert "exited with code 3" in await refused(toolset, "call_tool", name="broken.echo")
        assert await told(toolset, "call_tool", name="good.echo", arguments={"text": "x"}) == "x"
        listed = await told(Toolset(satchel, mode="code"), "list_servers")
        reason = "it failed when last asked (exited with code 3: RuntimeError: DATABASE_URL is not set)"
        line = f"broken (stdio, failed, 0 tools); {reason}; satchel doctor broken tells more"
        assert line in listed.splitlines()


async def test_whatever_goes_wrong_in_satchel_is_told_and_logged(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> Json:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(satchel.servers, "list_all", fail)
    text = await refused(Toolset(satchel, mode="code"), "list_servers")
    assert text == "list_servers: Satchel failed; its log says why"
    assert "a secret of the inside" in caplog.text


async def test_a_cancellation_is_raised_and_reaches_the_server(satchel: Satchel, log: Path) -> None:
    before = len(lines(log))
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Toolset(satchel, mode="direct").call, "good__sleep", {"seconds": 60})
            await until(lambda: any("tools/call sleep" in line for line in lines(log)[before:]))
            scope.cancel()
    assert scope.cancelled_caught
    await until(lambda: any(line.startswith("cancelled") for line in lines(log)[before:]))


async def test_progress_of_a_tool_is_passed_on(satchel: Satchel) -> None:
    seen = Heard()
    toolset = Toolset(satchel, mode="direct")
    await toolset.call("good__progress", {"steps": 3}, tell=seen.hear)
    await until(lambda: len(seen.progress) == 3)
    assert [progress.message for progress in seen.progress] == ["step 1", "step 2", "step 3"]


# Programs


@pytest.mark.slow
async def test_a_program_that_went_well_is_what_it_printed(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="code")
    result = await run(
        toolset,
        """
        from servers.good import add
        print((await add(a=1, b=2)).sum)
        """,
        description="adds",
    )
    assert (result.is_error, result.text) == (False, "3")
    assert result.structured["exit_code"] == 0
    assert result.structured["stdout"] == "3\n"
    assert [use["tool"] for use in result.structured["tools_called"]] == ["good__add"]
    check_output(toolset, "execute_code", result)
    (execution, *_) = await satchel.journal.executions()
    assert (execution.id, execution.description) == (result.structured["execution_id"], "adds")


@pytest.mark.slow
async def test_a_program_that_failed_tells_why_and_what_it_had_called(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="code")
    result = await run(
        toolset,
        """
        from servers.good import echo, fail
        print("begun")
        await echo(text="x")
        await fail(message="no paper")
        """,
    )
    assert result.is_error
    first, *rest = result.text.splitlines()
    assert (first, rest[0]) == ("begun", "[stderr]")
    assert "ToolError: good.fail: no paper" in result.text
    assert "[exit code 1]" in rest
    assert "[calls made before: good__echo ok; good__fail error (no paper)]" in rest
    assert result.structured["exit_code"] == 1
    check_output(toolset, "execute_code", result)


@pytest.mark.slow
async def test_calls_that_were_never_sent_are_told_apart_from_those_that_were_made(satchel: Satchel) -> None:
    toolset = Toolset(satchel, agent="reader", mode="code")
    result = await run(
        toolset,
        """
        from satchel_runtime import call_tool
        given = ("echo", {"text": "x"}), ("fail", {"message": "x"}), ("ehco", {}), ("add", {})
        for tool, arguments in given:
            try:
                await call_tool("good", tool, arguments)
            except Exception:
                pass
        1 / 0
        """,
    )
    statuses = [use["status"] for use in result.structured["tools_called"]]
    assert statuses == ["ok", "denied", "refused", "refused"]
    assert "[calls made before: good__echo ok]" in result.text
    assert "[refused, nothing was sent: good__fail denied (" in result.text


@pytest.mark.slow
async def test_a_program_that_takes_too_long_is_told_so(satchel: Satchel) -> None:
    result = await run(
        Toolset(satchel, mode="code"), "print('begun', flush=True)\nwhile True: pass", timeout=1
    )
    assert result.is_error
    assert result.text.startswith("begun\n[exit code 137 (timeout): ")
    assert result.structured["ended"] == "timeout"


@pytest.mark.slow
async def test_result_and_files_of_a_program_are_told(satchel: Satchel) -> None:
    result = await run(
        Toolset(satchel, mode="code", agent="other"),
        """
        open("/workspace/notes.txt", "w").write("hello")
        result = {"count": 3, "name": "Grüße"}
        """,
    )
    assert result.text.splitlines() == [
        'result: {"count": 3, "name": "Grüße"}',
        "[files: /workspace/notes.txt (5 bytes)]",
    ]
    assert result.structured["result"] == {"count": 3, "name": "Grüße"}
    assert result.structured["files"] == [{"path": "/workspace/notes.txt", "size": 5}]


@pytest.mark.slow
async def test_variables_of_a_session_are_kept_for_the_same_agent(satchel: Satchel) -> None:
    toolset = Toolset(satchel, mode="code")
    first = await run(toolset, "answer = 42", session="new")
    handle = first.structured["session"]
    assert first.text == f"[session: {handle}]"
    assert (await run(toolset, "print(answer)", session=handle)).text.splitlines()[0] == "42"
    text = (await run(Toolset(satchel, mode="code", agent="other"), "print(answer)", session=handle)).text
    assert "unknown session" in text
    await satchel.executions.end_session(handle)
    assert "unknown session" in (await run(toolset, "print(answer)", session=handle)).text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("typescript", "import { echo } from './servers/good'\nconsole.log((await echo({text: 'x'})).text)"),
        ("ts", "console.log('x')"),
        ("python", "print('x')"),
    ],
)
@pytest.mark.parametrize("default", ["python", "typescript"])
async def test_the_language_of_a_program_can_be_named(
    satchel: Satchel, configure: Configure, default: str, language: str, code: str
) -> None:
    configure(code_execution={"language": default})
    assert (await run(Toolset(satchel, mode="code"), code, language=language)).text == "x"


@pytest.mark.slow
async def test_calls_of_a_program_are_reported_now_and_then(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Heard()
    code = """
    from servers.good import count, sleep
    for _ in range(3):
        await count()
        await sleep(seconds=0.25)
    """
    toolset = Toolset(satchel, mode="code", silence=60.0)  # of which another test tells
    await toolset.call("execute_code", {"code": dedent(code)}, tell=seen.hear)
    assert 2 <= len(seen.progress) <= 6
    assert seen.progress[0].message == "1 call made; last good__count"
    assert [progress.progress for progress in seen.progress] == sorted(
        {progress.progress for progress in seen.progress}
    )


@pytest.mark.slow
async def test_a_program_that_calls_nothing_is_told_of_as_well(satchel: Satchel) -> None:
    """Clients give up on what they hear nothing of."""
    seen = Heard()
    toolset = Toolset(satchel, mode="code", silence=0.4)
    code = "import time; time.sleep(2.5)"
    await toolset.call("execute_code", {"code": code}, tell=seen.hear)
    assert len(seen.progress) >= 3
    assert all(re.fullmatch(r"0 calls made; running for \d+ s", it.message or "") for it in seen.progress)
    assert [progress.progress for progress in seen.progress] == sorted(
        {progress.progress for progress in seen.progress}
    )


@pytest.mark.slow
async def test_a_program_whose_caller_gives_up_is_ended(satchel: Satchel, log: Path) -> None:
    before = len(lines(log))
    toolset = Toolset(satchel, mode="code")
    code = "from servers.good import sleep\nawait sleep(seconds=60)"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(toolset.call, "execute_code", {"code": code})
        await until(lambda: any("tools/call sleep" in line for line in lines(log)[before:]), WAIT)
        tasks.cancel_scope.cancel()
    await until(lambda: any(line.startswith("cancelled") for line in lines(log)[before:]))
    (execution, *_) = await satchel.journal.executions()
    assert (execution.outcome or {})["ended"] == "cancelled"


def execution(**more: Any) -> Execution:
    values: dict[str, Any] = {"exit_code": 0, **more}
    return Execution(id="e", **values)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (execution(), "[it printed nothing and set no `result`: print what you want to see]"),
        (execution(stdout="one\ntwo\n\n"), "one\ntwo"),
        (
            execution(stdout="\n  \n"),
            "[it printed nothing and set no `result`: print what you want to see]",
        ),
        (execution(result=None, has_result=True), "result: null"),
        (execution(result="plain text", has_result=True), "result: plain text"),
        (execution(result=[1, "ü"], has_result=True), 'result: [1, "ü"]'),
        (execution(stderr="a warning\n"), "[stderr]\na warning"),
        (
            execution(stdout="x", truncated={"stdout": 12345, "result": 6}),
            "x\n[left out: 12,345 characters of stdout, 6 characters of result; "
            "print less, or write to a file in /workspace]",
        ),
        (execution(exit_code=3), "[exit code 3]"),
        (
            execution(exit_code=137, ended="memory", reason="it used more than 1024 MB"),
            "[exit code 137 (memory): it used more than 1024 MB]",
        ),
        (execution(reason="it could not be recorded"), "[it could not be recorded]"),
        (
            execution(stdout="x", tools_called=(ToolUse(tool="good.echo", status="ok", ms=1),)),
            "x",
        ),
        (
            execution(
                exit_code=1,
                tools_called=(
                    ToolUse(tool="good.echo", status="ok", ms=1),
                    ToolUse(tool="good.fail", status="error", ms=1, error="line\none " + "x" * 500),
                ),
            ),
            f"[exit code 1]\n[calls made before: good.echo ok; good.fail error (line one {'x' * 141})]",
        ),
        (
            execution(
                exit_code=1,
                tools_called=(
                    ToolUse(tool="good.echo", status="ok", ms=1),
                    ToolUse(tool="bad.drop", status="denied", ms=1, error="agent 'x' may not call bad.drop"),
                    ToolUse(tool="good.add", status="cancelled", ms=1),
                ),
            ),
            "[exit code 1]\n[calls made before: good.echo ok; good.add cancelled]\n"
            "[refused, nothing was sent: bad.drop denied (agent 'x' may not call bad.drop)]",
        ),
        (
            execution(exit_code=1, tools_called=(ToolUse(tool="bad.drop", status="denied", ms=1),)),
            "[exit code 1]\n[refused, nothing was sent: bad.drop denied]",
        ),
        (execution(session="s-1"), "[session: s-1]"),
    ],
)  # fmt: skip
def test_an_execution_as_text_is_what_is_worth_knowing(value: Execution, text: str) -> None:
    assert execution_as_text(value) == text


def test_many_calls_and_files_of_an_execution_are_counted() -> None:
    uses = tuple(ToolUse(tool="good.echo", status="ok", ms=1) for _ in range(25))
    files = tuple({"path": f"{number}.txt", "size": 1000 + number} for number in range(12))
    text = execution_as_text(execution(exit_code=1, tools_called=uses, files=files))
    assert text.count("good.echo ok") == 20
    assert "; 5 more]" in text
    assert "[files: 0.txt (1,000 bytes), " in text
    assert text.endswith("9.txt (1,009 bytes) and 2 more]")


# Programs that only read


@pytest.fixture
def reading(satchel: Satchel, configure: Configure) -> Toolset:
    """One with execute_code_readonly. Servers say of echo and add that they only read."""
    execution = cast("Json", BASE["code_execution"]) | {"read_only_tool": True}
    configure(code_execution=execution, read_only_tools=["good.coun*"])
    return Toolset(satchel, mode="code")


CALLS = """
from satchel_runtime import call_tool
result = {}
for name, arguments in {"echo": {"text": "x"}, "count": {}, "environment": {}}.items():
    try:
        await call_tool("good", name, arguments)
        result[name] = "ok"
    except PermissionError as error:
        result[name] = str(error)
"""


async def test_the_read_only_twin_is_shown_where_the_settings_want_it(
    satchel: Satchel, reading: Toolset, configure: Configure
) -> None:
    twin = reading.definitions()[-1]
    assert names(reading) == [*OWN["code"], "execute_code_readonly"]
    assert twin["annotations"] == {"readOnlyHint": True}
    assert "annotations" not in reading.definitions()[-2]
    assert "Only tools that read can be called." in twin["description"]
    assert names(Toolset(satchel, mode="search")) == OWN["search"]
    configure()
    assert names(reading) == OWN["code"]
    assert "unknown tool" in await refused(reading, "execute_code_readonly", code="1")


@pytest.mark.slow
async def test_a_program_of_the_read_only_twin_may_only_call_what_reads(
    satchel: Satchel, reading: Toolset, log: Path
) -> None:
    before = len(lines(log))
    result = await call(reading, "execute_code_readonly", code=CALLS)
    assert not result.is_error
    answers = result.structured["result"]
    assert (answers["echo"], answers["count"]) == ("ok", "ok")
    assert "may only call tools that read" in answers["environment"]
    assert not any("environment" in line for line in lines(log)[before:])
    statuses = {use["tool"]: use["status"] for use in result.structured["tools_called"]}
    assert statuses == {"good__echo": "ok", "good__count": "ok", "good__environment": "denied"}
    calls = await satchel.journal.calls(execution=result.structured["execution_id"])
    assert {record.tool: record.status for record in calls}["environment"] == "denied"
    assert (await run(reading, CALLS)).structured["result"]["environment"] == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_a_program_of_the_read_only_twin_leaves_nothing_that_another_could_import(
    reading: Toolset, language: str
) -> None:
    write = {
        "python": "open('{}/planted.py', 'w').close()",
        "typescript": "Deno.writeTextFileSync('{}/planted.py', '');",
    }[language]
    for place in ("/workspace", "/mnt/memory", "/mnt/tasks"):
        code = write.format(place)
        text = await refused(reading, "execute_code_readonly", code=code, language=language)
        assert "Read-only file system" in text
        assert not (await run(reading, code, language=language)).is_error


@pytest.mark.slow
async def test_a_session_of_one_twin_is_none_of_the_others(reading: Toolset) -> None:
    patient = await run(reading, "kept = 1", session="new")
    careful = await call(reading, "execute_code_readonly", code="kept = 2", session="new")
    ours, theirs = patient.structured["session"], careful.structured["session"]
    assert "unknown session" in await refused(
        reading, "execute_code_readonly", code="print(kept)", session=ours
    )
    assert "unknown session" in await refused(reading, "execute_code", code="print(kept)", session=theirs)
    assert (await run(reading, "print(kept)", session=ours)).text.startswith("1\n")
    text = await told(reading, "execute_code_readonly", code="print(kept)", session=theirs)
    assert text.startswith("2\n")


# Servers that nothing is known of yet


async def test_a_search_knows_servers_that_nobody_has_listed(tmp_path: Path) -> None:
    async with opened(tmp_path, {"good": raw("good")}) as satchel:
        toolset = Toolset(satchel, mode="code")
        text = await told(toolset, "search_tools", query="echo")
        assert "good.echo: Return the text." in text
        assert "still being listed" not in text


@pytest.mark.slow
async def test_a_program_can_import_tools_of_servers_that_nobody_has_listed(tmp_path: Path) -> None:
    async with opened(tmp_path, {"good": raw("good")}) as satchel:
        result = await run(
            Toolset(satchel), "from servers.good import echo\nprint((await echo(text='x')).text)"
        )
        assert result.text == "x"


@pytest.mark.slow
async def test_a_server_that_hangs_delays_one_search_and_is_named_in_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience = 9.0  # more than anything else here takes where the machine is busy
    hanging = raw("hang") | {"startup_timeout": 300}
    async with opened(tmp_path, {"good": raw("good"), "hanging": hanging}) as satchel:
        toolset = Toolset(satchel, mode="code", patience=patience)
        began = time.monotonic()
        first = await call(toolset, "search_tools", query="echo")
        assert time.monotonic() - began > patience - 1
        began = time.monotonic()
        second = await call(toolset, "search_tools", query="echo")
        listed = await told(toolset, "list_servers")
        assert time.monotonic() - began < patience  # the limit itself: nobody waits for it again
        began = time.monotonic()
        program = await run(toolset, "from servers.good import echo\nprint((await echo(text='x')).text)")
        assert time.monotonic() - began < patience
        for result in (first, second):
            assert "good.echo" in result.text
            assert result.text.splitlines()[-1] == "still being listed, search again in a moment: hanging"
            assert result.structured["note"] == "still being listed, search again in a moment: hanging"
        assert "hanging (stdio, being listed, 0 tools)" in listed.splitlines()
        assert program.text == "x"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "tool", "arguments", "expected"),
    [
        ("direct", "new_server__echo", {"text": "x"}, "x"),
        ("code", "search_tools", {"query": "echo", "server": "new-server"}, "new-server.echo: Return"),
        (
            "code",
            "execute_code",
            {"code": "from servers.new_server import echo\nprint(echo)"},
            "function echo",
        ),
        ("code", "execute_code", {"code": "import servers.new_server as s\nprint(s.echo)"}, "function echo"),
        (
            "code",
            "execute_code",
            {"code": "from servers import (\n    new_server,\n)\nprint(new_server.echo)"},
            "function echo",
        ),
        ("code", "search_tools", {"query": "select: new_server__echo"}, "new-server.echo"),
        (
            "code",
            "execute_code",
            {
                "code": "import { echo } from './servers/new-server/index.ts'; console.log(typeof echo)",
                "language": "typescript",
            },
            "function",
        ),
    ],
)
async def test_a_server_that_is_named_is_waited_for_as_long_as_it_takes(
    tmp_path: Path, mode: Mode, tool: str, arguments: Json, expected: str
) -> None:
    async with opened(tmp_path, {"new-server": raw("slow_start", seconds=1)}) as satchel:
        assert expected in await told(Toolset(satchel, mode=mode, patience=0.1), tool, **arguments)


@pytest.mark.slow
async def test_nobody_waits_for_a_server_that_is_named_like_the_beginning_of_another(tmp_path: Path) -> None:
    servers = {"new": raw("hang"), "new-server": raw("slow_start", seconds=1), "echo": raw("hang")}
    async with opened(tmp_path, servers) as satchel:
        await told(Toolset(satchel, patience=0.1), "execute_code", code="from servers.new_server import echo")
        await told(Toolset(satchel, mode="direct", patience=0.1), "new_server__echo", text="x")
        assert satchel.servers.being_listed == ["new", "echo"]


@pytest.mark.slow
async def test_a_server_whose_entry_is_corrected_while_it_is_waited_for_is_waited_for(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with opened(tmp_path, {"new": raw("hang", log=log)}) as satchel:
        calling = asyncio.create_task(
            told(Toolset(satchel, mode="direct", patience=0.1), "new__echo", text="x")
        )
        await until(lambda: bool(lines(log)))
        Project(tmp_path / "project").write({"new": raw("good")})
        await satchel.servers.list_new(0)  # as somebody does from time to time
        assert await calling == "x"


@pytest.mark.slow
async def test_who_calls_what_there_is_not_is_told_which_servers_may_have_it(tmp_path: Path) -> None:
    async with opened(tmp_path, {"hanging": raw("hang")}) as satchel:
        text = await refused(Toolset(satchel, mode="direct", patience=0.1), "echo", text="x")
        assert text.endswith("; still being listed, try again in a moment: hanging")


# Instructions


@pytest.mark.parametrize(
    ("language", "told", "not_told"),
    [
        (
            "python",
            ["```python", "asyncio.gather", "get_document.py", "(from satchel_runtime)"],
            "Promise.all",
        ),
        ("typescript", ["```typescript", "Promise.all", "getDocument.ts", "'satchel-runtime'"], "asyncio"),
    ],
)
async def test_instructions_for_code_are_in_the_language_in_use(
    satchel: Satchel, configure: Configure, language: str, told: list[str], not_told: str
) -> None:
    configure(
        code_execution={"language": language, "timeout": 7, "max_timeout": 77, "max_output_chars": 5432}
    )
    text = Toolset(satchel, mode="code").instructions()
    assert text.startswith("<code_execution_system>")
    assert text.endswith("\n</code_execution_system>")
    for part in (*told, "search_tools", "list_servers", "execute_code", "7 seconds", "77 at most", "5432"):
        assert part in text
    assert not_told not in text
    assert "{%" not in text
    assert "{{" not in text
    assert "\n\n\n" not in text


@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_the_example_in_the_instructions_is_said_to_be_one(
    satchel: Satchel, configure: Configure, language: str
) -> None:
    configure(code_execution={"language": language})
    before, _, after = Toolset(satchel, mode="code").instructions().partition(f"```{language}\n")
    assert before.endswith("its servers and tools stand for those that you have found:\n\n")
    assert "google" in after


async def test_instructions_for_searching_name_its_tools(satchel: Satchel) -> None:
    text = Toolset(satchel, mode="search").instructions()
    assert text.startswith("<tool_search_system>")
    assert "search_tools" in text
    assert "call_tool" in text
    assert "execute_code" not in text


async def test_instructions_where_all_tools_are_shown_are_those_of_the_servers(satchel: Satchel) -> None:
    text = Toolset(satchel, mode="direct").instructions()
    assert text == (
        '<server name="good">\nEcho politely.\n</server>\n<server name="media">\nLook at images.\n</server>'
    )
    reader = Toolset(satchel, agent="reader", mode="direct").instructions()
    assert reader == '<server name="good">\nEcho politely.\n</server>'


async def test_instructions_of_servers_are_not_taken_for_templates_and_have_an_end(tmp_path: Path) -> None:
    servers = {"odd": raw("named", instructions="{{ 6 * 7 }} {% for %} " + "x" * 50_000)}
    async with opened(tmp_path, servers) as satchel:
        await satchel.servers.refresh()
        text = Toolset(satchel, mode="direct").instructions()
        assert "{{ 6 * 7 }} {% for %}" in text
        assert len(text) == 20_000


@pytest.mark.parametrize("mode", MODES)
async def test_instructions_are_the_same_from_call_to_call(satchel: Satchel, mode: Mode) -> None:
    toolset = Toolset(satchel, mode=mode)
    before = toolset.instructions()
    await call(toolset, "search_tools", query="echo")
    await call(toolset, "good__echo", text="x")
    await satchel.servers.refresh()
    assert toolset.instructions() == before == Toolset(satchel, mode=mode, client="any").instructions()


@pytest.fixture
def templates(satchel: Satchel) -> Generator[Path]:
    directory = satchel.configuration.paths.project / "templates"
    directory.mkdir()
    yield directory
    for file in directory.iterdir():
        file.unlink()
    directory.rmdir()


async def test_a_template_of_the_project_takes_the_place_of_satchels(
    satchel: Satchel, templates: Path
) -> None:
    own = Toolset(satchel, mode="code").instructions()
    (templates / "code_execution_system.jinja").write_text(
        "{{ agent }}, {{ mode }}, {{ language }}: {% for server in servers %}{{ server.name }} "
        "({{ server.tool_count }}) {% endfor %}"
    )
    toolset = Toolset(satchel, mode="code", agent="other")
    assert toolset.instructions() == "other, code, python: good (8) media (15)"
    assert toolset.instructions(plain=True) == own
    assert Toolset(satchel, mode="search").instructions().startswith("<tool_search_system>")


async def test_a_template_of_the_project_can_extend_satchels(satchel: Satchel, templates: Path) -> None:
    own = Toolset(satchel, mode="code").instructions()
    (templates / "code_execution_system.jinja").write_text(
        '{% extends "satchel/code_execution_system.jinja" %}\n'
        "{% block rules %}{{ super() }}\n- Amounts have two decimals.{% endblock %}\n"
    )
    text = Toolset(satchel, mode="code").instructions()
    end = "</code_execution_system>"
    assert text == own.removesuffix(end) + f"- Amounts have two decimals.\n{end}"


async def test_templates_can_be_elsewhere(satchel: Satchel, configure: Configure, templates: Path) -> None:
    (templates / "tool_search_system.jinja").write_text("here")
    toolset = Toolset(satchel, mode="search")
    assert toolset.instructions() == "here"
    configure(templates={"path": "nowhere"})
    assert toolset.instructions().startswith("<tool_search_system>")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("fine\n{% if %}\n", 2, "Expected an expression"),
        ("fine\n\n{{ never_heard_of }}\n", 3, "'never_heard_of' is undefined"),
        ("{{ servers[0].nothing.at_all }}", 1, "nothing"),
        ("fine\n{{ 1 / 0 }}", 2, "division by zero"),
        ('{% extends "satchel/nothing.jinja" %}', 1, "there is no template 'satchel/nothing.jinja'"),
        (
            '{% extends "satchel/code_execution_system.jinja" %}\n'
            "{% block rules %}\n{{ oops }}{% endblock %}",
            *(3, "'oops' is undefined"),
        ),
        ("fine\n{{ servers.__class__.__mro__ }}", 2, "unsafe"),
    ],
)
async def test_a_broken_template_is_a_configuration_error_with_its_file_and_line(
    satchel: Satchel, templates: Path, text: str, line: int, message: str
) -> None:
    file = templates / "code_execution_system.jinja"
    file.write_text(text)
    toolset = Toolset(satchel, mode="code")
    with pytest.raises(ConfigError) as caught:
        toolset.instructions()
    assert (caught.value.file, caught.value.line) == (file, line)
    assert caught.value.message.startswith(f"{file}:{line}: the template can't be filled in: ")
    assert message in caught.value.message
    assert toolset.instructions(plain=True).startswith("<code_execution_system>")


@pytest.mark.parametrize("text", ["fine\n{% if %}", "fine\n{{ oops }}"])
async def test_what_is_broken_in_an_included_file_is_found_there(
    satchel: Satchel, templates: Path, text: str
) -> None:
    (templates / "code_execution_system.jinja").write_text('fine\nfine\n{% include "part.txt" %}')
    (templates / "part.txt").write_text(text)
    with pytest.raises(ConfigError) as caught:
        Toolset(satchel, mode="code").instructions()
    assert (caught.value.file, caught.value.line) == (templates / "part.txt", 2)


async def test_a_template_that_is_no_text_or_never_ends_is_a_configuration_error(
    satchel: Satchel, templates: Path
) -> None:
    file = templates / "code_execution_system.jinja"
    for content in (b"\xff\xfe\x00", b'{% extends "code_execution_system.jinja" %}', b"{{ range(10**9) }}"):
        file.write_bytes(content)
        with pytest.raises(ConfigError) as caught:
            Toolset(satchel, mode="code").instructions()
        assert caught.value.file == file


# The example


@pytest.mark.e2e
def test_the_example_of_the_verbs_runs(tmp_path: Path) -> None:
    source = Path(__file__).resolve().parents[2] / "examples"
    ignored = shutil.ignore_patterns(".satchel", "__pycache__")
    directory = shutil.copytree(source, tmp_path / "examples", ignore=ignored)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "verbs.py"],
        cwd=directory,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "found: slack.post_message",
        "call 1: google_drive__get_document ok",
        "printed: 9 findings",
        "exit code 1: PermissionError: agent 'default' may not call 'slack.post_message': "
        "this program may only call tools that read",
        "slack__post_message was denied",
        "a model sees: list_servers, search_tools, execute_code, search_skills, view_skill, read_file",
        "and is told: 42",
        "or: post_message is called from a program, with execute_code:",
    ]

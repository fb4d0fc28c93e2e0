"""Everything that reaches a server passes the one chain, whichever surface or verb it comes from."""

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client
from mcp_types import EmptyResult, PromptReference, SubscribeRequest, SubscribeRequestParams

from satchel import Satchel, app, open_satchel
from satchel.cli.main import main
from satchel.config.agents import Mode
from satchel.errors import NotAllowedError
from satchel.integrations.langchain import langchain_tools
from satchel.model import (
    Call,
    Caller,
    CallResult,
    CallTool,
    Event,
    ExecutionRequest,
    ResourceChanged,
    ResourceFollowed,
)
from satchel.server.surface import Surface
from satchel.toolset import Toolset
from tests.library.skill_files import make_skill
from tests.projects import Project
from tests.server.clients_helpers import LEGACY, client_of, text_from
from tests.servers import raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 60  # seconds; only a hang reaches it
CHANGING = Path(__file__).parent / "servers" / "changing.py"
COUNTER = "counter://value"
NOTHING = ("nothing.at_all",)
PROGRAM = """
from satchel_runtime import call_mcp_tool, get_prompt, read_resource
await call_mcp_tool("good.echo", {"text": "x"})
await read_resource("memos", "memo://text")
await get_prompt("memos", "greet", {"who": "Ada"})
"""


class Noted:
    """A link that notes what passes."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def link(self, call_next: CallTool) -> CallTool:
        async def note(call: Call) -> CallResult:
            self.calls.append(call)
            return await call_next(call)

        return note

    def take(self) -> list[str]:
        labels = [f"{call.what.server}.{call.label}" for call in self.calls]
        self.calls.clear()
        return labels


@pytest.fixture
def noted() -> Noted:
    return Noted()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    changing = {"command": sys.executable, "args": [str(CHANGING)]}
    servers = {"good": raw("good"), "memos": raw("resources"), "changing": changing}
    project = Project(tmp_path / "project", servers)
    (project.directory / "satchel.yaml").write_text(
        '{"agents": {"kept": {"enforce_allowed_tools": true}}, "code_execution": {"read_only_tool": true}}'
    )
    folder = make_skill(project.directory / "skills/public/narrow")
    text = "---\nname: narrow\ndescription: Narrow.\nallowed-tools: nothing.at_all\n---\nDo nothing.\n"
    (folder / "SKILL.md").write_text(text)
    return project


@pytest.fixture
async def satchel(project: Project, tmp_path: Path, noted: Noted) -> AsyncGenerator[Satchel]:
    environment = {**os.environ, "HOME": str(tmp_path)}
    async with open_satchel(project.directory, environment=environment, links=[noted.link]) as satchel:
        await satchel.servers.refresh()
        yield satchel


async def follow(satchel: Satchel, caller: Caller, told: list[Event] | None = None) -> None:
    """Until the server has agreed."""

    def tell(event: Event) -> None:
        if told is not None:
            told.append(event)
        if isinstance(event, ResourceFollowed):
            scope.cancel()

    with anyio.move_on_after(WAIT) as scope:
        await satchel.resources.follow("changing", COUNTER, tell=tell, caller=caller)


def complete(satchel: Satchel, caller: Caller) -> Awaitable[Any]:
    asked = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "A"}}
    return satchel.resources.complete("memos", asked, caller=caller)


async def call(satchel: Satchel, caller: Caller) -> None:
    await satchel.tools.call("good.echo", {"text": "x"}, caller=caller)


async def read(satchel: Satchel, caller: Caller) -> None:
    await satchel.resources.read("memos", "memo://text", caller=caller)


async def fill_in(satchel: Satchel, caller: Caller) -> None:
    await satchel.resources.prompt("memos", "greet", {"who": "Ada"}, caller=caller)


Use = Callable[[Satchel, Caller], Awaitable[None]]
VERBS: dict[str, Use] = {
    "good.echo": call,
    "memos.resource:memo://text": read,
    "memos.prompt:greet": fill_in,
    "changing.follow:resource:counter://value": follow,
}


@pytest.mark.parametrize("label", VERBS)
async def test_every_verb_passes_it_with_its_caller(satchel: Satchel, noted: Noted, label: str) -> None:
    caller = Caller(agent="default", conversation="c-1", read_only=label != "good.echo", only=None)
    await VERBS[label](satchel, caller)
    (made,) = noted.calls
    assert noted.take() == [label]
    assert (made.caller.agent, made.caller.conversation) == ("default", "c-1")
    assert made.caller.read_only == caller.read_only
    (record,) = await satchel.journal.calls()
    assert (f"{record.server}.{record.tool}", record.status) == (label, "ok")
    assert record.conversation == "c-1"


@pytest.mark.parametrize("label", VERBS)
async def test_the_tools_that_a_skill_allows_bind_every_verb(satchel: Satchel, label: str) -> None:
    with pytest.raises(NotAllowedError, match=r"the active skill allows only nothing\.at_all"):
        await VERBS[label](satchel, Caller(only=NOTHING))
    (record,) = await satchel.journal.calls()
    assert (f"{record.server}.{record.tool}", record.status) == (label, "denied")
    server = label.partition(".")[0]
    await VERBS[label](satchel, Caller(only=(f"mcp__{server}",)))  # all that the server has


async def test_a_completion_passes_it_as_well(satchel: Satchel, noted: Noted) -> None:
    with pytest.raises(NotAllowedError):
        await complete(satchel, Caller(only=NOTHING))
    with pytest.raises(Exception, match="memos"):  # a server that completes nothing
        await complete(satchel, Caller())
    assert noted.take() == ["memos.complete:prompt:greet"] * 2
    assert {record.status for record in await satchel.journal.calls()} == {"error", "denied"}


async def test_a_completion_asks_for_nothing_but_what_was_permitted(satchel: Satchel, noted: Noted) -> None:
    both = {"type": "ref/resource", "uri": "memo://{secret}", "name": "greet"}
    asked = {"ref": both, "argument": {"name": "secret", "value": ""}}
    with pytest.raises(NotAllowedError):
        await satchel.resources.complete("memos", asked, caller=Caller(only=("memos.prompt:greet",)))
    with pytest.raises(Exception, match="memos"):  # a server that completes nothing
        await satchel.resources.complete("memos", {**asked, "ref": {**both, "type": "ref/prompt"}})
    assert [call.arguments["ref"] for call in noted.calls] == [
        {"type": "ref/resource", "uri": "memo://{secret}"},
        {"type": "ref/prompt", "name": "greet"},
    ]


async def test_programs_are_bound_by_it_whatever_they_ask_for(satchel: Satchel, noted: Noted) -> None:
    request = ExecutionRequest(code=PROGRAM)
    assert (await satchel.executions.run(request)).exit_code == 0
    assert noted.take() == ["good.echo", "memos.resource:memo://text", "memos.prompt:greet"]
    for line in PROGRAM.strip().splitlines()[1:]:
        code = f"{PROGRAM.strip().splitlines()[0]}\n{line}"
        refused = await satchel.executions.run(ExecutionRequest(code=code), Caller(only=NOTHING))
        assert (refused.exit_code, [use.status for use in refused.tools_called]) == (1, ["denied"]), line
        assert "PermissionError" in refused.stderr
    assert [record.status for record in await satchel.journal.calls(limit=3)] == ["denied"] * 3


async def test_a_program_that_may_only_read_reads_resources_and_calls_nothing_that_writes(
    satchel: Satchel, noted: Noted
) -> None:
    reader = Caller(read_only=True)
    execution = await satchel.executions.run(ExecutionRequest(code=PROGRAM), reader)
    assert [use.status for use in execution.tools_called] == ["ok"] * 3
    assert [made.caller.read_only for made in noted.calls] == [True] * 3
    code = 'from satchel_runtime import call_mcp_tool\nawait call_mcp_tool("good.count")'
    execution = await satchel.executions.run(ExecutionRequest(code=code), reader)
    assert [use.status for use in execution.tools_called] == ["denied"]


async def test_changes_of_a_resource_are_not_told_once_the_agent_may_not_read_it(
    satchel: Satchel, project: Project
) -> None:
    told: list[Event] = []
    begun = anyio.Event()

    def tell(event: Event) -> None:
        told.append(event)
        begun.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(satchel.resources.follow, "changing", COUNTER, tell=tell))
        with anyio.fail_after(WAIT):
            await begun.wait()
            await satchel.call("changing.count")
            while len(told) < 2:  # noqa: ASYNC110  the server tells when it likes
                await anyio.sleep(0.01)
        settings = '{"agents": {"default": {"deny": ["changing.resource:*"]}}}'
        (project.directory / "satchel.yaml").write_text(settings)
        await satchel.call("changing.count")
        with pytest.raises(NotAllowedError):
            await satchel.resources.read("changing", COUNTER)
        await satchel.call("changing.count")  # by now it has told of the first
        tasks.cancel_scope.cancel()
    assert [type(event) for event in told] == [ResourceFollowed, ResourceChanged]


async def test_every_mode_of_a_toolset_passes_it(satchel: Satchel, noted: Noted) -> None:
    ways: tuple[tuple[Mode, str, dict[str, Any]], ...] = (
        ("direct", "good__echo", {"text": "x"}),
        ("search", "call_tool", {"name": "good.echo", "arguments": {"text": "x"}}),
        ("code", "execute_code", {"code": "from servers.good import echo\nawait echo(text='x')"}),
        ("code", "execute_code_readonly", {"code": "from servers.good import echo\nawait echo(text='x')"}),
    )
    for mode, name, arguments in ways:
        await Toolset(satchel, mode=mode).call(name, arguments)
        assert noted.take() == ["good.echo"], name


async def test_a_model_that_follows_a_skill_is_bound_in_every_way_that_a_client_has(satchel: Satchel) -> None:
    surface = Surface(satchel, agent="kept", mode="direct")
    async with surface.running(), client_of(surface, LEGACY) as client:
        await read_text(client)
        await text_from(client, "view_skill", name="narrow")
        for use in (read_text, get_greeting, complete_name, subscribe):
            with pytest.raises(Exception, match="active skill allows only"):
                await use(client)


async def test_whatever_an_mcp_client_asks_passes_it(satchel: Satchel, noted: Noted) -> None:
    surface = Surface(satchel, mode="direct")
    async with surface.running(), client_of(surface, LEGACY) as client:
        await use_all(client)
    assert sorted(noted.take()) == [
        "changing.follow:resource:counter://value",
        "good.echo",
        "memos.complete:prompt:greet",
        "memos.prompt:greet",
        "memos.resource:memo://text",
    ]


async def use_all(client: Client) -> None:
    await text_from(client, "good__echo", text="x")
    await read_text(client)
    await get_greeting(client)
    await subscribe(client)
    with pytest.raises(Exception, match="memos"):  # it completes nothing
        await complete_name(client)


async def read_text(client: Client) -> None:
    await client.read_resource("memo://text")


async def get_greeting(client: Client) -> None:
    await client.get_prompt("memos__greet", {"who": "Ada"})


async def complete_name(client: Client) -> None:
    await client.complete(PromptReference(name="memos__greet"), {"name": "who", "value": "A"})


async def subscribe(client: Client) -> None:
    request = SubscribeRequest(params=SubscribeRequestParams(uri=COUNTER))
    await client.session.send_request(request, EmptyResult)


async def test_tools_of_a_framework_pass_it(satchel: Satchel, noted: Noted) -> None:
    (echo,) = [tool for tool in langchain_tools(satchel, mode="direct") if tool.name == "good__echo"]
    await echo.ainvoke({"text": "x"})
    assert noted.take() == ["good.echo"]


@pytest.mark.parametrize(
    ("arguments", "label"),
    [
        (["call", "good.echo", "text=x"], "good.echo"),
        (["resources", "memos", "--read", "memo://text"], "memos.resource:memo://text"),
        (["prompts", "memos", "--get", "greet", "who=Ada"], "memos.prompt:greet"),
        (["run", "program.py"], "good.echo"),
    ],
)
async def test_commands_pass_it(
    project: Project,
    noted: Noted,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    label: str,
) -> None:
    (project.directory / "program.py").write_text("from servers.good import echo\nawait echo(text='x')\n")
    monkeypatch.chdir(project.directory)
    monkeypatch.setattr(app, "open_satchel", partial(open_satchel, links=[noted.link]))
    assert await anyio.to_thread.run_sync(main, arguments) == 0
    assert noted.take() == [label]

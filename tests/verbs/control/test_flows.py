"""Rules about data between servers, with programs, sessions, files and conversations for real."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.errors import NotAllowedError, NotFoundError, SatchelError
from satchel.model import Caller, Conversation, Execution, ExecutionRequest, Reads
from satchel.toolset import Toolset
from tests.projects import Project
from tests.servers import raw

# Slow: servers are started, and programs run.
pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 60  # seconds; only a hang reaches it
SETTINGS = """
trusted: [crm, slack, memos]
flows:
  sensitive: [crm]
  egress: [memos]
  rules:
    - { from: sensitive, to: [slack, egress], then: deny }
agents:
  default: { promote_skills: true, memory: { tool: true } }
  other: { memory: { allow_read_from: [default] } }
  stranger: {}
"""
READ = 'secret = await call_mcp_tool("crm.echo", {"text": "secret"})\n'
POST = 'print(await call_mcp_tool("slack.echo", {"text": "hello"}))\n'


@pytest.fixture
async def satchel(tmp_path: Path) -> AsyncGenerator[Satchel]:
    servers = {"crm": raw("good"), "slack": raw("good"), "memos": raw("resources")}
    project = Project(tmp_path / "project", servers)
    (project.directory / "satchel.yaml").write_text(SETTINGS)
    environment = {**os.environ, "HOME": str(tmp_path / "home")}
    async with open_satchel(project.directory, environment=environment) as satchel:
        yield satchel


async def run(satchel: Satchel, code: str, caller: Caller | None = None, **more: Any) -> Execution:
    with anyio.fail_after(WAIT):
        return await satchel.executions.run(
            ExecutionRequest(code=dedent(code), **more), caller or Caller(agent="default")
        )


def was_denied(execution: Execution) -> bool:
    """Whether its call of slack was refused by the rule, and nothing else went wrong."""
    assert execution.exit_code == 0 or "flows.rules[0]" in execution.stderr, execution
    return execution.exit_code != 0


async def test_a_program_that_has_read_something_may_not_send_it_on_and_the_journal_has_it(
    satchel: Satchel,
) -> None:
    assert not was_denied(await run(satchel, POST + READ))
    await satchel.executions.clear_workspace()
    satchel.flows.clear()
    encoded = (
        READ
        + """
import base64
try: await call_mcp_tool("slack.echo", {"text": base64.b64encode(str(secret).encode()).decode()})
except PermissionError as error: print(error)
"""
    )
    execution = await run(satchel, encoded)
    assert execution.exit_code == 0, execution
    assert "slack.echo" in execution.stdout and "crm.echo" in execution.stdout
    assert "flows.rules[0]" in execution.stdout
    assert [call.status for call in execution.tools_called] == ["ok", "denied"]
    calls = await satchel.journal.calls(execution=execution.id)
    assert [(call.tool, call.status) for call in calls if call.server == "slack"] == [("echo", "denied")]


@pytest.mark.parametrize(
    "sink",
    [
        'await call_mcp_tool(server="slack", tool="echo", arguments={"text": "x"})',
        'await call_mcp_tool("slack__echo", {"text": "x"})',
        'await call_mcp_tool("slack/echo", {"text": "x"})',
        "from servers.slack import echo; await echo(text='x')",
        "from satchel_runtime import read_resource; await read_resource('memos', 'memo://text')",
        "from satchel_runtime import get_prompt; await get_prompt('memos', 'greet', {'who': 'secret'})",
    ],
)
async def test_no_spelling_and_no_kind_of_call_gets_by(satchel: Satchel, sink: str) -> None:
    assert was_denied(await run(satchel, READ + sink))


@pytest.mark.parametrize(
    ("left", "found"),
    [
        ('open("note", "w").write("c2VjcmV0")', ""),
        ('import os; os.makedirs("memory", exist_ok=True); open("memory/x.md", "w").write("c2VjcmV0")', ""),
        ('open("tasks/x.txt", "w").write("c2VjcmV0")', ""),
        (
            """
from satchel_runtime import save_skill
code = 'async def hint() -> str:\\n    "A hint."\\n    return "c2VjcmV0"\\n'
await save_skill("hint", code, "gives a hint")
""",
            "from skills.hint import hint\n",
        ),
    ],
    ids=["workspace", "memory", "tasks", "skill"],
)
async def test_two_programs_in_place_of_one_do_not_get_by(satchel: Satchel, left: str, found: str) -> None:
    first = await run(satchel, READ + left)
    assert first.exit_code == 0, first
    second = await run(satchel, found + POST)
    assert was_denied(second)
    assert "crm.echo" in second.stderr
    assert [source.name for source in second.read_before] == ["crm.echo"]


async def test_clearing_is_for_people_and_makes_the_files_free(satchel: Satchel) -> None:
    await run(satchel, READ)
    assert set(satchel.flows.files()) == {"workspace", "tasks", "memory"}
    await satchel.executions.clear_workspace()
    assert set(satchel.flows.files()) == {"tasks", "memory"}
    assert was_denied(await run(satchel, POST))
    satchel.flows.clear()
    await satchel.executions.clear_workspace()
    assert not was_denied(await run(satchel, POST))


async def test_the_memory_of_another_agent_carries_what_that_one_has_read(satchel: Satchel) -> None:
    await run(satchel, READ)
    assert was_denied(await run(satchel, POST, Caller(agent="other")))
    assert not was_denied(await run(satchel, POST, Caller(agent="stranger")))


async def test_sessions_and_conversations_carry_it_on(satchel: Satchel) -> None:
    file = satchel.configuration.paths.settings_file
    assert file is not None
    file.write_text(SETTINGS.replace("  sensitive:", "  files: ignore\n  sensitive:"))
    first = await run(satchel, READ, session="new")
    assert not was_denied(await run(satchel, POST))
    assert was_denied(await run(satchel, POST, session=first.session))
    talk = Conversation()
    toolset = Toolset(satchel, mode="direct", conversation=talk)
    await toolset.call("crm__echo", {"text": "secret"})
    answer = await toolset.call("slack__echo", {"text": "secret"})
    assert answer.is_error and "flows.rules[0]" in answer.text
    assert was_denied(await run(satchel, POST, Caller(conversation=talk.id, reads=talk.reads)))


async def test_gathered_calls_do_not_race_the_labels(satchel: Satchel) -> None:
    code = """
    import asyncio
    read = [call_mcp_tool("crm.echo", {"text": "x"}) for _ in range(10)]
    sent = [call_mcp_tool("slack.echo", {"text": "x"}) for _ in range(10)]
    done = await asyncio.gather(*read, *sent, return_exceptions=True)
    print(sum(isinstance(each, PermissionError) for each in done))
    """
    assert (await run(satchel, code)).stdout.strip() == "10"


async def test_the_memory_tool_reads_and_writes_what_the_rules_count(satchel: Satchel) -> None:
    writer, reader = Toolset(satchel, mode="direct"), Toolset(satchel, mode="direct")
    await writer.call("crm__echo", {"text": "secret"})
    note = {"command": "create", "path": "/memories/note.md", "file_text": "c2VjcmV0"}
    assert not (answer := await writer.call("memory", note)).is_error, answer.text
    assert not (await reader.call("slack__echo", {"text": "x"})).is_error
    await reader.call("memory", {"command": "view", "path": "/memories/note.md"})
    assert (await reader.call("slack__echo", {"text": "x"})).is_error
    assert not was_denied(await run(satchel, POST, Caller(agent="stranger")))
    assert was_denied(await run(satchel, POST))


async def test_what_a_model_is_told_of_its_memory_it_has_read(satchel: Satchel) -> None:
    await run(satchel, READ)
    toolset = Toolset(satchel, mode="direct")
    toolset.instructions()
    assert [source.name for source in toolset.conversation.reads.sources] == ["crm.echo"]


async def test_without_rules_nothing_is_traced(satchel: Satchel) -> None:
    file = satchel.configuration.paths.settings_file
    assert file is not None
    file.write_text(SETTINGS.replace("rules:", "rules: []\nx-rest:").partition("\nx-rest")[0])
    await run(satchel, READ)
    assert not satchel.flows.files()


async def test_a_rule_is_explained_for_a_pair(satchel: Satchel) -> None:
    await satchel.servers.refresh()
    answer = satchel.flows.check("crm.echo", "slack.echo")
    assert (answer.then, answer.source_labels, answer.matches[0].name) == (
        "deny",
        ("sensitive",),
        "flows.rules[0]",
    )
    assert satchel.flows.check("crm", "memos.resource:memo://text").then == "deny"
    assert satchel.flows.check("sensitive", "memos.prompt:greet").sink_words == ("egress",)
    assert satchel.flows.check("slack.echo", "crm.echo").then == "allow"
    with pytest.raises(NotFoundError, match=r"crm\.ech"):
        satchel.flows.check("crm.ech", "slack.echo")
    with pytest.raises(SatchelError, match="not a call"):
        satchel.flows.check("crm.echo", "egress")


async def test_a_script_outside_has_read_what_it_read_before(satchel: Satchel) -> None:
    reads = Reads()
    await satchel.tools.call("crm.echo", {"text": "x"}, caller=Caller(reads=reads))
    with pytest.raises(NotAllowedError):
        await satchel.tools.call("slack.echo", {"text": "x"}, caller=Caller(reads=reads))

"""What the loop does with whatever a model asks for, and with whatever goes wrong on the way."""

import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.errors import ArgumentError, ConflictError, ModelError
from satchel.model import Answer, ConversationRecord, Message, ToolBegan, ToolEnded
from tests.agent.wires import Fail, Hang, Say, ScriptedModel, Step, Use, scripted_model
from tests.trino import GUIDE, PERSONA, trino_project, write_package
from tests.upstream.helpers import lines, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 60  # seconds; only a hang reaches it
QUESTION = "My Trino query is slow: SELECT *"
VIEW = Use("view_skill", {"name": "trino-debug"})
PLAN = Use("get_explain_plan", {"query": "SELECT 1"})


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("loop")


@pytest.fixture(scope="module")
async def model() -> AsyncGenerator[ScriptedModel]:
    async with scripted_model([]) as model:
        yield model


@pytest.fixture(scope="module")
async def satchel(home: Path, model: ScriptedModel) -> AsyncGenerator[Satchel]:
    off = {"enabled": False}
    agents: dict[str, Any] = {
        "default": {
            "model": "scripted",
            "universal_tools": ["lake.fetch_url"],
            "global_resources": [GUIDE],
            "memory": off,
            "delegates": ["helper"],
            "limits": {"requests": 12},
        },
        "helper": {"model": "scripted", "memory": off, "contexts": "flat", "mode": "direct"},
        "mindful": {"model": "scripted", "contexts": "flat"},
        "strict": {
            "model": "scripted",
            "memory": off,
            "contexts": "flat",
            "mode": "direct",
            "enforce_allowed_tools": True,
        },
        "silent": {},
    }
    settings = {"agents": agents, "models": {"scripted": model.settings()}}
    project = trino_project(home / "project", settings, log=home / "log")
    write_package(project.directory, "deeper", "Goes deeper.", "Deeper.", tools=[], resources=[])
    write_package(project.directory, "deepest", "Goes deepest.", "Deepest.", tools=[], resources=[])
    environment = {**os.environ, "HOME": str(home), "SCRIPTED_KEY": "k"}
    async with open_satchel(project.directory, environment=environment) as satchel:
        await satchel.servers.refresh()
        yield satchel


def script(model: ScriptedModel, *steps: Step) -> None:
    model.script[:] = steps
    model.requests.clear()


async def ask(satchel: Satchel, model: ScriptedModel, *steps: Step, **how: Any) -> Answer:
    script(model, *steps)
    with anyio.fail_after(WAIT):
        return await satchel.agents.run(how.pop("agent", "default"), how.pop("text", QUESTION), **how)


async def kept(satchel: Satchel, answer: Answer) -> ConversationRecord:
    return await satchel.conversations.get(answer.conversation)


def results(record: ConversationRecord) -> list[tuple[str, str, str]]:
    return [
        (row["name"], row["outcome"], row["text"])
        for message in record.messages
        if message.role == "tools"
        for row in message.content["results"]
    ]


# Contexts


async def test_other_calls_of_the_answer_that_switches_are_done_first(
    satchel: Satchel, model: ScriptedModel
) -> None:
    fetch = Use("fetch_url", {"url": "http://example.org"})
    answer = await ask(satchel, model, Say(uses=(VIEW, fetch)), Say("done"))
    found = results(await kept(satchel, answer))
    assert [(name, outcome) for name, outcome, _ in found] == [("view_skill", "ok"), ("fetch_url", "ok")]
    assert "the page http://example.org" in found[1][2]


async def test_a_scoped_tool_in_the_answer_that_switches_is_there_from_the_next_on(
    satchel: Satchel, model: ScriptedModel
) -> None:
    answer = await ask(satchel, model, Say(uses=(VIEW, PLAN)), Say(uses=(PLAN,)), Say("done"))
    found = results(await kept(satchel, answer))
    assert found[1] == ("get_explain_plan", "error", "get_explain_plan is available from your next answer on")
    assert found[2][1] == "ok"


async def test_of_two_skills_in_one_answer_the_first_is_entered(
    satchel: Satchel, model: ScriptedModel
) -> None:
    two = Say(uses=(VIEW, Use("view_skill", {"name": "deeper"})))
    record = await kept(satchel, await ask(satchel, model, two, Say("done")))
    found = results(record)
    assert (found[0][1], found[1][1]) == ("ok", "error") and "one change of context at a time" in found[1][2]
    assert record.skills == ("public:trino-debug",)


async def test_skills_nest_to_a_depth_and_leave_one_by_one(satchel: Satchel, model: ScriptedModel) -> None:
    deeper, deepest = (Use("view_skill", {"name": name}) for name in ("deeper", "deepest"))
    leave = Use("leave_skill", {"summary": "s"})
    answer = await ask(
        satchel,
        model,
        Say(uses=(VIEW,)),
        Say(uses=(deeper,)),
        Say(uses=(deepest,)),
        Say(uses=(VIEW,)),
        Say(uses=(leave,)),
        Say("done"),
    )
    found = results(await kept(satchel, answer))
    assert [outcome for _, outcome, _ in found] == ["ok", "ok", "error", "error", "ok"]
    assert "call leave_skill first" in found[2][2] and "active already" in found[3][2]
    last = model.requests[-1]
    assert PERSONA in last.system and "get_explain_plan" in last.tools


async def test_plain_skills_answer_in_place_and_combine(satchel: Satchel, model: ScriptedModel) -> None:
    greeting = Use("view_skill", {"name": "greeting"})
    answer = await ask(satchel, model, Say(uses=(greeting,)), Say(uses=(VIEW,)), Say("done"))
    assert results(await kept(satchel, answer))[0] == ("view_skill", "ok", "Say hello.")
    assert "Say hello." not in str(model.requests[2].messages), "the router's chatter stays with the router"


async def test_a_conversation_can_begin_with_a_specialist(satchel: Satchel, model: ScriptedModel) -> None:
    answer = await ask(satchel, model, Say("done"), skill="trino-debug")
    assert PERSONA in model.requests[0].system and len(model.requests) == 1
    assert (await kept(satchel, answer)).skills == ("public:trino-debug",)


async def test_a_skill_that_is_gone_leads_back_to_the_router(satchel: Satchel, model: ScriptedModel) -> None:
    folder = satchel.configuration.paths.project / "skills/public/deeper"
    answer = await ask(satchel, model, Say(uses=(Use("view_skill", {"name": "deeper"}),)), Say("done"))
    hidden = folder.rename(folder.with_name("hidden-away"))
    (hidden / "SKILL.md").rename(hidden / "SKILL.gone")
    try:
        await ask(satchel, model, Say("done"), conversation=answer.conversation, text="And now?")
        assert "<available_skills>" in model.requests[0].system
    finally:
        (hidden / "SKILL.gone").rename(hidden / "SKILL.md")
        hidden.rename(folder)


# Calls


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (Use("no_such_tool"), "unknown tool 'no_such_tool'"),
        (Use("lake__drop_table", {"table": "t"}), "unknown tool 'lake__drop_table'"),
        (Use("view_skill", {"name": "nothing"}), "unknown skill 'nothing'"),
        (Use("view_skill"), "name"),
        (Use("view_skill", {"name": 5}), "name"),
        (Use("fetch_url", raw='{"url": '), "not valid JSON"),
        (Use("fetch_url", raw='["url"]'), "not an object"),
        (Use("leave_skill", {"summary": "s"}), "unknown tool 'leave_skill'"),
        (Use("delegate", {"agent": "silent", "task": "t"}), "unknown agent 'silent'"),
        (Use("present_files", {"paths": ["/etc/passwd"]}), "not a file in /workspace"),
        (Use("present_files", {"paths": ["/workspace/../etc"]}), "not a file in /workspace"),
        (Use("ask_user", {"question": "?"}), "unknown tool 'ask_user'"),
        (Use("write_todos", {"todos": [{"content": 5}]}), "{content, status}"),
    ],
)
async def test_a_call_that_cannot_be_done_is_answered_and_the_turn_goes_on(
    satchel: Satchel, model: ScriptedModel, use: Use, told: str
) -> None:
    answer = await ask(satchel, model, *[Say(uses=(use,))] * 6, Say("done"))
    assert answer.text == "done", "no number of retries ends a turn"
    found = results(await kept(satchel, answer))
    assert len(found) == 6 and all(outcome == "error" and told in text for _, outcome, text in found), found[
        0
    ]


async def test_calls_with_one_id_get_a_result_each(satchel: Satchel, model: ScriptedModel) -> None:
    same = Say(uses=(Use("fetch_url", {"url": "a"}), Use("fetch_url", {"url": "b"})))
    await ask(satchel, model, same, Say("done"))
    kinds = [kind for kind, _ in model.requests[1].messages]
    assert kinds == ["user", "call", "call", "result", "result"]
    assert "the page a" in model.requests[1].messages[3][1] and "the page b" in model.requests[1].last


async def test_what_is_to_do_is_told_and_files_are_presented(satchel: Satchel, model: ScriptedModel) -> None:
    todos = Use("write_todos", {"todos": [{"content": "look", "status": "completed"}, {"content": "say"}]})
    files = Use("present_files", {"paths": ["/workspace/report.md"]})
    answer = await ask(satchel, model, Say(uses=(todos, files)), Say("done"))
    found = results(await kept(satchel, answer))
    assert found[0][2] == "noted: 1 of 2 done" and answer.files == ("/workspace/report.md",)


async def test_a_person_is_asked_only_where_somebody_answers(satchel: Satchel, model: ScriptedModel) -> None:
    asked: list[str] = []

    async def reply(question: str, options: tuple[str, ...]) -> str:
        asked.append(f"{question} {'/'.join(options)}")
        return "the second"

    use = Use("ask_user", {"question": "Which?", "options": ["a", "b"]})
    answer = await ask(satchel, model, Say(uses=(use,)), Say("done"), ask=reply)
    assert asked == ["Which? a/b"]
    assert results(await kept(satchel, answer))[0][2] == "the second"


# Delegation


async def test_an_agent_does_a_part_with_its_own_permissions(satchel: Satchel, model: ScriptedModel) -> None:
    delegate = Use("delegate", {"agent": "helper", "task": "Explain SELECT 2."})
    plan = Use("lake__get_explain_plan", {"query": "SELECT 2"})
    answer = await ask(
        satchel, model, Say(uses=(delegate,)), Say(uses=(plan,)), Say("It scans."), Say("done")
    )
    assert answer.text == "done"
    assert results(await kept(satchel, answer)) == [("delegate", "ok", "It scans.")]
    helper = model.requests[1]
    assert helper.messages == (("user", "Explain SELECT 2."),), "it knows only what it is told"
    assert "delegate" not in helper.tools and "lake__get_explain_plan" in helper.tools
    reads = {row["server"] for row in (await kept(satchel, answer)).reads}
    assert reads == {"lake"}, "what it has read, the one who delegates has read"


async def test_all_agents_together_keep_to_one_limit(satchel: Satchel, model: ScriptedModel) -> None:
    delegate = Use("delegate", {"agent": "helper", "task": "Go on."})
    again = Say(uses=(Use("lake__fetch_url", {"url": "x"}),))
    answer = await ask(satchel, model, Say(uses=(delegate,)), *[again] * 20, requests=5)
    assert answer.ended == "requests" and answer.exit_code == 1
    assert len(model.requests) <= 6


# Limits


async def test_a_turn_ends_at_its_limit_and_can_be_resumed(satchel: Satchel, model: ScriptedModel) -> None:
    fetch = Say(uses=(Use("fetch_url", {"url": "x"}),))
    answer = await ask(satchel, model, *[fetch] * 5, requests=2)
    assert answer.ended == "requests" and "2 requests were made" in answer.reason
    more = await ask(satchel, model, Say("done"), conversation=answer.conversation, text="")
    assert more.text == "done"
    assert [kind for kind, _ in model.requests[0].messages] == ["user", "call", "result", "call", "result"]


async def test_a_turn_ends_after_its_time(satchel: Satchel, model: ScriptedModel) -> None:
    answer = await ask(satchel, model, Hang("Let me th"), seconds=0.5)
    assert answer.ended == "seconds" and (await kept(satchel, answer)).state == "open"


async def test_without_a_model_the_error_says_what_to_write(satchel: Satchel, model: ScriptedModel) -> None:
    with pytest.raises(ArgumentError) as raised:
        await ask(satchel, model, Say("done"), agent="silent")
    assert "the agent silent has no model" in raised.value.message
    assert raised.value.hint is not None and "model: openai:" in raised.value.hint


# What goes wrong


async def test_a_failing_provider_costs_nothing_that_was_done(
    satchel: Satchel, model: ScriptedModel, home: Path
) -> None:
    before = len([line for line in lines(home / "log") if line.startswith("tools/call fetch_url")])
    script(model, Say(uses=(Use("fetch_url", {"url": "once"}),)), Fail(503, "overloaded"))
    conversation = ""
    with pytest.raises(ModelError, match="overloaded") as raised:
        async for event in satchel.agents.run("default", QUESTION):
            conversation = getattr(event, "conversation", conversation)
    assert raised.value.hint is not None and "--resume" in raised.value.hint
    model.requests.clear()
    answer = await ask(satchel, model, Say("done"), conversation=conversation, text="")
    assert answer.text == "done" and "the page once" in model.requests[0].last
    after = len([line for line in lines(home / "log") if line.startswith("tools/call fetch_url")])
    assert after == before + 1, "the tool was called once"


async def test_whoever_stops_listening_ends_the_turn_and_nothing_is_repeated(
    satchel: Satchel, model: ScriptedModel
) -> None:
    script(model, Say(uses=(Use("fetch_url", {"url": "y"}), Use("fetch_url", {"url": "z"}))), Hang())
    conversation = ""
    ended = 0
    events = satchel.agents.run("default", QUESTION).__aiter__()
    async for event in events:
        conversation = getattr(event, "conversation", conversation)
        ended += isinstance(event, ToolEnded)
        if ended == 2:
            break
    await events.aclose()
    record = await satchel.conversations.get(conversation)
    assert record.state == "open" and len(results(record)) == 2
    answer = await ask(satchel, model, Say("done"), conversation=conversation, text="Go on.")
    assert answer.text == "done"


async def test_calls_that_were_broken_off_are_told_to_be_unknown(
    satchel: Satchel, model: ScriptedModel
) -> None:
    """As a process leaves them that was killed: the answer of the model is there, and no result."""
    answer = await ask(satchel, model, Say("hello"))
    record = await kept(satchel, answer)
    call = {"type": "call", "id": "lost", "name": "fetch_url", "arguments": {"url": "lost"}}
    for number, message in enumerate(
        [Message(role="user", content={"text": "Fetch."}), Message(role="model", content={"parts": [call]})]
    ):
        await satchel.conversations.add(record.id, len(record.messages) + number, message)
    script(model, Say("done"))
    events = [event async for event in satchel.agents.run("default", "", conversation=record.id)]
    assert not [event for event in events if isinstance(event, ToolBegan)], "it is not made again"
    assert "may have had its effect" in model.requests[0].last
    assert results(await kept(satchel, answer))[-1][1] == "interrupted"


async def test_two_cannot_work_on_one_conversation(satchel: Satchel, model: ScriptedModel) -> None:
    script(model, Hang())
    async with anyio.create_task_group() as tasks:
        begun: list[str] = []

        async def first() -> None:
            async for event in satchel.agents.run("default", QUESTION):
                if hasattr(event, "conversation"):
                    begun.append(event.conversation)  # type: ignore[union-attr]

        tasks.start_soon(first)
        await until(lambda: bool(model.requests))
        with pytest.raises(ConflictError, match="is being worked on"):
            await satchel.agents.run("default", "me too", conversation=begun[0])
        tasks.cancel_scope.cancel()


async def test_a_conversation_of_another_agent_is_refused(satchel: Satchel, model: ScriptedModel) -> None:
    answer = await ask(satchel, model, Say("hello"))
    with pytest.raises(ArgumentError, match="one of the agent default"):
        await ask(satchel, model, Say("hello"), agent="helper", conversation=answer.conversation)


# What is kept


async def test_tasks_and_their_history_are_written(satchel: Satchel, model: ScriptedModel) -> None:
    answer = await ask(satchel, model, Say("It is sunny."), agent="mindful", text="How is the weather?")
    info = await satchel.agents.show("mindful")
    assert info.tasks.current is None
    task = info.tasks.completed[0]
    assert (task.description, task.status, task.conversation) == (
        "How is the weather?",
        "completed",
        answer.conversation,
    )
    assert any("How is the weather?" in entry.text for entry in info.remembered.entries)


async def test_what_is_remembered_is_told_the_same_throughout_a_conversation(
    satchel: Satchel, model: ScriptedModel
) -> None:
    first = await ask(satchel, model, Say("a"), agent="mindful", text="One.")
    told = model.requests[0].system
    await satchel.memory.add("the user likes tea", agent="mindful", topic="drinks")
    await ask(satchel, model, Say("b"), agent="mindful", text="Two.", conversation=first.conversation)
    assert model.requests[0].system == told, "or the provider's cache is lost"
    await ask(satchel, model, Say("c"), agent="mindful", text="Three.")
    assert "the user likes tea" in model.requests[0].system


async def test_an_exported_conversation_has_a_version_and_all_that_was_done(
    satchel: Satchel, model: ScriptedModel
) -> None:
    answer = await ask(satchel, model, Say(uses=(Use("fetch_url", {"url": "x"}),)), Say("done"))
    exported = json.loads(json.dumps(await satchel.conversations.export(answer.conversation)))
    assert exported["satchel_conversation"] == 1
    assert [message["role"] for message in exported["messages"]] == ["user", "model", "tools", "model"]
    await satchel.conversations.delete(answer.conversation)
    assert answer.conversation not in [each.id for each in await satchel.conversations.list(limit=1000)]


async def test_what_was_read_is_kept_before_its_results_are(satchel: Satchel, model: ScriptedModel) -> None:
    """A process that is killed while the model answers has read it all the same."""
    script(model, Say(uses=(Use("fetch_url", {"url": "x"}),)), Hang())
    async with anyio.create_task_group() as tasks:
        begun: list[str] = []

        async def first() -> None:
            async for event in satchel.agents.run("default", QUESTION):
                if hasattr(event, "conversation"):
                    begun.append(event.conversation)  # type: ignore[union-attr]

        tasks.start_soon(first)
        await until(lambda: len(model.requests) == 2)
        record = await satchel.conversations.get(begun[0])
        assert record.state == "running" and [row["server"] for row in record.reads] == ["lake"]
        tasks.cancel_scope.cancel()


async def test_one_answer_may_have_so_many_calls(satchel: Satchel, model: ScriptedModel) -> None:
    todos = Use("write_todos", {"todos": []})
    answer = await ask(satchel, model, Say(uses=(todos,) * 200), Say("done"))
    found = results(await kept(satchel, answer))
    assert [outcome for _, outcome, _ in found] == ["ok"] * 128 + ["error"] * 72


async def test_tools_that_a_skill_allows_are_enforced_until_another_is_read(
    satchel: Satchel, model: ScriptedModel
) -> None:
    folder = satchel.configuration.paths.project / "skills/public/narrow"
    folder.mkdir(parents=True)
    head = "---\nname: narrow\ndescription: Narrow.\nallowed-tools: lake.get_explain_plan\n---\n\nNarrow.\n"
    (folder / "SKILL.md").write_text(head)
    fetch, view = Use("lake__fetch_url", {"url": "x"}), Use("view_skill", {"name": "narrow"})
    answer = await ask(satchel, model, Say(uses=(view,)), Say(uses=(fetch,)), Say("done"), agent="strict")
    assert [outcome for _, outcome, _ in results(await kept(satchel, answer))] == ["ok", "error"]
    more = [Say(uses=(fetch,)), Say("done")]
    await ask(satchel, model, *more, agent="strict", conversation=answer.conversation)
    assert results(await kept(satchel, answer))[-1][1] == "error", "also when it goes on later"

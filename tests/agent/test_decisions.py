"""Turns that end for a person's decision, and go on after it: each call is sent once, or not at all."""

import json
import os
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from satchel import Satchel, open_satchel
from satchel.agent.limits import Clock
from satchel.agent.transcript import settled, undecided
from satchel.model import Answer, Json, Message
from tests.agent.wires import Say, ScriptedModel, Step, Use, scripted_model
from tests.projects import Project
from tests.servers import raw

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 60  # seconds; only a hang reaches it
ONE, TWO = (Use("noting__note", {"number": number}) for number in ("1", "2"))


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("decisions")


@pytest.fixture(scope="module")
async def model() -> AsyncGenerator[ScriptedModel]:
    async with scripted_model([]) as model:
        yield model


@pytest.fixture(scope="module")
async def satchel(home: Path, model: ScriptedModel) -> AsyncGenerator[Satchel]:
    servers = {"noting": raw("notes", calls=home / "calls"), "good": raw("good")}
    project = Project(home / "project", servers)
    agent = {"model": "scripted", "approve": ["noting"], "contexts": "flat", "memory": {"tool": False}}
    settings = {
        "mode": "direct",
        "approvals": {"wait": "0s"},
        "agents": {"default": agent, "coder": {**agent, "mode": "code"}},
        "models": {"scripted": model.settings()},
    }
    (project.directory / "satchel.yaml").write_text(json.dumps(settings))
    environment = {**os.environ, "HOME": str(home), "SCRIPTED_KEY": "k"}
    async with open_satchel(project.directory, environment=environment) as satchel:
        await satchel.servers.refresh()
        yield satchel


@pytest.fixture
def notes(home: Path) -> Callable[[], list[str]]:
    (home / "calls").write_text("")
    return lambda: (home / "calls").read_text().split()


async def ask(satchel: Satchel, model: ScriptedModel, *steps: Step, text: str = "note", **how: Any) -> Answer:
    model.script[:] = steps
    model.requests.clear()
    with anyio.fail_after(WAIT):
        return await satchel.agents.run(how.pop("agent", "default"), text, **how)


async def go_on(satchel: Satchel, model: ScriptedModel, before: Answer, *steps: Step, **how: Any) -> Answer:
    return await ask(satchel, model, *steps, text="", conversation=before.conversation, **how)


async def decide(satchel: Satchel, answer: Answer, *, agrees: bool = True, **how: Any) -> None:
    for row in answer.waiting:
        approval = await satchel.approvals.find(row["approval"])
        await (satchel.approvals.allow if agrees else satchel.approvals.deny)(approval, by="me", **how)


async def test_a_call_that_waited_is_made_once_after_the_decision(
    satchel: Satchel, model: ScriptedModel, notes: Callable[[], list[str]]
) -> None:
    echo = Use("good__echo", {"text": "hello"})
    first = await ask(satchel, model, Say(uses=(echo, ONE)))
    assert (first.ended, first.exit_code) == ("approval", 6)
    assert [row["tool"] for row in first.waiting] == ["noting.note"]
    still = await go_on(satchel, model, first)
    assert still.ended == "approval" and still.waiting == first.waiting
    assert model.requests == [], "the model is not asked while nobody has decided"
    await decide(satchel, first)
    last = await go_on(satchel, model, first, Say("Done."))
    assert last.text == "Done." and notes() == ["1"]
    results = [text for kind, text in model.requests[0].messages if kind == "result"]
    assert len(results) == 2 and "hello" in results[0] and "waits" not in results[1]
    record = await satchel.conversations.get(first.conversation)
    calls = await satchel.journal.calls(agent="default")
    assert sum(call.tool == "echo" for call in calls) == 1, "what was done is not done again"
    assert record.state == "open"
    shown = await satchel.agents.show("default")
    assert shown.tasks.current is None, "the task that waited is completed"


async def test_a_program_that_waited_is_resumed_after_the_decision(
    satchel: Satchel, model: ScriptedModel, notes: Callable[[], list[str]]
) -> None:
    code = 'await call_mcp_tool("noting.note", {"number": "1"})\nprint("went on")\n'
    program = Use("execute_code", {"code": code})
    first = await ask(satchel, model, Say(uses=(program,)), agent="coder")
    assert first.ended == "approval" and notes() == []
    await decide(satchel, first)
    last = await go_on(satchel, model, first, Say("Done."), agent="coder")
    assert last.text == "Done." and notes() == ["1"] and "went on" in model.requests[0].last


async def test_a_refused_call_is_told_and_not_sent(
    satchel: Satchel, model: ScriptedModel, notes: Callable[[], list[str]]
) -> None:
    first = await ask(satchel, model, Say(uses=(ONE,)))
    await decide(satchel, first, agrees=False)
    await go_on(satchel, model, first, Say("A pity."))
    assert "a person said no" in model.requests[0].last and notes() == []


async def test_what_the_user_says_meanwhile_comes_first(
    satchel: Satchel, model: ScriptedModel, notes: Callable[[], list[str]]
) -> None:
    first = await ask(satchel, model, Say(uses=(ONE,)))
    answer = await ask(satchel, model, Say("Never mind."), text="leave it", conversation=first.conversation)
    assert answer.text == "Never mind." and model.requests[0].last == "leave it" and notes() == []


async def test_an_agreement_can_be_good_for_its_conversation_and_no_other(
    satchel: Satchel, model: ScriptedModel, notes: Callable[[], list[str]]
) -> None:
    first = await ask(satchel, model, Say(uses=(ONE,)))
    await decide(satchel, first, scope="conversation")
    same = await go_on(satchel, model, first, Say(uses=(TWO,)), Say("Done."))
    assert same.text == "Done." and notes() == ["1", "2"]
    other = await ask(satchel, model, Say(uses=(TWO,)))
    assert other.ended == "approval" and notes() == ["1", "2"]


async def test_the_seconds_of_a_turn_stand_still_while_a_person_is_asked() -> None:
    clock = Clock()
    with clock.running(10) as scope:
        clock.stop("one")
        clock.stop("two")
        clock.go_on("one")
        assert scope.deadline == float("inf")
        clock.go_on("two")
        clock.go_on("two")
        assert 5 < scope.deadline - anyio.current_time() <= 10


def test_only_the_last_result_of_a_call_counts() -> None:
    def results(**outcomes: str) -> Message:
        rows: list[Json] = [
            {"id": id, "outcome": outcome, "waiting": [{"approval": "a"}], "again": {"x": 1}}
            for id, outcome in outcomes.items()
        ]
        return Message(role="tools", content={"results": rows})

    parts = [{"type": "call", "id": id, "name": "t", "arguments": "{}"} for id in ("a", "b")]
    asked = Message(role="model", content={"parts": parts})
    waiting = [asked, results(a="ok", b="approval")]
    assert [call["id"] for call in undecided(waiting)] == ["b"]
    done = [*waiting, results(b="error")]
    assert undecided(done) == []
    (_, whole) = settled(done)
    assert [row["outcome"] for row in whole.content["results"]] == ["ok", "error"]
    assert undecided([*waiting, Message(role="user", content={"text": "?"})]) == []

"""The trace of a router and a specialist, step by step, as providers see it on three wires."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from satchel import Satchel, open_satchel
from satchel.model import ModelAsked, SkillSwitched, ToolEnded, TurnEnded
from tests.agent.wires import WIRES, Say, ScriptedModel, Step, Use, scripted_model
from tests.trino import GUIDE, PERSONA, RULES, trino_project

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SCRIPT: list[Step] = [
    Say(uses=(Use("view_skill", {"skill_name": "trino-debug"}),)),
    Say(uses=(Use("get_explain_plan", {"query": "SELECT *"}),)),
    Say(uses=(Use("read_resource", {"uri": RULES}),)),
    Say("Filter on the partition column."),
]
QUESTION = "My Trino query is slow: SELECT *"


@asynccontextmanager
async def opened(directory: Path, model: ScriptedModel, wire: str) -> AsyncGenerator[Satchel]:
    agent = {
        "model": "scripted",
        "universal_tools": ["lake.fetch_url"],
        "global_resources": [GUIDE],
        "memory": {"enabled": False},
    }
    settings = {"agents": {"default": agent}, "models": {"scripted": model.settings(wire)}}
    project = trino_project(directory, settings)
    environment = {**os.environ, "HOME": str(directory / "home"), "SCRIPTED_KEY": "sk-canary"}
    async with open_satchel(project.directory, environment=environment) as satchel:
        yield satchel


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("wire", WIRES)
async def test_each_level_is_sent_exactly_its_own_tools_and_text(
    tmp_path: Path, wire: str, stream: bool
) -> None:
    async with scripted_model(SCRIPT) as model, opened(tmp_path / "project", model, wire) as satchel:
        events = [event async for event in satchel.agents.run("default", QUESTION, stream=stream)]
        (answer,) = [event.answer for event in events if isinstance(event, TurnEnded)]
    assert answer.text == "Filter on the partition column." and answer.ended == "answered"
    assert len(model.requests) == 4
    router, *specialist = model.requests
    assert all(request.stream == stream for request in model.requests)

    assert router.tools[:3] == ("view_skill", "read_resource", "fetch_url")
    assert "<name>trino-debug</name>" in router.system and GUIDE in router.system
    assert PERSONA not in router.system and "get_explain_plan" not in str(router.raw)
    assert router.messages == (("user", QUESTION),)

    for request in specialist:
        assert request.tools[:5] == (
            "view_skill",
            "read_resource",
            "leave_skill",
            "get_explain_plan",
            "fetch_url",
        )
        assert "drop_table" not in str(request.raw)
        assert PERSONA in request.system and RULES in request.system
        assert "<available_skills>" not in request.system
    assert specialist[0].messages[:2] == (("user", QUESTION), ("call", "view_skill"))
    assert specialist[1].messages[-2][0] == "call" and "Plan of SELECT *" in specialist[1].last
    assert "Filter on the partition column first." in specialist[2].last

    asked = [event.skill for event in events if isinstance(event, ModelAsked)]
    assert asked == ["", *["trino-debug"] * 3]
    assert [event.skills for event in events if isinstance(event, SkillSwitched)] == [("public:trino-debug",)]
    ended = [(event.name, event.outcome) for event in events if isinstance(event, ToolEnded)]
    assert ended == [("view_skill", "ok"), ("get_explain_plan", "ok"), ("read_resource", "ok")]


async def test_the_key_is_sent_to_the_provider_and_is_nowhere_else(tmp_path: Path) -> None:
    async with scripted_model(SCRIPT) as model, opened(tmp_path / "project", model, "chat") as satchel:
        answer = await satchel.agents.run("default", QUESTION)
        exported = await satchel.conversations.export(answer.conversation)
    assert model.headers[0]["authorization"] == "Bearer sk-canary"
    assert "sk-canary" not in str(exported) + "".join(model.bodies)
    state = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"sk-canary" not in state


async def test_the_next_message_goes_to_the_same_specialist_who_can_leave(tmp_path: Path) -> None:
    leaving = Say(uses=(Use("leave_skill", {"summary": "The plan was a full scan."}),))
    script = [*SCRIPT, leaving, Say("Hello from the router.")]
    async with scripted_model(script) as model, opened(tmp_path / "project", model, "chat") as satchel:
        first = await satchel.agents.run("default", QUESTION)
        second = await satchel.agents.run("default", "Now greet me.", conversation=first.conversation)
        record = await satchel.conversations.get(first.conversation)
    assert second.text == "Hello from the router."
    assert PERSONA in model.requests[4].system, "it goes on with the specialist"
    router = model.requests[5]
    assert PERSONA not in router.system and "get_explain_plan" not in router.tools
    said = [text for kind, text in router.messages if kind in ("user", "model")]
    assert said == [QUESTION, "Filter on the partition column.", "Now greet me."]
    assert "The plan was a full scan." in router.last
    assert record.skills == () and record.usage.requests == 6 and record.state == "open"

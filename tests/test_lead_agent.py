"""`make_lead_agent`: what it takes and gives, over a scripted model."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.to_thread
import pytest

from satchel import Satchel, make_lead_agent, open_satchel
from satchel.errors import ArgumentError, NotFoundError
from satchel.model import TurnBegan, TurnEnded
from tests.agent.wires import Say, ScriptedModel, scripted_model
from tests.trino import trino_project

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAIT = 60  # seconds; only a hang reaches it
HELLO = {"messages": [{"role": "user", "content": "Hello."}]}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def model() -> AsyncGenerator[ScriptedModel]:
    async with scripted_model([Say("Hi.")]) as model:
        yield model


@pytest.fixture(scope="module")
async def satchel(tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel) -> AsyncGenerator[Satchel]:
    home = tmp_path_factory.mktemp("lead")
    agent: dict[str, Any] = {"model": "scripted", "memory": {"enabled": False}}
    agents = {"default": agent, "reporter": {**agent, "instructions": "You report."}}
    project = trino_project(home / "project", {"agents": agents, "models": {"scripted": model.settings()}})
    environment = {**os.environ, "HOME": str(home), "SCRIPTED_KEY": "k"}
    async with open_satchel(project.directory, environment=environment) as satchel:
        yield satchel


def configured(**values: Any) -> dict[str, Any]:
    return {"configurable": values, "recursion_limit": 25, "tags": ["x"]}


async def test_it_answers_and_goes_on_with_a_thread(satchel: Satchel, model: ScriptedModel) -> None:
    agent = make_lead_agent(configured(agent_name="reporter", thinking_enabled=True), satchel=satchel)
    with anyio.fail_after(WAIT):
        state = await agent.ainvoke(HELLO)
        assert state["messages"][-1] == {"role": "assistant", "content": "Hi."}
        assert state["ended"] == "answered" and "You report." in model.requests[-1].system
        more = await agent.ainvoke(
            {"messages": [("user", "More?")]}, configured(thread_id=state["thread_id"])
        )
    assert more["thread_id"] == state["thread_id"]
    assert [text for kind, text in model.requests[-1].messages if kind == "user"] == ["Hello.", "More?"]


@pytest.mark.parametrize(
    "messages",
    ["Hello.", ["Hello."], [("human", "Hello.")], [SimpleNamespace(type="human", content="Hello.")]],
    ids=["text", "texts", "pair", "message"],
)
async def test_messages_come_in_the_usual_forms(
    satchel: Satchel, model: ScriptedModel, messages: Any
) -> None:
    with anyio.fail_after(WAIT):
        await make_lead_agent(satchel=satchel).ainvoke({"messages": messages})
    assert model.requests[-1].last == "Hello."


async def test_events_come_as_they_happen_and_the_state_at_the_end(satchel: Satchel) -> None:
    with anyio.fail_after(WAIT):
        events = [event async for event in make_lead_agent(satchel=satchel).astream(HELLO)]
    assert isinstance(events[0], TurnBegan) and isinstance(events[-2], TurnEnded)
    assert isinstance(events[-1], dict) and events[-1]["messages"][-1]["content"] == "Hi."


async def test_code_execution_mode_is_a_mode(satchel: Satchel, model: ScriptedModel) -> None:
    config = configured(code_execution_mode="always")
    with anyio.fail_after(WAIT):
        await make_lead_agent(config, satchel=satchel).ainvoke(HELLO)
    assert "execute_code" in model.requests[-1].tools


async def test_the_prompt_is_that_of_the_first_request(satchel: Satchel, model: ScriptedModel) -> None:
    agent = make_lead_agent(satchel=satchel)
    with anyio.fail_after(WAIT):
        await agent.ainvoke(HELLO)
        assert await agent.prompt() == model.requests[-1].system


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (configured(modell_name="x"), "'configurable' has no 'modell_name'"),
        (configured(model_name=5), "configurable.model_name is not a text"),
        ({"configurable": ["x"]}, "'configurable' is not an object"),
    ],
)
def test_what_a_configuration_cannot_mean_is_refused(config: Any, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        make_lead_agent(config)


@pytest.mark.parametrize("state", [{}, {"messages": []}, {"messages": [("assistant", "Hi.")]}, 5])
async def test_there_has_to_be_something_to_do(satchel: Satchel, state: Any) -> None:
    with pytest.raises(ArgumentError, match="message"):
        await make_lead_agent(satchel=satchel).ainvoke(state)


async def test_a_thread_that_is_unknown_is_not_begun_silently(satchel: Satchel) -> None:
    with pytest.raises(NotFoundError, match="conversation"):
        await make_lead_agent(configured(thread_id="nothing"), satchel=satchel).ainvoke(HELLO)


async def test_programs_without_an_event_loop_invoke_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: ScriptedModel
) -> None:
    agents = {"default": {"model": "scripted", "memory": {"enabled": False}}}
    project = trino_project(
        tmp_path / "project", {"agents": agents, "models": {"scripted": model.settings()}}
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SCRIPTED_KEY", "k")
    agent = make_lead_agent(path=project.directory)
    with anyio.fail_after(WAIT):
        state = await anyio.to_thread.run_sync(agent.invoke, HELLO)
    assert state["messages"][-1]["content"] == "Hi."

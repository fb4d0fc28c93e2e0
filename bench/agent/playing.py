"""One task done through the loop: by a script, with all that is sent kept, or by a model that can think."""

import shutil
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.agent.wires import ScriptedModel, Sent

from bench.agent.scripts import Player, is_done, script_of
from bench.context.servers import EXAMPLES
from bench.context.tasks import Task
from bench.surroundings import Home, example_server
from bench.tokens import _compact, _count
from satchel import Satchel, open_satchel
from satchel.config.agents import Mode
from satchel.model import Answer, ToolBegan, TurnEnded, Usage

SCRIPTED = "scripted"


@dataclass(frozen=True, kw_only=True)
class Played:
    """A task done in one mode. `sent` is what went over the wire, where that was ours."""

    task: Task
    mode: Mode
    done: bool
    answer: str
    ended: str
    usage: Usage
    calls: tuple[str, ...]
    seconds: float
    sent: tuple[Sent, ...] = ()

    @property
    def turns(self) -> int:
        return self.usage.requests

    @cached_property
    def contexts(self) -> tuple[int, ...]:
        """Tokens that were read in each turn, counted from what was sent."""
        return tuple(map(tokens_of, self.sent))

    @property
    def read(self) -> int:
        """As counted from the wire; else as the provider says."""
        return sum(self.contexts) if self.sent else self.usage.input_tokens


def tokens_of(sent: Sent) -> int:
    """The system text, the definitions, and all messages: what a model reads of one request."""
    messages = [{key: value for key, value in each.items() if key != "role"} for each in _said(sent)]
    return before(sent) + sum(_count(_compact(message)) for message in messages)


def before(sent: Sent) -> int:
    """What is read before the first message."""
    definitions = [each.get("function", each) for each in sent.raw.get("tools", ())]
    return _count(sent.system) + sum(_count(_compact(each)) for each in definitions)


def _said(sent: Sent) -> list[dict[str, Any]]:
    return [each for each in sent.raw["messages"] if each["role"] not in ("system", "developer")]


@asynccontextmanager
async def open_place(home: Home, models: Mapping[str, Any]) -> AsyncGenerator[Satchel]:
    """A project with the example services; its agent has no memory, so that each task begins alike."""
    home.configure({name: example_server(name.replace("-", "_")) for name in EXAMPLES})
    agent = {"memory": {"enabled": False}, "limits": {"requests": 40, "seconds": 600}}
    settings = {"agents": {"default": agent}, "models": dict(models)}
    (home.project / "satchel.yaml").write_text(_compact(settings), encoding="utf-8")
    environment = {**home.environment, "SCRIPTED_KEY": "none"}
    async with open_satchel(home.project, environment=environment) as satchel:
        await satchel.servers.refresh()
        yield satchel


async def play(satchel: Satchel, home: Home, task: Task, mode: Mode, model: str) -> Played:
    """Have an agent do a task whose services are as new."""
    state = Path(home.environment["HOME"]) / "examples-state"
    shutil.rmtree(state, ignore_errors=True)
    calls: list[str] = []
    answer = Answer(text="", conversation="", ended="cancelled")
    began = time.perf_counter()
    async for event in satchel.agents.run("default", task.text, model=model, mode=mode):
        if isinstance(event, ToolBegan):
            calls.append(event.name)
        elif isinstance(event, TurnEnded):
            answer = event.answer
    return Played(
        task=task,
        mode=mode,
        done=is_done(task, state, answer.text),
        answer=answer.text,
        ended=answer.ended,
        usage=answer.usage,
        calls=tuple(calls),
        seconds=time.perf_counter() - began,
    )


async def play_scripts(satchel: Satchel, home: Home, model: ScriptedModel, task: Task, mode: Mode) -> Played:
    model.requests.clear()
    model.answer = Player(script_of(task, mode))
    played = await play(satchel, home, task, mode, SCRIPTED)
    return replace(played, sent=tuple(model.requests))

"""`make_lead_agent(config)`: an agent of Satchel's, made and invoked like an agent of LangGraph.

    agent = make_lead_agent({"configurable": {"agent_name": "reporter", "model_name": "openai:gpt-5-mini"}})
    state = await agent.ainvoke({"messages": [{"role": "user", "content": "Compare both quarters."}]})

Thin over `satchel.agents`, and not a graph: the prompt, the tools and everything around a call are those of
`satchel ask`. LangGraph is not imported.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio

from satchel.app import open_satchel
from satchel.errors import ArgumentError
from satchel.model import Answer, Json, TurnEnded, TurnEvent, TurnRequest, is_list, is_object
from satchel.names import closest
from satchel.support.charging import apart
from satchel.toolset import Toolset
from satchel.toolset.prompting import instructions_for
from satchel.verbs.satchel import Satchel

_FIELDS = {  # of `configurable`, by the fields of a request that they become
    "agent_name": "agent",
    "agent": "agent",
    "model_name": "model",
    "model": "model",
    "thread_id": "conversation",
    "conversation": "conversation",
    "skill": "skill",
    "mode": "mode",
    "code_execution_mode": "mode",
}
_MODES = {"always": "code", "never": "direct"}
_WITHOUT_EFFECT = frozenset(  # what others configure; here the model, or satchel.yaml, decides
    {"thinking_enabled", "is_plan_mode", "subagent_enabled", "max_concurrent_subagents", "reasoning_effort"}
)


@dataclass(frozen=True, kw_only=True)
class LeadAgent:
    """Each of its runs is a turn. Without an open `satchel`, one is opened for each run, below `path`."""

    request: TurnRequest
    satchel: Satchel | None = None
    path: Path | None = None

    async def ainvoke(self, state: Any, config: Mapping[str, Any] | None = None) -> Json:
        """Do what the last message of a user says.

        The result has the messages, the last one with the answer, and the conversation as `thread_id`.
        """
        request = self._for(state, config)
        async with self._opened() as satchel:
            return _state(request, await satchel.agents.turn(request))

    def invoke(self, state: Any, config: Mapping[str, Any] | None = None) -> Json:
        """The same for programs without an event loop."""
        return anyio.run(self.ainvoke, state, config)

    async def astream(
        self, state: Any, config: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[TurnEvent | Json]:
        """The events of the turn as they happen, and at the end what `ainvoke` gives."""
        request = self._for(state, config)
        async with self._opened() as satchel:
            async for event in satchel.agents.turn(request):
                yield event
                if isinstance(event, TurnEnded):
                    yield _state(request, event.answer)

    async def prompt(self) -> str:
        """The system prompt with which a conversation begins now."""
        async with self._opened() as satchel:
            agent = self.request.agent
            toolset = Toolset(satchel, agent=agent)
            told = await apart(toolset.memory)
            first = Toolset(satchel, agent=agent, level=toolset.first_level)
            delegates = satchel.project.agent(agent).delegates
            return await apart(lambda: instructions_for(satchel, first, told.text, delegates=delegates))

    def _for(self, state: Any, config: Mapping[str, Any] | None) -> TurnRequest:
        return replace(_configured(self.request, config), text=_last_words(state))

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[Satchel]:
        if self.satchel is not None:
            yield self.satchel
            return
        async with open_satchel(self.path) as satchel:
            yield satchel


def make_lead_agent(
    config: Mapping[str, Any] | None = None, *, satchel: Satchel | None = None, path: Path | None = None
) -> LeadAgent:
    """An agent for `config`, of which `configurable` counts. ArgumentError for what it can't mean."""
    return LeadAgent(request=_configured(TurnRequest(), config), satchel=satchel, path=path)


def _configured(request: TurnRequest, config: Mapping[str, Any] | None) -> TurnRequest:
    given: Any = (config or {}).get("configurable") or {}
    if not is_object(given):
        raise ArgumentError("'configurable' is not an object", argument="configurable")
    fields: dict[str, Any] = {}
    for key, value in given.items():
        if key in _WITHOUT_EFFECT or key.startswith("__") or value is None:  # LangGraph's own begin so
            continue
        if key not in _FIELDS:
            known = sorted(_FIELDS)
            near = closest(key[:80], known, limit=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise ArgumentError(f"'configurable' has no '{key[:80]}'", argument="configurable", hint=hint)
        if not isinstance(value, str):
            raise ArgumentError(f"configurable.{key} is not a text", argument="configurable")
        fields[_FIELDS[key]] = _MODES.get(value, value) if _FIELDS[key] == "mode" else value
    return replace(request, **fields)


def _last_words(state: Any) -> str:
    """What the user says: a text, or the last message of `messages` in any of the usual forms."""
    messages: Any = state.get("messages") if is_object(state) else state
    if isinstance(messages, str):
        return messages
    if not is_list(messages) or not messages:
        hint = 'give {"messages": [{"role": "user", "content": "…"}]}'
        raise ArgumentError("there is no message", hint=hint)
    last: Any = messages[-1]
    if isinstance(last, str):
        return last
    role, content = _parts(last)
    if role not in ("user", "human") or not isinstance(content, str):
        raise ArgumentError("the last message is not a text of the user", argument="messages")
    return content


def _parts(message: Any) -> tuple[object, object]:
    """Role and content of a message: a pair, an object, or a message of LangChain."""
    if is_object(message):
        return message.get("role") or message.get("type"), message.get("content")
    match message:
        case (str() as role, content):
            return role, content
        case _:
            return getattr(message, "type", None), getattr(message, "content", None)


def _state(request: TurnRequest, answer: Answer) -> Json:
    return {
        "messages": [
            {"role": "user", "content": request.text},
            {"role": "assistant", "content": answer.text},
        ],
        "thread_id": answer.conversation,
        "ended": answer.ended,
        "reason": answer.reason,
        "files": list(answer.files),
        "usage": answer.usage.as_json(),
    }

"""Conversations of Satchel's own loop: what was said and done, in a form that no library decides.

A conversation only grows. What a model is sent of it is computed anew for each request.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from satchel.model.events import Event
from satchel.model.servers import Json

VERSION = 1
"""Of the form of messages; a conversation of a newer one is refused."""

Role = Literal["user", "model", "tools", "switch"]


@dataclass(frozen=True, kw_only=True)
class Message:
    """One step of a conversation.

    user     {text}
    model    {parts: [{type: text | thinking | call, …}], model, usage}
    tools    {results: [{id, name, text, outcome}]}, one for each call of the message before
    switch   {skills: [name, …], call}: from here on the model is in the context of the last of them
    """

    role: Role
    content: Mapping[str, Any]
    at: str = ""

    @property
    def calls(self) -> list[Json]:
        """The calls that a model has asked for."""
        return [part for part in self.content.get("parts", ()) if part.get("type") == "call"]

    @property
    def text(self) -> str:
        """What a person or a model has said."""
        if self.role == "user":
            return str(self.content.get("text", ""))
        return "".join(part["text"] for part in self.content.get("parts", ()) if part.get("type") == "text")


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What requests to models took."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0  # in US dollars; None once a price was not known

    def __add__(self, other: "Usage") -> "Usage":
        costs = self.cost is not None and other.cost is not None
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=(self.cost or 0) + (other.cost or 0) if costs else None,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def as_json(self) -> Json:
        return {
            "requests": self.requests,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": self.cost,
        }


@dataclass(frozen=True, kw_only=True)
class ConversationRecord:
    """A conversation as the store has it; its messages only where they were asked for."""

    id: str
    agent: str
    title: str
    state: str  # open, running, interrupted
    version: int = VERSION
    started_at: str = ""
    changed_at: str = ""
    memory: str = ""  # what the model was told of its memory, which stays the same to the end
    usage: Usage = field(default_factory=Usage)
    reads: tuple[Json, ...] = ()  # what was read in it: {server, what, labels}
    messages: tuple[Message, ...] = ()

    @property
    def skills(self) -> tuple[str, ...]:
        """The skills in whose contexts it is, the first one first."""
        for message in reversed(self.messages):
            if message.role == "switch":
                return tuple(message.content.get("skills", ()))
        return ()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How a turn ended."""

    text: str
    conversation: str
    ended: str = "answered"  # or: approval, requests, tokens, cost, seconds, cancelled
    reason: str = ""
    waiting: tuple[Json, ...] = ()  # the approvals that it waits for
    usage: Usage = field(default_factory=Usage)
    files: tuple[str, ...] = ()  # those that were presented to the person

    @property
    def exit_code(self) -> int:
        return {"answered": 0, "approval": 6, "cancelled": 130}.get(self.ended, 1)

    def as_json(self) -> Json:
        value: Json = {"text": self.text, "conversation": self.conversation, "ended": self.ended}
        if self.reason:
            value["reason"] = self.reason
        if self.waiting:
            value["waiting"] = list(self.waiting)
        if self.files:
            value["files"] = list(self.files)
        return value | {"usage": self.usage.as_json()}


@dataclass(frozen=True, kw_only=True)
class TurnBegan:
    """A turn has begun; its conversation can be resumed by this id from now on."""

    conversation: str
    agent: str
    model: str


@dataclass(frozen=True, kw_only=True)
class ModelAsked:
    """A request is sent to the model."""

    number: int
    skill: str = ""  # the specialist, if one is asked


@dataclass(frozen=True, kw_only=True)
class TextDelta:
    """A piece of what the model says."""

    text: str


@dataclass(frozen=True, kw_only=True)
class ModelAnswered:
    """The model has answered: with text, or with calls."""

    text: str
    calls: int
    usage: Usage


@dataclass(frozen=True, kw_only=True)
class ToolBegan:
    """A call of the model is carried out."""

    id: str
    name: str
    arguments: Json


@dataclass(frozen=True, kw_only=True)
class ToolTold:
    """What happens while a call is carried out."""

    id: str
    event: Event


@dataclass(frozen=True, kw_only=True)
class ToolEnded:
    id: str
    name: str
    outcome: str  # ok, error, interrupted, approval
    ms: float
    text: str


@dataclass(frozen=True, kw_only=True)
class SkillSwitched:
    """The model is in another context now: that of the last of these skills, or the router's."""

    skills: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TodosWritten:
    todos: tuple[Json, ...]  # {content, status}


@dataclass(frozen=True, kw_only=True)
class TurnEnded:
    answer: Answer


TurnEvent = (
    TurnBegan
    | ModelAsked
    | TextDelta
    | ModelAnswered
    | ToolBegan
    | ToolTold
    | ToolEnded
    | SkillSwitched
    | TodosWritten
    | TurnEnded
)
TellTurn = Callable[[TurnEvent], None]


def silent_turn(event: TurnEvent) -> None:
    """For callers that don't listen."""


@dataclass(frozen=True, kw_only=True)
class TurnRequest:
    """What an agent is asked to do. Without a text, a conversation goes on where it stopped.

    `ask` is who answers questions of the model, if somebody does.
    """

    agent: str = "default"
    text: str = ""
    conversation: str | None = None  # the id of one to go on with
    model: str | None = None  # instead of the agent's own
    skill: str | None = None  # begin with the specialist of this skill
    requests: int | None = None  # instead of the agent's limit
    seconds: float | None = None
    mode: str | None = None
    stream: bool = True
    ask: Callable[[str, tuple[str, ...]], Awaitable[str]] | None = field(default=None, repr=False)

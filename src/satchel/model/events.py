"""Events: what happens, told while it happens."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from satchel.errors import ServerError
from satchel.model.executions import ToolUse
from satchel.model.servers import Server


@dataclass(frozen=True, kw_only=True)
class ServerListing:
    """A server has been asked what it offers."""

    server: str


@dataclass(frozen=True, kw_only=True)
class ServerListed:
    """A server has answered what it offers."""

    server: Server


@dataclass(frozen=True, kw_only=True)
class ServerFailed:
    """A server could not be listed."""

    server: str
    error: ServerError


@dataclass(frozen=True, kw_only=True)
class ProgramWaits:
    """A program waits for its turn, because too many run already."""

    running: int


@dataclass(frozen=True, kw_only=True)
class ProgramBegins:
    """A program that had to wait begins."""


@dataclass(frozen=True, kw_only=True)
class CallBegan:
    """A program has made a call."""

    tool: str


@dataclass(frozen=True, kw_only=True)
class CallEnded:
    """A call of a program has ended: how, and how many calls it has made so far."""

    use: "ToolUse"
    count: int


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a call has come, as its server tells."""

    progress: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class Output:
    """A piece of what a program has printed, as soon as it was read."""

    stream: Literal["stdout", "stderr"]
    text: str


@dataclass(frozen=True, kw_only=True)
class PersonAsked:
    """A call waits for a person to agree, who is shown it under the approval's id."""

    approval: str
    tool: str


@dataclass(frozen=True, kw_only=True)
class PersonAnswered:
    """That call waits no more: a person has decided, or nobody did in time."""

    approval: str


@dataclass(frozen=True, kw_only=True)
class ResourceFollowed:
    """A server has agreed to tell when a resource changes."""

    uri: str


@dataclass(frozen=True, kw_only=True)
class ResourceChanged:
    """A followed resource has changed."""

    uri: str


Event = (
    ServerListing
    | ServerListed
    | ServerFailed
    | ProgramWaits
    | ProgramBegins
    | CallBegan
    | CallEnded
    | Progress
    | Output
    | PersonAsked
    | PersonAnswered
    | ResourceFollowed
    | ResourceChanged
)


Tell = Callable[[Event], None]
"""Hears what is happening: a line on a terminal, progress of the protocol, a stream, an agent's loop."""


def silent(event: Event) -> None:
    """For callers that don't listen. A server is not even asked for its progress."""

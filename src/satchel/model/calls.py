"""A call, on whose behalf it is made, and what came of it; the types of the chain."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

from satchel.model.events import PersonAsked, Tell, silent
from satchel.model.reads import Reads
from satchel.model.servers import Json, Prompt, Resource, Tool

Ask = Callable[[str, Json, str], Awaitable[Json]]
"""A server's request: method, params, and the key that it has there or "" → the client's result."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Client:
    """The MCP client that a call is made for, as far as a server may turn to it while the call lasts."""

    key: object  # equal for requests of the same person
    can: frozenset[str] = frozenset()  # of "elicitation", "sampling" and "roots"
    name: str = ""  # as it calls itself
    handshake: bool = False  # it is of the era before 2026, and a server of both asks it in the way of that
    ask: "Ask"
    log: Callable[[Json], None] = field(default=lambda params: None)
    log_level: str | None = None  # from which on it wants to hear what a server logs, if it said so


@dataclass(frozen=True, kw_only=True)
class Caller:
    """On whose behalf something is asked, and what that one may do."""

    agent: str = "default"
    execution: str | None = None  # the id of the program that asks, if one does
    conversation: str | None = None
    client: Client | None = field(default=None, repr=False, compare=False)
    read_only: bool = False  # nothing but reading may come of it
    only: tuple[str, ...] | None = None  # the tools that the active skill allows, where that is enforced
    reads: Reads | None = field(default=None, repr=False, compare=False)  # what has been read so far
    session: str | None = None  # a mark of the session that the program runs in
    purpose: str = ""  # the model's own words about the program
    asked: Callable[[PersonAsked], AbstractAsyncContextManager[object]] = field(
        default=nullcontext, repr=False, compare=False
    )
    """Hears that a person is asked, and does not charge the program for the time until that is over."""


DEFAULT_CALLER = Caller()


@dataclass(frozen=True, kw_only=True)
class Question:
    """Why a person has to agree before a call is sent. Links that ask for that add one to the call."""

    rule: str  # the setting that says so: `agents.default.approve`, `flows[1]`
    why: str


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a tool, reading of a resource or filling in of a prompt; of the latter two also others.

    A resource can be followed: the call lasts as long as its server tells of changes. For a prompt or a
    resource template, arguments can be completed: the call's arguments are then the request's parameters.
    """

    what: Tool | Resource | Prompt
    action: Literal["use", "follow", "complete"] = "use"
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    caller: Caller = DEFAULT_CALLER
    timeout: float | None = None
    questions: tuple[Question, ...] = ()
    occurrence: int = 1  # of the same call with the same arguments in its execution
    approval: str | None = None  # the id of a person's agreement, which is used up when the call is sent
    record: int | None = None  # its number in the journal, where it is needed before the call is sent
    tell: Tell = field(default=silent, repr=False, compare=False)

    @property
    def label(self) -> str:
        """Its name in the journal."""
        return self.what.label if self.action == "use" else f"{self.action}:{self.what.label}"


@dataclass(frozen=True, kw_only=True)
class CallResult:
    """A call's result: content blocks as sent, and structured content if the tool has it."""

    content: tuple[Json, ...] = ()
    structured: Any = None
    has_structured: bool = False
    is_error: bool = False
    meta: Json | None = None  # what the server sent besides, for clients that know it
    waiting: tuple[Json, ...] = ()  # {approval, tool}: what a person has to decide first; no server says this

    @property
    def text(self) -> str:
        """The text blocks, one after the other."""
        return "\n".join(block["text"] for block in self.content if isinstance(block.get("text"), str))


CallTool = Callable[[Call], Awaitable[CallResult]]


Link = Callable[[CallTool], CallTool]
"""One concern of every call, wrapped around what comes next."""

"""Approvals: calls that wait for a person to agree, and what the person decided."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from satchel.model.calls import Question
from satchel.model.reads import Source

ApprovalState = Literal[
    "waiting",
    "approved",
    "used",  # the call was sent: committed together with that, and never again
    "denied",
    "expired",  # nobody decided, or nobody used it, in time
    "void",  # the tool's definition has changed since, or nobody waits for it any more
]
Scope = Literal["once", "execution", "session", "conversation"]


@dataclass(frozen=True, kw_only=True)
class Approval:
    """One call that a person has to agree to. It is good for exactly that call, and for one time."""

    id: str
    state: ApprovalState
    agent: str
    conversation: str | None = None
    execution: str | None = None
    session: str | None = None
    occurrence: int = 1  # of this call, with these arguments, in its execution
    server: str
    tool: str
    definition_digest: str = ""
    arguments_digest: str
    arguments: Mapping[str, Any] | None = None  # None where they can't be read here
    edited: Mapping[str, Any] | None = None  # what the person wants sent instead
    questions: tuple[Question, ...] = ()
    reads: tuple[Source, ...] = ()  # what had been read before
    summary: str = ""  # the model's own words about its program
    client: str = ""  # the name that the MCP client gives itself
    requested_at: str  # ISO 8601, UTC
    expires_at: str
    decided_at: str | None = None
    decided_by: str | None = None
    scope: Scope = "once"
    used_at: str | None = None
    call: int | None = None  # the journal's number of the call

    @property
    def name(self) -> str:
        return f"{self.server}.{self.tool}"

    @property
    def sent_arguments(self) -> Mapping[str, Any] | None:
        """What is sent once a person agrees."""
        return self.arguments if self.edited is None else self.edited


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What a person decided on an approval, and who it was."""

    agrees: bool
    by: str
    scope: Scope = "once"
    edited: Mapping[str, Any] | None = None

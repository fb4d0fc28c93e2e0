"""The journal's records of calls, executions, and what models were told of memories."""

from dataclasses import dataclass
from typing import Literal

from satchel.model.servers import Json

CallStatus = Literal[
    "begun",  # a person agreed to it; its server is being connected to, and has not been sent it
    "sent",  # on its way: committed before the server heard of it
    "ok",
    "error",
    "denied",  # refused by the agent's permissions, never sent
    "cancelled",
    "interrupted",  # its Satchel went away; the server may have done it
]


@dataclass(frozen=True, kw_only=True)
class CallRecord:
    """The journal's record of one call."""

    id: int
    execution: str | None
    conversation: str | None = None
    agent: str
    server: str
    tool: str
    status: CallStatus
    started_at: str  # ISO 8601, UTC
    duration_ms: float | None = None
    arguments_digest: str
    arguments_size: int
    result_digest: str | None = None
    result_size: int | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExecutionRecord:
    """The journal's record of one execution. `calls` are read only for one that is shown alone."""

    id: str
    conversation: str | None = None
    agent: str
    language: str
    program: str
    description: str
    state: Literal["running", "done", "interrupted"]
    started_at: str  # ISO 8601, UTC
    call_count: int = 0
    outcome: Json | None = None  # Execution.as_json() without the calls, once it is done
    calls: tuple[CallRecord, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ToldMemoryRecord:
    """The journal's record of a memory that a model was told of, known by the digest of that text."""

    id: str
    conversation: str | None = None
    agent: str
    digest: str  # SHA-256
    tokens: int
    entries: int
    told_at: str  # ISO 8601, UTC

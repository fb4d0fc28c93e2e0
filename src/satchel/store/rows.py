"""What the store is told of a call. Apart from it, so that naming a row does not import SQLAlchemy."""

from dataclasses import dataclass

from satchel.model import CallStatus


@dataclass(frozen=True, kw_only=True)
class NewCall:
    """What is known of a call before it is sent."""

    execution: str | None
    agent: str
    server: str
    tool: str
    arguments_digest: str
    arguments_size: int


@dataclass(frozen=True, kw_only=True)
class FinishedCall:
    """What is known of a call afterwards. `id` is the number that it was begun with."""

    id: int
    status: CallStatus
    duration_ms: float
    result_digest: str | None = None
    result_size: int | None = None
    error: str | None = None

"""A program that is to be run, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from satchel.model.reads import Source
from satchel.model.servers import Json

LONGEST_PROGRAM = 1024 * 1024  # characters


@dataclass(frozen=True, kw_only=True)
class ExecutionRequest:
    """A program that somebody wants run: all that a model may write about it."""

    code: str = ""
    language: str | None = None  # that of the settings
    timeout: float | None = None  # seconds
    session: str | None = None  # the handle of an earlier execution whose variables this one shares, or "new"
    check: bool = False  # nothing is run unless its types fit
    description: str = ""  # a short description for the journal
    resume: str | None = None  # the execution to go on with, instead of a program


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """One call that a program made, as its caller is told."""

    tool: str
    status: Literal["ok", "error", "denied", "refused", "cancelled"]  # nothing was sent: denied, refused
    ms: float
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How a program ended, and what it left for its caller."""

    id: str
    exit_code: int
    stdout: str = ""
    stderr: str = ""
    result: Any = None
    has_result: bool = False
    duration_ms: float = 0
    tools_called: tuple[ToolUse, ...] = ()
    files: tuple[Json, ...] = ()  # {path, size} of what it wrote to its workspace
    truncated: Mapping[str, int] = field(default_factory=dict[str, int])  # characters left out, by stream
    ended: str | None = None  # why it did not end by itself
    reason: str | None = None  # the same as a sentence, with the value
    session: str | None = None  # the handle of the one it ran in, while that lives
    waiting: tuple[Json, ...] = ()  # {approval, tool} of the calls that a person has not decided on
    not_resumable: str | None = None  # why it can't be resumed after that
    reads: tuple[Source, ...] = ()  # what it read, the files that it saw included
    read_before: tuple[Source, ...] = ()  # what its session and its conversation had read before it began

    def as_json(self) -> Json:
        """As a model or a script is told."""
        value: Json = {"exit_code": self.exit_code, "stdout": self.stdout, "stderr": self.stderr}
        if self.has_result:
            value["result"] = self.result
        value["duration_ms"] = round(self.duration_ms, 1)
        value["tools_called"] = [
            {"tool": use.tool, "status": use.status, "ms": round(use.ms, 1)}
            | ({"error": use.error} if use.error else {})
            for use in self.tools_called
        ]
        value["files"] = list(self.files)
        value["truncated"] = dict(self.truncated)
        if self.ended:
            value["ended"] = self.ended
        if self.reason:
            value["reason"] = self.reason
        value["execution_id"] = self.id
        if self.session:
            value["session"] = self.session
        if self.waiting:
            value["waiting"] = list(self.waiting)
        if self.ended == "approval" and not self.not_resumable:
            value["resume"] = self.id
        if self.not_resumable:
            value["not_resumable"] = self.not_resumable
        return value

"""The rows that the journal writes for calls, executions and told memories."""

import json
import secrets
from datetime import UTC, datetime

from satchel.errors import JournalError
from satchel.model import Call, CallResult, CallStatus, Json, ToldMemory
from satchel.store.owners import current_owner
from satchel.store.row_changes import ChangedRow, NewRow, time_as_text
from satchel.support.digests import digest_of

_ERROR_LIMIT = 2_000  # characters, as the next ones
_DESCRIPTION_LIMIT = 2_000
_PROGRAM_LIMIT = 1024 * 1024


def sent_call(call: Call) -> NewRow:
    """Of a call that a person agreed to, `approval_rows.used` says later that it is sent."""
    try:
        digest, size = digest_of(dict(call.arguments))
    except (TypeError, ValueError, RecursionError) as error:
        raise JournalError(
            f"the arguments of {call.what.qualified_name} can't be recorded: {error}",
            hint="pass plain JSON values, not nested too deep",
        ) from error
    return _new_call(call, "sent" if call.approval is None else "begun", digest, size)


def denied_call(call: Call) -> NewRow:
    """Of a call that is refused anyway, the arguments may be anything."""
    try:
        digest, size = digest_of(dict(call.arguments))
    except (TypeError, ValueError, RecursionError):
        digest, size = "", 0
    return _new_call(call, "denied", digest, size)


def ended_call(
    number: int, status: CallStatus, *, ms: float, result: CallResult | None = None, error: str | None = None
) -> ChangedRow:
    digest, size = (None, None) if result is None else _digest_result(result)
    if error is not None and len(error) > _ERROR_LIMIT:
        error = error[: _ERROR_LIMIT - 1] + "…"
    values = {
        "status": status,
        "duration_ms": ms,
        "result_digest": digest,
        "result_size": size,
        "error": error,
    }
    return ChangedRow(table="calls", where={"id": number}, values=values)


def new_execution(
    *, id: str, agent: str, language: str, program: str, description: str, conversation: str | None = None
) -> NewRow:
    values = {
        "id": id,
        "conversation": conversation,
        "agent": agent,
        "language": language,
        "program": _cut(program, _PROGRAM_LIMIT),
        "description": _cut(description, _DESCRIPTION_LIMIT),
        "state": "running",
        "started_at": _now(),
        "owner": current_owner().text,
    }
    return NewRow(table="executions", values=values)


def ended_execution(id: str, outcome: Json) -> ChangedRow:
    """It is done, also where it was taken for interrupted: the process that ran it knows better."""
    values = {"state": "done", "outcome": json.dumps(outcome)}
    return ChangedRow(table="executions", where={"id": id}, values=values)


def told_memory(told: ToldMemory, *, agent: str, conversation: str | None = None) -> NewRow:
    values = {
        "id": secrets.token_hex(8),
        "conversation": conversation,
        "agent": agent,
        "digest": told.digest,
        "tokens": told.tokens,
        "entries": told.entries,
        "told_at": _now(),
    }
    return NewRow(table="told_memories", values=values)


def _new_call(call: Call, status: CallStatus, digest: str, size: int) -> NewRow:
    values = {
        "execution": call.caller.execution,
        "conversation": call.caller.conversation,
        "agent": call.caller.agent,
        "server": call.what.server,
        "tool": call.label,
        "status": status,
        "arguments_digest": digest,
        "arguments_size": size,
        "started_at": _now(),
        "owner": current_owner().text,
    }
    return NewRow(table="calls", values=values)


def _now() -> str:
    return time_as_text(datetime.now(UTC))


def _cut(text: str, limit: int) -> str:
    left_out = len(text) - limit
    return text if left_out <= 0 else f"{text[:limit]}\n… {left_out} characters left out"


def _digest_result(result: CallResult) -> tuple[str, int] | tuple[None, None]:
    value: Json = {"content": result.content}
    if result.has_structured:
        value["structuredContent"] = result.structured
    try:
        return digest_of(value)
    except (TypeError, ValueError, RecursionError):  # the result is there; how the call ended still counts
        return None, None

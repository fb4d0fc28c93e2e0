"""Every statement that the store sends, built once: SQLAlchemy then compiles each only once, too."""

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, bindparam, func, insert, select, union, update

from satchel.model import CallRecord, ExecutionRecord
from satchel.store.tables import SafeText, calls, executions

_running = executions.c.state == "running"
_sent = calls.c.status == "sent"
_gone = bindparam("gone", type_=SafeText(), expanding=True)

INSERT_EXECUTION = insert(executions)
FINISH_EXECUTION = (
    update(executions)
    .where(executions.c.id == bindparam("execution"))
    .values(state=bindparam("state"), outcome=bindparam("outcome"))
)

INSERT_CALL = insert(calls)
FINISH_CALL = (
    update(calls)
    .where(calls.c.id == bindparam("number"))
    .values(
        {name: bindparam(name) for name in ("status", "duration_ms", "result_digest", "result_size", "error")}
    )
)

OWNERS_UNDER_WAY = union(select(executions.c.owner).where(_running), select(calls.c.owner).where(_sent))
INTERRUPT_EXECUTIONS = (
    update(executions).where(_running, executions.c.owner.in_(_gone)).values(state="interrupted")
)
INTERRUPT_CALLS = update(calls).where(_sent, calls.c.owner.in_(_gone)).values(status="interrupted")

_call_count = select(func.count()).where(calls.c.execution == executions.c.id).scalar_subquery()
SELECT_EXECUTIONS = select(
    *(executions.c[field.name] for field in fields(ExecutionRecord) if field.name in executions.c),
    _call_count.label("call_count"),
)
SELECT_CALLS = select(*(calls.c[field.name] for field in fields(CallRecord)))


def narrow(
    query: Select[Any], table: Table, *, since: datetime | None = None, **wanted: str | None
) -> Select[Any]:
    """Only rows with the wanted values, and only from `since` on."""
    conditions: list[ColumnElement[bool]] = [
        table.c[name] == value for name, value in wanted.items() if value is not None
    ]
    if since is not None:
        conditions.append(table.c.started_at >= as_text(since))
    return query.where(*conditions)


def ids_beginning_with(prefix: str, limit: int) -> Select[Any]:
    """Not LIKE, which has wildcards, and which cares for case in one of the databases only."""
    start = func.substr(executions.c.id, 1, len(prefix), type_=SafeText())
    return select(executions.c.id).where(start == prefix).order_by(executions.c.number.desc()).limit(limit)


def as_text(time: datetime) -> str:
    """ISO 8601 in UTC and always as long, so that the order of texts is that of times."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")

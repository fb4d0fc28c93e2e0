"""How the journal is read, and what opening it marks. `journal_rows.py` is what is written."""

import json
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, bindparam, func, select, union, update

from satchel.errors import NotFoundError
from satchel.model import CallRecord, ExecutionRecord, Json, ToldMemoryRecord, is_object
from satchel.store.column_types import SafeText
from satchel.store.journal_tables import (
    calls,
    executions,
    is_begun,
    is_running,
    is_sent,
    told_memories,
)
from satchel.store.owners import is_gone_by_text
from satchel.store.row_changes import time_as_text
from satchel.store.store import Store

_CLOSEST = 5  # executions that are suggested where an id is ambiguous

# Statements are built once: SQLAlchemy then compiles each only once, too.
_owners_under_way = union(
    select(executions.c.owner).where(is_running),
    select(calls.c.owner).where(is_sent),
    select(calls.c.owner).where(is_begun),
)
_gone = bindparam("gone", type_=SafeText(), expanding=True)
_interrupt_executions = (
    update(executions).where(is_running, executions.c.owner.in_(_gone)).values(state="interrupted")
)
_interrupt_calls = update(calls).where(is_sent, calls.c.owner.in_(_gone)).values(status="interrupted")
_cancel_calls = update(calls).where(is_begun, calls.c.owner.in_(_gone)).values(status="cancelled")

_call_count = select(func.count()).where(calls.c.execution == executions.c.id).scalar_subquery()
_select_executions = select(
    *(executions.c[field.name] for field in fields(ExecutionRecord) if field.name in executions.c),
    _call_count.label("call_count"),
)
_select_calls = select(*(calls.c[field.name] for field in fields(CallRecord)))
_select_told_memories = select(*(told_memories.c[field.name] for field in fields(ToldMemoryRecord)))


def mark_interrupted(store: Store) -> int:
    """Mark what was under way in processes that are gone, and tell how many rows that were."""
    owners = store.read(lambda connection: connection.scalars(_owners_under_way).all())
    gone = [owner for owner in owners if is_gone_by_text(owner)]
    if not gone:
        return 0

    def work(connection: Connection) -> int:
        marks = (_interrupt_executions, _interrupt_calls, _cancel_calls)
        return sum(connection.execute(mark, {"gone": gone}).rowcount for mark in marks)

    return store.write(work)


def find_executions(
    connection: Connection, *, agent: str | None = None, since: datetime | None = None, limit: int = 50
) -> list[ExecutionRecord]:
    """The newest first, without their calls."""
    query = _narrow(_select_executions, executions, agent=agent, since=since)
    rows = connection.execute(query.order_by(executions.c.number.desc()).limit(limit)).mappings()
    return [_execution_record(row) for row in rows]


def find_execution(connection: Connection, id: str) -> ExecutionRecord | None:
    """The execution of that id, or the only one whose id begins like that; with its calls in order."""
    query = _narrow(_select_executions, executions, id=id)
    row = connection.execute(query).mappings().first()
    if row is None:
        ids = connection.scalars(_ids_beginning_with(id)).all() if id else ()
        if len(ids) > 1:
            raise NotFoundError("execution", id, closest=ids)
        return find_execution(connection, ids[0]) if ids else None
    query = _narrow(_select_calls, calls, execution=row["id"]).order_by(calls.c.id)
    made = tuple(CallRecord(**call) for call in connection.execute(query).mappings())
    return replace(_execution_record(row), calls=made)


def find_calls(
    connection: Connection, *, since: datetime | None = None, limit: int = 100, **wanted: str | None
) -> list[CallRecord]:
    """The newest first; `wanted` are values of columns."""
    query = _narrow(_select_calls, calls, since=since, **wanted)
    rows = connection.execute(query.order_by(calls.c.id.desc()).limit(limit)).mappings()
    return [CallRecord(**row) for row in rows]


def find_told_memories(
    connection: Connection, *, agent: str | None = None, conversation: str | None = None, limit: int = 100
) -> list[ToldMemoryRecord]:
    """The newest first."""
    query = _narrow(_select_told_memories, told_memories, agent=agent, conversation=conversation)
    newest_first = query.order_by(told_memories.c.told_at.desc(), told_memories.c.id)
    return [ToldMemoryRecord(**row) for row in connection.execute(newest_first.limit(limit)).mappings()]


def _narrow(
    query: Select[Any], table: Table, *, since: datetime | None = None, **wanted: str | None
) -> Select[Any]:
    """Only rows with the wanted values, and only from `since` on."""
    conditions: list[ColumnElement[bool]] = [
        table.c[name] == value for name, value in wanted.items() if value is not None
    ]
    if since is not None:
        conditions.append(table.c.started_at >= time_as_text(since))
    return query.where(*conditions)


def _ids_beginning_with(prefix: str) -> Select[Any]:
    """Not LIKE, which has wildcards, and which cares for case in one of the databases only."""
    start = func.substr(executions.c.id, 1, len(prefix), type_=SafeText())
    newest_first = select(executions.c.id).where(start == prefix).order_by(executions.c.number.desc())
    return newest_first.limit(_CLOSEST)


def _execution_record(row: Any) -> ExecutionRecord:
    values: Json = {**row, "outcome": _read_outcome(row["outcome"])}
    return ExecutionRecord(**values)


def _read_outcome(text: str | None) -> Json | None:
    """What Satchel did not write like that is given as it is."""
    if text is None:
        return None
    try:
        outcome = json.loads(text)
    except (ValueError, RecursionError):
        outcome = None
    return outcome if is_object(outcome) else {"malformed": text}

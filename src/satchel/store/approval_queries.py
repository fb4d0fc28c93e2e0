"""How approvals are read. `approval_rows.py` is what is written."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select, update

from satchel.errors import NotFoundError
from satchel.model import Call
from satchel.store.approval_tables import approvals, is_waiting, suspensions
from satchel.store.column_types import SafeText
from satchel.store.store import Store

_CLOSEST = 5  # approvals that are suggested where an id is ambiguous
_all = select(approvals)
_gone = ("used", "denied", "expired", "void")

Row = Mapping[Any, Any]


def find(connection: Connection, id: str) -> Row | None:
    """The row of that id, or the only one whose id begins like that."""
    row = connection.execute(_all.where(approvals.c.id == id)).mappings().first()
    if row is not None or not id:
        return row
    start = func.substr(approvals.c.id, 1, len(id), type_=SafeText())
    rows = connection.execute(_all.where(start == id).limit(_CLOSEST)).mappings().all()
    if len(rows) > 1:
        raise NotFoundError("approval", id, closest=[row["id"] for row in rows])
    return rows[0] if rows else None


def find_for(connection: Connection, call: Call, arguments_digest: str, now: str) -> Row | None:
    """The row that was made for exactly this call, and that is not over. The newest, if there are several."""
    wanted = _all.where(
        approvals.c.arguments_digest == arguments_digest,
        approvals.c.agent == call.caller.agent,
        _same_place(call),
        approvals.c.server == call.what.server,
        approvals.c.tool == call.label,
        approvals.c.occurrence == call.occurrence,
        approvals.c.state.in_(("waiting", "approved", "denied")),
        approvals.c.expires_at > now,
    )
    return connection.execute(wanted.order_by(approvals.c.requested_at.desc()).limit(1)).mappings().first()


def _same_place(call: Call) -> ColumnElement[bool]:
    """In the same execution; of a session, in any of its programs, for none of them is run again."""
    caller = call.caller
    if caller.execution is not None and caller.session is not None:
        return approvals.c.session == caller.session
    if caller.execution is not None:  # which a different client may run again
        return approvals.c.execution == caller.execution
    return approvals.c.execution.is_(None) & (approvals.c.conversation == caller.conversation)


def find_grant(connection: Connection, call: Call, definition_digest: str) -> Row | None:
    """A row by which a person has agreed to this tool for the execution, session or conversation."""
    caller = call.caller
    by_program = caller.execution is not None
    session = caller.session if by_program else caller.conversation
    of_same_kind = approvals.c.execution.is_not(None) if by_program else approvals.c.execution.is_(None)
    wanted = _all.where(
        approvals.c.agent == caller.agent,
        approvals.c.server == call.what.server,
        approvals.c.tool == call.label,
        approvals.c.definition_digest == definition_digest,
        approvals.c.state.in_(("approved", "used")),
    )
    for scope, is_there, mark in (
        ("execution", approvals.c.execution == caller.execution, caller.execution),
        ("session", (approvals.c.session == session) & of_same_kind, session),
        ("conversation", approvals.c.conversation == caller.conversation, caller.conversation),
    ):
        if mark is not None:
            found = connection.execute(wanted.where(approvals.c.scope == scope, is_there).limit(1))
            if row := found.mappings().first():
                return row
    return None


def states(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    query = select(approvals.c.id, approvals.c.state).where(approvals.c.id.in_(ids))
    return {row.id: row.state for row in connection.execute(query)}


def listed(connection: Connection, *, all_states: bool, agent: str | None, limit: int) -> Sequence[Row]:
    """Those that wait, the oldest first; or all, the newest first."""
    query = _all if agent is None else _all.where(approvals.c.agent == agent)
    if all_states:
        query = query.order_by(approvals.c.requested_at.desc(), approvals.c.id)
    else:
        query = query.where(is_waiting).order_by(approvals.c.requested_at, approvals.c.id)
    return connection.execute(query.limit(limit)).mappings().all()


def of_execution(connection: Connection, execution: str) -> Sequence[Row]:
    return connection.execute(_all.where(approvals.c.execution == execution)).mappings().all()


def expire(store: Store, now: str) -> int:
    """Close what nobody has decided on, or used, in time, and remove what was kept of its programs."""
    due = approvals.c.state.in_(("waiting", "approved")) & (approvals.c.expires_at <= now)
    ended = update(approvals).where(due).values(state="expired", arguments=None, edited=None)
    late = suspensions.c.state.in_(("open", "stopped")) & (suspensions.c.expires_at <= now)
    is_kept = late & suspensions.c.request.is_not(None)

    def has_any(connection: Connection) -> bool:
        return any(connection.scalar(select(func.count()).where(each)) for each in (due, is_kept))

    if not store.read(has_any):
        return 0
    emptied = update(suspensions).where(late).values(request=None, answers=None)

    def work(connection: Connection) -> int:
        connection.execute(emptied)
        return connection.execute(ended).rowcount

    return store.write(work)

"""The rows that an approval's life consists of, each a step from one state to the next.

Every step requires the state before it: of two who decide at once, one finds that there is nothing to decide.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from satchel.model import Approval, ApprovalState, Decision, Json, Question, Source, is_list, is_object
from satchel.store.owners import current_owner
from satchel.store.row_changes import ChangedRow, NewRow, time_as_text
from satchel.support.sealing import Sealer

_SEALED = ("arguments", "edited")
_LONGEST = 2_000  # characters of texts that models and clients write


def requested(approval: Approval, sealer: Sealer) -> NewRow:
    values: dict[str, Any] = {
        **vars(approval),
        "arguments": _sealed(approval.arguments, sealer, approval.id, "arguments"),
        "questions": json.dumps([vars(question) for question in approval.questions]),
        "reads": json.dumps([source_as_json(source) for source in approval.reads]),
        "summary": approval.summary[:_LONGEST],
        "client": approval.client[:_LONGEST],
        "owner": current_owner().text,
    }
    return NewRow(table="approvals", values=values)


def decided(id: str, decision: Decision, sealer: Sealer) -> ChangedRow:
    values: dict[str, Any] = {
        "state": "approved" if decision.agrees else "denied",
        "decided_at": now(),
        "decided_by": decision.by[:_LONGEST],
        "scope": decision.scope,
    }
    if decision.edited is not None:
        values["edited"] = _sealed(decision.edited, sealer, id, "edited")
    if not decision.agrees:
        values["arguments"] = None
    return _step(id, "waiting", values)


def used(id: str, call: int) -> tuple[ChangedRow, ChangedRow]:
    """The approval is used up, and its call is sent: both or neither."""
    values = {"state": "used", "used_at": now(), "call": call, "arguments": None, "edited": None}
    sent = ChangedRow(
        table="calls", where={"id": call, "status": "begun"}, values={"status": "sent"}, required=True
    )
    return sent, _step(id, "approved", values)


def closed(id: str, before: ApprovalState, after: ApprovalState) -> ChangedRow:
    """Nobody can decide on it, or use it, any more."""
    return _step(id, before, {"state": after, "arguments": None, "edited": None})


def now() -> str:
    return time_as_text(datetime.now(UTC))


def approval_of(row: Mapping[Any, Any], sealer: Sealer | None = None) -> Approval:
    """The approval that a row is; with a sealer, with its arguments."""
    values = {name: value for name, value in row.items() if name not in ("owner", *_SEALED)}
    values["questions"] = tuple(
        Question(rule=str(each.get("rule")), why=str(each.get("why"))) for each in _objects(row["questions"])
    )
    values["reads"] = tuple(map(source_of, _objects(row["reads"])))
    if sealer is not None:
        values |= {name: _unsealed(row[name], sealer, row["id"], name) for name in _SEALED}
    return Approval(**values)


def source_as_json(source: Source) -> Json:
    return {**vars(source), "labels": sorted(source.labels)}


def source_of(value: Json) -> Source:
    """What was read, as it was written; in doubt, with all labels that are named."""
    labels = value.get("labels")
    return Source(
        server=str(value.get("server", "")),
        what=str(value.get("what")),
        labels=frozenset(map(str, labels)) if is_list(labels) else frozenset(),
        is_cut=value.get("is_cut") is True,
        agent=str(value.get("agent", "")),
    )


def _step(id: str, before: ApprovalState, values: Mapping[str, Any]) -> ChangedRow:
    return ChangedRow(table="approvals", where={"id": id, "state": before}, values=values, required=True)


def _sealed(value: Mapping[str, Any] | None, sealer: Sealer, id: str, name: str) -> str | None:
    return None if value is None else sealer.seal(json.dumps(dict(value)), f"{name} of approval {id}")


def _unsealed(sealed: str | None, sealer: Sealer, id: str, name: str) -> Mapping[str, Any] | None:
    if sealed is None:
        return None
    value = json.loads(sealer.unseal(sealed, f"{name} of approval {id}"))
    return value if is_object(value) else None


def _objects(text: str) -> list[dict[str, Any]]:
    """The objects of a list in JSON; a database that others write to may have anything there."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [each for each in found if is_object(each)] if is_list(found) else []

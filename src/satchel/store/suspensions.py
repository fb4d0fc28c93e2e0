"""Programs that stopped for a person: what is needed to run one again, once, and with the same answers.

What they were answered is sealed, and removed once the program has been run again, or has ended otherwise.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from satchel.model import Json, is_object
from satchel.store.approval_rows import now
from satchel.store.owners import current_owner, is_gone_by_text
from satchel.store.row_changes import ChangedRow, NewRow, Unmatched, time_as_text
from satchel.store.writer import Writer
from satchel.support.sealing import Sealer

if TYPE_CHECKING:
    from sqlalchemy import Connection

State = Literal["open", "stopped", "resumed", "over"]
_DECIDED = ("approved", "denied")


@dataclass(frozen=True, kw_only=True)
class Suspension:
    """An execution that stopped, or that waits now in the process that runs it."""

    execution: str
    agent: str
    state: State
    is_left: bool = False  # the process that ran it is gone
    request: Json = field(default_factory=dict[str, Any])
    answers: Mapping[str, Json] = field(default_factory=dict[str, Any])
    reads: tuple[Json, ...] = ()
    problem: str | None = None  # why it can't be run again
    resumed_as: str | None = None
    expires_at: str = ""


class Suspensions:
    """The table of suspended executions."""

    def __init__(self, writer: Writer, sealer: Sealer) -> None:
        self._writer = writer
        self._sealer = sealer

    async def begin(self, suspension: Suspension, seconds: float) -> None:
        """Commit what an execution needs to be run again, before it waits for the first time."""
        expires = datetime.now(UTC) + timedelta(seconds=seconds)
        values = self._values(suspension) | {
            "execution": suspension.execution,
            "agent": suspension.agent,
            "state": suspension.state,
            "owner": current_owner().text,
            "expires_at": time_as_text(expires),
        }
        await self._writer.begin(NewRow(table="suspensions", values=values), quick=False)

    async def update(self, suspension: Suspension) -> None:
        """Commit what it was answered since, or that it has stopped. Also while everything is cancelled."""
        values = self._values(suspension) | {"state": suspension.state}
        if suspension.state == "over":
            values |= {"request": None, "answers": None}
        change = ChangedRow(table="suspensions", where={"execution": suspension.execution}, values=values)
        await self._writer.finish(change)

    async def claim(self, execution: str, before: State, new: str) -> bool:
        """Commit that it is run again as `new`, with its decisions; false where somebody else has done so."""
        claimed = ChangedRow(
            table="suspensions",
            where={"execution": execution, "state": before},
            values={"state": "resumed", "resumed_as": new, "request": None, "answers": None},
            required=True,
        )
        decided = [
            ChangedRow(
                table="approvals",
                where={"execution": execution, "state": state},
                values={"execution": new},
            )
            for state in _DECIDED
        ]
        try:
            await self._writer.begin(claimed, *decided, quick=False)
        except Unmatched:
            return False
        return True

    async def find(self, execution: str) -> Suspension | None:
        """That of an execution, by its whole id: who knows only a beginning may have guessed it."""
        row = await self._writer.read(lambda connection: _find(connection, execution))
        if row is None:
            return None
        id = row["execution"]
        is_due = row["expires_at"] <= now() and row["state"] in ("open", "stopped")
        return Suspension(
            execution=id,
            agent=row["agent"],
            state=row["state"],
            is_left=is_gone_by_text(row["owner"]),
            request=self._opened(row["request"], id, "request"),
            answers=self._opened(row["answers"], id, "answers"),
            reads=tuple(json.loads(row["reads"])),
            problem="nobody decided in time" if is_due else row["problem"],
            resumed_as=row["resumed_as"],
            expires_at=row["expires_at"],
        )

    def _values(self, suspension: Suspension) -> dict[str, Any]:
        id = suspension.execution
        return {
            "request": self._sealer.seal(json.dumps(suspension.request), f"request of execution {id}"),
            "answers": self._sealer.seal(json.dumps(suspension.answers), f"answers of execution {id}"),
            "reads": json.dumps(list(suspension.reads)),
            "problem": suspension.problem,
        }

    def _opened(self, sealed: str | None, id: str, name: str) -> Json:
        if sealed is None:
            return {}
        value = json.loads(self._sealer.unseal(sealed, f"{name} of execution {id}"))
        return value if is_object(value) else {}


def _find(connection: "Connection", execution: str) -> Mapping[Any, Any] | None:
    # SQLAlchemy takes a third of a second to import.
    from sqlalchemy import select

    from satchel.store.approval_tables import suspensions

    wanted = select(suspensions).where(suspensions.c.execution == execution)
    return connection.execute(wanted).mappings().first()

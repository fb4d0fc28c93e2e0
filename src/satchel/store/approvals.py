"""Approvals for those who must not wait: asked for, decided, used, each step committed before it counts."""

from collections.abc import Sequence

from satchel.model import Approval, ApprovalState, Call, Decision
from satchel.store import approval_rows as rows
from satchel.store.row_changes import Unmatched
from satchel.store.writer import Writer
from satchel.support.sealing import Sealer


class ApprovalStore:
    """The table of approvals. Arguments are sealed: the database of a team may be read by others."""

    def __init__(self, writer: Writer, sealer: Sealer) -> None:
        self._writer = writer
        self._sealer = sealer

    async def expire(self) -> int:
        """Close what nobody has decided on, or used, in time; tell how many that were."""
        return await self._writer.change(lambda store: _queries().expire(store, rows.now()))

    async def request(self, approval: Approval) -> None:
        """Commit that a person is asked, or that one has agreed already to calls like this."""
        await self._writer.begin(rows.requested(approval, self._sealer), quick=False)

    async def decide(self, id: str, decision: Decision) -> bool:
        """Commit a decision; false where there is nothing to decide any more."""
        return await self._step(rows.decided(id, decision, self._sealer))

    async def close(self, id: str, before: ApprovalState, after: ApprovalState) -> bool:
        return await self._step(rows.closed(id, before, after))

    async def use(self, id: str, call: int) -> bool:
        """Commit that the call is sent and its approval used up; false where that can't be."""
        return await self._step(*rows.used(id, call))

    async def find(self, id: str) -> Approval | None:
        """With its arguments. The id may be the beginning of one."""
        row = await self._writer.read(lambda connection: _queries().find(connection, id))
        return rows.approval_of(row, self._sealer) if row is not None else None

    async def find_for(self, call: Call, arguments_digest: str) -> Approval | None:
        """That of exactly this call, if one is not over."""
        row = await self._writer.read(
            lambda connection: _queries().find_for(connection, call, arguments_digest, rows.now())
        )
        return rows.approval_of(row, self._sealer) if row is not None else None

    async def find_grant(self, call: Call, definition_digest: str) -> Approval | None:
        """An agreement to all calls of the tool in this execution or session."""
        row = await self._writer.read(
            lambda connection: _queries().find_grant(connection, call, definition_digest)
        )
        return rows.approval_of(row) if row is not None else None

    async def of_execution(self, execution: str) -> list[Approval]:
        """All that an execution asked for, without their arguments."""
        found = await self._writer.read(lambda connection: _queries().of_execution(connection, execution))
        return [rows.approval_of(row) for row in found]

    async def states(self, ids: Sequence[str]) -> dict[str, str]:
        return await self._writer.read(lambda connection: _queries().states(connection, ids))

    async def list_all(
        self, *, all_states: bool = False, agent: str | None = None, limit: int = 100
    ) -> list[Approval]:
        """Those that wait, the oldest first; or all, the newest first. Without their arguments."""
        found = await self._writer.read(
            lambda connection: _queries().listed(connection, all_states=all_states, agent=agent, limit=limit)
        )
        return [rows.approval_of(row) for row in found]

    async def _step(self, *changes: "rows.ChangedRow") -> bool:
        try:
            await self._writer.begin(*changes)
        except Unmatched:
            return False
        return True


def _queries():  # its type is the module's
    from satchel.store import approval_queries  # SQLAlchemy takes a third of a second to import

    return approval_queries

"""Approvals for those who decide on them: what waits, what it is, and a person's decision."""

from collections.abc import Callable, Mapping
from typing import Any

from satchel.calls.arguments import check_call
from satchel.catalog import Snapshot
from satchel.errors import ArgumentError, ConflictError, NotFoundError
from satchel.model import Approval, Decision, Scope
from satchel.store.approvals import ApprovalStore
from satchel.store.suspensions import Suspensions
from satchel.support.digests import digest_of


class Approvals:
    """The approvals of a project. `store` is None where there is no database yet."""

    def __init__(
        self,
        store: ApprovalStore | None,
        catalog: Callable[[], Snapshot],
        suspensions: Suspensions | None = None,
    ) -> None:
        self._store = store
        self.suspensions = suspensions
        """The programs that stopped for a person, in an open Satchel."""
        self._catalog = catalog

    async def list_all(
        self, *, all_states: bool = False, agent: str | None = None, limit: int = 100
    ) -> list[Approval]:
        """Those that wait for a decision, the oldest first; or all, the newest first. Without arguments."""
        if self._store is None:
            return []
        await self._store.expire()
        return await self._store.list_all(all_states=all_states, agent=agent, limit=limit)

    async def find(self, id: str) -> Approval:
        """The approval of that id, or the only one whose id begins like that; with its arguments."""
        if self._store is not None:
            await self._store.expire()
            found = await self._store.find(id)
            if found is not None:
                return found
        raise NotFoundError("approval", id, hint="satchel approvals list shows those that wait")

    async def of_execution(self, execution: str) -> list[Approval]:
        """All that an execution asked for, without their arguments."""
        return [] if self._store is None else await self._store.of_execution(execution)

    async def allow(
        self,
        approval: Approval,
        *,
        by: str,
        scope: Scope = "once",
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        """Agree to exactly what was shown, as a person. `arguments` are sent instead of the model's.

        ConflictError where somebody else has decided meanwhile, ArgumentError for arguments that don't fit.
        """
        if approval.state == "waiting" and not _is_whole(approval):
            raise ArgumentError(f"what approval {approval.id} would send can't be read here")
        if scope == "execution" and approval.execution is None:
            raise ArgumentError("the call was not made by a program", argument="for", hint="agree to it once")
        if scope == "session" and approval.session is None:
            raise ArgumentError("the call was not made in a session", argument="for", hint="agree to it once")
        if scope == "conversation" and approval.conversation is None:
            raise ArgumentError(
                "the call was not made in a conversation", argument="for", hint="agree to it once"
            )
        if arguments is not None:
            self.check(approval, arguments)
        await self._decide(approval, Decision(agrees=True, by=by, scope=scope, edited=arguments))

    async def deny(self, approval: Approval, *, by: str) -> None:
        """Say no, as a person. ConflictError where somebody else has decided meanwhile."""
        await self._decide(approval, Decision(agrees=False, by=by))

    async def _decide(self, approval: Approval, decision: Decision) -> None:
        assert self._store is not None
        if await self._store.decide(approval.id, decision):
            return
        now = await self.find(approval.id)
        who = f" by {now.decided_by}" if now.decided_by else ""
        raise ConflictError(
            f"approval {approval.id} is {now.state} already{who}; this changes nothing", name=approval.id
        )

    def check(self, approval: Approval, arguments: Mapping[str, Any]) -> None:
        """ArgumentError for arguments that don't fit the tool."""
        try:
            tool = self._catalog().tool(approval.name)
        except NotFoundError:
            raise ArgumentError(
                f"the arguments of {approval.name} can't be checked here",
                hint="agree to it as it is, or deny it",
            ) from None
        check_call(tool, arguments)


def _is_whole(approval: Approval) -> bool:
    """Whether what is shown is what will be sent."""
    return approval.arguments is not None and (
        digest_of(dict(approval.arguments))[0] == approval.arguments_digest
    )

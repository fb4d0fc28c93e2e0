"""The links of calls that a person has to agree to: one waits for that, one uses the agreement up.

Who is asked, and how, is not known here; `verbs/approvals/asking.py` has that. Calls that no link has a
question about pass at no cost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from satchel.calls.arguments import check_call
from satchel.errors import NotAllowedError
from satchel.model import Call, CallResult, CallTool, Link, Prompt, Resource, Tool


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """A person has agreed to a call: to which definition, and with which arguments."""

    approval: str
    what: Tool | Resource | Prompt
    arguments: Mapping[str, Any]


class Approvals(Protocol):
    async def agree(self, call: Call) -> Agreement:
        """Wait for a person to agree. NotAllowedError: one said no. UndecidedError: nobody has decided."""
        ...

    async def use(self, approval: str, record: int) -> bool:
        """Commit that the call is sent and that the approval is used up, or neither; tell which."""
        ...


def ask_person(approvals: Approvals) -> Link:
    """Wait for a person to agree, where a link before this one has a question about the call."""

    def link(call_next: CallTool) -> CallTool:
        async def ask(call: Call) -> CallResult:
            if not call.questions:
                return await call_next(call)
            agreed = await approvals.agree(call)
            if call.action == "use":
                check_call(agreed.what, agreed.arguments)  # again: a person may have edited them
            return await call_next(
                replace(call, what=agreed.what, arguments=agreed.arguments, approval=agreed.approval)
            )

        return ask

    return link


def use_approval(approvals: Approvals) -> Link:
    """Use the approval up in the moment in which the call is sent; its server is connected to by then."""

    def link(call_next: CallTool) -> CallTool:
        async def use(call: Call) -> CallResult:
            if call.approval is None:
                return await call_next(call)
            assert call.record is not None
            if not await approvals.use(call.approval, call.record):
                raise NotAllowedError(
                    call.caller.agent,
                    call.what.qualified_name,
                    why=f"approval {call.approval} has been used or withdrawn meanwhile",
                    hint="call again to have a person asked",
                )
            return await call_next(call)

        return use

    return link

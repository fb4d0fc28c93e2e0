"""Asking a person about a call: a row before anything waits, then the wait, then what was decided.

The row is the truth. Whoever decides does it there, from any process; this one looks at it again and again.
Deciding runs nothing by itself. It never concludes that somebody agreed: only a row says so.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from secrets import token_hex

import anyio

from satchel.calls.approvals import Agreement
from satchel.config import Configuration
from satchel.config.control.approvals import ApprovalsSettings
from satchel.errors import ArgumentError, NotAllowedError, UndecidedError
from satchel.model import Approval, Call, PersonAnswered, PersonAsked, Prompt, Question, Resource, Tool
from satchel.store.approvals import ApprovalStore
from satchel.store.row_changes import time_as_text
from satchel.support.digests import digest_of
from satchel.verbs.approvals.elicitation import ask_client
from satchel.verbs.approvals.notifying import notify

_BETWEEN_LOOKS = 30.0  # seconds between two looks for rows that are due
_PAUSE = 0.25  # seconds between two looks at the rows
_Part = Tool | Resource | Prompt


@dataclass(kw_only=True)
class _Looks:
    """One look at the rows for all calls of this process that wait."""

    store: ApprovalStore
    waiting: dict[str, int]
    states: Mapping[str, str]
    at: float = 0.0

    async def state(self, id: str, turn: anyio.Lock) -> str:
        async with turn:
            if id not in self.states or time.monotonic() - self.at >= _PAUSE:
                self.states = await self.store.states(list(self.waiting))
                self.at = time.monotonic()
        return self.states.get(id, "void")


class Asking:
    """A `satchel.calls.approvals.Approvals`. `newest` finds the present definition of a tool."""

    def __init__(
        self,
        store: ApprovalStore,
        configuration: Callable[[], Configuration],
        newest: Callable[[Tool], Tool | None],
    ) -> None:
        self._store = store
        self._configuration = configuration
        self._newest = newest
        self._looks = _Looks(store=store, waiting={}, states={})
        self._turn = anyio.Lock()
        self._expired_at = float("-inf")

    async def agree(self, call: Call) -> Agreement:
        """Wait for a person to agree. NotAllowedError: one said no. UndecidedError: nobody has decided."""
        approval = await self._approval(call, _digest(call))
        if approval.state == "waiting":
            approval = await self._decided(call, approval)
        if approval.state == "waiting":
            raise UndecidedError(
                approval.id,
                call.what.qualified_name,
                hint="nothing was sent; don't try another way. A person decides with"
                f" satchel approvals allow {approval.id}; the same call goes on after that",
            )
        if approval.state != "approved":
            raise _refusal(call, approval)
        present = self._present(call.what)
        if _definition(present) != approval.definition_digest:  # the links before this one saw another
            await self._store.close(approval.id, "approved", "void")
            raise _refusal(call, replace(approval, state="void"))
        arguments = call.arguments if approval.edited is None else approval.edited
        return Agreement(approval=approval.id, what=present, arguments=arguments)

    async def use(self, approval: str, record: int) -> bool:
        """Commit that the call is sent and that the approval is used up, or neither; tell which."""
        return await self._store.use(approval, record)

    async def _approval(self, call: Call, digest: str) -> Approval:
        """The row of this call: one that was made before, or a new one."""
        if time.monotonic() - self._expired_at > _BETWEEN_LOOKS:  # a look at all rows, if many wait
            self._expired_at = time.monotonic()
            await self._store.expire()
        found = await self._store.find_for(call, digest)
        if found is not None and found.state == "denied":
            if _is_repeated(call) and found.expires_at > time_as_text(datetime.now(UTC)):
                return found
            found = None
        if found is not None and found.state in ("waiting", "approved"):
            if _covers(found, call.questions):
                return found
            await self._store.close(found.id, found.state, "void")  # there is more to agree to now
        definition = _definition(call.what)
        grant = await self._store.find_grant(call, definition)
        if grant is not None and not _covers(grant, call.questions):
            grant = None
        approval = _new(call, digest, definition, grant, self._settings.expire_seconds)
        await self._store.request(approval)
        return approval

    async def _decided(self, call: Call, approval: Approval) -> Approval:
        """The row once somebody has decided, or as it is when the time is up."""
        settings = self._settings
        asked = PersonAsked(approval=approval.id, tool=call.what.qualified_name)
        call.tell(asked)
        self._looks.waiting[approval.id] = self._looks.waiting.get(approval.id, 0) + 1
        state = "waiting"
        try:
            async with call.caller.asked(asked), anyio.create_task_group() as tasks:
                if settings.notify:
                    tasks.start_soon(notify, settings.notify, approval)
                client = call.caller.client
                if client is not None and client.name in settings.trust_clients:
                    tasks.start_soon(ask_client, client, approval, self._store)
                with anyio.move_on_after(settings.wait_seconds):
                    while state == "waiting":
                        await anyio.sleep(_PAUSE)
                        state = await self._looks.state(approval.id, self._turn)
                if state != "waiting" or settings.wait_seconds:
                    tasks.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():
            if call.caller.execution is not None:  # its program has ended: nobody will come back for it
                with anyio.CancelScope(shield=True):
                    await self._store.close(approval.id, "waiting", "void")
            raise
        finally:
            self._leave(approval.id)
            call.tell(PersonAnswered(approval=approval.id))
        return await self._store.find(approval.id) or replace(approval, state="void")

    @property
    def _settings(self) -> ApprovalsSettings:
        return self._configuration().settings.approvals

    def _leave(self, id: str) -> None:
        self._looks.waiting[id] -= 1
        if not self._looks.waiting[id]:
            del self._looks.waiting[id]

    def _present(self, what: _Part) -> _Part:
        """As its server lists it now, as far as that is known."""
        return (self._newest(what) or what) if isinstance(what, Tool) else what


def _digest(call: Call) -> str:
    try:
        return digest_of(dict(call.arguments))[0]
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(
            f"the arguments of {call.what.qualified_name} can't be shown to a person: {error}",
            hint="pass plain JSON values, not nested too deep",
        ) from error


def _definition(what: _Part) -> str:
    return what.digest if isinstance(what, Tool) else ""


def _is_repeated(call: Call) -> bool:
    """Whether it is the same call again. Of a person at a shell, each is a new one."""
    return call.caller.execution is not None or call.caller.conversation is not None


def _covers(approval: Approval, questions: Collection[Question]) -> bool:
    """Whether everything that is asked now was asked then."""
    return {question.rule for question in questions} <= {question.rule for question in approval.questions}


def _new(call: Call, digest: str, definition: str, grant: Approval | None, seconds: float) -> Approval:
    caller, now = call.caller, datetime.now(UTC)
    return Approval(
        id=token_hex(6),
        state="waiting" if grant is None else "approved",
        agent=caller.agent,
        conversation=caller.conversation,
        execution=caller.execution,
        session=caller.session if caller.execution is not None else caller.conversation,
        occurrence=call.occurrence,
        server=call.what.server,
        tool=call.label,
        definition_digest=definition,
        arguments_digest=digest,
        arguments=dict(call.arguments),
        questions=call.questions,
        reads=caller.reads.sources if caller.reads is not None else (),
        summary=caller.purpose,
        client=caller.client.name if caller.client is not None else "",
        requested_at=time_as_text(now),
        expires_at=time_as_text(now + timedelta(seconds=seconds)),
        decided_at=None if grant is None else time_as_text(now),
        decided_by=None if grant is None else f"{grant.decided_by} (approval {grant.id})",
    )


_REFUSED = {
    "denied": "a person said no",
    "expired": "nobody decided in time",
    "used": "what a person agreed to has been sent already",
    "void": "its definition has changed since, or nobody waits for it any more",
}


def _refusal(call: Call, approval: Approval) -> NotAllowedError:
    return NotAllowedError(
        call.caller.agent,
        call.what.qualified_name,
        why=f"{_REFUSED[approval.state]} (approval {approval.id})",
        hint="nothing was sent; don't look for another way, ask the user",
    )

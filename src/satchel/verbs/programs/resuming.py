"""Running a program again that had stopped for a person: once, with the answers that it had been given.

Whatever is not certain stops it: a call that was sent and not answered, an answer that is not kept.
"""

import json
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NoReturn

from satchel.errors import ArgumentError, ConflictError, NotFoundError, UndecidedError
from satchel.model import (
    Caller,
    Execution,
    ExecutionRecord,
    ExecutionRequest,
    Json,
    Source,
    is_list,
    is_object,
)
from satchel.store.approval_rows import source_of
from satchel.store.journal import Journal
from satchel.store.suspensions import Suspension, Suspensions
from satchel.verbs.approvals.approvals import Approvals
from satchel.verbs.programs.recorded import call_key, is_refusal

_UNKNOWN = ("sent", "begun", "interrupted", "cancelled")
_ANSWERED = ("ok", "error")
_OTHERWISE = {"id", "files", "waiting", "reads", "read_before"}  # not in the outcome as they are here


@dataclass(frozen=True, kw_only=True)
class Resumed:
    """A program to be run again, under a new id."""

    execution: str
    request: ExecutionRequest
    read_only: bool
    only: tuple[str, ...] | None
    conversation: str | None
    answers: Mapping[str, Json]
    expected: frozenset[str]
    reads: tuple[Source, ...]
    note: str


@dataclass(frozen=True, kw_only=True)
class Resuming:
    """The suspended executions of one open Satchel."""

    suspensions: Suspensions
    approvals: Approvals
    journal: Journal

    async def take(self, id: str, caller: Caller) -> Resumed | Execution:
        """What to run, for the first who asks; the outcome for whoever asks after that."""
        found = await self._find(id, caller)
        while found.resumed_as is not None:
            following = await self.suspensions.find(found.resumed_as)
            if following is None or (following.state in ("over", "resumed") and not following.resumed_as):
                return await self._outcome(found)
            if following.state == "open" and not following.is_left:
                raise ConflictError(
                    f"execution {found.execution} is being resumed as {following.execution}", name=id
                )
            found = following
        if found.state == "over":
            raise ArgumentError(f"execution {found.execution} has ended: there is nothing to resume")
        if found.state == "open" and not found.is_left:
            raise ConflictError(
                f"execution {found.execution} still waits where it was begun",
                name=id,
                hint="it goes on by itself when a person has decided",
            )
        return await self._claimed(found, caller)

    async def _find(self, id: str, caller: Caller) -> Suspension:
        found = await self.suspensions.find(id)
        if found is None or found.agent != caller.agent:
            hint = "only a program that stopped for a person can be resumed: a different one is run anew"
            raise NotFoundError("suspended execution", id[:100], hint=hint)
        return found

    async def _claimed(self, found: Suspension, caller: Caller) -> Resumed:
        if found.problem is not None:
            _refuse(found, found.problem)
        request = dict(found.request)
        read_only, only = bool(request.pop("read_only")), request.pop("only")
        only = tuple(map(str, only)) if is_list(only) else None
        if caller.read_only and not read_only:
            _refuse(found, "it may do more than this tool, which only reads")
        if caller.only is not None and caller.only != only:
            _refuse(found, "the active skill allows different tools now")
        record = await self.journal.execution(found.execution)
        if record is None:
            _refuse(found, "the journal does not have it any more")
        _check_calls(found, record)
        approvals = await self.approvals.of_execution(found.execution)
        for approval in approvals:
            if approval.state == "waiting":
                raise UndecidedError(
                    approval.id,
                    approval.name,
                    hint=f"a person decides with: satchel approvals allow {approval.id}",
                )
        expected = {
            call_key(each.server, each.tool, each.arguments_digest, each.occurrence)
            for each in approvals
            if each.state in ("approved", "denied", "expired", "void")
        }
        new = secrets.token_hex(6)
        if not await self.suspensions.claim(found.execution, found.state, new):
            raise ConflictError(
                f"somebody else has just resumed execution {found.execution}",
                name=found.execution,
                hint="ask again for its outcome",
            )
        return Resumed(
            execution=new,
            request=ExecutionRequest(**request),
            read_only=read_only,
            only=only,
            conversation=record.conversation,
            answers=found.answers,
            expected=frozenset(expected - found.answers.keys()),
            reads=tuple(map(source_of, found.reads)),
            note=_note(record),
        )

    async def _outcome(self, found: Suspension) -> Execution:
        """How the program that was run again has ended."""
        assert found.resumed_as is not None
        record = await self.journal.execution(found.resumed_as)
        if record is None or record.outcome is None:
            state = "was interrupted" if record is None or record.state == "interrupted" else "still runs"
            raise ConflictError(
                f"execution {found.execution} was resumed as {found.resumed_as}, which {state}",
                name=found.resumed_as,
                hint="satchel show-execution has the calls that it made; it is not run again",
            )
        known = {field.name for field in fields(Execution)} - {
            "id",
            "files",
            "waiting",
            "reads",
            "read_before",
        }
        values = {name: value for name, value in record.outcome.items() if name in known}
        files = record.outcome.get("files")
        return Execution(
            id=record.id,
            **values,
            has_result="result" in record.outcome,
            files=tuple(files) if is_list(files) else (),
            waiting=tuple(record.outcome.get("waiting", ())),
            reads=_sources(record.outcome, "reads"),
            read_before=_sources(record.outcome, "read_before"),
        )


def _sources(outcome: Json, name: str) -> tuple[Source, ...]:
    found = outcome.get(name)
    return tuple(source_of(each) for each in found if is_object(each)) if is_list(found) else ()


def _check_calls(found: Suspension, record: ExecutionRecord) -> None:
    """Every call that was sent must have an answer that is kept."""
    for call in record.calls:
        if call.status in _UNKNOWN:
            _refuse(found, f"{call.server}.{call.tool} was sent, and its outcome is not known")
    made = Counter(f"{call.server}.{call.tool}" for call in record.calls if call.status in _ANSWERED)
    answers = ((json.loads(key), answer) for key, answer in found.answers.items())
    kept = Counter(str(key[1]) for key, answer in answers if key[0] == "call" and not is_refusal(answer))
    for name, count in made.items():
        if kept[name] < count:
            _refuse(found, f"an answer of {name} was not kept")


def _refuse(found: Suspension, why: str) -> NoReturn:
    raise ArgumentError(
        f"execution {found.execution} can't be resumed: {why}",
        hint="satchel show-execution has the calls that it made; write a new program for the rest",
    )


def _note(record: ExecutionRecord) -> str:
    files = (record.outcome or {}).get("files")
    paths = [str(each.get("path")) for each in files if is_object(each)] if is_list(files) else []
    changed = f"; files that it had written before: {', '.join(paths[:10])}" if paths else ""
    return f"resumed from {record.id}{changed}"

"""A program that is run is recorded before it begins, and with how it ended, whatever happens to it."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import anyio

from satchel.errors import ArgumentError, JournalError, UndecidedError
from satchel.model import (
    LONGEST_PROGRAM,
    Caller,
    Execution,
    Json,
    Reads,
    Source,
    Tell,
    ToolUse,
    silent,
)
from satchel.sandbox.running.capture import Captured
from satchel.sandbox.sandbox import Answer, Home, Outcome, Program
from satchel.store.approval_rows import source_as_json
from satchel.verbs.programs.recorded import Recorded
from satchel.verbs.programs.suspending import Keeping, Suspending
from satchel.verbs.requests import ProgramVerbs, Reach, Requests

UNDECIDED = UndecidedError.exit_code
if TYPE_CHECKING:
    from satchel.verbs.privacy.scopes import PrivacyScope

Leave = Callable[[Captured, Captured], None]
Run = Callable[[Program, Answer, Leave], Awaitable[Outcome]]


class ExecutionJournal(Protocol):
    """Where executions are recorded."""

    async def begin_execution(
        self,
        *,
        id: str,
        agent: str,
        language: str,
        program: str,
        description: str = "",
        conversation: str | None = None,
    ) -> None: ...

    async def finish_execution(self, id: str, outcome: Json) -> None: ...


async def execute(
    program: Program,
    *,
    caller: Caller,
    description: str,
    run: Run,
    home: Home,
    verbs: ProgramVerbs,
    reach: Reach,
    journal: ExecutionJournal,
    note: str | None = None,
    tell: Tell = silent,
    recorded: Recorded | None = None,
    keeping: Keeping | None = None,
    privacy: "PrivacyScope | None" = None,
) -> Execution:
    """Run a program with `run`, and record that it ran and how it ended, with `note`.

    The caller has the execution's id, and `reads` of its own. With `privacy`, neither the journal nor whoever
    asked gets personal data.
    """
    refuse_long(program.code)
    identity, reads = caller.execution or secrets.token_hex(6), caller.reads or Reads()
    caller = replace(caller, execution=identity, reads=reads)
    suspending = Suspending(caller=caller, keeping=keeping)
    caller = replace(caller, asked=suspending.asked(caller.asked))
    if recorded is not None:
        reach = replace(reach, call=recorded.calling(reach.call))
    requests = Requests(verbs, reach, caller, save=home.save, tell=tell)
    # What a session holds would be lost with its program: that is told instead.
    answer = requests.answer if recorded is None else recorded.answering(requests.answer)
    answer = suspending.ending(answer) if caller.session is None else answer
    began, clock = time.monotonic(), await home.now()
    printed = Captured(), Captured()

    def leave(stdout: Captured, stderr: Captured) -> None:
        nonlocal printed
        printed = stdout, stderr

    async def fail(error: BaseException) -> None:
        with anyio.CancelScope(shield=True):
            await suspending.end(stopped=False)
            outcome = _failure(error, requests.made, *printed)
            if privacy is not None:
                outcome = await privacy.hidden_from_program(outcome, reads)
            await journal.finish_execution(identity, outcome | _reads(reads))

    try:
        await journal.begin_execution(
            id=identity,
            agent=caller.agent,
            language=program.language,
            program=program.code,
            description=description,
            conversation=caller.conversation,
        )
    except asyncio.CancelledError as error:  # it may have been recorded
        await fail(error)
        raise
    try:
        outcome = await run(program, answer, leave)
    except JournalError:
        raise
    except BaseException as error:
        await fail(error)
        raise
    files = await home.changed_since(clock)
    execution = _execution(identity, outcome, requests, files, began)
    execution = replace(execution, reads=reads.own, read_before=reads.before, waiting=suspending.waiting)
    stopped = execution.ended == "approval"
    if stopped:
        execution = replace(execution, not_resumable=suspending.problem)
    elif recorded is not None:
        execution = _with_note(execution, recorded.missing())
    with anyio.CancelScope(shield=True):
        await suspending.end(stopped=stopped)
    execution = _with_note(execution, note)
    if privacy is not None:
        execution = await privacy.hidden_execution(execution, reads)
    try:
        with anyio.CancelScope(shield=True):
            await journal.finish_execution(identity, _recorded(execution) | _reads(reads))
    except JournalError as error:
        # It has happened. Who asked for it must hear how, most of all which calls were made.
        return _with_note(execution, f"how it ended could not be recorded: {error.message}")
    return execution


def _with_note(execution: Execution, note: str | None) -> Execution:
    parts = [part for part in (execution.reason, note) if part]
    return replace(execution, reason="; ".join(parts) or None)


def _execution(
    identity: str, outcome: Outcome, requests: Requests, files: tuple[Json, ...], began: float
) -> Execution:
    return Execution(
        id=identity,
        exit_code=UNDECIDED if outcome.ended == "approval" else outcome.exit_code,
        stdout=outcome.stdout.text,
        stderr=outcome.stderr.text,
        result=outcome.result,
        has_result=outcome.has_result,
        duration_ms=(time.monotonic() - began) * 1000,
        tools_called=requests.made,
        files=files,
        truncated=_truncated(outcome.stdout, outcome.stderr, outcome.result_size),
        ended=outcome.ended,
        reason=outcome.detail,
        session=outcome.session,
    )


def _truncated(stdout: Captured, stderr: Captured, result: int = 0) -> dict[str, int]:
    counts = {"stdout": stdout.omitted, "stderr": stderr.omitted, "result": result}
    return {name: count for name, count in counts.items() if count}


def _recorded(execution: Execution) -> Json:
    """The journal has the calls already."""
    return {key: value for key, value in execution.as_json().items() if key != "tools_called"}


def _reads(reads: Reads) -> Json:
    """What was read, as the journal has it."""
    found = {"reads": reads.own, "read_before": reads.before}
    return {key: [_as_json(source) for source in sources] for key, sources in found.items() if sources}


def _as_json(source: Source) -> Json:
    more = {key: value for key, value in source_as_json(source).items() if value}  # whoever resumes needs it
    return {"name": source.name, "labels": [], **more}


def _failure(error: BaseException, made: tuple[ToolUse, ...], stdout: Captured, stderr: Captured) -> Json:
    cancelled = isinstance(error, anyio.get_cancelled_exc_class())
    ended = "cancelled" if cancelled else "failed"
    reason = "its caller gave up" if cancelled else str(error)[:500]
    return {
        "exit_code": 130 if cancelled else 125,
        "stdout": stdout.text,
        "stderr": stderr.text,
        "truncated": _truncated(stdout, stderr),
        "ended": ended,
        "reason": reason,
        "calls": len(made),
    }


def refuse_long(code: str) -> None:
    if len(code) > LONGEST_PROGRAM:
        raise ArgumentError(
            f"the program has {len(code):,} characters; at most {LONGEST_PROGRAM:,} are taken",
            hint="read data from a file in the workspace",
        )

"""One execution from a program's text to its outcome: recorded, run in the sandbox, its requests answered."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Protocol

import anyio

from satchel.errors import ArgumentError, JournalError
from satchel.model import LONGEST_PROGRAM, Ask, Caller, Client, Execution, Json, Tell, ToolUse, silent
from satchel.sandbox.sandbox import Answer, Home, Outcome, Program
from satchel.verbs.requests import ProgramVerbs, Reach, Requests

Run = Callable[[Program, Answer], Awaitable[Outcome]]


class Waiting:
    """A client, and for how long it has been asked: that does not count as a program's time."""

    def __init__(self, client: Client | None) -> None:
        self._asked = 0
        self._since = 0.0
        self._seconds = 0.0
        self.client = None if client is None else replace(client, ask=self._asking(client))

    def seconds(self) -> float:
        return self._seconds + (time.monotonic() - self._since if self._asked else 0.0)

    def _asking(self, client: Client) -> Ask:
        async def ask(method: str, params: Json, key: str) -> Json:
            if not self._asked:
                self._since = time.monotonic()
            self._asked += 1
            try:
                return await client.ask(method, params, key)
            finally:
                self._asked -= 1
                if not self._asked:
                    self._seconds += time.monotonic() - self._since

        return ask


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
    tell: Tell = silent,
) -> Execution:
    """Run a program, and record that it ran and how it ended. `run` is where it runs."""
    if len(program.code) > LONGEST_PROGRAM:
        raise ArgumentError(
            f"the program has {len(program.code):,} characters; at most {LONGEST_PROGRAM:,} are taken",
            hint="read data from a file in the workspace",
        )
    identity = secrets.token_hex(6)
    caller = replace(caller, execution=identity)
    requests = Requests(verbs, reach, caller, save=home.save, tell=tell)
    began, clock = time.monotonic(), await home.now()

    async def fail(error: BaseException) -> None:
        with anyio.CancelScope(shield=True):
            await journal.finish_execution(identity, _failure(error, requests.made))

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
        outcome = await run(program, requests.answer)
    except JournalError:
        raise
    except BaseException as error:
        await fail(error)
        raise
    execution = _execution(identity, outcome, requests, await home.changed_since(clock), began)
    try:
        with anyio.CancelScope(shield=True):
            await journal.finish_execution(identity, _recorded(execution))
    except JournalError as error:
        # It has happened. Who asked for it must hear how, most of all which calls were made.
        note = f"how it ended could not be recorded: {error.message}"
        return replace(execution, reason=f"{execution.reason}; {note}" if execution.reason else note)
    return execution


def _execution(
    identity: str, outcome: Outcome, requests: Requests, files: tuple[Json, ...], began: float
) -> Execution:
    truncated = {
        name: count
        for name, count in (
            ("stdout", outcome.stdout.omitted),
            ("stderr", outcome.stderr.omitted),
            ("result", outcome.result_size),
        )
        if count
    }
    return Execution(
        id=identity,
        exit_code=outcome.exit_code,
        stdout=outcome.stdout.text,
        stderr=outcome.stderr.text,
        result=outcome.result,
        has_result=outcome.has_result,
        duration_ms=(time.monotonic() - began) * 1000,
        tools_called=requests.made,
        files=files,
        truncated=truncated,
        ended=outcome.ended,
        reason=outcome.detail,
        session=outcome.session,
    )


def _recorded(execution: Execution) -> Json:
    """The journal has the calls already."""
    return {key: value for key, value in execution.as_json().items() if key != "tools_called"}


def _failure(error: BaseException, made: tuple[ToolUse, ...]) -> Json:
    cancelled = isinstance(error, anyio.get_cancelled_exc_class())
    ended = "cancelled" if cancelled else "failed"
    reason = "its caller gave up" if cancelled else str(error)[:500]
    return {"exit_code": 130 if cancelled else 125, "ended": ended, "reason": reason, "calls": len(made)}

"""The link that records every call: before it is sent, and how it ended.

What a journal is made of is not known here; `satchel.store.journal` is the one on a database.
"""

import time
from typing import Protocol

import anyio

from satchel.errors import SatchelError
from satchel.model import Call, CallResult, CallStatus, CallTool


class Journal(Protocol):
    async def begin(self, call: Call) -> int:
        """Record that a call is about to be sent, and give it a number. JournalError: it must not be sent."""
        ...

    def complete(
        self,
        number: int,
        status: CallStatus,
        *,
        ms: float,
        result: CallResult | None = None,
        error: str | None = None,
    ) -> None:
        """Record how it ended. Does not wait, so that it can be told while everything is cancelled."""
        ...

    def denied(self, call: Call) -> None:
        """Record a call that was refused."""
        ...


def journal_calls(call_next: CallTool, journal: Journal) -> CallTool:
    """Record a call before it is sent, and afterwards how it ended, whatever way it does."""

    async def record(call: Call) -> CallResult:
        number = await journal.begin(call)
        started = time.perf_counter()

        def complete(
            status: CallStatus, *, result: CallResult | None = None, error: str | None = None
        ) -> None:
            ms = (time.perf_counter() - started) * 1000
            journal.complete(number, status, ms=ms, result=result, error=error)

        try:
            result = await call_next(call)
        except anyio.get_cancelled_exc_class():
            complete("cancelled")
            raise
        except SatchelError as error:
            complete("error", error=error.message)
            raise
        except BaseException as error:
            complete("error", error=repr(error))
            raise
        if result.is_error:
            complete("error", result=result, error=result.text)
        else:
            complete("ok", result=result)
        return result

    return record

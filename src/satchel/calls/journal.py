"""The link that records every call: before it is sent, and how it ended.

What a journal is made of is not known here; `store/journal.py` has the one in a database.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import anyio

from satchel.errors import NotAllowedError, SatchelError
from satchel.model import Call, CallResult, CallStatus, CallTool, Event, Link, ResourceFollowed


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


def write_journal(journal: Journal) -> Link:
    """Record a call before it is sent, and its end afterwards, however it ends."""

    def link(call_next: CallTool) -> CallTool:
        async def record(call: Call) -> CallResult:
            number = await journal.begin(call)
            entry = _Entry(journal, number)
            if call.approval is not None:
                call = replace(call, record=number)
            if call.action == "follow":
                call = replace(call, tell=_ending_with_agreement(entry, call.tell))
            try:
                result = await call_next(call)
            except anyio.get_cancelled_exc_class():
                entry.complete("cancelled")
                raise
            except SatchelError as error:
                refused = isinstance(error, NotAllowedError)
                entry.complete("denied" if refused else "error", error=error.message)
                raise
            except BaseException as error:
                entry.complete("error", error=repr(error))
                raise
            if result.is_error:
                entry.complete("error", result=result, error=result.text)
            else:
                entry.complete("ok", result=result)
            return result

        return record

    return link


class _Entry:
    """A call's place in the journal, completed once."""

    def __init__(self, journal: Journal, number: int) -> None:
        self._journal = journal
        self._number = number
        self._started = time.perf_counter()
        self._is_complete = False

    def complete(
        self, status: CallStatus, *, result: CallResult | None = None, error: str | None = None
    ) -> None:
        if not self._is_complete:
            self._is_complete = True
            ms = (time.perf_counter() - self._started) * 1000
            self._journal.complete(self._number, status, ms=ms, result=result, error=error)


def _ending_with_agreement(entry: _Entry, tell: Callable[[Event], None]) -> Callable[[Event], None]:
    """A resource may be followed for days; what was asked of the server is done once it has agreed."""

    def told(event: Event) -> None:
        if isinstance(event, ResourceFollowed):
            entry.complete("ok")
        tell(event)

    return told

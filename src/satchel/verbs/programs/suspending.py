"""A program one of whose calls nobody has decided on in time: ended, once its other calls are done.

Nothing is sent after that, and no call is broken off: what it has done is known when it is run again. What it
was answered is kept before it waits for the first time, for its process may be killed while it does.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from satchel.errors import UndecidedError
from satchel.model import Caller, ExecutionRequest, Json, PersonAsked
from satchel.sandbox.sandbox import Answer, EndProgramError
from satchel.store.approval_rows import source_as_json
from satchel.store.suspensions import Suspension, Suspensions
from satchel.verbs.programs.recorded import Recorded

_PAUSE = 0.05  # seconds between two looks at whether the other calls are done
Asked = Callable[[PersonAsked], AbstractAsyncContextManager[object]]


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """Where it is kept what a program needs to be run again, and for how many seconds."""

    store: Suspensions
    request: ExecutionRequest
    recorded: Recorded
    seconds: float


@dataclass(kw_only=True)
class Suspending:
    """For one program of `caller`. Without `keeping` it can't be run again."""

    caller: Caller
    keeping: Keeping | None = None
    _active: int = 0
    _asking: int = 0
    _is_kept: bool = False
    _undecided: list[UndecidedError] = field(default_factory=list[UndecidedError])

    @property
    def waiting(self) -> tuple[Json, ...]:
        """The calls that nobody has decided on."""
        return tuple({"approval": each.approval, "tool": each.tool} for each in self._undecided)

    @property
    def problem(self) -> str | None:
        """Why the program can't be run again."""
        return "its answers were not kept" if self.keeping is None else self.keeping.recorded.problem

    def asked(self, asked: Asked) -> Asked:
        """What hears that a person is asked; what is needed to run the program again is kept first."""

        @asynccontextmanager
        async def keep_and_ask(event: PersonAsked) -> AsyncGenerator[None]:
            await self._keep("open")
            self._asking += 1
            try:
                async with asked(event):
                    yield
            finally:
                self._asking -= 1

        return keep_and_ask

    def ending(self, answer: Answer) -> Answer:
        """The same answers. Once the program is to be ended, no request is begun any more."""

        async def answer_or_end(method: str, params: Json) -> Any:
            if self._undecided:
                await anyio.sleep_forever()  # until the program has ended, and this with it
            self._active += 1
            try:
                return await answer(method, params)
            except UndecidedError as error:
                self._undecided.append(error)
                while self._active > len(self._undecided) + self._asking:  # noqa: ASYNC110  people decide
                    await anyio.sleep(_PAUSE)
                raise EndProgramError("approval", f"{error.message}; nothing was sent") from error
            finally:
                self._active -= 1

        return answer_or_end

    async def end(self, *, stopped: bool) -> None:
        """Keep all that it was answered if it has stopped, and nothing of it otherwise."""
        if self._is_kept:
            await self._keep("stopped" if stopped else "over")

    async def _keep(self, state: Any) -> None:
        if self.keeping is None:
            return
        suspension = self._suspension(self.keeping, state)
        if self._is_kept:
            await self.keeping.store.update(suspension)
        else:
            self._is_kept = True
            await self.keeping.store.begin(suspension, self.keeping.seconds)

    def _suspension(self, keeping: Keeping, state: Any) -> Suspension:
        caller, reads = self.caller, self.caller.reads
        only = None if caller.only is None else list(caller.only)
        return Suspension(
            execution=caller.execution or "",
            agent=caller.agent,
            state=state,
            request={
                **vars(replace(keeping.request, resume=None)),
                "read_only": caller.read_only,
                "only": only,
            },
            answers={} if state == "over" else keeping.recorded.answers,
            reads=() if reads is None else tuple(map(source_as_json, reads.sources)),
            problem=keeping.recorded.problem,
        )

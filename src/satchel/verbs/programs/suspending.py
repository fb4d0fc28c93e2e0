"""A program one of whose calls nobody has decided on in time: ended, once its other calls are done.

Nothing is sent after that, and no call is broken off: what it has done is known when it is run again.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import anyio

from satchel.errors import UndecidedError
from satchel.model import Call, CallResult, CallTool, Json
from satchel.sandbox.sandbox import Answer, EndProgramError
from satchel.support.digests import digest_of

_PAUSE = 0.05  # seconds between two looks at whether the other calls are done


class Suspending:
    """For one program. `asked` says how many of its calls wait for a person now."""

    def __init__(self, asked: Callable[[], int]) -> None:
        self._asked = asked
        self._active = 0
        self._made: Counter[tuple[str, ...]] = Counter()
        self._undecided: list[UndecidedError] = []

    def counting(self, call_next: CallTool) -> CallTool:
        """Tell each call how many times the program has made it, with the same arguments."""

        async def count(call: Call) -> CallResult:
            with suppress(TypeError, ValueError, RecursionError):  # it is refused for that later
                key = call.what.qualified_name, call.action, digest_of(dict(call.arguments))[0]
                self._made[key] += 1
                call = replace(call, occurrence=self._made[key])
            return await call_next(call)

        return count

    @property
    def waiting(self) -> tuple[Json, ...]:
        """The calls that nobody has decided on."""
        return tuple({"approval": each.approval, "tool": each.tool} for each in self._undecided)

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
                while self._active > len(self._undecided) + self._asked():  # noqa: ASYNC110  people decide
                    await anyio.sleep(_PAUSE)
                raise EndProgramError("approval", f"{error.message}; nothing was sent") from error
            finally:
                self._active -= 1

        return answer_or_end

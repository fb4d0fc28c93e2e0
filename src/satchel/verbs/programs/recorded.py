"""What a program was answered, so that it can be run again and take the same way.

An answer is found by the request, its arguments, and how many times the program has asked the same: not by a
place in an order, which calls that run at once shuffle.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from satchel.errors import ArgumentError, NotAllowedError, ToolError
from satchel.model import Call, CallResult, CallTool, Json, Tool
from satchel.sandbox.sandbox import Answer, EndProgramError
from satchel.support.digests import digest_of

_LARGEST_ANSWER = 1024 * 1024  # characters
_MOST = 16 * 1024 * 1024  # characters of all answers of an execution
_CALLS = ("call_tool", "read_resource", "get_prompt")  # recorded as calls
_SAVING = ("save_skill", "promote_skill")
_REFUSAL = "refusal"
_REFUSALS = {refusal.__name__: refusal for refusal in (ArgumentError, NotAllowedError)}
Reads = Callable[[Tool], bool]


def call_key(server: str, label: str, digest: str, occurrence: int) -> str:
    return json.dumps(["call", f"{server}.{label}", digest, occurrence])


@dataclass(kw_only=True)
class Recorded:
    """Of one program. `before` are the answers of an earlier run, and `expected` the calls it stopped at."""

    only_reads: Reads
    before: Mapping[str, Json] = field(default_factory=dict[str, Json])
    expected: Collection[str] = ()
    answers: dict[str, Json] = field(default_factory=dict[str, Json])
    problem: str | None = None  # why it can't be run again
    _size: int = 0
    _asked: Counter[str] = field(default_factory=Counter[str])

    def calling(self, call_next: CallTool) -> CallTool:
        """Calls that are answered as before, and noted."""

        async def call_or_repeat(call: Call) -> CallResult:
            try:
                digest = digest_of(dict(call.arguments))[0]
            except (TypeError, ValueError, RecursionError):  # it is refused for that later
                return await call_next(call)
            same = f"{call.what.qualified_name} {call.action} {digest}"
            self._asked[same] += 1
            call = replace(call, occurrence=self._asked[same])
            key = call_key(call.what.server, call.label, digest, call.occurrence)
            if key in self.before:
                return self._repeat(key, call)
            self._follow(key, call)
            try:
                result = await call_next(call)
            except ToolError as error:
                self._note(key, call.what.qualified_name, {"error": _error(error)})
                raise
            except (ArgumentError, NotAllowedError) as error:
                self._note(key, call.what.qualified_name, {_REFUSAL: [type(error).__name__, vars(error)]})
                raise
            self._note(key, call.what.qualified_name, {"result": _result(result)})
            return result

        return call_or_repeat

    def answering(self, answer: Answer) -> Answer:
        """Requests that are no calls, answered as before, and noted."""

        async def answer_or_repeat(method: str, params: Json) -> Any:
            if method in _CALLS:
                return await answer(method, params)
            if method in _SAVING:
                self.problem = self.problem or "the program has saved a skill"
                return await answer(method, params)
            same = json.dumps([method, digest_of(params)[0]])
            self._asked[same] += 1
            key = json.dumps([same, self._asked[same]])
            if key in self.before:
                self.answers[key] = self.before[key]
                return self.before[key]["value"]
            value = await answer(method, params)
            self._note(key, method, {"value": value})
            return value

        return answer_or_repeat

    def missing(self) -> str | None:
        """The calls that it had stopped at and that have not come again, in words."""
        if not self.expected:
            return None
        names = sorted({str(json.loads(key)[1]) for key in self.expected})
        return f"it took a different way than before: {', '.join(names)} was not called"

    def _follow(self, key: str, call: Call) -> None:
        """Refuse to go a different way than the first run, as long as that could change something."""
        if key in self.expected:
            self.expected = ()
        elif self.expected and not (isinstance(call.what, Tool) and self.only_reads(call.what)):
            raise EndProgramError(
                "diverged",
                f"it called {call.what.qualified_name}, which it had not called like that before it stopped;"
                " nothing of that was sent",
            )

    def _repeat(self, key: str, call: Call) -> CallResult:
        answer = self.answers[key] = self.before[key]
        if "error" in answer:
            raise ToolError(call.what.server, call.what.label, **answer["error"])
        if is_refusal(answer):
            kind, values = answer[_REFUSAL]
            refusal = _REFUSALS[kind]
            error = refusal.__new__(refusal, values["message"])
            vars(error).update(values)
            raise error
        given = answer["result"]
        return CallResult(**(given | {"content": tuple(given["content"])}))

    def _note(self, key: str, name: str, answer: Json) -> None:
        if self.problem is not None:
            return
        try:
            size = len(json.dumps(answer))
        except (TypeError, ValueError, RecursionError):
            self.problem = f"the answer of {name} can't be kept"
            return
        self._size += size
        if size > _LARGEST_ANSWER or self._size > _MOST:
            self.problem = f"the answer of {name} is too large to be kept"
            self.answers.clear()
            return
        self.answers[key] = answer


def is_refusal(answer: Json) -> bool:
    """Whether an answer is that nothing was sent."""
    return _REFUSAL in answer


def _result(result: CallResult) -> Json:
    return {**vars(result), "content": list(result.content)}


def _error(error: ToolError) -> Json:
    return {"message": error.reason, "kind": error.kind, "hint": error.hint}

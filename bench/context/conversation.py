"""What a model reads and writes in an agent's loop, in tokens of o200k.

In each turn it is given everything again: definitions and instructions, the task, each of its own calls as
compact JSON, and the text of each result. Roles, ids and separators, which every provider has its own of, are
left out, as is what a model thinks to itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bench.context.client import Answer
from bench.tokens import _compact, _count
from satchel.model import Json

CACHED = 0.1
"""What a token counts that the provider has read in the turn before, where it keeps prompts."""


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """`server` is whom it goes to where a model has the tools of several."""

    name: str
    arguments: Json
    server: str = "satchel"


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One call, with what came back."""

    call: ToolCall
    answer: Answer

    @cached_property
    def written(self) -> int:
        return _count(_compact({"name": self.call.name, "arguments": self.call.arguments}))

    @cached_property
    def text(self) -> int:
        return _count(self.answer.text)

    @cached_property
    def structured(self) -> int:
        """Of what some clients show in place of the text."""
        return _count(_compact(self.answer.structured)) if self.answer.structured is not None else self.text


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Tokens. `contexts` is what was read in each turn; `before` what was so before the first message."""

    before: int
    contexts: tuple[int, ...]
    written: int

    @property
    def turns(self) -> int:
        return len(self.contexts)

    @property
    def read(self) -> int:
        return sum(self.contexts)

    @property
    def new(self) -> int:
        """What was read for the first time."""
        return self.contexts[-1]

    @property
    def repeated(self) -> int:
        return self.read - self.new

    @property
    def with_cache(self) -> float:
        return self.new + CACHED * self.repeated


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """A task done. The calls of one turn don't depend on each other."""

    task: str
    turns: tuple[tuple[Exchange, ...], ...]
    answer: str

    @cached_property
    def _asked(self) -> int:
        return _count(self.task)

    @cached_property
    def _answered(self) -> int:
        return _count(self.answer)

    @property
    def seconds(self) -> float:
        """Of the calls, one after the other."""
        return sum(exchange.answer.seconds for turn in self.turns for exchange in turn)

    def tally(self, before: int, *, at_once: bool = False, structured: bool = False) -> Tally:
        """`at_once`: independent calls share a turn. `before` is what definitions and instructions take."""
        turns = self.turns if at_once else [[exchange] for turn in self.turns for exchange in turn]
        context = before + self._asked
        contexts = [context]
        written = self._answered
        for turn in turns:
            said = sum(exchange.written for exchange in turn)
            context += said + sum(ex.structured if structured else ex.text for ex in turn)
            contexts.append(context)
            written += said
        return Tally(before=before, contexts=tuple(contexts), written=written)


def definition_tokens(tools: Sequence[Json], *, output: bool = False) -> int:
    """Of the parts that models are shown: name, description, input; with `output`, that as well."""
    shown = ("name", "description", "inputSchema", *(("outputSchema",) if output else ()))
    return sum(_count(_compact({key: tool[key] for key in shown if key in tool})) for tool in tools)


def text_tokens(text: str) -> int:
    return _count(text)

"""Each task done directly and with programs, with its own servers alone and with all others attached."""

from collections.abc import Iterable
from dataclasses import dataclass

from bench.context.agent import play_directly, play_script
from bench.context.conversation import Conversation, Tally, definition_tokens
from bench.context.servers import Place, recorded_servers, tokens_before
from bench.context.tasks import EXAMPLE, Task
from bench.rows import Row
from satchel.languages import Language

LIMITS = {0: 10.0, 75: 2.0}
"""By how many other servers are attached: percent of the tokens that may remain of the running example."""


@dataclass(frozen=True, kw_only=True)
class Direct:
    """A task done with the tools in the context. `before` is what its own servers' definitions take."""

    task: Task
    tools: int
    before: int
    one_by_one: Conversation
    at_once: Conversation

    def tally(self, others: int, *, at_once: bool = False, structured: bool = False) -> Tally:
        """With so many other servers attached, which change nothing but what is there before."""
        return self.tally_before(self.before + others_tokens(others), at_once=at_once, structured=structured)

    def tally_before(self, before: int, *, at_once: bool = False, structured: bool = False) -> Tally:
        conversation = self.at_once if at_once else self.one_by_one
        return conversation.tally(before, at_once=at_once, structured=structured)


@dataclass(frozen=True, kw_only=True)
class InCode:
    """A task done with programs, with so many other servers attached."""

    task: Task
    language: Language
    others: int
    before: int
    conversation: Conversation

    def tally(self, *, at_once: bool = False, structured: bool = False) -> Tally:
        return self.conversation.tally(self.before, at_once=at_once, structured=structured)


def measure_direct(place: Place, task: Task) -> Direct:
    place.configure(task.servers, 0)
    with place.straight(task.servers) as clients:
        tools = [tool for client in clients.values() for tool in client.tools()]
        one_by_one = play_directly(task, clients)
        place.forget_changes()
        at_once = play_directly(task, clients, at_once=True)
    if one_by_one.answer != at_once.answer:
        raise RuntimeError(f"{task.name}: {one_by_one.answer!r} one by one, {at_once.answer!r} at once")
    return Direct(
        task=task,
        tools=len(tools),
        before=definition_tokens(tools),
        one_by_one=one_by_one,
        at_once=at_once,
    )


def measure_code(place: Place, direct: Direct, language: Language, others: int) -> InCode:
    task = direct.task
    place.configure(task.servers, others, language)
    with place.served() as client:
        before = tokens_before(client)
        conversation = play_script(task, task.code[language](), client)
    if conversation.answer != direct.one_by_one.answer:
        raise RuntimeError(
            f"{task.name}: {conversation.answer!r} by programs, not {direct.one_by_one.answer!r}"
        )
    return InCode(task=task, language=language, others=others, before=before, conversation=conversation)


def others_tokens(others: int) -> int:
    return sum(server.tokens for server in recorded_servers()[:others]) if others else 0


def others_tools(others: int) -> int:
    return sum(len(server.tools) for server in recorded_servers()[:others]) if others else 0


def mean_tokens() -> float:
    """Of the definition of a public tool."""
    count = len(recorded_servers())
    return others_tokens(count) / others_tools(count)


def savings_rows(direct: Direct, measured: Iterable[InCode]) -> list[Row]:
    return [
        _row(direct, code, at_once=at_once)
        for code in measured
        if code.task is EXAMPLE and code.others in LIMITS
        for at_once in (False, True)
    ]


def _row(direct: Direct, code: InCode, *, at_once: bool) -> Row:
    ours, theirs = code.tally(at_once=at_once), direct.tally(code.others, at_once=at_once)
    way = "independent calls at once" if at_once else "one call a turn"
    # The cheapest order of direct calls that a model might find, and still one call a turn.
    other = direct.at_once.tally(direct.before + others_tokens(code.others))
    note = (
        f"{ours.read:,} to {theirs.read:,}; were the deal looked up before the report is in the context,"
        f" {other.read:,}, and {100 * ours.read / other.read:.2f} %"
    )
    return Row(
        name=f"context: {code.language}, {len(code.task.servers) + code.others} servers"
        f"{', at once' if at_once else ''}",
        compared=f"tokens read for the {code.task.name}, all turns, {way}, code mode to direct",
        value=100 * ours.read / theirs.read,
        limit=LIMITS[code.others],
        unit="%",
        notes=() if at_once else (note,),
    )

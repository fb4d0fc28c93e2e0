"""Plays the scripts to real servers, and keeps what went over the wire."""

from collections.abc import Callable, Mapping

from bench.context.client import Answer, Client
from bench.context.conversation import Conversation, Exchange, ToolCall
from bench.context.tasks import Script, Task


def play_directly(task: Task, clients: Mapping[str, Client], *, at_once: bool = False) -> Conversation:
    script = task.at_once if at_once and task.at_once else task.direct
    return _play(task, script(), lambda call: clients[call.server].call(call.name, call.arguments))


def play_script(task: Task, script: Script, client: Client) -> Conversation:
    """Through Satchel."""
    return _play(task, script, lambda call: client.call(call.name, call.arguments))


def _play(task: Task, script: Script, call: Callable[[ToolCall], Answer]) -> Conversation:
    turns: list[tuple[Exchange, ...]] = []
    calls = next(script)
    while True:
        turn = tuple(Exchange(call=one, answer=call(one)) for one in calls)
        turns.append(turn)
        try:
            calls = script.send([exchange.answer for exchange in turn])
        except StopIteration as end:
            return Conversation(task=task.text, turns=tuple(turns), answer=end.value)

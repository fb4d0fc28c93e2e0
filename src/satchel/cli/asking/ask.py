"""ask: one task for an agent. The answer goes to standard output, everything else to standard error."""

import argparse
import signal
import sys

from satchel.cli import output
from satchel.cli.asking.person import Person
from satchel.cli.asking.reading import Plain
from satchel.cli.asking.showing import Lines, event_as_json, show_end
from satchel.cli.asking.turning import follow
from satchel.cli.deciding import has_terminal
from satchel.cli.execute import ended_by_signals
from satchel.cli.running import run_with_servers
from satchel.errors import ArgumentError, SatchelError
from satchel.model import Answer, TurnBegan, TurnEvent, TurnRequest
from satchel.verbs.satchel import Satchel

_MOST_INPUT = 4 * 1024 * 1024  # bytes


def ask_command(options: argparse.Namespace) -> int:
    text = _task(options)
    signals: list[int] = [signal.SIGINT]
    heard: list[TurnEvent] = []
    can_ask = not options.no_input and has_terminal()
    lines = Lines(is_alone=not can_ask)

    def hear(event: TurnEvent) -> None:
        heard.append(event)
        if options.json:
            output.show_json(event_as_json(event), line=True)
        else:
            lines.hear(event)

    async def run(satchel: Satchel) -> Answer | None:
        request = await turn_request(satchel, options, text)
        person = Person(satchel.approvals, edit=Plain().edit) if can_ask else None
        with ended_by_signals(signals):
            return await follow(satchel, request, hear, person)
        return None

    try:
        answer = run_with_servers(options, run)
    except KeyboardInterrupt:
        answer = None
    except SatchelError:
        _note_how_to_go_on(heard)
        raise
    if answer is None:
        output.note("interrupted")
        _note_how_to_go_on(heard)
        return 128 + signals[-1]
    if not options.json:
        if answer.text:
            output.show_result(answer.text)
            sys.stdout.flush()  # before what follows on the other stream
        show_end(answer, hint=f"satchel ask --resume {answer.conversation} goes on where it stopped")
    return answer.exit_code


def _note_how_to_go_on(heard: list[TurnEvent]) -> None:
    begun = next((event.conversation for event in heard if isinstance(event, TurnBegan)), None)
    if begun is not None:
        output.note(f"hint: satchel ask --resume {begun} goes on where it stopped; nothing is done twice")


def _task(options: argparse.Namespace) -> str:
    """What is to be done: the words of the command, and what is piped in."""
    text = " ".join(options.task)
    piped = "" if sys.stdin is None or sys.stdin.isatty() else _read_piped()
    if text == "-":
        text = ""
    if piped.strip():
        text = f"{text}\n\n{piped}" if text else piped
    if not text.strip() and not options.resume and not options.go_on:
        raise ArgumentError("there is nothing to do", hint='satchel ask "what you want done"')
    return text.strip()


def _read_piped() -> str:
    data = sys.stdin.buffer.read(_MOST_INPUT + 1)
    if len(data) > _MOST_INPUT:
        raise ArgumentError(
            f"standard input has more than {_MOST_INPUT // 1024**2} MiB",
            hint="put it into the agent's workspace, and name the file in the task",
        )
    return data.decode("utf-8", "replace")


async def turn_request(satchel: Satchel, options: argparse.Namespace, text: str) -> TurnRequest:
    conversation, agent = options.resume, options.agent
    if options.go_on:
        last = await satchel.conversations.last(agent)
        if last is None:
            raise ArgumentError("there is no conversation to go on with", hint="leave --continue out")
        conversation = last.id
    if conversation is not None and agent is None:
        agent = (await satchel.conversations.get(conversation)).agent
    return TurnRequest(
        agent=agent or "default",
        text=text,
        conversation=conversation,
        model=options.model,
        skill=options.skill,
        mode=options.mode,
        requests=options.max_requests,
        seconds=options.timeout,
    )

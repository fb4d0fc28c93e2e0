"""privacy status, reveal and forget: what is kept of personal data, for the person at the terminal."""

import argparse

from satchel.cli import output
from satchel.cli.deciding import decided, show_at_terminal
from satchel.cli.looking.journal import when
from satchel.cli.running import paths_of, run_async
from satchel.config import read_configuration
from satchel.errors import NotFoundError
from satchel.names import count
from satchel.verbs.privacy.kept import forget_tokens, kept_tokens, reveal_token

_NO_TERMINAL = "run it at one; a value is never written into a file or a pipe"


def status_command(options: argparse.Namespace) -> int:
    paths = paths_of(options)
    settings = read_configuration(paths).settings.privacy
    found = run_async(lambda: kept_tokens(paths))
    if options.json:
        rows = [
            {
                "agent": each.agent,
                "conversation": each.conversation,
                "kinds": dict(each.kinds),
                "used_at": each.used_at,
            }
            for each in found
        ]
        output.show_json({"is_on": settings.is_on, "programs": settings.programs, "conversations": rows})
        return 0
    output.show_table(
        [
            (
                each.conversation,
                when(each.used_at),
                each.agent,
                ", ".join(f"{kind} {number}" for kind, number in each.kinds.items()),
            )
            for each in found
        ],
        headings=("conversation", "used", "agent", "tokens"),
    )
    if not found:
        output.note("no tokens are kept")
    if not settings.is_on:
        output.note("nothing is hidden from models now")
        output.note("hint: privacy: { detect: [all] } in satchel.yaml")
    return 0


def reveal_command(options: argparse.Namespace) -> int:
    paths = paths_of(options)
    value = run_async(lambda: reveal_token(paths, options.token))
    question = f"Show what {options.token} stands for, at this terminal?"
    if not decided(question, without=_NO_TERMINAL):
        return 2
    show_at_terminal(value)
    return 0


def forget_command(options: argparse.Namespace) -> int:
    paths = paths_of(options)
    found = run_async(lambda: kept_tokens(paths))
    if options.conversation is not None:
        found = [each for each in found if each.conversation == options.conversation]
        if not found:
            raise NotFoundError(
                "conversation with tokens",
                options.conversation[:100],
                hint="satchel privacy status lists those that have any",
            )
    tokens = count(sum(sum(each.kinds.values()) for each in found), "token")
    if not found:
        output.note("no tokens are kept")
        return 0
    question = f"forget {tokens} of {count(len(found), 'conversation')}? [y/N] "
    if not options.yes and not output.confirmed(question, done="forgotten"):
        return 1
    run_async(lambda: forget_tokens(paths, options.conversation))
    output.note(f"{tokens} forgotten; a process that runs has those of its conversations until it ends")
    return 0

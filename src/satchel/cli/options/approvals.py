"""The commands of `satchel approvals` and their options, for cli/parser.py."""

import argparse
from collections.abc import Callable

from satchel.cli.options.common import agent_option, count, json_option
from satchel.cli.options.looking import follow_option


def _list(parser: argparse.ArgumentParser) -> None:
    agent_option(parser, "only approvals for this agent")
    parser.add_argument("--all", action="store_true", help="also those that were decided, used or expired")
    follow_option(parser, "show calls as they begin to wait, until Ctrl-C")
    parser.add_argument(
        "--limit", type=count, metavar="N", default=50, help="maximum number of approvals; default: 50"
    )
    json_option(parser)


def _id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="an approval's id, or the beginning of one")


def _show(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    json_option(parser)


def _allow(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument(
        "--for",
        dest="scope",
        choices=("once", "execution", "session", "conversation"),
        default="once",
        help="agree to this call only, or to the tool for the rest of its program, session or conversation;"
        " default: once",
    )
    parser.add_argument(
        "--resume", action="store_true", help="run the program again that has ended while the call waited"
    )
    parser.add_argument(
        "--args", metavar="JSON", help="send these arguments instead; they are checked like the model's"
    )


# As in cli/parser.py
COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "list": ("approvals.deciding:list_command", "list the calls that wait for a person", _list),
    "show": ("approvals.deciding:show_command", "show one call that waits, with its arguments", _show),
    "allow": ("approvals.deciding:allow_command", "agree to a call, at a terminal", _allow),
    "deny": ("approvals.deciding:deny_command", "refuse a call, at a terminal", _id),
}

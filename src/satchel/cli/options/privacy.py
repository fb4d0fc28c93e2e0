"""The commands of `satchel privacy` and their options, for cli/parser.py."""

import argparse
from collections.abc import Callable

from satchel.cli.options.common import json_option


def _test(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a text file, such as a tool's result; - is standard input"
    )
    json_option(parser)


def _reveal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("token", metavar="TOKEN", help="a token, in any of its forms")


def _forget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "conversation", nargs="?", metavar="CONVERSATION", help="whose tokens end; default: all"
    )
    parser.add_argument("--yes", action="store_true", help="forget them without asking")


# As in cli/parser.py
COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "status": ("privacy.kept:status_command", "list the conversations that have tokens", json_option),
    "reveal": ("privacy.kept:reveal_command", "show what a token stands for, at a terminal", _reveal),
    "forget": ("privacy.kept:forget_command", "remove what tokens stand for", _forget),
    "test": ("privacy.trying:test_command", "show a file with tokens in place of personal data", _test),
}

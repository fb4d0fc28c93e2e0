"""The options of ask and chat, and the commands of `satchel conversations`, for cli/parser.py."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from satchel.cli.options.common import complete_agents, json_option


def ask_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", nargs="*", metavar="TASK", help="what is to be done; piped input is appended")
    _turn_options(parser)
    parser.add_argument("--json", action="store_true", help="print events as lines of JSON, the answer last")
    parser.add_argument("--no-input", action="store_true", help="never ask at the terminal")


def chat_options(parser: argparse.ArgumentParser) -> None:
    _turn_options(parser)


def _turn_options(parser: argparse.ArgumentParser) -> None:
    agent: Any = parser.add_argument(
        "--agent", metavar="NAME", help="the agent that does it; default: default"
    )
    agent.completer = complete_agents
    parser.add_argument("--model", metavar="MODEL", help="its model, instead of the one in satchel.yaml")
    parser.add_argument("--skill", metavar="NAME", help="begin with the specialist of this skill")
    parser.add_argument(
        "--mode",
        choices=("auto", "code", "search", "direct"),
        help="how tools are shown to the model; default: as in satchel.yaml",
    )
    parser.add_argument("--max-requests", type=_positive, metavar="N", help="requests to the model, at most")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="time for a turn, at most")
    parser.add_argument("--resume", metavar="ID", help="go on with a conversation")
    parser.add_argument("--continue", dest="go_on", action="store_true", help="go on with the last one")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def _list(parser: argparse.ArgumentParser) -> None:
    agent: Any = parser.add_argument("--agent", metavar="NAME", help="only those of this agent")
    agent.completer = complete_agents
    parser.add_argument(
        "--limit", type=_positive, default=20, metavar="N", help="at most so many; default: 20"
    )
    json_option(parser)


def _named(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="ID", help="a conversation's id, or its beginning")


def _show(parser: argparse.ArgumentParser) -> None:
    _named(parser)
    json_option(parser)


def _export(parser: argparse.ArgumentParser) -> None:
    _named(parser)
    parser.add_argument("--output", type=Path, metavar="FILE", help="write it to a new file")


def _delete(parser: argparse.ArgumentParser) -> None:
    _named(parser)
    parser.add_argument("--yes", action="store_true", help="delete it without asking")


# As in cli/parser.py
COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "list": ("asking.conversations:list_command", "list conversations, the last one first", _list),
    "show": ("asking.conversations:show_command", "show what was said and done in one", _show),
    "export": ("asking.conversations:export_command", "print or write one as JSON", _export),
    "delete": ("asking.conversations:delete_command", "delete one", _delete),
}

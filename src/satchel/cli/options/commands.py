"""The commands of `satchel commands` and their options, for cli/parser.py."""

import argparse
from collections.abc import Callable
from typing import Any

from satchel.cli.options.common import json_option


def _list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plugin", metavar="NAME", help="only those of this plugin")
    _agent_option(parser)
    json_option(parser)


def _show(parser: argparse.ArgumentParser) -> None:
    _name_argument(parser)
    _agent_option(parser)
    json_option(parser)


def _run(parser: argparse.ArgumentParser) -> None:
    _agent_option(parser)
    _name_argument(parser)
    parser.add_argument(
        "arguments",
        nargs=argparse.REMAINDER,
        metavar="ARGUMENTS",
        help="what the command is invoked with, as typed; options come before the name",
    )


def _agent_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agent", default="default", metavar="NAME", help="of what this agent sees; default: default"
    )


def _name_argument(parser: argparse.ArgumentParser) -> None:
    argument: Any = parser.add_argument(
        "name", metavar="NAME", help="a command: plugin:name, or its name alone where only one has it"
    )
    argument.completer = _complete_commands


def _complete_commands(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    from satchel.cli.plugins.commands import known_commands  # only a shell that completes needs them

    return known_commands(getattr(parsed_args, "config", None))


# As in cli/parser.py
COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "list": ("plugins.commands:list_command", "list the commands that plugins and skills bring", _list),
    "show": ("plugins.commands:show_command", "show one command: what it says, and where it is from", _show),
    "run": ("plugins.commands:run_command", "print the prompt that a command becomes; runs nothing", _run),
}

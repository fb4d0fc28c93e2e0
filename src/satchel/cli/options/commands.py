"""The commands of `satchel commands` and their options, for cli/parser.py."""

import argparse
from collections.abc import Callable
from typing import Any

from satchel.cli.options.common import agent_option, json_option, name_argument


def _list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plugin", metavar="NAME", help="only commands of this plugin")
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
        help="arguments for the command, passed on as typed; put options before NAME",
    )


def _agent_option(parser: argparse.ArgumentParser) -> None:
    agent_option(parser, "the agent whose commands these are; default: default", default="default")


def _name_argument(parser: argparse.ArgumentParser) -> None:
    name_argument(parser, "a command: plugin:name, or the name alone if it is unique", _complete_commands)


def _complete_commands(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    from satchel.cli.plugins.commands import known_commands  # only a shell that completes needs them

    return known_commands(getattr(parsed_args, "config", None))


# As in cli/parser.py
COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "list": ("plugins.commands:list_command", "list the commands that plugins and skills bring", _list),
    "show": ("plugins.commands:show_command", "show one command: its text and its origin", _show),
    "run": ("plugins.commands:run_command", "print the prompt that a command expands to; runs nothing", _run),
}

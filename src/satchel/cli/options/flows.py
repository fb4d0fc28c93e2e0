"""The commands of `satchel flows` and their options, for cli/parser.py."""

import argparse
from collections.abc import Callable
from typing import Any

from satchel.cli.options.common import agent_option, complete_tools, json_option


def _list(parser: argparse.ArgumentParser) -> None:
    agent_option(parser, "the agent whose files are shown; default: default", default="default")
    json_option(parser)


def _check(parser: argparse.ArgumentParser) -> None:
    source: Any = parser.add_argument(
        "source", metavar="FROM", help="what was read: a tool, a server, or untrusted, sensitive or private"
    )
    source.completer = complete_tools
    sink: Any = parser.add_argument("sink", metavar="TO", help="the tool to be called: server.tool")
    sink.completer = complete_tools
    json_option(parser)


def _clear(parser: argparse.ArgumentParser) -> None:
    agent_option(parser, "the agent whose files they are; default: default", default="default")


# As in cli/parser.py
COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "list": ("control.flows:list_command", "list the rules, and what an agent's files may carry on", _list),
    "check": (
        "control.flows:check_command",
        "explain which rule decides a call after something was read",
        _check,
    ),
    "clear": (
        "control.flows:clear_command",
        "forget what an agent's files may carry on, after you have looked at them",
        _clear,
    ),
}

"""The commands of `satchel agents` and their options, for cli/parser.py."""

import argparse
from collections.abc import Callable

from satchel.cli.options.common import complete_agents, json_option, name_argument


def _show(parser: argparse.ArgumentParser) -> None:
    name_argument(parser, "an agent's name", complete_agents)
    json_option(parser)


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the name of the new agent")
    parser.add_argument("--model", metavar="MODEL", help="its model, with the provider: openai:gpt-4o")
    _patterns_option(parser, "--allow", "a tool that it may call: server.tool, with * and ?. Repeatable")
    _patterns_option(parser, "--deny", "a tool that it may not call. Repeatable")
    parser.add_argument("--instructions", metavar="TEXT", help="instructions for its model")


def _patterns_option(parser: argparse.ArgumentParser, name: str, text: str) -> None:
    parser.add_argument(name, metavar="PATTERN", action="append", default=[], help=text)


def _clear(parser: argparse.ArgumentParser) -> None:
    name_argument(parser, "the agent that the workspace belongs to", complete_agents)
    parser.add_argument("--yes", action="store_true", help="remove the files without asking")


def _remove(parser: argparse.ArgumentParser) -> None:
    name_argument(parser, "the agent to remove", complete_agents)
    parser.add_argument("--memory", action="store_true", help="remove its memory as well")
    parser.add_argument("--skills", action="store_true", help="remove the skills that it saved as well")
    parser.add_argument("--yes", action="store_true", help="remove it without asking")


# As in cli/parser.py
COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "list": (
        "agents.kept:list_command",
        "list all agents: what each may do, what it ran last",
        json_option,
    ),
    "show": ("agents.kept:show_command", "show one agent: permissions, files, tasks, executions", _show),
    "add": ("agents.changing:add_command", "add an agent to satchel.yaml", _add),
    "clear-workspace": (
        "agents.changing:clear_command",
        "remove the files that an agent's programs left in its workspace",
        _clear,
    ),
    "remove": ("agents.changing:remove_command", "remove an agent, with its workspace and tasks", _remove),
}

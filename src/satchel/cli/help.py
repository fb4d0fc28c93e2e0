"""help: the commands that matter first, the others by group. argparse writes the help of each command."""

import argparse
from collections.abc import Mapping

from satchel.cli import output
from satchel.cli.parser import COMMANDS, build_parser

# Every command is in one group; those that a new user needs are in MAIN too, and shown with what they do.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Set up": (
        "init",
        "add",
        "connect",
        "doctor",
        "auth",
        "enable",
        "disable",
        "remove",
        "completion",
        "schema",
        "docs",
        "help",
    ),
    "Use tools": ("list", "search", "show", "call", "refresh", "changes", "resources", "prompts", "mcp"),
    "Run programs": (
        "run",
        "sh",
        "generate",
        "bridge",
        "skills",
        "commands",
        "plugins",
        "agents",
        "memory",
        "flows",
    ),
    "Serve agents": ("serve", "token", "prompt", "pack"),
    "Have agents work": ("ask", "chat", "conversations"),
    "Look back": ("approvals", "status", "privacy", "executions", "show-execution", "audit", "logs"),
}
MAIN = frozenset(
    {"init", "add", "connect", "doctor", "list", "search", "call", "run", "skills", "ask"}
    | {"serve", "status"}
)


def help_command(options: argparse.Namespace) -> int:
    """The help of one command, or the short one of all."""
    if options.topic:
        build_parser().parse_args([*options.topic, "--help"])  # ends the process
    _show_short()
    return 0


def no_command(options: argparse.Namespace) -> int:
    """For `satchel` alone, and for a command with commands of its own, such as `satchel skills`."""
    if options.parser.prog == "satchel":
        _show_short()
    else:
        output.show(options.parser.format_help().rstrip())
    return 0


def _show_short() -> None:
    output.show("Satchel puts your MCP servers behind three tools: list, search, run code.\n")
    output.show("usage: satchel COMMAND [OPTIONS] [ARGUMENTS]")
    for group, commands in GROUPS.items():
        output.show("\n" + output.styled(group, "bold"))
        rows = [[name.ljust(10), COMMANDS[name][1]] for name in commands if name in MAIN]
        more = [name for name in commands if name not in MAIN]
        output.show_table([*rows, ["also".ljust(10), ", ".join(more)]], indent="  ")
    output.show("\nsatchel help COMMAND explains a command; satchel --help lists all, with exit codes.")

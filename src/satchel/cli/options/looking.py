"""The options of commands that look at what is there and what happens, for cli/parser.py."""

import argparse
from typing import Any

from satchel.cli.options.common import agent_option, complete_servers, count, json_option


def follow_option(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--follow", action="store_true", help=f"{text}, until Ctrl-C")


def logs_options(parser: argparse.ArgumentParser) -> None:
    argument: Any = parser.add_argument("server", nargs="?", metavar="SERVER", help="default: list the logs")
    argument.completer = complete_servers
    parser.add_argument(
        "--lines", type=count, metavar="N", default=100, help="at most this many, the newest; default: 100"
    )
    follow_option(parser, "go on with what comes")


def status_options(parser: argparse.ArgumentParser) -> None:
    json_option(parser)


def schema_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        choices=("extensions", "satchel"),
        help="which file it is for: extensions_config.json or satchel.yaml; default: both",
    )
    parser.add_argument(
        "--write", action="store_true", help="write them to .satchel/schemas of the project, for editors"
    )


def clear_workspace_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help="whose workspace it is")
    parser.add_argument("--yes", action="store_true", help="remove the files without asking")


def search_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query",
        nargs="*",
        help="what a tool is to do; select:SERVER.TOOL,… for exactly those; nothing, with --server, for all",
    )
    argument: Any = parser.add_argument("--server", metavar="SERVER", help="only tools of this server")
    argument.completer = complete_servers
    parser.add_argument(
        "--detail", choices=("name", "desc", "full"), default="desc", help="how much of each (default: desc)"
    )
    parser.add_argument(
        "--limit", type=int, default=10, metavar="N", help="at most so many (default: 10, up to 50)"
    )
    parser.add_argument(
        "--in",
        dest="kinds",
        metavar="KINDS",
        type=lambda text: tuple(text.split(",")),
        help="search these in place of tools alone: any of tools,skills,memory",
    )
    agent_option(parser, "with --in: as this agent; default: default", default="default")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="leave out the first ones")
    json_option(parser)

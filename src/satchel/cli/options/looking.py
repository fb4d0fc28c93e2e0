"""The options of commands that show state and activity, for cli/parser.py."""

import argparse
from typing import Any

from satchel.cli.options.common import agent_option, complete_servers, count, json_option, results_option


def follow_option(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--follow", action="store_true", help=f"{text}, until Ctrl-C")


def logs_options(parser: argparse.ArgumentParser) -> None:
    argument: Any = parser.add_argument(
        "server", nargs="?", metavar="SERVER", help="the server; default: list the logs"
    )
    argument.completer = complete_servers
    parser.add_argument(
        "--lines",
        type=count,
        metavar="N",
        default=100,
        help="maximum number of lines, the newest; default: 100",
    )
    follow_option(parser, "keep printing new lines")


def status_options(parser: argparse.ArgumentParser) -> None:
    json_option(parser)


def schema_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        choices=("extensions", "satchel"),
        help="the schema of extensions_config.json or of satchel.yaml; default: both",
    )
    parser.add_argument(
        "--write", action="store_true", help="write them to .satchel/schemas in the project, for editors"
    )


def search_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query",
        nargs="*",
        help="the task a tool is for; select:SERVER.TOOL,… for exact tools; none, with --server, for all",
    )
    argument: Any = parser.add_argument("--server", metavar="SERVER", help="only tools of this server")
    argument.completer = complete_servers
    parser.add_argument(
        "--detail",
        choices=("name", "desc", "full"),
        default="desc",
        help="how much of each tool to show (default: desc)",
    )
    results_option(parser)
    parser.add_argument(
        "--in",
        dest="kinds",
        metavar="KINDS",
        type=lambda text: tuple(text.split(",")),
        help="search these instead of tools only: any of tools,skills,memory",
    )
    agent_option(parser, "with --in: search as this agent; default: default", default="default")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="skip the first N results")
    json_option(parser)

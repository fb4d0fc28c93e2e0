"""The options of `satchel call`, for cli/parser.py."""

import argparse
from pathlib import Path
from typing import Any

from satchel.cli.options.common import agent_option, complete_arguments, json_option, seconds, tool_argument


def call_options(parser: argparse.ArgumentParser) -> None:
    tool_argument(parser, nargs="?")
    argument: Any = parser.add_argument(
        "values",
        nargs="*",
        metavar="key=value",
        help="arguments, read as the parameter's type; key:=JSON for a value in JSON",
    )
    argument.completer = complete_arguments
    parser.add_argument(
        "--args", metavar="JSON", help="all arguments as one JSON object; - reads standard input"
    )
    parser.add_argument("--interactive", action="store_true", help="ask for each parameter")
    parser.add_argument(
        "--timeout", type=seconds, metavar="SECONDS", help="wait at most this long for the answer"
    )
    agent_option(parser, "call it as this agent; default: default", default="default")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the result to FILE")
    parser.add_argument(
        "--stdio",
        metavar="COMMAND",
        help="call a server that is not configured, started by COMMAND; without TOOL, list its tools",
    )
    parser.add_argument("--url", metavar="URL", help="the same for a remote server")
    parser.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for --stdio; repeatable"
    )
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME=VALUE", help="a header for --url; repeatable"
    )
    json_option(parser)

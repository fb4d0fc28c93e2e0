"""The commands of `satchel privacy` and their options, for cli/parser.py."""

import argparse
from collections.abc import Callable

from satchel.cli.options.common import json_option


def _test(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a text file, such as a tool's result; - is standard input"
    )
    json_option(parser)


# As in cli/parser.py
COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "test": ("privacy.trying:test_command", "show a file with tokens in place of personal data", _test),
}

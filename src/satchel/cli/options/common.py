"""Arguments and options that several commands have, and the types of their values."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from satchel.languages import PROGRAMS

if TYPE_CHECKING:
    from datetime import datetime


def server_argument(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    options: dict[str, Any] = {"nargs": nargs} if nargs else {}
    argument: Any = parser.add_argument("server", metavar="SERVER", help="a server's name", **options)
    argument.completer = complete_servers


def tool_argument(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    options: dict[str, Any] = {"nargs": nargs} if nargs else {}
    argument: Any = parser.add_argument(
        "tool", metavar="SERVER.TOOL", help="a tool, in any of its spellings", **options
    )
    argument.completer = complete_tools


def name_argument(
    parser: argparse.ArgumentParser, text: str, completer: Callable[..., list[str]], nargs: str | None = None
) -> None:
    options: dict[str, Any] = {"nargs": nargs} if nargs else {}
    argument: Any = parser.add_argument("name", metavar="NAME", help=text, **options)
    argument.completer = completer


def page_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", nargs="?", metavar="PAGE", help="the page to show; default: list the pages")


def json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def results_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit",
        type=int,
        default=10,
        metavar="N",
        help="maximum number of results (default: 10, at most 50)",
    )


def accept_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="NAME",
        help="accept the findings of this rule of the scan, or one file as it is: FILE@DIGEST. Repeatable",
    )


def user_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--user", action="store_true", help="write to your own configuration, not the project's"
    )


def complete_servers(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    from satchel.cli.options.completion import known_names  # only a shell that completes needs the catalog

    return known_names(getattr(parsed_args, "config", None), tools=False)


def complete_tools(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    from satchel.cli.options.completion import known_names  # only a shell that completes needs the catalog

    return known_names(getattr(parsed_args, "config", None), tools=True)


def complete_agents(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    from satchel.cli.options.completion import agent_names  # only a shell that completes needs the settings

    return agent_names(getattr(parsed_args, "config", None))


def complete_arguments(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """The names of a tool's arguments that are not given yet, each with the `=` that follows."""
    from satchel.cli.options.completion import argument_names  # only a shell that completes needs the catalog

    given = {text.partition("=")[0].rstrip(":") for text in parsed_args.values or ()}
    names = argument_names(getattr(parsed_args, "config", None), parsed_args.tool or "")
    return [f"{name}=" for name in names if name not in given]


def agent_option(parser: argparse.ArgumentParser, text: str, default: str | None = None) -> None:
    argument: Any = parser.add_argument("--agent", metavar="NAME", default=default, help=text)
    argument.completer = complete_agents


def journal_options(parser: argparse.ArgumentParser, *, limit: int, text: str) -> None:
    parser.add_argument(
        "--since",
        type=moment,
        metavar="TIME",
        help="30m, 2h or 7d ago, or a date or time such as 2026-11-16T09:30",
    )
    parser.add_argument("--limit", type=count, metavar="N", default=limit, help=text)
    json_option(parser)


def moment(text: str) -> "datetime":
    """A point in time, or an age such as `2h`. Without a zone, a time is local."""
    from datetime import datetime, timedelta  # options of the journal only

    units = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    try:
        if text[-1:] in units and text[:-1].isdecimal():
            return datetime.now().astimezone() - timedelta(**{units[text[-1]]: int(text[:-1])})
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a time; write 30m, 2h, 7d or 2026-11-16T09:30"
        ) from None


def language(text: str) -> str:
    """The full name of a language from its short form, such as `ts`; unknown names stay as they are."""
    return next((name for name, known in PROGRAMS.items() if text.lower() in known.names), text)


def count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 31:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return int(text)


def seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not more than 0 seconds")
    return seconds
